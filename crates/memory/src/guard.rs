//! Guards that give the CPU bytes: reading and writing are different types.
//!
//! A guard owns what it guards (no lifetime), so that C, Python and other libraries can hold one.
#![expect(unsafe_code, reason = "the one place where addresses become slices")]

use std::fmt;
use std::ops::Range;
use std::ptr::NonNull;
use std::slice;
use std::sync::Arc;
use std::time::Duration;

use crate::ledger::Loan;
use crate::{Access, RawBuffer, Result};

mod rows;

pub use rows::{ReadRows, RowIter, RowIterMut, WriteRows};

/// What keeps an allocation while a guard holds bytes of it: the allocation itself, or whoever
/// owns it. A guard of a tensor keeps the tensor's parts, which saves it a second count.
///
/// # Safety
/// [`Keep::raw`] must give the same raw buffer every time, which must exist for as long as the
/// value does.
pub unsafe trait Keep: Send + Sync + 'static {
    /// The allocation kept.
    fn raw(&self) -> &RawBuffer;
}

// SAFETY: an `Arc` owns what it points to and never points to anything else.
unsafe impl Keep for Arc<RawBuffer> {
    #[inline]
    fn raw(&self) -> &RawBuffer {
        self
    }
}

/// Bytes held for some access, by address: for kernels, copies, devices and foreign code, which
/// use raw pointers. Gives no references; see [`ReadGuard`] and [`WriteGuard`] for those.
#[must_use = "the bytes are held only while the guard lives"]
pub struct Hold<K: Keep = Arc<RawBuffer>> {
    keep: K,
    /// First byte; valid for `len` bytes until dropped.
    address: NonNull<u8>,
    len: usize,
    loan: Loan,
}

// SAFETY: a hold is an address and the right to use it, which the ledger gives to whoever owns
// the hold, on any thread. The bytes are plain data without thread affinity.
unsafe impl<K: Keep> Send for Hold<K> {}
// SAFETY: as above; `&Hold` gives out only the address and numbers.
unsafe impl<K: Keep> Sync for Hold<K> {}

impl<K: Keep> Hold<K> {
    /// Holds bytes `range` of the allocation that `keep` keeps.
    ///
    /// # Errors
    /// [`crate::Error::Busy`] if somebody holds bytes of it in a way that excludes the access,
    /// and whatever keeps the bytes from being mapped.
    #[inline]
    pub fn over(keep: K, access: Access, range: Range<usize>) -> Result<Hold<K>> {
        let len = range.end.saturating_sub(range.start);
        let (address, loan) = keep.raw().enter(access, range)?;
        Ok(Hold { keep, address, len, loan })
    }

    /// As [`Hold::over`], and waits, at most so long (`None`: without end), while others hold
    /// bytes of it: a copy on its way, or whoever has a guard. A thread that waits for what it
    /// holds itself waits in vain.
    ///
    /// # Errors
    /// As [`Hold::over`]; [`crate::Error::Busy`] only after that time.
    pub fn over_wait(
        keep: K,
        access: Access,
        range: Range<usize>,
        timeout: Option<Duration>,
    ) -> Result<Hold<K>> {
        let len = range.end.saturating_sub(range.start);
        let (address, loan) = keep.raw().enter_wait(access, range, timeout)?;
        Ok(Hold { keep, address, len, loan })
    }

    /// Address of the first byte. Valid for [`Hold::len`] bytes, in the direction of
    /// [`Hold::access`], until the hold is dropped.
    #[inline]
    pub fn address(&self) -> NonNull<u8> {
        self.address
    }

    /// Number of bytes.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Which byte of the allocation is the first held; `None` for memory whose address changes,
    /// and for foreign code that has pages of its own.
    pub fn start(&self) -> Option<usize> {
        let base = self.raw().fixed_address()?;
        let start = self.address.addr().get().checked_sub(base.addr().get())?;
        Some(start).filter(|start| *start <= self.raw().size())
    }

