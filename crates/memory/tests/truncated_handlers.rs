//! Files that are cut while somebody else handles SIGBUS: handlers installed over ours, threads
//! that block the signal, files larger than the machine. Each in a process that may die of it.
#![cfg(all(linux_like, not(miri)))]
#![expect(unsafe_code, reason = "maps files by hand, installs signal handlers, blocks signals")]

use std::ffi::c_void;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use tenure_memory::kind::shm::{open_named, remove_named};
use tenure_memory::{Buffer, ensure_sigbus_handler, open_file};

#[path = "common/child.rs"]
mod child;

const PAGE: usize = 4096;

/// Checks how the child that runs `body` ends: with a code, or of a signal.
fn ends(test: &str, code: Option<i32>, signal: Option<i32>, body: impl FnOnce()) {
    if child::part().is_some() {
        give_up_in_time();
        return body();
    }
    let status = child::command(test, "ends").output().unwrap().status;
    assert_eq!((status.code(), status.signal()), (code, signal), "{status}");
}

/// Runs `body` in a child that has to live.
fn survives(test: &str, body: impl FnOnce()) {
    child::alone(test, || {
        give_up_in_time();
        body();
    });
}

/// Two handlers that send each other a signal do not end by themselves.
fn give_up_in_time() {
    // SAFETY: asks for a signal that ends the process.
    unsafe { libc::alarm(60) };
}

fn file(pages: usize) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&vec![7; pages * PAGE]).unwrap();
    file
}

fn mappings() -> usize {
    fs::read_to_string("/proc/self/maps").unwrap().lines().count()
}

/// A page that Tenure does not watch, whose file is gone.
fn foreign_fault() {
    let file = file(1);
    let (protection, fd) = (libc::PROT_READ, file.as_file().as_raw_fd());
    // SAFETY: maps a file where the kernel likes; touching it is what is tested.
    unsafe {
        let page = libc::mmap(ptr::null_mut(), PAGE, protection, libc::MAP_SHARED, fd, 0);
        assert_ne!(page, libc::MAP_FAILED);
        file.as_file().set_len(0).unwrap();
        page.cast::<u8>().read_volatile();
    }
}

/// What handled SIGBUS before [`over`] was called, as (handler, flags).
static SAVED: [AtomicUsize; 2] = [AtomicUsize::new(0), AtomicUsize::new(0)];
static CALLS: AtomicUsize = AtomicUsize::new(0);

fn set_action(handler: usize, flags: i32) -> (usize, i32) {
    // SAFETY: all zeros is a valid action, and the handlers here have the signature of their flag.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let mut before: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler;
        action.sa_flags = flags;
        assert_eq!(libc::sigaction(libc::SIGBUS, &raw const action, &raw mut before), 0);
        (before.sa_sigaction, before.sa_flags)
    }
}

/// Installs a handler over whatever is there.
fn over(handler: extern "C" fn(i32), flags: i32) {
    let (before, flags_before) = set_action(handler as usize, flags);
    SAVED[0].store(before, Ordering::Relaxed);
    SAVED[1].store(flags_before as usize, Ordering::Relaxed);
}

/// As Python's faulthandler: reports, steps aside, sends the signal again.
extern "C" fn reports_and_raises(signal: i32) {
    CALLS.fetch_add(1, Ordering::Relaxed);
    set_action(SAVED[0].load(Ordering::Relaxed), SAVED[1].load(Ordering::Relaxed) as i32);
    // SAFETY: a signal to this thread.
    unsafe { libc::raise(signal) };
}

/// Steps aside and lets the fault come again.
extern "C" fn steps_aside(_signal: i32) {
    CALLS.fetch_add(1, Ordering::Relaxed);
    set_action(SAVED[0].load(Ordering::Relaxed), SAVED[1].load(Ordering::Relaxed) as i32);
}

type WithInfo = extern "C" fn(i32, *mut libc::siginfo_t, *mut c_void);

