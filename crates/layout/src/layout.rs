//! Element type, shape, strides and offset: which bytes of a buffer a tensor is.

use std::ops::Range;

use smallvec::SmallVec;

use crate::dims::{Dims, MAX_RANK, Strides, product, row_major};
use crate::{DType, Error, Result};

mod views;

#[cfg(test)]
mod tests;

/// Which bytes of a buffer are a tensor's elements.
///
/// Fields are private because they hold together: [`Layout::span`] is known to be right, and the
/// number of elements, the bytes that they take without gaps ([`Layout::packed_bytes`]), the end of
/// the span and every stride in bytes fit an `isize`. Strides of 0 repeat elements, so the packed
/// bytes can be far more than the span: they are a size to check, not a size to allocate unchecked.
///
/// ```
/// use tenure_layout::{DType, Layout};
/// let image = Layout::contiguous(DType::U8, &[480, 640, 3])?;
/// assert_eq!(image.span(), 0..480 * 640 * 3);
/// let row = image.index(0, 479)?;
/// assert_eq!(row.span(), 479 * 640 * 3..480 * 640 * 3);
/// assert!(image.index(0, 480).is_err());
/// # Ok::<(), tenure_layout::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    dtype: DType,
    /// Elements per dimension.
    shape: Dims,
    /// Elements between neighbours of each dimension.
    strides: Strides,
    /// Bytes from the start of the buffer to the element with all indices zero.
    offset: usize,
    /// Product of the shape.
    elements: usize,
    /// Bytes from the first to one past the last that any element touches.
    span: Range<usize>,
    /// How the elements lie, found once.
    order: Order,
}

/// How the elements of a layout lie in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    /// In index order without gaps.
    Contiguous,
    /// In index order with gaps.
    RowMajor,
    /// In another order, repeated, or crossing.
    Other,
}

impl Layout {
    /// Row-major elements without gaps, from the start of the buffer.
    ///
    /// # Errors
    /// If the bytes do not fit the address space or there are too many dimensions.
    pub fn contiguous(dtype: DType, shape: &[usize]) -> Result<Layout> {
        check_rank(shape.len())?;
        let (elements, packed) = product(dtype, shape)?;
        let strides = row_major(shape);
        let (span, order) = (0..packed, Order::Contiguous);
        Ok(Layout { dtype, shape: shape.into(), strides, offset: 0, elements, span, order })
    }

    /// Elements at any strides (in elements), the first at byte `offset`.
    ///
    /// The stride of a dimension that is never stepped along (one with at most one index, or any of
    /// a layout without elements) has no meaning; it becomes 0 if its bytes do not fit an `isize`.
    ///
    /// # Errors
    /// If shape and strides have different lengths, an element would lie before the start of the
    /// buffer or beyond the address space, the elements without gaps would take more bytes than an
    /// `isize` can count (strides of 0 repeat elements), or a 4-bit element would start inside a
    /// byte.
    pub fn strided(
        dtype: DType,
        shape: &[usize],
        strides: &[isize],
        offset: usize,
    ) -> Result<Layout> {
        check_rank(shape.len())?;
        if shape.len() != strides.len() {
            return Err(Error::RankMismatch { shape: shape.len(), strides: strides.len() });
        }
        let (elements, _) = product(dtype, shape)?;
        let unaddressable = || {
            Error::from(crate::detail::Unaddressable {
                shape: shape.into(),
                strides: strides.into(),
                offset,
            })
        };
        let span = if elements == 0 {
            offset..offset
        } else {
            let (low, high) = reach(shape, strides).ok_or_else(unaddressable)?;
            byte_span(dtype, low, high, offset).ok_or_else(unaddressable)?
        };
        if isize::try_from(span.end).is_err() {
            return Err(unaddressable());
        }
        let order = order_of(shape, strides, elements);
        let (shape, strides) = (shape.into(), countable(dtype, strides));
        let layout = Layout { dtype, shape, strides, offset, elements, span, order };
        layout.check_whole_bytes()?;
        Ok(layout)
    }

