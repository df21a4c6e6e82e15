//! Frame after frame, once every slot has been seen: nothing is mapped, no page faults, and the
//! kernel is asked for nothing but sending and receiving.
#![cfg(all(target_os = "linux", not(miri)))]
#![expect(unsafe_code, reason = "counts page faults, and installs a system call filter")]

use std::os::unix::process::ExitStatusExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use tenure_stream::Meta;

#[path = "../../memory/tests/common/child.rs"]
mod child;
#[path = "../../memory/tests/common/resources.rs"]
mod resources;
#[path = "common/stage.rs"]
mod stage;

use stage::{Stage, next, publish, until};

/// Page faults of this thread so far.
fn faults() -> i64 {
    // SAFETY: a valid place for the answer, which all zeros is too.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage), 0);
        usage.ru_minflt + usage.ru_majflt
    }
}

#[test]
fn no_page_faults_and_no_new_mappings() {
    child::alone("no_page_faults_and_no_new_mappings", || {
        let stage = Stage::new();
        // A quarter of a mebibyte, all of which is written and read.
        let mut publisher = stage.words("s", 1 << 15);
        let mut subscriber = stage.subscriber("s").open().unwrap();
        let mut sequence = 0;
        let mut go = |frames: usize| {
            let mut held = vec![];
            for _ in 0..frames {
                publish(&mut publisher, sequence).unwrap();
                held.push(next(&mut subscriber));
                if held.len() == 3 {
                    held.remove((sequence % 3) as usize);
                }
                sequence += 1;
            }
        };
        go(20);
        let before = (resources::descriptors(), resources::mappings());
        // The kernel may move pages while it makes room for others: one quiet run is enough.
        let runs: Vec<i64> = (0..3)
            .map(|_| {
                let before = faults();
                go(100);
                faults() - before
            })
            .collect();
        assert!(runs.contains(&0), "{runs:?} page faults");
        assert_eq!((resources::descriptors(), resources::mappings()), before);
        let report = publisher.stats();
        assert!(report.slots.iter().all(|slot| slot.generation <= 1), "{report:?}");
        publisher.claim().unwrap().publish(Meta::new()).unwrap();
    });
}

#[test]
fn a_frame_is_sent_received_and_given_back_and_nothing_else() {
    const NAME: &str = "a_frame_is_sent_received_and_given_back_and_nothing_else";
    let Some(part) = child::part() else {
        child::succeeded(&child::command(NAME, "allowed").output().unwrap());
        // One call that is not allowed, to see that the filter is there.
        let ended = child::command(NAME, "forbidden").output().unwrap().status;
        assert_eq!(ended.signal(), Some(libc::SIGSYS), "{ended}");
        return;
    };
    let stage = Stage::new();
    let mut publisher = stage.words("s", 100);
    let mut subscriber = stage.subscriber("s").open().unwrap();
    let done = Arc::new(AtomicBool::new(false));
    let tell = Arc::clone(&done);
    thread::spawn(move || {
        for sequence in 0..20 {
            publish(&mut publisher, sequence).unwrap();
            next(&mut subscriber);
        }
        // Others may hold a lock for a moment.
        allow_only([libc::SYS_sendmsg, libc::SYS_recvmsg, libc::SYS_futex]);
        for sequence in 20..120 {
            publish(&mut publisher, sequence).unwrap();
            next(&mut subscriber);
        }
        if part == "forbidden" {
            subscriber.wait(Duration::ZERO).unwrap();
        }
        tell.store(true, Ordering::SeqCst);
        loop {
            // It cannot even end.
            thread::park();
        }
    });
    until("all frames", || done.load(Ordering::SeqCst));
}

/// From now on the process is ended when this thread makes any other system call.
fn allow_only(calls: [i64; 3]) {
    const LOAD: u16 = 0x20;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    let step = |code, k, jt, jf| libc::sock_filter { code, jt, jf, k };
    // The number of the system call is the first word.
    let mut program = vec![step(LOAD, 0, 0, 0)];
    for (index, call) in calls.into_iter().enumerate() {
        program.push(step(JUMP_IF_EQUAL, call as u32, (calls.len() - index) as u8, 0));
    }
    program.push(step(RETURN, libc::SECCOMP_RET_KILL_PROCESS, 0, 0));
    program.push(step(RETURN, libc::SECCOMP_RET_ALLOW, 0, 0));
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: the program is well-formed and lives until the calls return.
    let answers = unsafe {
        [
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
            libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter),
        ]
    };
    assert_eq!(answers, [0, 0]);
}
