//! A copy of this process that does one thing and ends.
#![expect(unsafe_code, reason = "fork, alarm, waitpid and _exit")]

use std::os::unix::process::ExitStatusExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitStatus;

/// How long the copy may take, in seconds: one that hangs is ended by a signal.
const LIMIT: u32 = 30;

/// Runs `work` in a copy of this process, waits for it, and says how it ended: with 0, with 101 after
/// a panic, or by a signal.
///
/// Only the calling thread is in the copy, and what another thread holds at that moment is held there
/// for ever. So no other thread of the attack itself may be at work; those of the library may, since
/// that they are gone is what is attacked.
///
/// ```
/// use tenure_attacks::fork::in_child;
/// assert!(in_child(|| ()).success());
/// assert_eq!(in_child(|| panic!("on purpose")).code(), Some(101));
/// ```
pub fn in_child(work: impl FnOnce()) -> ExitStatus {
    // SAFETY: takes no address. The copy goes on with this thread alone, whose locks it has; that
    // nobody else of the attack is at work is what the documentation asks for.
    let id = unsafe { libc::fork() };
    assert!(id >= 0, "{}", std::io::Error::last_os_error());
    if id == 0 {
        // SAFETY: takes no address. The signal ends this copy.
        unsafe { libc::alarm(LIMIT) };
        let code = if catch_unwind(AssertUnwindSafe(work)).is_ok() { 0 } else { 101 };
        // SAFETY: ends the copy without running what the original registered for its own end.
        unsafe { libc::_exit(code) }
    }
    let mut status = 0;
    // SAFETY: `status` is a place for the answer, and stays there until the call returns.
    let answer = unsafe { libc::waitpid(id, &raw mut status, 0) };
    assert_eq!(answer, id, "{}", std::io::Error::last_os_error());
    ExitStatus::from_raw(status)
}