/// Calls the handler that it found, as libraries that chain handlers do.
extern "C" fn calls_the_one_before(signal: i32, info: *mut libc::siginfo_t, context: *mut c_void) {
    CALLS.fetch_add(1, Ordering::Relaxed);
    // SAFETY: the handler before has this signature: it is ours, or what ours found.
    let before: WithInfo = unsafe { std::mem::transmute(SAVED[0].load(Ordering::Relaxed)) };
    before(signal, info, context);
}

extern "C" fn exits(_signal: i32) {
    // SAFETY: ends the process.
    unsafe { libc::_exit(9) };
}

fn cut_and_read(buffer: &Buffer, file: &tempfile::NamedTempFile) {
    let guard = buffer.read().unwrap();
    file.as_file().set_len(0).unwrap();
    assert_eq!(guard.as_bytes()[PAGE], 0);
    assert!(guard.hold().raw().intact().is_err());
}

#[test]
fn a_file_larger_than_the_machine_is_cut() {
    survives("a_file_larger_than_the_machine_is_cut", || {
        const SIZE: usize = if usize::BITS == 64 { 200 << 30 } else { 1 << 30 };
        let file = file(2);
        file.as_file().set_len(SIZE as u64).unwrap();
        let buffer = open_file(file.path()).unwrap();
        let guard = buffer.read().unwrap();
        file.as_file().set_len(2 * PAGE as u64).unwrap();
        let before = mappings();
        for at in [SIZE - 1, 2 * PAGE, SIZE / 2] {
            assert_eq!(guard.as_bytes()[at], 0);
        }
        assert_eq!(guard.as_bytes()[2 * PAGE - 1], 7, "what the file still has is still there");
        assert!(mappings() <= before + 2, "one mapping for all that is gone");
        // Cut again: the rest goes, and what was replaced stays as it is.
        file.as_file().set_len(0).unwrap();
        assert_eq!((guard.as_bytes()[0], guard.as_bytes()[SIZE - 1]), (0, 0));
        assert!(mappings() <= before + 2);
    });
}

#[test]
fn named_memory_loses_more_pages_than_there_can_be_mappings() {
    survives("named_memory_loses_more_pages_than_there_can_be_mappings", || {
        let text = fs::read_to_string("/proc/sys/vm/max_map_count").unwrap();
        // Every second page, so that the kernel cannot join what was put in their places.
        let pages = 2 * text.trim().parse::<usize>().unwrap().min(100_000) + 1000;
        let name = format!("/tenure-test-many-{}", std::process::id());
        let path = format!("/dev/shm{name}");
        let file = OpenOptions::new().create_new(true).write(true).open(&path).unwrap();
        file.set_len((pages * PAGE) as u64).unwrap();
        let buffer = Buffer::from_raw(open_named(&name, true).unwrap());
        remove_named(&name).unwrap();
        let guard = buffer.read().unwrap();
        let before = mappings();
        file.set_len(0).unwrap();
        assert!((0..pages).step_by(2).all(|page| guard.as_bytes()[page * PAGE] == 0));
        assert!(guard.hold().raw().intact().is_err());
        assert!(mappings() <= before + 2);
    });
}

#[test]
fn what_was_written_after_the_cut_stays() {
    survives("what_was_written_after_the_cut_stays", || {
        let name = format!("/tenure-test-written-{}", std::process::id());
        let path = format!("/dev/shm{name}");
        fs::write(&path, [7; 4 * PAGE]).unwrap();
        let buffer = Buffer::from_raw(open_named(&name, true).unwrap());
        remove_named(&name).unwrap();
        let mut guard = buffer.write().unwrap();
        let file = OpenOptions::new().write(true).open(guard_path(&buffer)).unwrap();
        file.set_len(3 * PAGE as u64).unwrap();
        guard.as_bytes_mut()[3 * PAGE] = 3;
        file.set_len(0).unwrap();
        guard.as_bytes_mut()[2 * PAGE] = 2;
        guard.as_bytes_mut()[0] = 1;
        let seen = [0, 1, 2, 3].map(|page| guard.as_bytes()[page * PAGE]);
        assert_eq!(seen, [1, 0, 2, 3]);
    });
}

