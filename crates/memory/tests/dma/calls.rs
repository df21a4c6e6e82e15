//! Which system calls a piece of code makes: the kernel tells a second thread of each one.
#![expect(unsafe_code, reason = "installs a filter whose listener sees every system call")]

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

/// A system call with its first arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) number: libc::c_long,
    /// Of an ioctl: the request and what its argument points to.
    pub(crate) request: Option<(u64, u64)>,
}

const RECEIVE: u64 = 0xc050_2100;
const ANSWER: u64 = 0xc018_2101;
const CONTINUE: u32 = 1;

/// Runs `work` on a thread of its own and gives the system calls that it made.
pub(crate) fn calls_of(work: impl FnOnce() + Send) -> Vec<Call> {
    let recording = Arc::new(AtomicBool::new(false));
    let calls = Arc::new(Mutex::new(vec![]));
    thread::scope(|scope| {
        let (give, take) = mpsc::channel::<OwnedFd>();
        let (recorded, record) = (Arc::clone(&calls), Arc::clone(&recording));
        scope.spawn(move || {
            let listener = take.recv().unwrap();
            listen(&listener, &record, &recorded);
        });
        let worker = scope.spawn(move || {
            // Everything that the thread needs before it is watched.
            let listener = install();
            give.send(listener).unwrap();
            recording.store(true, Ordering::SeqCst);
            work();
            recording.store(false, Ordering::SeqCst);
        });
        worker.join().unwrap();
    });
    Arc::try_unwrap(calls).unwrap().into_inner().unwrap()
}

/// Lets every call go on, and writes down those that are made while somebody records.
fn listen(listener: &OwnedFd, recording: &AtomicBool, calls: &Mutex<Vec<Call>>) {
    loop {
        // SAFETY: all zeros is a value of it, which the kernel asks for.
        let mut notice: libc::seccomp_notif = unsafe { std::mem::zeroed() };
        // SAFETY: the request of this number writes such a structure.
        let got = unsafe { libc::ioctl(listener.as_raw_fd(), RECEIVE as _, &raw mut notice) };
        if got != 0 {
            // Nobody is left under the filter.
            return;
        }
        let [_, request, argument, ..] = notice.data.args;
        let number = libc::c_long::from(notice.data.nr);
        if recording.load(Ordering::SeqCst) {
            let request = (number == libc::SYS_ioctl).then(|| {
                // SAFETY: the caller waits for the answer, so what it points to is there; the
                // requests that are looked at have eight bytes or more.
                (request, unsafe { *(argument as *const u64) })
            });
            calls.lock().unwrap().push(Call { number, request });
        }
        let answer = libc::seccomp_notif_resp { id: notice.id, val: 0, error: 0, flags: CONTINUE };
        // SAFETY: the request of this number reads such a structure.
        unsafe { libc::ioctl(listener.as_raw_fd(), ANSWER as _, &raw const answer) };
    }
}

/// From now on every system call of this thread waits for the listener.
fn install() -> OwnedFd {
    const LOAD: u16 = 0x20;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    let step = |code, k, jt, jf| libc::sock_filter { code, jt, jf, k };
    // The listener is given away by waking its thread, before it listens. The time is a call only
    // on machines whose clock cannot be read without, as emulated ones.
    let free = [libc::SYS_futex, libc::SYS_exit, libc::SYS_clock_gettime];
    let mut program = vec![step(LOAD, 0, 0, 0)];
    for (index, call) in free.iter().enumerate() {
        program.push(step(JUMP_IF_EQUAL, *call as u32, (free.len() - index) as u8, 0));
    }
    program.push(step(RETURN, libc::SECCOMP_RET_USER_NOTIF, 0, 0));
    program.push(step(RETURN, libc::SECCOMP_RET_ALLOW, 0, 0));
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: the program is well-formed and lives until the call returns.
    let listener = unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            libc::SECCOMP_FILTER_FLAG_NEW_LISTENER,
            &raw const filter,
        )
    };
    assert!(listener >= 0, "{}", std::io::Error::last_os_error());
    // SAFETY: the kernel made the descriptor for this call.
    unsafe { OwnedFd::from_raw_fd(listener as i32) }
}
