//! A byte range of a raw buffer: lazy, cheap to clone, sliceable, placed exactly once.
#![expect(unsafe_code, reason = "offers raw pointers to schedulers that guarantee exclusive use")]

use std::fmt;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;

use crate::identity::OwnIdentity;
use crate::once::Once;
use crate::{
    Access, Allocator, BufferIdentity, Error, Hold, LogicalMemorySpace, Place, RawBuffer,
    ReadGuard, Request, Result, TensorMemory, WriteGuard,
};

mod align;
mod names;
mod owner;
mod placing;
mod rows;

/// A byte range of an allocation that exists, or of one that will be made when first touched.
///
/// Clones and slices share the allocation; a lazy buffer gets its bytes exactly once, from its
/// allocator or inside an arena, and every clone and slice made before follows.
///
/// ```
/// use tenure_memory::{Buffer, TensorMemory, kind};
/// let buffer = Buffer::lazy(kind::allocator(TensorMemory::Mem)?, 1024, Some("scratch"))?;
/// assert!(!buffer.is_placed());
/// let half = buffer.slice(512..1024)?;
/// half.write()?.as_bytes_mut().fill(7);
/// assert!(buffer.is_placed());
/// assert_eq!(buffer.read()?.as_bytes()[512], 7);
/// # Ok::<(), tenure_memory::Error>(())
/// ```
#[derive(Clone)]
pub struct Buffer {
    root: Arc<Root>,
    /// Bytes from the root's first byte.
    offset: usize,
    len: usize,
}

/// What all clones and slices of a buffer share.
struct Root {
    identity: OwnIdentity,
    len: usize,
    align: usize,
    zeroed: bool,
    name: Option<Arc<str>>,
    memory: TensorMemory,
    space: LogicalMemorySpace,
    place: Once<Placed>,
    source: Source,
}

/// Who makes the bytes.
enum Source {
    /// They existed before the buffer.
    Made,
    Static(&'static dyn Allocator),
    Kept(Arc<dyn Allocator>),
}

/// Where a root's bytes are.
#[derive(Debug)]
struct Placed {
    raw: Arc<RawBuffer>,
    offset: usize,
    /// Address of the byte at `offset`, if it never changes.
    first: Option<NonNull<u8>>,
    /// What the plan that chose the place calls the buffer.
    planned: Option<Box<str>>,
}

// SAFETY: the address is a copy of what the raw buffer answers, which is `Send + Sync` itself; it is
// given out by an unsafe function only.
unsafe impl Send for Placed {}
// SAFETY: as above.
unsafe impl Sync for Placed {}

impl Placed {
    /// At `offset`, which is inside the allocation.
    fn new(raw: Arc<RawBuffer>, offset: usize) -> Placed {
        let inside = raw.fixed_address().filter(|_| offset <= raw.size());
        // SAFETY: inside the allocation, or one past its end.
        let first = inside.map(|base| unsafe { base.add(offset) });
        Placed { raw, offset, first, planned: None }
    }
}

impl Buffer {
    /// All bytes of an allocation.
    pub fn from_raw(raw: RawBuffer) -> Buffer {
        Buffer::from_shared(Arc::new(raw))
    }

    /// All bytes of an allocation that others hold too.
    pub fn from_shared(raw: Arc<RawBuffer>) -> Buffer {
        Buffer::named(raw, None)
    }

    /// As [`Buffer::from_shared`], under a name of its own if there is one.
    pub(crate) fn named(raw: Arc<RawBuffer>, name: Option<&str>) -> Buffer {
        let len = raw.size();
        let root = Root {
            identity: raw.identity().same(),
            len,
            align: 1,
            zeroed: true,
            name: name.or(raw.name()).map(Arc::from),
            memory: raw.memory(),
            space: raw.space(),
            place: Once::with(Placed::new(raw, 0)),
            source: Source::Made,
        };
        Buffer { root: Arc::new(root), offset: 0, len }
    }

