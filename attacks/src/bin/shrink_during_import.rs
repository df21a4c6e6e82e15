//! A peer that shortens its memory file, and only then seals it, between the moment its size is
//! looked at and the moment it is mapped.
#![forbid(unsafe_code)]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use tenure::Tensor;
use tenure_attacks::{memory, refused};

const SIZE: usize = 8192;

fn main() {
    let (ready, turn) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let (start, mut round) = (Instant::now(), 0);
    let (mut imported, mut noticed) = (0, 0);
    // Longer where other work keeps the two from running at the same time.
    let raced = |imported: u32, noticed: u32| imported > 0 && noticed > 0;
    while start.elapsed() < Duration::from_secs(3)
        || !raced(imported, noticed) && start.elapsed() < Duration::from_secs(60)
    {
        round += 1;
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let fd = memfd_create("theirs", flags).expect("a memory file");
        ftruncate(&fd, SIZE as u64).expect("its size");
        thread::scope(|scope| {
            scope.spawn(|| {
                ready.store(round, Ordering::Release);
                while turn.load(Ordering::Acquire) != round {}
                // A little later each time, to meet every moment of the import.
                (0..round % 600).for_each(|_| std::hint::spin_loop());
                let _ = ftruncate(&fd, 0);
                let _ = fcntl_add_seals(&fd, SealFlags::SHRINK);
            });
            while ready.load(Ordering::Acquire) != round {
                thread::yield_now();
            }
            turn.store(round, Ordering::Release);
            if round % 8 == 0 {
                // Also where both share a processor.
                thread::sleep(Duration::from_micros(50));
            }
            match Tensor::<u8>::from_fd(&fd, &[SIZE], None) {
                // What was imported can be touched, all of it.
                Ok(tensor) => {
                    assert_eq!(tensor.map().expect("free").as_slice(), [0; SIZE]);
                    imported += 1;
                }
                error => {
                    refused!(error, memory!(TooShort { .. }));
                    noticed += 1;
                }
            }
        });
    }
    assert!(raced(imported, noticed), "{imported} imported, {noticed} noticed: no race at all");
}
