//! Guards over rows at a stride, which give one row at a time.
//!
//! Somebody else may hold what lies between the rows, to write it, at the same time. So there is
//! never a slice of more than one row, and every row's address is counted up from the address of
//! the first one, which the allocation's own pointer gives.
#![expect(unsafe_code, reason = "the one place where addresses become slices of rows")]

use std::fmt;
use std::iter::FusedIterator;
use std::marker::PhantomData;
use std::ops::Range;
use std::ptr::NonNull;
use std::slice;
use std::sync::Arc;
use std::time::Duration;

use super::Keep;
use crate::ledger::Loan;
use crate::{Access, RawBuffer, Result, Rows};

#[cfg(test)]
#[cfg(not(loom))]
mod tests;

/// Rows held for some access, by address.
struct RowHold<K: Keep> {
    keep: K,
    /// First byte of the first row; valid for every row until dropped.
    address: NonNull<u8>,
    rows: Rows,
    loan: Loan,
}

// SAFETY: a hold is an address and the right to use it, which the ledger gives to whoever owns
// the hold, on any thread. The bytes are plain data without thread affinity.
unsafe impl<K: Keep> Send for RowHold<K> {}
// SAFETY: as above; `&RowHold` gives out only the address and numbers.
unsafe impl<K: Keep> Sync for RowHold<K> {}

impl<K: Keep> RowHold<K> {
    fn over(keep: K, access: Access, rows: Rows) -> Result<RowHold<K>> {
        let (address, loan) = keep.raw().enter_rows(access, &rows)?;
        Ok(RowHold { keep, address, rows, loan })
    }

    fn over_wait(
        keep: K,
        access: Access,
        rows: Rows,
        timeout: Option<Duration>,
    ) -> Result<RowHold<K>> {
        let (address, loan) = keep.raw().enter_rows_wait(access, &rows, timeout)?;
        Ok(RowHold { keep, address, rows, loan })
    }

    fn cursor(&self) -> Cursor {
        Cursor { address: self.address, rows: self.rows, left: 0..self.rows.count() }
    }

    fn row(&self, index: usize) -> Option<NonNull<u8>> {
        (index < self.rows.count()).then(|| self.cursor().address_of(index))
    }
}

impl<K: Keep> Drop for RowHold<K> {
    fn drop(&mut self) {
        let loan = self.loan.take();
        self.keep.raw().leave(self.address, loan);
    }
}

impl<K: Keep> fmt::Debug for RowHold<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowHold")
            .field("raw", self.keep.raw())
            .field("rows", &self.rows)
            .field("access", &self.loan.access())
            .finish_non_exhaustive()
    }
}

/// The rows that an iterator has not given yet.
#[derive(Clone)]
struct Cursor {
    address: NonNull<u8>,
    rows: Rows,
    left: Range<usize>,
}

impl Cursor {
    /// The address of a row that exists.
    fn address_of(&self, index: usize) -> NonNull<u8> {
        // SAFETY: row `index` exists, so by `Rows::new` its start is `index * stride` behind that
        // of the first without overflow, and by `RawBuffer::enter_rows` inside the allocation that
        // `address` was derived from.
        unsafe { self.address.add(index * self.rows.stride()) }
    }
}

/// Rows to read. Others may read them too; nobody writes them. See [`crate::Buffer::read_rows`].
#[derive(Debug)]
#[must_use = "the rows are held only while the guard lives"]
pub struct ReadRows<K: Keep = Arc<RawBuffer>>(RowHold<K>);

/// Rows to read and write. Nobody else touches them; what lies between them may be in use. See
/// [`crate::Buffer::write_rows`].
#[derive(Debug)]
#[must_use = "the rows are held only while the guard lives"]
pub struct WriteRows<K: Keep = Arc<RawBuffer>>(RowHold<K>);

/// Every row of a guard, to read.
#[derive(Clone)]
#[must_use = "an iterator gives nothing until it is asked"]
pub struct RowIter<'a> {
    cursor: Cursor,
    bytes: PhantomData<&'a [u8]>,
}

/// Every row of a guard, to write: slices that share no byte.
#[must_use = "an iterator gives nothing until it is asked"]
pub struct RowIterMut<'a> {
    cursor: Cursor,
    bytes: PhantomData<&'a mut [u8]>,
}

// SAFETY: it gives `&[u8]`, which may go to any thread.
unsafe impl Send for RowIter<'_> {}
// SAFETY: `&RowIter` only clones it.
unsafe impl Sync for RowIter<'_> {}
// SAFETY: it gives `&mut [u8]`, which may go to any thread.
unsafe impl Send for RowIterMut<'_> {}
// SAFETY: `&RowIterMut` gives nothing.
unsafe impl Sync for RowIterMut<'_> {}