    /// Bytes that `allocator` will make when they are first touched.
    ///
    /// # Errors
    /// If so many bytes cannot be addressed.
    pub fn lazy(
        allocator: &'static dyn Allocator,
        bytes: usize,
        name: Option<&str>,
    ) -> Result<Buffer> {
        let request = Request::new(bytes)?.with_name(name);
        Ok(Buffer::unplaced(&request, allocator, Source::Static(allocator)))
    }

    /// As [`Buffer::lazy`], with an allocator that the buffer keeps (a pool, say) and a request
    /// that may ask for more alignment.
    pub fn lazy_in(allocator: Arc<dyn Allocator>, request: &Request<'_>) -> Buffer {
        let kept = Source::Kept(Arc::clone(&allocator));
        Buffer::unplaced(request, allocator.as_ref(), kept)
    }

    fn unplaced(request: &Request<'_>, allocator: &dyn Allocator, source: Source) -> Buffer {
        let root = Root {
            identity: OwnIdentity::new(),
            len: request.bytes(),
            align: request.align(),
            zeroed: request.zeroed(),
            name: request.name().map(Arc::from),
            memory: allocator.memory(),
            space: allocator.space(),
            place: Once::new(),
            source,
        };
        Buffer { root: Arc::new(root), offset: 0, len: request.bytes() }
    }

    /// Who makes the bytes, or would have if they were not placed elsewhere; `None` for a buffer
    /// whose bytes existed before it.
    pub fn allocator(&self) -> Option<&dyn Allocator> {
        match &self.root.source {
            Source::Made => None,
            Source::Static(allocator) => Some(*allocator),
            Source::Kept(allocator) => Some(allocator.as_ref()),
        }
    }

    /// The place, made now if it does not exist.
    #[inline]
    fn placed(&self) -> Result<&Placed> {
        match self.root.place.get() {
            Some(placed) => Ok(placed),
            None => self.make_place(),
        }
    }

    #[cold]
    fn make_place(&self) -> Result<&Placed> {
        self.root.place.get_or_make(|| self.root.allocate())
    }

    /// Makes sure that the bytes exist.
    ///
    /// # Errors
    /// If they have to be allocated and cannot be.
    pub fn ensure(&self) -> Result<()> {
        self.placed().map(|_| ())
    }

    /// Whether the bytes exist.
    pub fn is_placed(&self) -> bool {
        self.root.place.get().is_some()
    }

    /// The bytes `range` of this buffer.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] if it leaves the buffer.
    pub fn slice(&self, range: Range<usize>) -> Result<Buffer> {
        let Range { start, end } = range;
        match end.checked_sub(start) {
            Some(len) if end <= self.len => {
                Ok(Buffer { root: Arc::clone(&self.root), offset: self.offset + start, len })
            }
            _ => Err(Error::from(crate::detail::OutOfBounds { start, end, len: self.len })),
        }
    }

    fn slice_of(&self, start: usize, len: usize) -> Result<Buffer> {
        self.slice(start..start.saturating_add(len))
    }

    /// Number of bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The memory the bytes are, or will be, obtained with.
    pub fn memory(&self) -> TensorMemory {
        self.root.place.get().map_or(self.root.memory, |placed| placed.raw.memory())
    }

    /// Where the bytes live, or will live.
    pub fn space(&self) -> LogicalMemorySpace {
        self.root.place.get().map_or(self.root.space, |placed| placed.raw.space())
    }

    /// Which buffer this is; the same for its clones and slices. For a buffer made from an
    /// allocation it is the allocation's.
    pub fn identity(&self) -> &BufferIdentity {
        #[cfg(linux_like)]
        if let Some(own) = self.root.place.get().and_then(|placed| placed.raw.parted_identity()) {
            return own;
        }
        &self.root.identity
    }

    /// Where the bytes are; `None` while they do not exist.
    pub fn place(&self) -> Option<Place> {
        let placed = self.root.place.get()?;
        let start = placed.offset + self.offset;
        let allocation = placed.raw.identity().id();
        Some(Place { allocation, range: start..start + self.len })
    }

