//! Layouts made from layouts: slices, reshapes, permutations, broadcasts. No bytes move.

use smallvec::SmallVec;

use super::{Dims, Layout, Strides, check_rank, product, reach};
use crate::{DType, Error, Result};

impl Layout {
    fn axis_len(&self, axis: usize) -> Result<usize> {
        self.shape.get(axis).copied().ok_or(Error::NoSuchAxis { axis, rank: self.rank() })
    }

    /// The same layout with `elements` (signed) added to the first element's place.
    fn moved(&self, shape: Dims, strides: Strides, elements: isize) -> Result<Layout> {
        let bytes = match self.dtype.size() {
            Some(size) => elements * size as isize,
            None if elements % 2 == 0 => elements / 2,
            None => {
                let element = elements.unsigned_abs();
                return Err(Error::from(crate::detail::SubByte {
                    dtype: self.dtype,
                    element,
                    strides,
                }));
            }
        };
        let offset = self.offset.wrapping_add_signed(bytes);
        let view = Layout::strided(self.dtype, &shape, &strides, offset)?;
        if self.dtype.is_sub_byte() && view.elements > 0 {
            view.check_end(self, elements)?;
        }
        Ok(view)
    }

    /// Checks that a view whose last 4-bit element is alone in its byte is also the last of
    /// `whole`: the other half of that byte would be somebody else's.
    fn check_end(&self, whole: &Layout, moved: isize) -> Result<()> {
        let last = |layout: &Layout| reach(&layout.shape, &layout.strides).map(|(_, high)| high);
        match (last(self), last(whole)) {
            (Some(last), Some(last_of_all)) if last % 2 != 0 || moved + last == last_of_all => {
                Ok(())
            }
            (last, _) => {
                let element =
                    moved.checked_add(last.unwrap_or(0)).map_or(0, isize::unsigned_abs) + 1;
                let (dtype, strides) = (self.dtype, self.strides.clone());
                Err(Error::from(crate::detail::SubByte { dtype, element, strides }))
            }
        }
    }

    /// The indices `start..end` of `axis`, every `step`th of them.
    ///
    /// # Errors
    /// If the range leaves the dimension; ranges are never clamped.
    pub fn slice(&self, axis: usize, start: usize, end: usize, step: usize) -> Result<Layout> {
        let len = self.axis_len(axis)?;
        if start > end || end > len || step == 0 {
            return Err(Error::from(crate::detail::RangeOutOfBounds {
                axis,
                start,
                end,
                step,
                len,
            }));
        }
        let (mut shape, mut strides) = (self.shape.clone(), self.strides.clone());
        let count = (end - start).div_ceil(step);
        shape[axis] = count;
        // Without elements there is no first one to move to, and strides are unchecked.
        let some = count > 0 && self.elements > 0;
        let moved = if some { strides[axis] * start as isize } else { 0 };
        if some && count > 1 {
            strides[axis] *= step as isize;
        }
        self.moved(shape, strides, moved)
    }

    /// One index of `axis`; the dimension disappears.
    ///
    /// # Errors
    /// If axis or index do not exist.
    pub fn index(&self, axis: usize, index: usize) -> Result<Layout> {
        let len = self.axis_len(axis)?;
        if index >= len {
            return Err(Error::from(crate::detail::IndexOutOfBounds { axis, index, len }));
        }
        let (mut shape, mut strides) = (self.shape.clone(), self.strides.clone());
        shape.remove(axis);
        let stride = strides.remove(axis);
        let moved = if self.elements > 0 { stride * index as isize } else { 0 };
        self.moved(shape, strides, moved)
    }

    /// The same elements in another shape, without moving any.
    ///
    /// # Errors
    /// If the number of elements differs, or the strides would need a copy.
    pub fn reshape(&self, shape: &[usize]) -> Result<Layout> {
        check_rank(shape.len())?;
        let (want, _) = product(self.dtype, shape)?;
        if want != self.elements {
            return Err(Error::from(crate::detail::ReshapeCount {
                from: self.shape.clone(),
                have: self.elements,
                to: shape.into(),
                want,
            }));
        }
        let strides = if self.elements == 0 || self.is_contiguous() {
            crate::dims::row_major(shape)
        } else {
            reshape_strides(&self.shape, &self.strides, shape).ok_or_else(|| {
                Error::from(crate::detail::ReshapeStrided {
                    from: self.shape.clone(),
                    strides: self.strides.clone(),
                    to: shape.into(),
                })
            })?
        };
        Layout::strided(self.dtype, shape, &strides, self.offset)
    }

    /// The dimensions in another order: dimension `i` of the result is `axes[i]` of this.
    ///
    /// # Errors
    /// If `axes` does not name every axis exactly once.
    pub fn permute(&self, axes: &[usize]) -> Result<Layout> {
        let rank = self.rank();
        let mut seen: SmallVec<[bool; 8]> = SmallVec::from_elem(false, rank);
        let fresh =
            |axis: &usize| seen.get_mut(*axis).is_some_and(|seen| !std::mem::replace(seen, true));
        if axes.len() != rank || !axes.iter().all(fresh) {
            return Err(Error::from(crate::detail::NotAPermutation { axes: axes.into(), rank }));
        }
        let shape: Dims = axes.iter().map(|&axis| self.shape[axis]).collect();
        let strides: Strides = axes.iter().map(|&axis| self.strides[axis]).collect();
        self.moved(shape, strides, 0)
    }