    /// What the bytes are held for.
    #[inline]
    pub fn access(&self) -> Access {
        self.loan.access()
    }

    /// The allocation that the bytes belong to.
    #[inline]
    pub fn raw(&self) -> &RawBuffer {
        self.keep.raw()
    }

    /// What keeps the allocation.
    #[inline]
    pub fn keep(&self) -> &K {
        &self.keep
    }
}

impl<K: Keep> Drop for Hold<K> {
    #[inline]
    fn drop(&mut self) {
        let loan = self.loan.take();
        self.keep.raw().leave(self.address, loan);
    }
}

impl<K: Keep> fmt::Debug for Hold<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hold")
            .field("raw", self.raw())
            .field("len", &self.len)
            .field("access", &self.access())
            .finish_non_exhaustive()
    }
}

/// Bytes to read. Others may read them too; nobody writes them.
#[derive(Debug)]
#[must_use = "the bytes are held only while the guard lives"]
pub struct ReadGuard<K: Keep = Arc<RawBuffer>>(Hold<K>);

/// Bytes to read and write. Nobody else touches them.
#[derive(Debug)]
#[must_use = "the bytes are held only while the guard lives"]
pub struct WriteGuard<K: Keep = Arc<RawBuffer>>(Hold<K>);

impl<K: Keep> ReadGuard<K> {
    /// Bytes `range` of the allocation that `keep` keeps.
    ///
    /// # Errors
    /// As [`Hold::over`].
    #[inline]
    pub fn over(keep: K, range: Range<usize>) -> Result<ReadGuard<K>> {
        Hold::over(keep, Access::Read, range).map(ReadGuard)
    }

    /// As [`ReadGuard::over`], and waits as [`Hold::over_wait`] does.
    ///
    /// # Errors
    /// As [`Hold::over_wait`].
    pub fn over_wait(
        keep: K,
        range: Range<usize>,
        timeout: Option<Duration>,
    ) -> Result<ReadGuard<K>> {
        Hold::over_wait(keep, Access::Read, range, timeout).map(ReadGuard)
    }

    /// The bytes.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        // SAFETY: the ledger holds the range for reading, so no reference or kernel of this
        // process writes it while `self` lives; `RawMemory` promises the rest.
        unsafe { slice::from_raw_parts(self.0.address.as_ptr(), self.0.len) }
    }

    /// What is held.
    #[inline]
    pub fn hold(&self) -> &Hold<K> {
        &self.0
    }
}

impl<K: Keep> WriteGuard<K> {
    /// Bytes `range` of the allocation that `keep` keeps.
    ///
    /// # Errors
    /// As [`Hold::over`].
    #[inline]
    pub fn over(keep: K, range: Range<usize>) -> Result<WriteGuard<K>> {
        Hold::over(keep, Access::Write, range).map(WriteGuard)
    }

    /// As [`WriteGuard::over`], and waits as [`Hold::over_wait`] does.
    ///
    /// # Errors
    /// As [`Hold::over_wait`].
    pub fn over_wait(
        keep: K,
        range: Range<usize>,
        timeout: Option<Duration>,
    ) -> Result<WriteGuard<K>> {
        Hold::over_wait(keep, Access::Write, range, timeout).map(WriteGuard)
    }

    /// The bytes.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        // SAFETY: the ledger holds the range for this guard alone; `&self` keeps `as_bytes_mut`
        // from being called meanwhile.
        unsafe { slice::from_raw_parts(self.0.address.as_ptr(), self.0.len) }
    }

    /// The bytes, to write.
    #[inline]
    pub fn as_bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: the ledger holds the range for this guard alone, `&mut self` makes this the
        // only slice, and `enter` refused memory that is not writable.
        unsafe { slice::from_raw_parts_mut(self.0.address.as_ptr(), self.0.len) }
    }

    /// What is held.
    #[inline]
    pub fn hold(&self) -> &Hold<K> {
        &self.0
    }
}