    /// Which byte of the buffer that [`Buffer::identity`] names this one starts at: 0, but for
    /// slices. It does not depend on where an arena has the bytes.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Whether this is a part of the buffer that [`Buffer::identity`] names, not all of it.
    pub fn is_slice(&self) -> bool {
        self.len != self.root.len
    }

    /// Which byte of the allocation the buffer starts at; of the lazy buffer while there is none.
    pub fn start(&self) -> usize {
        self.root.place.get().map_or(0, |placed| placed.offset) + self.offset
    }

    /// Whether some byte belongs to both buffers. Two lazy buffers without a place share bytes
    /// exactly if they are slices of one buffer that overlap.
    pub fn aliases(&self, other: &Buffer) -> bool {
        if Arc::ptr_eq(&self.root, &other.root) {
            let start = self.offset.max(other.offset);
            return start < (self.offset + self.len).min(other.offset + other.len);
        }
        match (self.place(), other.place()) {
            (Some(own), Some(others)) => own.overlaps(&others),
            _ => false,
        }
    }

    /// The allocation the bytes are in, made now if it does not exist.
    ///
    /// # Errors
    /// If it has to be made and cannot be.
    pub fn raw(&self) -> Result<&Arc<RawBuffer>> {
        self.placed().map(|placed| &placed.raw)
    }

    /// Holds `range` of the bytes for `access`.
    ///
    /// # Errors
    /// [`Error::Busy`] if somebody holds bytes of it in a way that excludes the access, and
    /// whatever keeps the bytes from being allocated or mapped.
    #[inline]
    pub fn hold(&self, access: Access, range: Range<usize>) -> Result<Hold> {
        let (placed, range) = self.locate(range)?;
        Hold::over(Arc::clone(&placed.raw), access, range).map_err(|error| self.named_in(error))
    }

    /// Holds bytes of the whole allocation that this buffer lies in: for work on several parts
    /// of one allocation that interleave.
    ///
    /// # Errors
    /// As [`Buffer::hold`].
    pub fn hold_around(&self, access: Access, range: Range<usize>) -> Result<Hold> {
        let hold = Hold::over(Arc::clone(&self.placed()?.raw), access, range);
        hold.map_err(|error| self.named_in(error))
    }

    /// All bytes, to read.
    ///
    /// # Errors
    /// As [`Buffer::hold`].
    #[inline]
    pub fn read(&self) -> Result<ReadGuard> {
        self.read_range(0..self.len)
    }

    /// Some bytes, to read.
    ///
    /// # Errors
    /// As [`Buffer::hold`].
    #[inline]
    pub fn read_range(&self, range: Range<usize>) -> Result<ReadGuard> {
        let (placed, range) = self.locate(range)?;
        ReadGuard::over(Arc::clone(&placed.raw), range).map_err(|error| self.named_in(error))
    }

    /// As [`Buffer::hold`], and waits as [`Hold::over_wait`] does.
    ///
    /// # Errors
    /// As [`Hold::over_wait`].
    pub fn hold_wait(
        &self,
        access: Access,
        range: Range<usize>,
        timeout: Option<Duration>,
    ) -> Result<Hold> {
        let (placed, range) = self.locate(range)?;
        let hold = Hold::over_wait(Arc::clone(&placed.raw), access, range, timeout);
        hold.map_err(|error| self.named_in(error))
    }

    /// All bytes, to write.
    ///
    /// # Errors
    /// As [`Buffer::hold`], and [`Error::ReadOnly`].
    #[inline]
    pub fn write(&self) -> Result<WriteGuard> {
        self.write_range(0..self.len)
    }

    /// Some bytes, to write.
    ///
    /// # Errors
    /// As [`Buffer::write`].
    #[inline]
    pub fn write_range(&self, range: Range<usize>) -> Result<WriteGuard> {
        let (placed, range) = self.locate(range)?;
        WriteGuard::over(Arc::clone(&placed.raw), range).map_err(|error| self.named_in(error))
    }

    /// The allocation, if it exists.
    #[inline]
    pub fn raw_if_placed(&self) -> Option<&Arc<RawBuffer>> {
        self.root.place.get().map(|placed| &placed.raw)
    }

