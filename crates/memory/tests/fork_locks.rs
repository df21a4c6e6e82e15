//! Forks while other threads allocate: what they have locked at that moment is not lost in the child.
#![cfg(all(target_os = "linux", not(miri)))]
#![expect(unsafe_code, reason = "asks for a signal that ends a child which hangs")]

use std::sync::atomic::{AtomicBool, Ordering};

use tenure_memory::{Buffer, Request, TensorMemory, allocate, import, statistics};

#[path = "common/child.rs"]
mod child;
#[path = "common/fork.rs"]
mod fork;

const FORKS: usize = 400;

fn work(memory: TensorMemory) {
    let buffer = Buffer::from_raw(allocate(Some(memory), &Request::new(5000).unwrap()).unwrap());
    if memory == TensorMemory::Shm {
        let fd = buffer.raw().unwrap().descriptor().unwrap();
        drop(import(fd, 5000, Default::default(), None).unwrap());
    }
    buffer.write().unwrap().as_bytes_mut().fill(1);
}

#[test]
fn children_of_a_process_that_allocates_go_on() {
    child::alone("children_of_a_process_that_allocates_go_on", || {
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for memory in [TensorMemory::Mem, TensorMemory::Shm, TensorMemory::Mem] {
                let over = &over;
                scope.spawn(move || {
                    while !over.load(Ordering::Relaxed) {
                        work(memory);
                    }
                });
            }
            // Whatever fails, the threads end.
            let children: Vec<_> = (0..FORKS)
                .map(|_| {
                    fork::fork(|| {
                        // SAFETY: takes no address. The signal ends this process.
                        unsafe { libc::alarm(30) };
                        work(TensorMemory::Mem);
                        work(TensorMemory::Shm);
                        i32::from(statistics::report().len() > 1000)
                    })
                })
                .take_while(|status| status.success())
                .collect();
            over.store(true, Ordering::Relaxed);
            assert_eq!(children.len(), FORKS, "a child did not end");
        });
    });
}

#[test]
fn two_threads_fork_at_once() {
    child::alone("two_threads_fork_at_once", || {
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        work(TensorMemory::Mem);
                        let status = fork::fork(|| {
                            // SAFETY: takes no address. The signal ends this process.
                            unsafe { libc::alarm(30) };
                            work(TensorMemory::Shm);
                            // And once more, in a child of the child.
                            let status = fork::fork(|| {
                                work(TensorMemory::Mem);
                                0
                            });
                            i32::from(!status.success())
                        });
                        assert!(status.success(), "{status}");
                    }
                });
            }
        });
    });
}