/// Where the file of a buffer can be opened again although its name is gone.
fn guard_path(buffer: &Buffer) -> String {
    let fd = buffer.raw().unwrap().descriptor().unwrap().as_raw_fd();
    format!("/proc/self/fd/{fd}")
}

#[test]
fn a_handler_that_raises_again_is_survived_under_a_guard() {
    survives("a_handler_that_raises_again_is_survived_under_a_guard", || {
        for flags in [0, libc::SA_NODEFER] {
            let file = file(4);
            let buffer = open_file(file.path()).unwrap();
            let guard = buffer.read().unwrap();
            over(reports_and_raises, flags);
            file.as_file().set_len(0).unwrap();
            assert_eq!(guard.as_bytes()[PAGE], 0);
            assert!(guard.hold().raw().intact().is_err());
        }
        assert_eq!(CALLS.load(Ordering::Relaxed), 2);
    });
}

#[test]
fn a_handler_that_steps_aside_is_survived_under_a_guard() {
    survives("a_handler_that_steps_aside_is_survived_under_a_guard", || {
        let file = file(4);
        let buffer = open_file(file.path()).unwrap();
        let guard = buffer.read().unwrap();
        over(steps_aside, 0);
        file.as_file().set_len(0).unwrap();
        assert_eq!(guard.as_bytes()[PAGE], 0);
    });
}

#[test]
fn every_map_puts_the_handler_back() {
    survives("every_map_puts_the_handler_back", || {
        for round in 0..20 {
            let file = file(4);
            let buffer = open_file(file.path()).unwrap();
            match round % 4 {
                0 => over(exits, 0),
                1 => drop(set_action(libc::SIG_DFL, 0)),
                2 => drop(set_action(libc::SIG_IGN, 0)),
                _ => over(reports_and_raises, 0),
            }
            cut_and_read(&buffer, &file);
        }
        assert_eq!(CALLS.load(Ordering::Relaxed), 0);
    });
}

#[test]
fn new_memory_puts_the_handler_back() {
    survives("new_memory_puts_the_handler_back", || {
        let mut bytes = vec![1; 4 * PAGE];
        let file = file(4);
        tenure_memory::backend::copy_from_cache(file.as_file(), 0, &mut bytes).unwrap();
        set_action(libc::SIG_DFL, 0);
        file.as_file().set_len(PAGE as u64).unwrap();
        assert!(tenure_memory::backend::copy_from_cache(file.as_file(), 0, &mut bytes).is_err());
    });
}

#[test]
fn a_boundary_can_put_the_handler_back() {
    survives("a_boundary_can_put_the_handler_back", || {
        let file = file(4);
        let buffer = open_file(file.path()).unwrap();
        let guard = buffer.read().unwrap();
        set_action(libc::SIG_DFL, 0);
        ensure_sigbus_handler().unwrap();
        file.as_file().set_len(0).unwrap();
        assert_eq!(guard.as_bytes()[PAGE], 0);
    });
}

#[test]
fn a_thread_that_blocks_the_signal_can_map() {
    survives("a_thread_that_blocks_the_signal_can_map", || {
        let file = file(4);
        let buffer = open_file(file.path()).unwrap();
        std::thread::spawn(move || {
            // SAFETY: all zeros is a valid set; blocks the signals of this thread.
            unsafe {
                let mut all: libc::sigset_t = std::mem::zeroed();
                libc::sigfillset(&raw mut all);
                libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, ptr::null_mut());
            }
            cut_and_read(&buffer, &file);
        })
        .join()
        .unwrap();
    });
}

#[test]
fn a_fault_elsewhere_reaches_the_handler_that_was_installed_last() {
    let test = "a_fault_elsewhere_reaches_the_handler_that_was_installed_last";
    ends(test, Some(9), None, || {
        let file = file(4);
        let buffer = open_file(file.path()).unwrap();
        over(exits, 0);
        cut_and_read(&buffer, &file);
        foreign_fault();
    });
}

