//! The order in which to visit the elements of strided layouts: as few axes as possible, the
//! longest contiguous runs innermost.

use smallvec::SmallVec;

use crate::{Error, Layout, Result};

/// One loop of a walk over two layouts. Steps are bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Axis {
    /// How often the loop runs.
    pub len: usize,
    /// Bytes to the next place in the layout that is written.
    pub write: isize,
    /// Bytes to the next place in the layout that is read.
    pub read: isize,
}

/// How to visit the elements of one layout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Walk {
    /// Loops, outermost first; `read` is zero.
    pub axes: SmallVec<[Axis; 6]>,
    /// Bytes that follow each other at every place visited.
    pub run: usize,
    /// Byte offset of the first place.
    pub start: usize,
}

/// How to visit the elements of two layouts of one shape together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalkPair {
    /// Loops, outermost first, sorted by the distance of their writes.
    pub axes: SmallVec<[Axis; 6]>,
    /// Bytes that follow each other in both layouts at every place visited.
    pub run: usize,
    /// Byte offset of the first place written.
    pub write_start: usize,
    /// Byte offset of the first place read.
    pub read_start: usize,
}

impl WalkPair {
    /// The walk that copies `read` to `write`.
    ///
    /// # Errors
    /// If shapes or element types differ, or 4-bit elements are not both packed the same way.
    pub fn new(write: &Layout, read: &Layout) -> Result<WalkPair> {
        if write.shape() != read.shape() {
            return Err(Error::from(crate::detail::ShapeMismatch {
                left: write.shape().into(),
                right: read.shape().into(),
            }));
        }
        if write.dtype() != read.dtype() {
            return Err(Error::DTypeMismatch { left: write.dtype(), right: read.dtype() });
        }
        let Some(size) = write.dtype().size() else { return WalkPair::sub_byte(write, read) };
        let bytes = size as isize;
        let (mut write_start, mut read_start) = (write.offset(), read.offset());
        if write.elements() == 0 {
            return Ok(WalkPair { axes: SmallVec::new(), run: 0, write_start, read_start });
        }
        let mut axes: SmallVec<[Axis; 6]> = write
            .shape()
            .iter()
            .zip(write.strides().iter().zip(read.strides()))
            .filter(|(len, _)| **len != 1)
            .map(|(&len, (&w, &r))| Axis { len, write: w * bytes, read: r * bytes })
            .collect();
        for axis in &mut axes {
            // Forwards in what is written: the prefetcher and write combining like it.
            if axis.write < 0 {
                let last = axis.len as isize - 1;
                write_start = write_start.wrapping_add_signed(axis.write * last);
                read_start = read_start.wrapping_add_signed(axis.read * last);
                (axis.write, axis.read) = (-axis.write, -axis.read);
            }
        }
        axes.sort_by_key(|axis| std::cmp::Reverse((axis.write, axis.read.unsigned_abs())));
        let mut merged: SmallVec<[Axis; 6]> = SmallVec::new();
        for axis in axes {
            let reach = |step: isize| step.checked_mul(axis.len as isize);
            match merged.last_mut() {
                Some(outer)
                    if Some(outer.write) == reach(axis.write)
                        && Some(outer.read) == reach(axis.read) =>
                {
                    *outer = Axis { len: outer.len * axis.len, ..axis };
                }
                _ => merged.push(axis),
            }
        }
        let mut run = size;
        if let Some(inner) = merged.last().copied()
            && inner.write == bytes
            && inner.read == bytes
        {
            run = size * inner.len;
            merged.pop();
        }
        Ok(WalkPair { axes: merged, run, write_start, read_start })
    }

    /// Packed 4-bit elements are copied as the bytes they share.
    fn sub_byte(write: &Layout, read: &Layout) -> Result<WalkPair> {
        if write.is_contiguous() && read.is_contiguous() {
            let run = write.packed_bytes();
            let axes = SmallVec::new();
            let (write_start, read_start) = (write.offset(), read.offset());
            return Ok(WalkPair { axes, run, write_start, read_start });
        }
        WalkPair::new(&as_bytes(write)?, &as_bytes(read)?)
    }
}

