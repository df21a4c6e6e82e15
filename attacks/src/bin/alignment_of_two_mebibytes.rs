//! Alignments that no page has: up to 2 MiB, memory of every kind begins where it was asked to. Larger
//! ones, up to those that only address zero has, are refused, and so is what is no alignment.
#![forbid(unsafe_code)]

use tenure::memory::{Access, Error, kind};
use tenure::{Buffer, Request, TensorMemory};
use tenure_attacks::refused;

const KINDS: [TensorMemory; 2] = [TensorMemory::Mem, TensorMemory::Shm];

fn request(bytes: usize, align: usize) -> Request<'static> {
    Request::new(bytes).and_then(|request| request.with_align(align)).expect("a power of two")
}

fn address(buffer: &Buffer) -> usize {
    buffer.hold(Access::Read, 0..1).expect("free").address().addr().get()
}

fn main() {
    for memory in KINDS {
        let allocator = kind::allocator(memory).expect("a kind that Linux has");
        // Many at a time, because one may be aligned by chance, and of sizes that fit nothing.
        let mut all = vec![];
        for align in [4096, 64 << 10, 128 << 10, 2 << 20] {
            for bytes in [1, 4095, (64 << 10) + 1, (2 << 20) - 1, (2 << 20) + 1] {
                let raw = allocator.allocate(&request(bytes, align)).expect("little memory");
                assert!(raw.size() >= bytes);
                let buffer = Buffer::from_raw(raw);
                assert_eq!(address(&buffer) % align, 0, "{memory}: {bytes} bytes at {align}");
                // All of it is there, zero, and nobody else's.
                let mut guard = buffer.write().expect("free");
                assert!(guard.as_bytes().iter().all(|byte| *byte == 0));
                guard.as_bytes_mut().fill(all.len() as u8);
                drop(guard);
                all.push(buffer);
            }
        }
        for (mark, buffer) in all.iter().enumerate() {
            let guard = buffer.read().expect("free");
            assert!(guard.as_bytes().iter().all(|byte| *byte == mark as u8), "{memory}: {mark}");
        }
        drop(all);
    }
    let request = Request::new(64).expect("a size");
    let no_powers = [0, 3, (2 << 20) - 1, (2 << 20) + 4096, usize::MAX];
    let too_large = [4 << 20, 1 << 30, 1 << 47, 1 << (usize::BITS - 1)];
    for align in no_powers.into_iter().chain(too_large) {
        refused!(request.with_align(align), Error::BadRequest { .. });
    }
}