    /// Elements at any strides (in elements) from the start of the buffer: the lowest is at byte
    /// zero, and the first wherever the strides then put it.
    ///
    /// ```
    /// use tenure_layout::{DType, Layout};
    /// let backwards = Layout::from_lowest(DType::U16, &[4], &[-1])?;
    /// assert_eq!((backwards.offset(), backwards.span()), (6, 0..8));
    /// # Ok::<(), tenure_layout::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Layout::strided`].
    pub fn from_lowest(dtype: DType, shape: &[usize], strides: &[isize]) -> Result<Layout> {
        // Zipping stops at the shorter list; `strided` refuses lists of different lengths.
        let low = match shape.contains(&0) {
            true => Some(0),
            false => reach(shape, strides).map(|(low, _)| low.unsigned_abs()),
        };
        let before = low.and_then(|low| match dtype.size() {
            Some(size) => low.checked_mul(size),
            None => Some(low.div_ceil(2)),
        });
        match before {
            Some(before) => Layout::strided(dtype, shape, strides, before),
            None => {
                let (shape, strides) = (shape.into(), strides.into());
                Err(Error::from(crate::detail::Unaddressable { shape, strides, offset: 0 }))
            }
        }
    }

    /// A 4-bit layout is either packed without gaps or has rows that start on whole bytes.
    fn check_whole_bytes(&self) -> Result<()> {
        if !self.dtype.is_sub_byte() || self.elements <= 1 || self.is_contiguous() {
            return Ok(());
        }
        let last = self.shape.iter().rposition(|&dim| dim > 1);
        let whole =
            self.shape.iter().zip(&self.strides).enumerate().all(|(axis, (&dim, &step))| {
                dim <= 1 || if Some(axis) == last { step == 1 } else { step % 2 == 0 }
            });
        if whole {
            Ok(())
        } else {
            let (dtype, strides) = (self.dtype, self.strides.clone());
            // The offset is at most the end of the span, which fits an `isize`.
            Err(Error::from(crate::detail::SubByte { dtype, element: self.offset * 2, strides }))
        }
    }

    /// The element type.
    #[inline]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Elements per dimension.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Elements between neighbours of each dimension.
    pub fn strides(&self) -> &[isize] {
        &self.strides
    }

    /// Number of dimensions.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// Bytes from the start of the buffer to the element with all indices zero.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Number of elements.
    pub fn elements(&self) -> usize {
        self.elements
    }

    /// Bytes that the elements take without gaps; at most `isize::MAX`. Of a layout that repeats
    /// elements (stride 0) this is more than the span.
    #[inline]
    pub fn packed_bytes(&self) -> usize {
        // `product` proved that this fits.
        match self.dtype.size() {
            Some(size) => self.elements * size,
            None => self.elements.div_ceil(2),
        }
    }

    /// The bytes of the buffer from the first to one past the last that any element touches.
    #[inline]
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// Whether the elements follow each other in row-major order without gaps.
    #[inline]
    pub fn is_contiguous(&self) -> bool {
        self.order == Order::Contiguous
    }

    /// Whether memory order is index order: row-major, possibly with gaps (row padding), never
    /// overlapping, repeated or backwards.
    #[inline]
    pub fn is_row_major(&self) -> bool {
        self.order != Order::Other
    }

    /// Whether two indices can name the same element (a broadcast dimension, or strides that
    /// cross). May say yes for exotic strides that never collide.
    pub fn may_self_overlap(&self) -> bool {
        // Strides of a layout without elements are unchecked, and lead nowhere.
        if self.elements <= 1 {
            return false;
        }
        let mut axes: SmallVec<[(usize, usize); 6]> = self
            .shape
            .iter()
            .zip(&self.strides)
            .filter(|(dim, _)| **dim > 1)
            .map(|(&dim, &stride)| (stride.unsigned_abs(), dim))
            .collect();
        axes.sort_unstable();
        let mut reach = 0;
        for (stride, dim) in axes {
            if stride <= reach {
                return true;
            }
            reach += stride * (dim - 1);
        }
        false
    }

