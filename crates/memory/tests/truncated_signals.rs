//! The handler for SIGBUS leaves alone what is not ours: faults elsewhere, signals that somebody
//! sends, and whoever handled them before. Each in a process that may die of it.
#![cfg(all(linux_like, not(miri)))]
#![expect(unsafe_code, reason = "maps files by hand and installs signal handlers")]

use std::ffi::c_void;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use tenure_memory::{Buffer, open_file};

#[path = "common/child.rs"]
mod child;

const PAGE: usize = 4096;

/// Checks that the child that runs `body` dies of SIGBUS.
fn dies(test: &str, body: impl FnOnce()) {
    if child::part().is_some() {
        return body();
    }
    let status = child::command(test, "dies").output().unwrap().status;
    assert_eq!(status.signal(), Some(libc::SIGBUS), "{status}");
}

fn file(pages: usize) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&vec![7; pages * PAGE]).unwrap();
    file
}

/// A watched mapping, so that the handler is there; and the file to cut.
fn watched() -> (Buffer, tempfile::NamedTempFile) {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&[7; 4 * PAGE]).unwrap();
    (open_file(file.path()).unwrap(), file)
}

/// Cuts a watched file and reads it: survived as long as our handler is in its place.
fn still_guarded((buffer, file): &(Buffer, tempfile::NamedTempFile)) {
    let guard = buffer.read().unwrap();
    file.as_file().set_len(0).unwrap();
    assert_eq!(guard.as_bytes()[PAGE], 0);
    assert!(guard.hold().raw().intact().is_err());
}

/// A page that Tenure knows nothing of, and whose file is gone.
fn foreign_fault() -> *mut u8 {
    let file = file(1);
    let (protection, fd) = (libc::PROT_READ | libc::PROT_WRITE, file.as_raw_fd());
    // SAFETY: maps a file where the kernel likes.
    let page = unsafe { libc::mmap(ptr::null_mut(), PAGE, protection, libc::MAP_SHARED, fd, 0) };
    assert_ne!(page, libc::MAP_FAILED);
    file.set_len(0).unwrap();
    page.cast()
}

fn touch(page: *mut u8) {
    // SAFETY: mapped; that the kernel cannot serve it is what is tested.
    unsafe { page.read_volatile() };
}

/// Arrives before this returns: sent to this thread, not to whichever the kernel likes.
fn send_to_self() {
    // SAFETY: a signal to this thread.
    unsafe { libc::raise(libc::SIGBUS) };
}

/// Sets who handles SIGBUS before Tenure does.
fn handled_by(handler: usize, flags: i32) {
    // SAFETY: all zeros is a valid action, and the handlers here have the signature of their flag.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler;
        action.sa_flags = flags;
        assert_eq!(libc::sigaction(libc::SIGBUS, &raw const action, ptr::null_mut()), 0);
    }
}

#[test]
fn a_fault_elsewhere_kills_as_ever() {
    dies("a_fault_elsewhere_kills_as_ever", || {
        let _watched = watched();
        touch(foreign_fault());
    });
}

#[test]
fn a_fault_elsewhere_kills_where_nobody_handled_it() {
    dies("a_fault_elsewhere_kills_where_nobody_handled_it", || {
        handled_by(libc::SIG_DFL, 0);
        let _watched = watched();
        touch(foreign_fault());
    });
}

#[test]
fn a_fault_elsewhere_kills_although_it_was_ignored() {
    dies("a_fault_elsewhere_kills_although_it_was_ignored", || {
        handled_by(libc::SIG_IGN, 0);
        let _watched = watched();
        touch(foreign_fault());
    });
}

#[test]
fn a_fault_in_an_unmapped_file_kills_again() {
    dies("a_fault_in_an_unmapped_file_kills_again", || {
        // Watched once, at an address that somebody else may get after it.
        for _ in 0..50 {
            drop(watched());
        }
        touch(foreign_fault());
    });
}

#[test]
fn a_signal_that_was_sent_kills() {
    dies("a_signal_that_was_sent_kills", || {
        handled_by(libc::SIG_DFL, 0);
        let _watched = watched();
        send_to_self();
    });
}

#[test]
fn a_signal_that_was_sent_does_not_disarm_the_guard() {
    let test = "a_signal_that_was_sent_does_not_disarm_the_guard";
    if child::part().is_some() {
        let watched = watched();
        send_to_self();
        println!("survived");
        return still_guarded(&watched);
    }
    // Rust's own handler, which is the one before ours here, steps aside when a signal comes that
    // it does not know. Either the sender gets what it wanted, or the guard stays.
    let output = child::command(test, "either").output().unwrap();
    if child::words(&output).0.contains("survived") {
        child::succeeded(&output);
    } else {
        assert_eq!(output.status.signal(), Some(libc::SIGBUS));
    }
}

