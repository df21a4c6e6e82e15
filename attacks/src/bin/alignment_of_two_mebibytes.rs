//! Alignments that no page has: 64 KiB, 2 MiB, 1 GiB, and those that only an address of all zeros
//! has. Memory of every kind begins where it was asked to, or is refused; none is near it.
#![forbid(unsafe_code)]

use tenure::memory::{Access, Error, kind};
use tenure::{Buffer, Request, TensorMemory};
use tenure_attacks::refused;

const KINDS: [TensorMemory; 2] = [TensorMemory::Mem, TensorMemory::Shm];

fn request(bytes: usize, align: usize) -> Request {
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
        // What may be more address space than there is.
        for align in [1 << 30, 1 << 40, 1 << 46, 1 << 47, 1 << 62, 1 << 63] {
            match allocator.allocate(&request(4096, align)) {
                Ok(raw) => {
                    assert_eq!(address(&Buffer::from_raw(raw)) % align, 0, "{memory}: {align}")
                }
                Err(error) => assert!(error.to_string().contains("4096"), "{memory}: {error}"),
            }
        }
    }
    let request = Request::new(64).expect("a size");
    for align in [0, 3, (2 << 20) - 1, (2 << 20) + 4096, usize::MAX] {
        refused!(request.clone().with_align(align), Error::BadRequest { .. });
    }
}