    /// Checks that every element lies inside `available` bytes.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`].
    pub fn check_fits(&self, available: usize) -> Result<()> {
        if self.span.end <= available {
            Ok(())
        } else {
            Err(Error::OutOfBounds { end: self.span.end, available })
        }
    }

    /// Checks that elements lie on their natural alignment, counted from the buffer's start.
    ///
    /// # Errors
    /// [`Error::Misaligned`].
    pub fn check_aligned(&self) -> Result<()> {
        let align = self.dtype.align();
        if self.offset.is_multiple_of(align) {
            Ok(())
        } else {
            Err(Error::Misaligned { offset: self.offset, dtype: self.dtype, align })
        }
    }

    /// Byte offset of one element (of the byte that holds it, for 4-bit types).
    ///
    /// # Errors
    /// If there is not one index per dimension or one is out of bounds.
    pub fn element_offset(&self, index: &[usize]) -> Result<usize> {
        if index.len() != self.rank() {
            return Err(Error::RankMismatch { shape: self.rank(), strides: index.len() });
        }
        for (axis, (&at, &len)) in index.iter().zip(&self.shape).enumerate() {
            if at >= len {
                return Err(Error::from(crate::detail::IndexOutOfBounds { axis, index: at, len }));
            }
        }
        // An element that exists is inside the reach that construction has checked.
        let element: isize =
            index.iter().zip(&self.strides).map(|(&at, &stride)| stride * at as isize).sum();
        let bytes = match self.dtype.size() {
            Some(size) => element * size as isize,
            None => element.div_euclid(2),
        };
        Ok(self.offset.wrapping_add_signed(bytes))
    }
}

fn check_rank(rank: usize) -> Result<()> {
    if rank <= MAX_RANK { Ok(()) } else { Err(Error::TooManyDimensions { rank }) }
}

/// How elements lie whose reach is known to fit.
fn order_of(shape: &[usize], strides: &[isize], elements: usize) -> Order {
    if elements <= 1 {
        return Order::Contiguous;
    }
    let (mut order, mut packed, mut inner_reach) = (Order::Contiguous, Some(1), 0);
    for (&dim, &stride) in shape.iter().zip(strides).rev() {
        if dim > 1 {
            if stride <= inner_reach {
                return Order::Other;
            }
            if Some(stride) != packed {
                order = Order::RowMajor;
            }
            packed = stride.checked_mul(dim as isize);
            inner_reach += stride * (dim as isize - 1);
        }
    }
    order
}

/// Strides whose bytes fit an `isize`. Those of elements that exist do, as their reach fits; any
/// other leads nowhere.
fn countable(dtype: DType, strides: &[isize]) -> Strides {
    let size = dtype.size().unwrap_or(1) as isize;
    strides.iter().map(|&stride| stride.checked_mul(size).map_or(0, |_| stride)).collect()
}

/// Lowest and highest element reached, relative to the first.
fn reach(shape: &[usize], strides: &[isize]) -> Option<(isize, isize)> {
    let (mut low, mut high) = (0isize, 0isize);
    for (&dim, &stride) in shape.iter().zip(strides) {
        let far = isize::try_from(dim.saturating_sub(1)).ok()?.checked_mul(stride)?;
        if far < 0 {
            low = low.checked_add(far)?;
        } else {
            high = high.checked_add(far)?;
        }
    }
    Some((low, high))
}

/// Byte range from the lowest to the end of the highest element.
fn byte_span(dtype: DType, low: isize, high: isize, offset: usize) -> Option<Range<usize>> {
    let (before, after) = match dtype.size() {
        Some(size) => (
            low.unsigned_abs().checked_mul(size)?,
            high.unsigned_abs().checked_add(1)?.checked_mul(size)?,
        ),
        None => (low.unsigned_abs().div_ceil(2), high.unsigned_abs() / 2 + 1),
    };
    Some(offset.checked_sub(before)?..offset.checked_add(after)?)
}