#[test]
fn a_signal_that_was_ignored_stays_ignored() {
    child::alone("a_signal_that_was_ignored_stays_ignored", || {
        handled_by(libc::SIG_IGN, 0);
        let watched = watched();
        send_to_self();
        still_guarded(&watched);
    });
}

#[test]
fn a_sent_signal_with_the_address_of_our_memory_changes_nothing() {
    child::alone("a_sent_signal_with_the_address_of_our_memory_changes_nothing", || {
        handled_by(libc::SIG_IGN, 0);
        let (buffer, _file) = watched();
        let address = buffer.read().unwrap().as_bytes().as_ptr().addr();
        let mut lie = [0u8; size_of::<libc::siginfo_t>()];
        lie[0..4].copy_from_slice(&libc::SIGBUS.to_ne_bytes());
        lie[8..12].copy_from_slice(&libc::SI_QUEUE.to_ne_bytes());
        // Aligned to addresses, behind three numbers.
        let place = 12_usize.next_multiple_of(align_of::<usize>());
        lie[place..place + size_of::<usize>()].copy_from_slice(&address.to_ne_bytes());
        let (call, signal) = (libc::SYS_rt_tgsigqueueinfo, libc::SIGBUS);
        // SAFETY: sends a signal to this thread with bytes of the right length.
        let sent =
            unsafe { libc::syscall(call, libc::getpid(), libc::gettid(), signal, lie.as_ptr()) };
        assert_eq!(sent, 0);
        let guard = buffer.read().unwrap();
        assert!(guard.as_bytes().iter().all(|byte| *byte == 7));
        guard.hold().raw().intact().unwrap();
    });
}

/// Times that the program's own handler ran, and where it last did.
static CALLS: AtomicUsize = AtomicUsize::new(0);
static PLACE: AtomicPtr<u8> = AtomicPtr::new(ptr::null_mut());

fn repair() {
    CALLS.fetch_add(1, Ordering::Relaxed);
    let (page, protection) = (PLACE.load(Ordering::Relaxed), libc::PROT_READ);
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    // SAFETY: replaces the page that the test mapped.
    unsafe { libc::mmap(page.cast(), PAGE, protection, flags, -1, 0) };
}

extern "C" fn with_info(_signal: i32, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes a valid description.
    let address = unsafe { (*info).si_addr() };
    if !context.is_null() && address.cast() == PLACE.load(Ordering::Relaxed) {
        repair();
    }
}

extern "C" fn without_info(signal: i32) {
    if signal == libc::SIGBUS {
        repair();
    }
}

fn an_earlier_handler_is_called(handler: usize, flags: i32) {
    handled_by(handler, flags);
    let watched = watched();
    for round in 1..=3 {
        let page = foreign_fault();
        PLACE.store(page, Ordering::Relaxed);
        touch(page);
        assert_eq!(CALLS.load(Ordering::Relaxed), round);
    }
    still_guarded(&watched);
    assert_eq!(CALLS.load(Ordering::Relaxed), 3, "what is ours is not passed on");
}

#[test]
fn an_earlier_handler_with_information_is_called() {
    child::alone("an_earlier_handler_with_information_is_called", || {
        let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut c_void) = with_info;
        an_earlier_handler_is_called(handler as usize, libc::SA_SIGINFO);
    });
}

#[test]
fn an_earlier_plain_handler_is_called() {
    child::alone("an_earlier_plain_handler_is_called", || {
        let handler: extern "C" fn(i32) = without_info;
        an_earlier_handler_is_called(handler as usize, 0);
    });
}

#[test]
fn a_prepared_thread_survives_what_its_starter_blocks() {
    child::alone("a_prepared_thread_survives_what_its_starter_blocks", || {
        let (buffer, file) = watched();
        let guard = buffer.read().unwrap();
        // SAFETY: a set on the stack, filled by the first call.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigfillset(&raw mut set);
            assert_eq!(libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, ptr::null_mut()), 0);
        }
        file.as_file().set_len(0).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                tenure_memory::prepare_thread();
                assert_eq!(guard.as_bytes()[PAGE], 0);
            });
        });
        assert!(guard.hold().raw().intact().is_err());
    });
}