#[test]
fn a_fault_elsewhere_kills_behind_a_handler_that_raises_again() {
    let test = "a_fault_elsewhere_kills_behind_a_handler_that_raises_again";
    ends(test, None, Some(libc::SIGBUS), || {
        set_action(libc::SIG_DFL, 0);
        let file = file(4);
        let buffer = open_file(file.path()).unwrap();
        over(reports_and_raises, libc::SA_NODEFER);
        cut_and_read(&buffer, &file);
        foreign_fault();
    });
}

#[test]
fn a_fault_elsewhere_kills_behind_a_handler_that_steps_aside() {
    let test = "a_fault_elsewhere_kills_behind_a_handler_that_steps_aside";
    ends(test, None, Some(libc::SIGBUS), || {
        set_action(libc::SIG_DFL, 0);
        let file = file(4);
        let buffer = open_file(file.path()).unwrap();
        over(steps_aside, 0);
        cut_and_read(&buffer, &file);
        foreign_fault();
    });
}

#[test]
fn a_fault_elsewhere_kills_behind_a_handler_that_calls_the_one_before() {
    let test = "a_fault_elsewhere_kills_behind_a_handler_that_calls_the_one_before";
    ends(test, None, Some(libc::SIGBUS), || {
        set_action(libc::SIG_DFL, 0);
        let file = file(4);
        let buffer = open_file(file.path()).unwrap();
        let handler: WithInfo = calls_the_one_before;
        let (before, _) = set_action(handler as usize, libc::SA_SIGINFO);
        SAVED[0].store(before, Ordering::Relaxed);
        // It passes on what is ours, and is not asked once ours is in front again.
        let other = self::file(4);
        let guard = open_file(other.path()).unwrap().read().unwrap();
        set_action(handler as usize, libc::SA_SIGINFO);
        other.as_file().set_len(0).unwrap();
        assert_eq!((guard.as_bytes()[0], CALLS.load(Ordering::Relaxed)), (0, 1));
        cut_and_read(&buffer, &file);
        foreign_fault();
    });
}

#[test]
fn a_signal_sent_to_oneself_still_kills_after_a_cut() {
    ends("a_signal_sent_to_oneself_still_kills_after_a_cut", None, Some(libc::SIGBUS), || {
        set_action(libc::SIG_DFL, 0);
        let file = file(4);
        let buffer = open_file(file.path()).unwrap();
        cut_and_read(&buffer, &file);
        // SAFETY: a signal to this thread.
        unsafe { libc::raise(libc::SIGBUS) };
    });
}

#[test]
fn faults_of_two_mappings_do_not_wait_for_each_other_after_fork() {
    // A child is forked while other threads are in the handler: nobody leaves it there.
    survives("faults_of_two_mappings_do_not_wait_for_each_other_after_fork", || {
        let files: Vec<_> = (0..50).map(|_| file(64)).collect();
        let buffers: Vec<_> = files.iter().map(|file| open_file(file.path()).unwrap()).collect();
        let guards: Vec<_> = buffers.iter().map(|buffer| buffer.read().unwrap()).collect();
        files.iter().for_each(|file| file.as_file().set_len(0).unwrap());
        let touch = |guards: &[tenure_memory::ReadGuard]| {
            guards.iter().all(|guard| guard.as_bytes().iter().step_by(PAGE).all(|byte| *byte == 0))
        };
        std::thread::scope(|scope| {
            scope.spawn(|| assert!(touch(&guards)));
            for _ in 0..20 {
                // SAFETY: the child reads memory and ends, and allocates nothing.
                let child = unsafe { libc::fork() };
                if child == 0 {
                    // SAFETY: sets an alarm, which a child does not inherit, and ends.
                    unsafe {
                        libc::alarm(30);
                        libc::_exit(i32::from(!touch(&guards)));
                    }
                }
                let mut status = 0;
                // SAFETY: a valid place for the answer.
                unsafe { libc::waitpid(child, &raw mut status, 0) };
                assert_eq!(status, 0);
            }
        });
    });
}
