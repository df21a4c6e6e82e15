//! Shapes and strides: short lists that live inline for the ranks people use.

use smallvec::SmallVec;

use crate::{Error, Result};

/// The largest number of dimensions a layout may have (numpy's limit).
pub const MAX_RANK: usize = 64;

/// A shape: elements per dimension, outermost first.
pub type Dims = SmallVec<[usize; 6]>;

/// Distances between neighbours of each dimension, in elements; negative runs backwards.
pub type Strides = SmallVec<[isize; 6]>;

/// The product of a shape, or an error that names the shape if it does not fit.
pub(crate) fn product(shape: &[usize]) -> Result<usize> {
    // A zero anywhere makes the tensor empty, however large the other dimensions are; but those
    // must not wrap either, because a slice of the same shape may drop the zero.
    let mut all: usize = 1;
    let mut nonzero: usize = 1;
    for &dim in shape {
        all = all.wrapping_mul(dim);
        nonzero = nonzero
            .checked_mul(dim.max(1))
            .ok_or_else(|| Error::TooLarge { shape: shape.into() })?;
    }
    if isize::try_from(nonzero).is_err() {
        return Err(Error::TooLarge { shape: shape.into() });
    }
    Ok(if shape.contains(&0) { 0 } else { all })
}

/// Row-major strides of a shape whose product is known to fit.
pub(crate) fn row_major(shape: &[usize]) -> Strides {
    let mut strides: Strides = SmallVec::from_elem(0, shape.len());
    let mut step: usize = 1;
    for (stride, &dim) in strides.iter_mut().zip(shape).rev() {
        // `product` proved that the product of the non-zero dimensions fits an isize.
        *stride = step as isize;
        step *= dim.max(1);
    }
    strides
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn product_refuses_what_does_not_fit() {
        assert_eq!(product(&[]).unwrap(), 1);
        assert_eq!(product(&[2, 3, 4]).unwrap(), 24);
        assert_eq!(product(&[2, 0, 4]).unwrap(), 0);
        assert!(product(&[usize::MAX, 2]).is_err());
        assert!(product(&[usize::MAX, 0, 2]).is_err());
        assert!(product(&[isize::MAX as usize + 1]).is_err());
    }

    #[test]
    fn row_major_strides() {
        assert_eq!(row_major(&[2, 3, 4]).as_slice(), &[12, 4, 1]);
        assert_eq!(row_major(&[2, 0, 4]).as_slice(), &[4, 4, 1]);
        assert_eq!(row_major(&[]).as_slice(), &[] as &[isize]);
    }
}
