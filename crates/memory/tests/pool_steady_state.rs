//! A frame loop over a pool, once it has seen its largest demand: no page fault, no system call.
#![cfg(all(linux_like, not(miri)))]
#![expect(unsafe_code, reason = "forbids system calls, counts page faults")]

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Instant;

use tenure_memory::{Allocator, Buffer, Pool, Request, TensorMemory, kind};

#[path = "common/child.rs"]
mod child;
#[path = "common/fork.rs"]
mod fork;

/// A frame of 1920 by 1080 pixels in RGBA.
const FRAME: usize = 1920 * 1080 * 4;
/// How a copy of this process says that it came to its end.
const ENDED: i32 = 7;

fn round(pool: &Pool, value: u8) {
    let request = Request::new(FRAME).unwrap().with_name(Some("frame"));
    let frame = Buffer::from_raw(pool.allocate(&request).unwrap());
    let mut guard = frame.write().unwrap();
    guard.as_bytes_mut().fill(value);
    assert_eq!((guard.as_bytes()[0], guard.as_bytes()[FRAME - 1]), (value, value));
}

fn warm(memory: TensorMemory) -> Pool {
    let pool = Pool::new(kind::allocator(memory).unwrap());
    (0..3).for_each(|value| round(&pool, value));
    pool
}

/// Page faults of this thread so far that needed no disk.
fn faults() -> libc::c_long {
    // SAFETY: a valid place for the answer, which all zeros is too.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage), 0);
        usage.ru_minflt + usage.ru_majflt
    }
}

fn no_page_faults(memory: TensorMemory) {
    let pool = warm(memory);
    // The kernel may move pages while it makes room for others: one quiet run of three is enough,
    // and a loop that faults by itself has none.
    let runs: Vec<libc::c_long> = (0..3)
        .map(|_| {
            let before = faults();
            (0..200).for_each(|value| round(&pool, value as u8));
            faults() - before
        })
        .collect();
    assert!(runs.contains(&0), "{runs:?} page faults");
    let report = pool.report();
    assert_eq!((report.misses, report.hits, report.given_up), (1, 602, 0));
    assert_eq!((report.kept, report.used), (1, 0));
}

#[test]
fn heap_frames_cause_no_page_faults() {
    no_page_faults(TensorMemory::Mem);
}

#[test]
fn shared_frames_cause_no_page_faults() {
    no_page_faults(TensorMemory::Shm);
}

#[test]
fn without_a_pool_there_are_page_faults() {
    // What the tests above would see if the pool did nothing.
    let mem = kind::allocator(TensorMemory::Mem).unwrap();
    let before = faults();
    for value in 0..10 {
        let frame = Buffer::from_raw(mem.allocate(&Request::new(FRAME).unwrap()).unwrap());
        frame.write().unwrap().as_bytes_mut().fill(value);
    }
    assert!(faults() > before);
}

/// Has the kernel kill this process at its next system call, but for the one that ends a thread.
/// A filter, because the strict mode forbids the processor's clock too, which is no system call.
fn forbid_system_calls() {
    let step = |code: u32, jt, jf, k| libc::sock_filter { code: code as u16, jt, jf, k };
    let mut program = [
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, libc::SYS_exit as u32),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_KILL_PROCESS),
    ];
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: the filter is valid for the call, which copies it.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        let mode = libc::SECCOMP_MODE_FILTER;
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const filter), 0);
    }
}

/// Runs `work` in a copy of this process that may make no system call.
fn without_system_calls(work: impl FnOnce()) -> ExitStatus {
    fork::fork(|| {
        forbid_system_calls();
        work();
        // SAFETY: ends the only thread of the copy, and with it the copy.
        unsafe { libc::syscall(libc::SYS_exit, ENDED) };
        unreachable!("the copy has ended")
    })
}

fn no_system_calls(test: &str, memory: TensorMemory) {
    child::alone(test, || {
        let clock = without_system_calls(|| _ = std::hint::black_box(Instant::now()));
        if clock.code() != Some(ENDED) {
            println!("NOT TESTED: asking for the time is a system call on this machine");
            return;
        }
        let pool = warm(memory);
        let status = without_system_calls(|| {
            (0..1000).for_each(|value| round(&pool, value as u8));
        });
        assert_eq!(status.code(), Some(ENDED), "{status}");
    });
}

#[test]
fn heap_frames_make_no_system_calls() {
    no_system_calls("heap_frames_make_no_system_calls", TensorMemory::Mem);
}

#[test]
fn shared_frames_make_no_system_calls() {
    no_system_calls("shared_frames_make_no_system_calls", TensorMemory::Shm);
}

#[test]
fn without_a_pool_there_are_system_calls() {
    // What the tests above would see if the pool did nothing.
    child::alone("without_a_pool_there_are_system_calls", || {
        for memory in [TensorMemory::Mem, TensorMemory::Shm] {
            let allocator = kind::allocator(memory).unwrap();
            let request = Request::new(FRAME).unwrap();
            drop(allocator.allocate(&request));
            let status = without_system_calls(|| drop(allocator.allocate(&request)));
            assert_eq!(status.signal(), Some(libc::SIGSYS), "{status}");
        }
    });
}

#[test]
fn limits_of_what_was_seen_are_enough() {
    let mem = kind::allocator(TensorMemory::Mem).unwrap();
    let trial = Pool::new(mem);
    let rounds = |pool: &Pool| {
        for _ in 0..20 {
            let sizes = [FRAME, FRAME / 2, 224 * 224 * 3 * 4, 1000];
            let frames = sizes.map(|bytes| pool.allocate(&Request::new(bytes).unwrap()).unwrap());
            drop(frames);
        }
    };
    rounds(&trial);
    let pool = Pool::new(mem).with_limits(trial.report().limits());
    rounds(&pool);
    let report = pool.report();
    assert_eq!((report.misses, report.hits, report.given_up), (4, 76, 0), "{report}");
    assert_eq!(report.limits(), trial.report().limits());
}
