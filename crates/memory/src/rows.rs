//! Rows of bytes at a stride: what a rectangle of an image is in memory.

use std::ops::Range;

use crate::{Error, Result};

#[cfg(test)]
#[cfg(not(loom))]
mod tests;

/// Rows of `len` bytes every `stride` bytes: which bytes a rectangle of a padded image, or some
/// columns of a matrix, consist of. The bytes between two rows do not belong to it.
///
/// ```
/// use tenure_memory::Rows;
/// // The left and the right half of an image of 4 rows of 6 bytes.
/// let left = Rows::new(0, 3, 6, 4)?;
/// let right = Rows::new(3, 3, 6, 4)?;
/// assert_eq!(left.row(1), Some(6..9));
/// assert!(!left.overlaps(&right));
/// assert!(left.overlaps(&Rows::from(8..9)));
/// # Ok::<(), tenure_memory::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rows {
    start: usize,
    /// At most `stride` if there are several rows.
    len: usize,
    stride: usize,
    count: usize,
    /// One past the last byte.
    end: usize,
}

impl Rows {
    /// `count` rows of `len` bytes, the first at byte `start`, each `stride` bytes behind the one
    /// before.
    ///
    /// # Errors
    /// [`Error::BadRows`] if the rows overlap (`stride` is less than `len`), or their last byte
    /// cannot be addressed.
    pub fn new(start: usize, len: usize, stride: usize, count: usize) -> Result<Rows> {
        let bad = || Err(Error::from(crate::detail::BadRows { start, len, stride, count }));
        if count > 1 && stride < len {
            return bad();
        }
        let Some(steps) = count.checked_sub(1) else {
            return Ok(Rows { start, len, stride, count, end: start });
        };
        let last = steps.checked_mul(stride).and_then(|last| last.checked_add(start));
        match last.and_then(|last| last.checked_add(len)) {
            Some(end) => Ok(Rows { start, len, stride, count, end }),
            None => bad(),
        }
    }

    /// First byte of the first row.
    pub fn start(&self) -> usize {
        self.start
    }

    /// Bytes of each row.
    pub fn row_len(&self) -> usize {
        self.len
    }

    /// Bytes from the start of one row to the start of the next.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// Number of rows.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Everything from the first to the last byte, and what lies between the rows.
    pub fn span(&self) -> Range<usize> {
        self.start..self.end
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0 || self.count == 0
    }

    /// Whether no bytes lie between the rows: the [span](Rows::span) is all theirs.
    pub fn is_plain(&self) -> bool {
        self.count <= 1 || self.len == self.stride
    }

    /// The bytes of one row, or `None` if there are not so many rows.
    pub fn row(&self, index: usize) -> Option<Range<usize>> {
        // In range: `new` has computed the end of the last row.
        let start = || self.start + index * self.stride;
        (index < self.count).then(|| start()..start() + self.len)
    }

    /// The same rows, `by` bytes further on.
    ///
    /// # Errors
    /// [`Error::BadRows`] if their last byte cannot be addressed there.
    pub fn shifted(&self, by: usize) -> Result<Rows> {
        let &Rows { start, len, stride, count, .. } = self;
        match start.checked_add(by) {
            Some(start) => Rows::new(start, len, stride, count),
            None => Err(crate::detail::BadRows { start, len, stride, count }.into()),
        }
    }

    /// Whether some byte belongs to both.
    ///
    /// Exact if both have the same stride, or one of them has no gaps. For different strides the
    /// answer may be "yes" although every byte belongs to one of them only: the spans are compared.
    pub fn overlaps(&self, other: &Rows) -> bool {
        let apart = self.end <= other.start || other.end <= self.start;
        if apart || self.is_empty() || other.is_empty() {
            return false;
        }
        match (self.is_plain(), other.is_plain()) {
            (true, true) => true,
            (true, false) => other.meets(self.span()),
            (false, true) => self.meets(other.span()),
            (false, false) if self.stride != other.stride => true,
            (false, false) if self.start <= other.start => self.meets_columns(other),
            (false, false) => other.meets_columns(self),
        }
    }

    /// Whether a row has bytes of a range that is not empty. There are gaps, so no row is empty.
    fn meets(&self, range: Range<usize>) -> bool {
        // The first row that ends behind the start of the range.
        let first = match range.start.checked_sub(self.start + self.len) {
            Some(behind) => behind / self.stride + 1,
            None => 0,
        };
        self.row(first).is_some_and(|row| row.start < range.end)
    }

    /// Whether rows at the same stride, which start here or further on, share bytes with these.
    fn meets_columns(&self, other: &Rows) -> bool {
        // Seen from one of our rows, theirs begins in it or in the gap behind it, and may reach
        // into our next row. Rows are no longer than the stride, so no others can meet it; and as
        // they begin no earlier, their first row meets ours if any of theirs does.
        let distance = other.start - self.start;
        let (row, column) = (distance / self.stride, distance % self.stride);
        let same = column < self.len && row < self.count;
        let next = self.stride - column < other.len && row + 1 < self.count;
        same || next
    }
}

impl From<Range<usize>> for Rows {
    /// A single row.
    fn from(range: Range<usize>) -> Rows {
        let Range { start, end } = range;
        let len = end.saturating_sub(start);
        Rows { start, len, stride: len, count: 1, end: start.max(end) }
    }
}
