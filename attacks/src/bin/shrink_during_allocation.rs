//! A thread that finds memory files by their names in `/proc/self/fd` and shortens them in the
//! moment between being made and being sealed.
#![forbid(unsafe_code)]

use std::fs::OpenOptions;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tenure::{Tensor, TensorMemory};
use tenure_attacks::open_memory_files;

const SIZE: usize = 1 << 20;

fn main() {
    let done = AtomicBool::new(false);
    let (start, mut made) = (Instant::now(), 0);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                for path in open_memory_files() {
                    if let Ok(file) = OpenOptions::new().write(true).open(path) {
                        let _ = file.set_len(0);
                    }
                }
            }
        });
        while start.elapsed() < Duration::from_secs(2) {
            // Refusing is right, and so is memory that can be touched.
            if let Ok(tensor) = Tensor::<u8>::new(&[SIZE], Some(TensorMemory::Shm), None) {
                let mut map = tensor.map().expect("free");
                map.as_mut_slice().fill(1);
                assert!(map.as_slice().iter().all(|byte| *byte == 1));
                made += 1;
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(made > 0, "every allocation was refused");
}
