//! A lazy buffer that asked for a large alignment, placed where the offset is a multiple of it and
//! the address is not.
#![forbid(unsafe_code)]

use std::sync::Arc;

use tenure::memory::kind::{self, mem::Mem};
use tenure::memory::{Access, Error};
use tenure::{Buffer, Request, TensorMemory};
use tenure_attacks::refused;

const ALIGN: usize = 1 << 16;

fn main() {
    let mem = kind::allocator(TensorMemory::Mem).expect("the heap");
    let request = Request::new(512).and_then(|request| request.with_align(ALIGN));
    let request = request.expect("a power of two");
    let lazy = || Buffer::lazy_in(Arc::new(Mem), &request);
    let own = lazy();
    assert_eq!(address(&own) % ALIGN, 0);

    // Several arenas, because one may be aligned by chance.
    let arenas: Vec<_> = (0..8).map(|_| Buffer::lazy(mem, 1000, None).expect("an arena")).collect();
    for arena in &arenas {
        let placed = lazy();
        match placed.place_in(arena, 0) {
            Ok(()) => assert_eq!(address(&placed) % ALIGN, 0, "placed off its alignment"),
            error => refused!(error, Error::Misaligned { .. }),
        }
        refused!(lazy().place_in(arena, 256), Error::Misaligned { .. });
    }
}

fn address(buffer: &Buffer) -> usize {
    buffer.hold(Access::Read, 0..1).expect("free").address().addr().get()
}
