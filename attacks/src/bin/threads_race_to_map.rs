//! Many threads that map one tensor at the same moment, whole or in part, through several handles
//! and two mappings. At any time a byte has one writer or any number of readers.
#![forbid(unsafe_code)]

use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use tenure::memory::{Protection, import};
use tenure::{Tensor, TensorMemory};
use tenure_attacks::{memory, refused};

const THREADS: usize = 4;
const BYTES: usize = 256;

fn exactly_one_wins() {
    let tensor = Tensor::<u8>::new(&[BYTES], Some(TensorMemory::Mem), None).expect("memory");
    for _ in 0..500 {
        let (start, end) = (Barrier::new(THREADS), Barrier::new(THREADS));
        let wins = thread::scope(|scope| {
            let race = || {
                start.wait();
                let answer = tensor.map();
                end.wait();
                match answer {
                    Ok(_) => 1,
                    error => {
                        refused!(error, memory!(Busy { .. }));
                        0
                    }
                }
            };
            let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(race)).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).sum::<usize>()
        });
        assert_eq!(wins, 1);
    }
}

/// Each writer puts its mark on every byte, and must find only its own.
fn nobody_sees_another() {
    let shared = Tensor::<u8>::new(&[BYTES], Some(TensorMemory::Shm), None).expect("memory");
    let fd = shared.clone_fd().expect("it has one");
    let reading = import(&fd, BYTES, Protection::ReadOnly, None).expect("a second mapping");
    let (written, read) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for mark in 1..=THREADS {
            let (shared, reading, written, read) = (&shared, &reading, &written, &read);
            scope.spawn(move || {
                for round in 0..4000 {
                    let start = (round * 37 + mark * 11) % (BYTES - 64);
                    let part = shared.slice(0, start..start + 64).expect("inside");
                    if let Ok(mut map) = part.map() {
                        map.as_mut_slice().fill(mark as u8);
                        assert!(map.as_slice().iter().all(|byte| *byte == mark as u8));
                        written.fetch_add(1, Ordering::Relaxed);
                    }
                    if let Ok(guard) = reading.read_range(start..start + 64) {
                        let first: Vec<u8> = guard.as_bytes().to_vec();
                        assert_eq!(first, guard.as_bytes());
                        read.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    assert!(written.into_inner() > 0 && read.into_inner() > 0);
    drop(shared.map().expect("everything was given back"));
}

fn main() {
    exactly_one_wins();
    nobody_sees_another();
}
