//! The places of a layout's elements in the order of their indices.

use smallvec::SmallVec;
use tenure_layout::{Dims, Layout, Strides};

/// Counts, in elements from the lowest, where each element is: in the order of the indices, the
/// last dimension fastest.
#[derive(Clone)]
pub(crate) struct Positions {
    shape: Dims,
    strides: Strides,
    index: SmallVec<[usize; 6]>,
    /// Of the next element.
    at: isize,
    left: usize,
}

impl Positions {
    /// Along the first `axes` dimensions; the others stay at index zero.
    pub(crate) fn new(layout: &Layout, axes: usize) -> Positions {
        let shape: Dims = layout.shape().iter().copied().take(axes).collect();
        let strides = layout.strides().iter().copied().take(axes).collect();
        let left = if layout.elements() == 0 { 0 } else { shape.iter().product() };
        let index = SmallVec::from_elem(0, shape.len());
        Positions { shape, strides, index, at: first(layout), left }
    }

    /// The place of the `number`th.
    pub(crate) fn of(layout: &Layout, axes: usize, number: usize) -> usize {
        let (mut at, mut number) = (first(layout), number);
        for (&len, &stride) in layout.shape().iter().zip(layout.strides()).take(axes).rev() {
            // An index that exists: its place is inside the span, which fits an `isize`.
            at += (number % len) as isize * stride;
            number /= len;
        }
        at.unsigned_abs()
    }
}

/// Elements from the lowest to the one with all indices zero.
fn first(layout: &Layout) -> isize {
    let bytes = layout.offset().saturating_sub(layout.span().start) as isize;
    match layout.dtype().size() {
        Some(size) => bytes / size as isize,
        None => bytes * 2,
    }
}

impl Iterator for Positions {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        self.left = self.left.checked_sub(1)?;
        let at = self.at;
        for (index, (&len, &stride)) in
            self.index.iter_mut().zip(self.shape.iter().zip(&self.strides)).rev()
        {
            *index += 1;
            // Both ends of a dimension are inside the span, so these sums are too.
            if *index < len {
                self.at += stride;
                break;
            }
            self.at -= stride * (len as isize - 1);
            *index = 0;
        }
        Some(at.unsigned_abs())
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Positions {}
