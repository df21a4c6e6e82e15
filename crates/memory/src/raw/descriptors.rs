//! The descriptor of an allocation: lent, given to devices, sealed.
#![expect(unsafe_code, reason = "a function whose caller promises to keep a descriptor to itself")]

use std::os::fd::BorrowedFd;

use super::RawBuffer;
use crate::{Error, Result};

impl RawBuffer {
    /// The descriptor that shares this memory. Whoever has seen it may have kept it, so a pool
    /// does not hand this memory out again.
    ///
    /// # Errors
    /// [`Error::NoDescriptor`] if it has none.
    pub fn descriptor(&self) -> Result<BorrowedFd<'_>> {
        let fd = self.own_descriptor()?;
        self.mark_shared();
        Ok(fd)
    }

    /// The descriptor, for a driver in this process that imports the memory: pools go on reusing
    /// the memory, which [`RawBuffer::descriptor`] keeps them from.
    ///
    /// # Errors
    /// [`Error::NoDescriptor`] if it has none.
    ///
    /// # Safety
    /// A pool may give the bytes to another owner while somebody still has the descriptor, so the
    /// caller must not let anybody reach the bytes through it: not keep or pass on a duplicate, and
    /// not use what a driver made of it except for work that holds the bytes in their ledger. The
    /// import has to be let go of when [`RawBuffer::identity`] is gone (see
    /// [`RawBuffer::when_freed`]).
    pub unsafe fn device_descriptor(&self) -> Result<BorrowedFd<'_>> {
        self.own_descriptor()
    }

    /// The descriptor, for requests to the kernel that nobody else sees it in.
    pub(crate) fn own_descriptor(&self) -> Result<BorrowedFd<'_>> {
        let core = self.core();
        core.memory.descriptor().ok_or(Error::NoDescriptor { memory: core.kind })
    }

    /// Makes the kernel refuse writing to everybody that gets the descriptor from now on.
    ///
    /// # Errors
    /// [`Error::NotSealable`] if the kernel cannot do that for this memory.
    pub fn seal_for_others(&self) -> Result<()> {
        self.core().memory.seal_for_others()
    }
}