macro_rules! for_both_guards {
    ($guard:ident, $access:expr) => {
        impl<K: Keep> $guard<K> {
            /// Rows of the allocation that `keep` keeps.
            ///
            /// # Errors
            /// As [`crate::Hold::over`].
            pub fn over(keep: K, rows: Rows) -> Result<$guard<K>> {
                RowHold::over(keep, $access, rows).map($guard)
            }

            /// As `over`, and waits as [`crate::Hold::over_wait`] does.
            ///
            /// # Errors
            /// As [`crate::Hold::over_wait`].
            pub fn over_wait(keep: K, rows: Rows, timeout: Option<Duration>) -> Result<$guard<K>> {
                RowHold::over_wait(keep, $access, rows, timeout).map($guard)
            }

            /// Which bytes of the allocation are held.
            pub fn rows(&self) -> Rows {
                self.0.rows
            }

            /// One row, or `None` if there are not so many.
            #[inline]
            pub fn row(&self, index: usize) -> Option<&[u8]> {
                let row = self.0.row(index)?;
                // SAFETY: the ledger holds the row, so nobody writes it while `self` lives, and
                // `&self` keeps this guard from it; no other byte is in the slice.
                Some(unsafe { slice::from_raw_parts(row.as_ptr(), self.0.rows.row_len()) })
            }

            /// Every row, first to last.
            pub fn iter(&self) -> RowIter<'_> {
                RowIter { cursor: self.0.cursor(), bytes: PhantomData }
            }

            /// Address of the first byte of the first row, which the guard keeps valid for the rows
            /// and for nothing between them.
            pub fn address(&self) -> NonNull<u8> {
                self.0.address
            }

            /// The allocation that the rows belong to.
            pub fn raw(&self) -> &RawBuffer {
                self.0.keep.raw()
            }

            /// What keeps the allocation.
            pub fn keep(&self) -> &K {
                &self.0.keep
            }
        }

        impl<'a, K: Keep> IntoIterator for &'a $guard<K> {
            type Item = &'a [u8];
            type IntoIter = RowIter<'a>;

            fn into_iter(self) -> RowIter<'a> {
                self.iter()
            }
        }
    };
}

for_both_guards!(ReadRows, Access::Read);
for_both_guards!(WriteRows, Access::Write);

impl<K: Keep> WriteRows<K> {
    /// One row, to write, or `None` if there are not so many.
    #[inline]
    pub fn row_mut(&mut self, index: usize) -> Option<&mut [u8]> {
        let row = self.0.row(index)?;
        // SAFETY: the ledger holds the row for this guard alone, `&mut self` makes this the only
        // slice of it, no other byte is in the slice, and `enter_rows` refused memory that is not
        // writable.
        Some(unsafe { slice::from_raw_parts_mut(row.as_ptr(), self.0.rows.row_len()) })
    }

    /// Every row, to write, first to last. The rows share no byte, so they may go to different
    /// threads.
    pub fn iter_mut(&mut self) -> RowIterMut<'_> {
        RowIterMut { cursor: self.0.cursor(), bytes: PhantomData }
    }
}

impl<'a, K: Keep> IntoIterator for &'a mut WriteRows<K> {
    type Item = &'a mut [u8];
    type IntoIter = RowIterMut<'a>;

    fn into_iter(self) -> RowIterMut<'a> {
        self.iter_mut()
    }
}

macro_rules! for_both_iterators {
    ($iter:ident, $item:ty, $slice:path) => {
        impl<'a> $iter<'a> {
            /// The slice of a row that has not been given yet.
            fn slice(&self, index: usize) -> $item {
                let row = self.cursor.address_of(index);
                // SAFETY: the guard, which is borrowed for 'a in the way of the slice, holds the
                // row; every row is given once, and rows share no byte.
                unsafe { $slice(row.as_ptr(), self.cursor.rows.row_len()) }
            }
        }

        impl<'a> Iterator for $iter<'a> {
            type Item = $item;

            #[inline]
            fn next(&mut self) -> Option<$item> {
                self.cursor.left.next().map(|index| self.slice(index))
            }

            fn size_hint(&self) -> (usize, Option<usize>) {
                self.cursor.left.size_hint()
            }

            fn nth(&mut self, skip: usize) -> Option<$item> {
                self.cursor.left.nth(skip).map(|index| self.slice(index))
            }
        }

        impl<'a> DoubleEndedIterator for $iter<'a> {
            #[inline]
            fn next_back(&mut self) -> Option<$item> {
                self.cursor.left.next_back().map(|index| self.slice(index))
            }
        }

        impl ExactSizeIterator for $iter<'_> {}
        impl FusedIterator for $iter<'_> {}

        impl fmt::Debug for $iter<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($iter)).field("left", &self.cursor.left).finish()
            }
        }
    };
}

for_both_iterators!(RowIter, &'a [u8], slice::from_raw_parts);
for_both_iterators!(RowIterMut, &'a mut [u8], slice::from_raw_parts_mut);
