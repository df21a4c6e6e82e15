//! The trait of everything that makes raw buffers.

use crate::{Error, LogicalMemorySpace, RawBuffer, Result, TensorMemory};

/// What every allocation is aligned to unless more is asked for: a multiple of every cache line
/// and vector register in use, and what DLPack recommends.
pub const ALIGNMENT: usize = 256;

/// The largest alignment that can be asked for: a large page.
pub(crate) const LARGEST_ALIGNMENT: usize = 2 << 20;

/// The address of buffers without bytes: aligned like all others, and never read.
pub(crate) fn nowhere() -> std::ptr::NonNull<u8> {
    std::ptr::NonNull::without_provenance(
        const { std::num::NonZero::new(LARGEST_ALIGNMENT).unwrap() },
    )
}

/// What the CPU will do with memory that devices use too. A hint: only memory that the CPU can do
/// without is made differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CpuAccess {
    /// Nothing: the memory is not mapped, and mapping it is an error.
    None,
    /// Reading.
    Read,
    /// Writing all of it.
    Write,
    /// Reading and writing.
    #[default]
    ReadWrite,
}

/// What is asked of an allocator.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    bytes: usize,
    align: usize,
    name: Option<&'a str>,
    cpu: CpuAccess,
}

impl<'a> Request<'a> {
    /// So many bytes (zero is allowed), aligned to [`ALIGNMENT`].
    ///
    /// # Errors
    /// [`Error::BadRequest`] if that is more than can be addressed.
    pub fn new(bytes: usize) -> Result<Request<'a>> {
        Request { bytes, align: ALIGNMENT, name: None, cpu: CpuAccess::default() }.checked()
    }

    /// With a larger alignment: a power of two up to 2 MiB.
    ///
    /// # Errors
    /// [`Error::BadRequest`] for any other alignment.
    pub fn with_align(self, align: usize) -> Result<Request<'a>> {
        if !align.is_power_of_two() || align > LARGEST_ALIGNMENT {
            return Err(Error::BadRequest { bytes: self.bytes, align });
        }
        Request { align: align.max(ALIGNMENT), ..self }.checked()
    }

    /// With a name, for reports and error messages.
    pub fn with_name(self, name: Option<&'a str>) -> Request<'a> {
        Request { name, ..self }
    }

    /// With what the CPU will do.
    pub fn with_cpu(self, cpu: CpuAccess) -> Request<'a> {
        Request { cpu, ..self }
    }

    fn checked(self) -> Result<Request<'a>> {
        // Rounding up to the alignment or to a page must not overflow later.
        let room = isize::MAX as usize - LARGEST_ALIGNMENT;
        if self.bytes > room {
            return Err(Error::BadRequest { bytes: self.bytes, align: self.align });
        }
        Ok(self)
    }

    /// Bytes asked for.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// What the address must be a multiple of.
    pub fn align(&self) -> usize {
        self.align
    }

    /// What the CPU will do.
    pub fn cpu(&self) -> CpuAccess {
        self.cpu
    }

    /// The name, if there is one.
    pub fn name(&self) -> Option<&'a str> {
        self.name
    }
}

/// Makes raw buffers of one memory in one space.
///
/// An allocator may wrap another: [`crate::Pool`] is one.
pub trait Allocator: Send + Sync {
    /// The memory it makes.
    fn memory(&self) -> TensorMemory;

    /// Where that memory lives.
    fn space(&self) -> LogicalMemorySpace {
        LogicalMemorySpace::MainMemory
    }

    /// Makes one raw buffer. New bytes are zero; a wrapper that reuses memory says so in its
    /// documentation.
    ///
    /// # Errors
    /// Whatever kept the memory from serving. Nothing is left behind.
    fn allocate(&self, request: &Request<'_>) -> Result<RawBuffer>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_requests_are_refused() {
        assert!(Request::new(0).is_ok());
        assert!(Request::new(usize::MAX).is_err());
        assert!(Request::new(isize::MAX as usize).is_err());
        let request = Request::new(1).unwrap();
        assert!(request.with_align(0).is_err());
        assert!(request.with_align(3).is_err());
        assert!(request.with_align(4 << 20).is_err());
        assert_eq!(request.with_align(64).unwrap().align(), ALIGNMENT);
        assert_eq!(request.with_align(4096).unwrap().align(), 4096);
    }
}