    /// How many bytes of `range` are in main memory now, of a mapped file; `None` if there is no
    /// saying (see [`RawBuffer::resident`]).
    pub fn resident(&self, range: Range<usize>) -> Option<usize> {
        let raw = self.raw_if_placed()?;
        raw.resident(self.range_in_raw(range).ok()?)
    }

    /// Where `range` of this buffer is in its allocation, made now if it does not exist.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`], or why the bytes cannot be allocated.
    #[inline]
    pub fn range_in_raw(&self, range: Range<usize>) -> Result<Range<usize>> {
        self.locate(range).map(|(_, range)| range)
    }

    /// The place, and `range` of this buffer as a range of the allocation.
    #[inline]
    fn locate(&self, range: Range<usize>) -> Result<(&Placed, Range<usize>)> {
        let Range { start, end } = range;
        match self.root.place.get() {
            Some(placed) if start <= end && end <= self.len => {
                let base = placed.offset + self.offset;
                Ok((placed, base + start..base + end))
            }
            _ => self.locate_slowly(range),
        }
    }

    /// What no quick way has an answer to: the place does not exist, or the range is outside.
    #[cold]
    fn locate_slowly(&self, range: Range<usize>) -> Result<(&Placed, Range<usize>)> {
        let Range { start, end } = range;
        if start > end || end > self.len {
            return Err(Error::from(crate::detail::OutOfBounds { start, end, len: self.len }));
        }
        let placed = self.make_place()?;
        let base = placed.offset + self.offset;
        Ok((placed, base + start..base + end))
    }

    /// The address of the first byte, without an entry in the ledger: for schedulers that
    /// guarantee exclusive use themselves.
    ///
    /// # Errors
    /// If the bytes cannot be allocated, or have no address that stays the same.
    ///
    /// # Safety
    /// The address is valid for [`Buffer::len`] bytes while some clone of this buffer exists. The
    /// caller must not let its use of the bytes overlap in time with a conflicting guard, kernel
    /// or other raw use (writes with anything, reads with writes), must not write to read-only
    /// memory, and must do itself what the memory needs around CPU access (DMA-BUF).
    #[inline]
    pub unsafe fn as_ptr(&self) -> Result<NonNull<u8>> {
        match self.root.place.get().and_then(|placed| placed.first) {
            // SAFETY: the buffer lies inside the allocation: slices and places are checked.
            Some(first) => Ok(unsafe { first.add(self.offset) }),
            None => self.make_address(),
        }
    }

    /// [`Buffer::as_ptr`] of a buffer that has no place yet, or no address.
    #[cold]
    fn make_address(&self) -> Result<NonNull<u8>> {
        let first = self.make_place()?.first;
        let (memory, space) = (self.memory(), self.space());
        let first = first.ok_or(Error::NotMappable { memory, space })?;
        // SAFETY: the buffer lies inside the allocation: slices and places are checked.
        Ok(unsafe { first.add(self.offset) })
    }
}

impl Root {
    fn allocate(&self) -> Result<Placed> {
        let request =
            Request::new(self.len)?.with_align(self.align)?.with_name(self.name.as_deref());
        let request = if self.zeroed { request } else { request.without_zeroing() };
        let raw = match &self.source {
            Source::Static(allocator) => allocator.allocate(&request)?,
            Source::Kept(allocator) => allocator.allocate(&request)?,
            Source::Made => unreachable!("a buffer made from an allocation has its place"),
        };
        if raw.size() < self.len {
            // Anybody can write an allocator: it is measured, not believed.
            return Err(Error::from(crate::detail::OutOfBounds {
                start: 0,
                end: self.len,
                len: raw.size(),
            }));
        }
        Ok(Placed::new(Arc::new(raw), 0))
    }
}

impl AsRef<Buffer> for Buffer {
    fn as_ref(&self) -> &Buffer {
        self
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffer")
            .field("id", &self.root.identity.id())
            .field("memory", &self.root.memory)
            .field("range", &(self.offset..self.offset + self.len))
            .field("placed", &self.is_placed())
            .finish_non_exhaustive()
    }
}