/// A 4-bit layout whose rows are whole bytes, as a layout of bytes.
fn as_bytes(layout: &Layout) -> Result<Layout> {
    let refuse = || {
        Error::from(crate::detail::SubByte {
            dtype: layout.dtype(),
            element: 0,
            strides: layout.strides().into(),
        })
    };
    let last = layout.shape().iter().rposition(|&dim| dim > 1).ok_or_else(refuse)?;
    let mut shape: crate::Dims = layout.shape().into();
    let mut strides: crate::Strides = layout.strides().into();
    for (axis, (dim, stride)) in shape.iter_mut().zip(&mut strides).enumerate() {
        if axis == last {
            // A row of odd length would take half a byte of its neighbour with it.
            if *dim % 2 != 0 || *stride != 1 {
                return Err(refuse());
            }
            *dim /= 2;
        } else if *dim > 1 {
            if *stride % 2 != 0 {
                return Err(refuse());
            }
            *stride /= 2;
        }
    }
    Layout::strided(crate::DType::U8, &shape, &strides, layout.offset())
}

impl Walk {
    /// The walk over every element of `layout`.
    ///
    /// # Errors
    /// If 4-bit elements are neither packed nor in rows of whole bytes.
    pub fn new(layout: &Layout) -> Result<Walk> {
        // A repeated (broadcast) place needs one visit only.
        let mut once = layout.clone();
        for axis in (0..layout.rank()).rev() {
            if layout.strides()[axis] == 0 && layout.shape()[axis] > 1 {
                once = once.index(axis, 0)?;
            }
        }
        let WalkPair { mut axes, run, write_start, .. } = WalkPair::new(&once, &once)?;
        for axis in &mut axes {
            axis.read = 0;
        }
        Ok(Walk { axes, run, start: write_start })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DType;

    #[test]
    fn contiguous_is_one_run() {
        let layout = Layout::contiguous(DType::F32, &[2, 3, 4]).unwrap();
        let walk = WalkPair::new(&layout, &layout).unwrap();
        assert_eq!((walk.axes.len(), walk.run), (0, 96));
    }

    #[test]
    fn padded_rows_are_runs() {
        let padded = Layout::strided(DType::U8, &[4, 6, 3], &[32, 3, 1], 8).unwrap();
        let flat = Layout::contiguous(DType::U8, &[4, 6, 3]).unwrap();
        let walk = WalkPair::new(&flat, &padded).unwrap();
        assert_eq!(walk.axes.as_slice(), &[Axis { len: 4, write: 18, read: 32 }]);
        assert_eq!((walk.run, walk.read_start), (18, 8));
    }

    #[test]
    fn a_transpose_has_two_axes() {
        let flat = Layout::contiguous(DType::U8, &[3, 480, 640]).unwrap();
        let hwc = Layout::contiguous(DType::U8, &[480, 640, 3]).unwrap();
        let walk = WalkPair::new(&flat, &hwc.permute(&[2, 0, 1]).unwrap()).unwrap();
        let axes = [
            Axis { len: 3, write: 480 * 640, read: 1 },
            Axis { len: 480 * 640, write: 1, read: 3 },
        ];
        assert_eq!(walk.axes.as_slice(), &axes);
        assert_eq!(walk.run, 1);
    }

    #[test]
    fn backwards_is_walked_forwards() {
        let back = Layout::strided(DType::U16, &[5], &[-1], 8).unwrap();
        let there = Layout::contiguous(DType::U16, &[5]).unwrap();
        let walk = WalkPair::new(&back, &there).unwrap();
        assert_eq!(walk.axes.as_slice(), &[Axis { len: 5, write: 2, read: -2 }]);
        assert_eq!((walk.write_start, walk.read_start), (0, 8));
    }

    #[test]
    fn four_bit_rows_of_odd_length_are_refused() {
        let odd = Layout::strided(DType::U4, &[2, 3], &[4, 1], 0).unwrap();
        assert!(WalkPair::new(&odd, &odd).is_err());
        let even = Layout::strided(DType::U4, &[2, 4], &[8, 1], 0).unwrap();
        assert_eq!(WalkPair::new(&even, &even).unwrap().run, 2);
        let packed = Layout::contiguous(DType::U4, &[3, 3]).unwrap();
        assert_eq!(WalkPair::new(&packed, &packed).unwrap().run, 5);
    }

    #[test]
    fn broadcast_places_are_visited_once() {
        let one = Layout::contiguous(DType::U8, &[1, 4]).unwrap().broadcast_to(&[9, 4]).unwrap();
        let walk = Walk::new(&one).unwrap();
        assert_eq!((walk.axes.len(), walk.run), (0, 4));
    }
}
