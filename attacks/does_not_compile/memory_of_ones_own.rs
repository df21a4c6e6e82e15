//! A memory of one's own, in safe code, that answers with whatever address it likes.
#![forbid(unsafe_code)]

use std::ptr::NonNull;

use tenure::memory::{CpuAddress, RawMemory};
use tenure::{Buffer, RawBuffer, TensorMemory};

struct Anywhere;

impl RawMemory for Anywhere {
    fn memory(&self) -> TensorMemory {
        TensorMemory::Mem
    }

    fn size(&self) -> usize {
        usize::MAX
    }

    fn address(&self) -> CpuAddress {
        CpuAddress::Fixed(NonNull::dangling())
    }
}

fn main() {
    let buffer = Buffer::from_raw(RawBuffer::new(Anywhere, None));
    println!("{:?}", buffer.read().unwrap().as_bytes());
}
