//! Guards that give the CPU bytes: reading and writing are different types.
//!
//! A guard owns what it guards (no lifetime), so that C, Python and other libraries can hold one.
#![expect(unsafe_code, reason = "the one place where addresses become slices")]

use std::fmt;
use std::ops::Range;
use std::ptr::NonNull;
use std::slice;
use std::sync::Arc;

use crate::ledger::Loan;
use crate::{Access, RawBuffer, Result};

/// Bytes held for some access, by address: for kernels, copies, devices and foreign code, which
/// use raw pointers. Gives no references; see [`ReadGuard`] and [`WriteGuard`] for those.
pub struct Hold {
    raw: Arc<RawBuffer>,
    /// First byte; valid for `len` bytes until dropped.
    address: NonNull<u8>,
    len: usize,
    access: Access,
    /// `Some` until dropped.
    loan: Option<Loan>,
}

// SAFETY: a hold is an address and the right to use it, which the ledger gives to whoever owns
// the hold, on any thread. The bytes are plain data without thread affinity.
unsafe impl Send for Hold {}
// SAFETY: as above; `&Hold` gives out only the address and numbers.
unsafe impl Sync for Hold {}

impl Hold {
    pub(crate) fn new(raw: &Arc<RawBuffer>, access: Access, range: Range<usize>) -> Result<Hold> {
        let len = range.end.saturating_sub(range.start);
        let (address, loan) = raw.enter(access, range)?;
        Ok(Hold { raw: Arc::clone(raw), address, len, access, loan: Some(loan) })
    }

    /// Address of the first byte. Valid for [`Hold::len`] bytes, in the direction of
    /// [`Hold::access`], until the hold is dropped.
    pub fn address(&self) -> NonNull<u8> {
        self.address
    }

    /// Number of bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// What the bytes are held for.
    pub fn access(&self) -> Access {
        self.access
    }

    /// The allocation that the bytes belong to.
    pub fn raw(&self) -> &Arc<RawBuffer> {
        &self.raw
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if let Some(loan) = self.loan.take() {
            self.raw.leave(self.access, loan);
        }
    }
}

impl fmt::Debug for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hold")
            .field("raw", &self.raw)
            .field("len", &self.len)
            .field("access", &self.access)
            .finish_non_exhaustive()
    }
}

/// Bytes to read. Others may read them too; nobody writes them.
#[derive(Debug)]
pub struct ReadGuard(Hold);

/// Bytes to read and write. Nobody else touches them.
#[derive(Debug)]
pub struct WriteGuard(Hold);

impl ReadGuard {
    pub(crate) fn new(raw: &Arc<RawBuffer>, range: Range<usize>) -> Result<ReadGuard> {
        Hold::new(raw, Access::Read, range).map(ReadGuard)
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        // SAFETY: the ledger holds the range for reading, so no reference or kernel of this
        // process writes it while `self` lives; `RawMemory` promises the rest.
        unsafe { slice::from_raw_parts(self.0.address.as_ptr(), self.0.len) }
    }

    /// What is held.
    pub fn hold(&self) -> &Hold {
        &self.0
    }
}

impl WriteGuard {
    pub(crate) fn new(raw: &Arc<RawBuffer>, range: Range<usize>) -> Result<WriteGuard> {
        Hold::new(raw, Access::Write, range).map(WriteGuard)
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        // SAFETY: the ledger holds the range for this guard alone; `&self` keeps `as_bytes_mut`
        // from being called meanwhile.
        unsafe { slice::from_raw_parts(self.0.address.as_ptr(), self.0.len) }
    }

    /// The bytes, to write.
    pub fn as_bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: the ledger holds the range for this guard alone, `&mut self` makes this the
        // only slice, and `enter` refused memory that is not writable.
        unsafe { slice::from_raw_parts_mut(self.0.address.as_ptr(), self.0.len) }
    }

    /// What is held.
    pub fn hold(&self) -> &Hold {
        &self.0
    }
}
