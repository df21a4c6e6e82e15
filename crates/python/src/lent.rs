//! Addresses that are used after the buffer they came with was released.
//!
//! `torch.frombuffer` asks for a buffer, releases it at once, and keeps the object and the address.
//! So an object that gave an address holds the bytes for as long as it exists itself: publishing
//! then parts the object from the frame or sends a copy, and pages that such code may still write
//! to are not used again.
//!
//! Two requests tell that this is not needed for memory that may be written. `memoryview()`, and
//! with it numpy, asks for everything (`PyBUF_FULL_RO`) and holds the buffer until the last view is
//! gone. Code that reads bytes and returns (`file.write`, `hashlib`) asks for nothing
//! (`PyBUF_SIMPLE`). Otherwise a tensor could never be published without a copy once an array of
//! it existed.

use std::ffi::c_int;
use std::sync::OnceLock;

use pyo3::ffi::{PyBUF_FULL_RO, PyBUF_SIMPLE};
use tenure::memory::{Access, Hold};
use tenure::{TensorDyn, TensorMemory};

use crate::fail::Answer;

/// What an object holds because it gave an address. Dropped with the object.
#[derive(Default)]
pub(crate) struct Lent {
    read: OnceLock<Hold>,
    written: OnceLock<Hold>,
}

impl Lent {
    /// Remembers that somebody got a buffer of the tensor, with these flags.
    pub(crate) fn buffer(&self, tensor: &TensorDyn, read_only: bool, flags: c_int) -> Answer<()> {
        let held_otherwise = flags == PyBUF_FULL_RO || flags == PyBUF_SIMPLE;
        if held_otherwise && !read_only { Ok(()) } else { self.address(tensor, read_only) }
    }

    /// Remembers that somebody got an address of the tensor's elements.
    pub(crate) fn address(&self, tensor: &TensorDyn, read_only: bool) -> Answer<()> {
        // Other memory is published as a copy in any case.
        let published = matches!(tensor.memory(), TensorMemory::Shm | TensorMemory::Dma);
        let (place, access) = match read_only {
            true => (&self.read, Access::ExportRead),
            false if !published => return Ok(()),
            false => (&self.written, Access::ExportWrite),
        };
        if place.get().is_none() {
            let hold = tensor.buffer().hold(access, tensor.layout().span())?;
            place.get_or_init(|| hold);
        }
        Ok(())
    }
}
