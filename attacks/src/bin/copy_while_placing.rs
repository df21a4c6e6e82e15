//! A copy inside a lazy tensor while another thread places that tensor in an arena: the copy must
//! hold the bytes that it writes, wherever they turn out to be.
#![forbid(unsafe_code)]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

use tenure::memory::kind::mem::Mem;
use tenure::{Tensor, TensorMemory};

const ROWS: usize = 2048;
const COLUMNS: usize = 16;
const SIZE: usize = ROWS * COLUMNS;

fn main() {
    let (copied, placed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    for round in 0..400 {
        // The tensor's place is the arena's second half; whoever holds that half is alone there.
        let arena = Tensor::<u8>::new(&[2 * SIZE], Some(TensorMemory::Mem), None).expect("memory");
        let half = arena.slice(0, SIZE..2 * SIZE).expect("inside");
        let lazy = Tensor::<u8>::builder(&[ROWS, COLUMNS])
            .allocator(&Arc::new(Mem))
            .lazy()
            .build()
            .expect("lazy");
        let columns = |range| lazy.slice(1, range).expect("inside");
        let (left, right) = (columns(0..COLUMNS / 2), columns(COLUMNS / 2..COLUMNS));
        let mut held = half.map().expect("free");
        held.as_mut_slice().iter_mut().enumerate().for_each(|(at, byte)| *byte = at as u8);

        let barrier = Barrier::new(2);
        thread::scope(|scope| {
            scope.spawn(|| {
                barrier.wait();
                // Refused while the half is held, or done in memory of its own.
                if right.copy_from(&left).is_ok() {
                    copied.fetch_add(1, Ordering::Relaxed);
                }
            });
            barrier.wait();
            (0..round * 20).for_each(|_| std::hint::spin_loop());
            if lazy.buffer().place_in(arena.buffer(), SIZE).is_ok() {
                placed.fetch_add(1, Ordering::Relaxed);
                assert_eq!(lazy.buffer().start(), SIZE);
            }
        });
        let mine = held.as_slice().iter().enumerate().all(|(at, byte)| *byte == at as u8);
        assert!(mine, "round {round}: bytes changed under a mutable slice");
    }
    let (copied, placed) = (copied.into_inner(), placed.into_inner());
    assert!(copied > 0 && placed > 0, "{copied} copied, {placed} placed: no race at all");
}
