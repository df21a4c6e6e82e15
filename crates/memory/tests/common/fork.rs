//! A forked copy of this process that does one thing and ends.
//!
//! Only for tests that run alone in their process: another thread could hold a lock at the time
//! of the fork, and nobody would give it back in the copy.
#![allow(dead_code, reason = "every test program uses what it needs")]
#![expect(unsafe_code, reason = "fork, waitpid and _exit")]

use std::os::unix::process::ExitStatusExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitStatus;

/// How the copy says that `work` panicked.
pub(crate) const PANICKED: i32 = 101;

/// Runs `work` in a copy of this process, which ends with the code that it gives.
pub(crate) fn fork(work: impl FnOnce() -> i32) -> ExitStatus {
    wait(start(work))
}

/// Starts `work` in a copy of this process, and gives the copy's id.
pub(crate) fn start(work: impl FnOnce() -> i32) -> i32 {
    // SAFETY: the caller runs alone in its process, so no other thread's locks are lost.
    let id = unsafe { libc::fork() };
    assert!(id >= 0, "{}", std::io::Error::last_os_error());
    if id == 0 {
        let code = catch_unwind(AssertUnwindSafe(work)).unwrap_or(PANICKED);
        // SAFETY: ends the copy without running what the original registered for its own end.
        unsafe { libc::_exit(code) }
    }
    id
}

/// Waits for a copy.
pub(crate) fn wait(id: i32) -> ExitStatus {
    let mut status = 0;
    // SAFETY: `status` is a valid place for the answer.
    let answer = unsafe { libc::waitpid(id, &raw mut status, 0) };
    assert_eq!(answer, id, "{}", std::io::Error::last_os_error());
    ExitStatus::from_raw(status)
}
