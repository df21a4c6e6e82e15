//! Rows at a stride of a buffer.

use std::sync::Arc;

use super::Buffer;
use crate::{ReadRows, Result, Rows, WriteRows};

impl Buffer {
    /// Rows of bytes, to read: a rectangle of an image. What lies between the rows is not held.
    ///
    /// # Errors
    /// As [`Buffer::hold`].
    pub fn read_rows(&self, rows: &Rows) -> Result<ReadRows> {
        let rows = self.rows_in_raw(rows)?;
        ReadRows::over(Arc::clone(self.raw()?), rows).map_err(|error| self.named_in(error))
    }

    /// Rows of bytes, to write: two threads may write the left and the right half of one image.
    ///
    /// ```
    /// use tenure_memory::{Buffer, Request, Rows, TensorMemory, allocate};
    /// let image = Buffer::from_raw(allocate(Some(TensorMemory::Mem), &Request::new(24)?)?);
    /// let mut left = image.write_rows(&Rows::new(0, 3, 6, 4)?)?;
    /// let mut right = image.write_rows(&Rows::new(3, 3, 6, 4)?)?;
    /// left.iter_mut().for_each(|row| row.fill(1));
    /// right.iter_mut().for_each(|row| row.fill(2));
    /// assert!(image.read_range(6..12).unwrap_err().is_busy());
    /// drop((left, right));
    /// assert_eq!(image.read_range(6..12)?.as_bytes(), [1, 1, 1, 2, 2, 2]);
    /// # Ok::<(), tenure_memory::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Buffer::write`].
    pub fn write_rows(&self, rows: &Rows) -> Result<WriteRows> {
        let rows = self.rows_in_raw(rows)?;
        WriteRows::over(Arc::clone(self.raw()?), rows).map_err(|error| self.named_in(error))
    }

    /// Where rows of this buffer are in its allocation, made now if it does not exist.
    ///
    /// # Errors
    /// As [`Buffer::range_in_raw`].
    pub fn rows_in_raw(&self, rows: &Rows) -> Result<Rows> {
        self.locate(rows.span()).and_then(|(_, span)| rows.shifted(span.start - rows.start()))
    }

    /// As [`Buffer::aliases`], for rows of both; see [`Rows::overlaps`] for when the answer is
    /// exact. Rows outside their buffer share nothing.
    pub fn rows_alias(&self, rows: &Rows, other: &Buffer, others: &Rows) -> bool {
        if rows.span().end > self.len || others.span().end > other.len {
            return false;
        }
        let shared = Arc::ptr_eq(&self.root, &other.root) || {
            let allocation = |buffer: &Buffer| buffer.place().map(|place| place.allocation);
            allocation(self).is_some_and(|own| Some(own) == allocation(other))
        };
        let shifted = |buffer: &Buffer, rows: &Rows| rows.shifted(buffer.start());
        match (shifted(self, rows), shifted(other, others)) {
            (Ok(own), Ok(others)) => shared && own.overlaps(&others),
            _ => false,
        }
    }
}
