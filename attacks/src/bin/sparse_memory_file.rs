//! A memory file of terabytes that takes no memory, until somebody reads it: then it takes the
//! reader's. Alone and as many small ones.
#![forbid(unsafe_code)]

use std::os::fd::OwnedFd;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use tenure::{Tensor, memory};

fn file(bytes: u64) -> OwnedFd {
    let flags = MemfdFlags::ALLOW_SEALING | MemfdFlags::CLOEXEC;
    let fd = memfd_create("nothing", flags).expect("a memory file");
    ftruncate(&fd, bytes).expect("a size costs nothing");
    fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::GROW).expect("it can be sealed");
    fd
}

fn main() {
    let error = Tensor::<u8>::from_fd(file(1 << 42), &[1 << 42], None).expect_err("refused");
    assert!(error.to_string().contains("never written"), "{error}");
    // The description may be small: what is mapped counts.
    let error = Tensor::<u8>::from_fd(file(1 << 42), &[4096], None).expect_err("refused");
    assert!(error.to_string().contains("never written"), "{error}");

    let mut all = vec![];
    let error = loop {
        assert!(all.len() < 4096, "a terabyte");
        match memory::import(file(256 << 20), 0, memory::Protection::ReadOnly, None) {
            Ok(buffer) => all.push(buffer),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, memory::Error::Sparse { .. }), "{error}");
    all.clear();
    memory::import(file(256 << 20), 0, memory::Protection::ReadOnly, None).expect("there is room");
}