    /// Without dimension `axis`, which must be 1.
    ///
    /// # Errors
    /// If the axis does not exist or is not 1.
    pub fn squeeze(&self, axis: usize) -> Result<Layout> {
        let len = self.axis_len(axis)?;
        if len != 1 {
            return Err(Error::NotSqueezable { axis, len });
        }
        self.index(axis, 0)
    }

    /// With a new dimension of 1 before `axis` (or at the end if `axis` is the rank).
    ///
    /// # Errors
    /// If `axis` is beyond the rank.
    pub fn unsqueeze(&self, axis: usize) -> Result<Layout> {
        if axis > self.rank() {
            return Err(Error::NoSuchAxis { axis, rank: self.rank() });
        }
        let (mut shape, mut strides) = (self.shape.clone(), self.strides.clone());
        let stride = match (self.shape.get(axis), self.strides.get(axis)) {
            // Nobody steps along a dimension of 1, so 0 will do where this does not fit.
            (Some(&dim), Some(&stride)) => stride.checked_mul(dim.max(1) as isize).unwrap_or(0),
            _ => 1,
        };
        shape.insert(axis, 1);
        strides.insert(axis, stride);
        Layout::strided(self.dtype, &shape, &strides, self.offset)
    }

    /// Repeats dimensions of 1 (and adds leading ones) to reach `shape`, with stride 0.
    ///
    /// # Errors
    /// If a dimension is neither 1 nor already right.
    pub fn broadcast_to(&self, shape: &[usize]) -> Result<Layout> {
        let refuse = || {
            Error::from(crate::detail::NotBroadcastable {
                from: self.shape.clone(),
                to: shape.into(),
            })
        };
        let added = shape.len().checked_sub(self.rank()).ok_or_else(refuse)?;
        let mut strides: Strides = SmallVec::from_elem(0, added);
        for ((&have, &want), &stride) in self.shape.iter().zip(&shape[added..]).zip(&self.strides) {
            match have {
                _ if have == want => strides.push(stride),
                1 => strides.push(0),
                _ => return Err(refuse()),
            }
        }
        Layout::strided(self.dtype, shape, &strides, self.offset)
    }

    /// The same bytes read as another element type of the same width.
    ///
    /// # Errors
    /// If the widths differ.
    pub fn with_dtype(&self, dtype: DType) -> Result<Layout> {
        if dtype.bits() != self.dtype.bits() {
            return Err(Error::DTypeMismatch { left: self.dtype, right: dtype });
        }
        Ok(Layout { dtype, ..self.clone() })
    }

    /// The same layout counted from byte `start` of the buffer.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] if elements lie before `start`.
    pub fn counted_from(&self, start: usize) -> Result<Layout> {
        if self.span.start < start {
            return Err(Error::OutOfBounds { end: start, available: self.span.start });
        }
        Layout::strided(self.dtype, &self.shape, &self.strides, self.offset - start)
    }

    /// The same layout `bytes` further into the buffer.
    ///
    /// # Errors
    /// If that leaves the address space.
    pub fn shifted(&self, bytes: usize) -> Result<Layout> {
        let offset = self.offset.checked_add(bytes).ok_or_else(|| {
            Error::from(crate::detail::Unaddressable {
                shape: self.shape.clone(),
                strides: self.strides.clone(),
                offset: self.offset,
            })
        })?;
        Layout::strided(self.dtype, &self.shape, &self.strides, offset)
    }
}

/// Strides that show the same elements in the new shape, if there are any: each group of new
/// dimensions must split or join old dimensions that chain without a gap.
fn reshape_strides(old: &[usize], strides: &[isize], new: &[usize]) -> Option<Strides> {
    let mut result: Strides = SmallVec::from_elem(0, new.len());
    let kept: SmallVec<[(usize, isize); 6]> = old
        .iter()
        .zip(strides)
        .filter(|(dim, _)| **dim != 1)
        .map(|(&dim, &stride)| (dim, stride))
        .collect();
    let (mut from, mut to) = (0, 0);
    while from < kept.len() || to < new.len() {
        let (first_from, first_to) = (from, to);
        let (mut have, mut want) = (1usize, 1usize);
        loop {
            if have == want && have != 1 {
                break;
            }
            if have <= want && from < kept.len() {
                have = have.checked_mul(kept[from].0)?;
                from += 1;
            } else if to < new.len() {
                want = want.checked_mul(new[to])?;
                to += 1;
            } else if have == want {
                break;
            } else {
                return None;
            }
        }
        let group = &kept[first_from..from];
        for pair in group.windows(2) {
            let [(_, outer), (inner_dim, inner)] = pair else { continue };
            if *outer != inner.checked_mul(*inner_dim as isize)? {
                return None;
            }
        }
        let mut step = group.last().map_or(1, |&(_, stride)| stride);
        for axis in (first_to..to).rev() {
            result[axis] = step;
            step = step.checked_mul(new[axis].max(1) as isize)?;
        }
    }
    Some(result)
}
