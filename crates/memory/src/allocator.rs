//! The trait of everything that makes raw buffers.

use std::sync::Arc;

use crate::{Error, LogicalMemorySpace, RawBuffer, Result, TensorMemory, kind};

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
#[must_use = "a request does nothing until an allocator is given it"]
pub struct Request<'a> {
    bytes: usize,
    align: usize,
    name: Option<&'a str>,
    cpu: CpuAccess,
    zeroed: bool,
}

impl<'a> Request<'a> {
    /// So many bytes (zero is allowed), aligned to [`ALIGNMENT`].
    ///
    /// # Errors
    /// [`Error::BadRequest`] if that is more than can be addressed.
    pub fn new(bytes: usize) -> Result<Request<'a>> {
        let cpu = CpuAccess::default();
        Request { bytes, align: ALIGNMENT, name: None, cpu, zeroed: true }.checked()
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

    /// Bytes that a pool has reused may hold what their last user left: for memory that is written
    /// whole before it is read. Without this every allocator gives zeros.
    ///
    /// ```
    /// use tenure_memory::{Allocator, Buffer, Pool, Request, TensorMemory};
    /// let pool = Pool::new(TensorMemory::Mem);
    /// let request = Request::new(4096)?;
    /// Buffer::from_raw(pool.allocate(&request)?).write()?.as_bytes_mut().fill(9);
    /// let again = Buffer::from_raw(pool.allocate(&request.without_zeroing())?);
    /// assert_eq!(again.read()?.as_bytes()[0], 9);
    /// drop(again);
    /// let zeros = Buffer::from_raw(pool.allocate(&request)?);
    /// assert_eq!(zeros.read()?.as_bytes()[0], 0);
    /// # Ok::<(), tenure_memory::Error>(())
    /// ```
    pub fn without_zeroing(self) -> Request<'a> {
        Request { zeroed: false, ..self }
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

    /// Whether every byte has to be zero.
    pub fn zeroed(&self) -> bool {
        self.zeroed
    }

    /// The name, if there is one.
    pub fn name(&self) -> Option<&'a str> {
        self.name
    }
}

/// Makes raw buffers of one memory in one space.
///
/// A [`TensorMemory`] is one: the allocator of that memory with its default options. An allocator
/// may wrap another: [`crate::Pool`] is one. References to allocators and `Arc`s of them are
/// allocators too.
///
/// ```
/// use tenure_memory::{Allocator, Pool, Request, TensorMemory};
/// let raw = TensorMemory::Mem.allocate(&Request::new(64)?)?;
/// assert_eq!(raw.memory(), TensorMemory::Mem);
/// let pool = Pool::new(TensorMemory::Mem);
/// assert_eq!(pool.memory(), TensorMemory::Mem);
/// # Ok::<(), tenure_memory::Error>(())
/// ```
pub trait Allocator: Send + Sync {
    /// The memory it makes.
    fn memory(&self) -> TensorMemory;

    /// Where that memory lives.
    fn space(&self) -> LogicalMemorySpace {
        LogicalMemorySpace::MainMemory
    }

    /// Makes one raw buffer. Its bytes are zero, unless the request is
    /// [without zeroing](Request::without_zeroing).
    ///
    /// # Errors
    /// Whatever kept the memory from serving. Nothing is left behind.
    fn allocate(&self, request: &Request<'_>) -> Result<RawBuffer>;

    /// The same allocator as a handle of its own, for buffers that allocate later
    /// ([`crate::Buffer::lazy_in`]); `None` if there is none.
    fn keep(&self) -> Option<Arc<dyn Allocator>> {
        None
    }
}

/// The allocator of that memory, with its default options; where the memory is not available,
/// allocating says why.
impl Allocator for TensorMemory {
    fn memory(&self) -> TensorMemory {
        *self
    }

    fn space(&self) -> LogicalMemorySpace {
        kind::allocator(*self).map_or(LogicalMemorySpace::MainMemory, Allocator::space)
    }

    fn allocate(&self, request: &Request<'_>) -> Result<RawBuffer> {
        kind::allocator(*self)?.allocate(request)
    }

    fn keep(&self) -> Option<Arc<dyn Allocator>> {
        Some(Arc::new(*self))
    }
}

impl<A: Allocator + ?Sized> Allocator for &A {
    fn memory(&self) -> TensorMemory {
        (**self).memory()
    }

    fn space(&self) -> LogicalMemorySpace {
        (**self).space()
    }

    fn allocate(&self, request: &Request<'_>) -> Result<RawBuffer> {
        (**self).allocate(request)
    }

    fn keep(&self) -> Option<Arc<dyn Allocator>> {
        (**self).keep()
    }
}

impl<A: Allocator + ?Sized + 'static> Allocator for Arc<A> {
    fn memory(&self) -> TensorMemory {
        (**self).memory()
    }

    fn space(&self) -> LogicalMemorySpace {
        (**self).space()
    }

    fn allocate(&self, request: &Request<'_>) -> Result<RawBuffer> {
        (**self).allocate(request)
    }

    fn keep(&self) -> Option<Arc<dyn Allocator>> {
        Some(Arc::new(Arc::clone(self)))
    }
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
