//! Shapes and strides: short lists that live inline for the ranks people use.

use smallvec::SmallVec;

use crate::{DType, Error, Result};

/// The largest number of dimensions a layout may have (numpy's limit).
pub const MAX_RANK: usize = 64;

/// A shape: elements per dimension, outermost first.
pub type Dims = SmallVec<[usize; 6]>;

/// Distances between neighbours of each dimension, in elements; negative runs backwards.
pub type Strides = SmallVec<[isize; 6]>;

/// The elements of a shape and the bytes that they take without gaps, or an error that names the
/// shape if either does not fit an `isize`.
pub(crate) fn product(dtype: DType, shape: &[usize]) -> Result<(usize, usize)> {
    // A zero anywhere makes the tensor empty, however large the other dimensions are; but those
    // must fit too, because a slice of the same shape may drop the zero.
    let nonzero = shape.iter().try_fold(1usize, |all, &dim| all.checked_mul(dim.max(1)));
    let fits = |&number: &usize| isize::try_from(number).is_ok();
    match nonzero.filter(fits).and_then(|all| Some((all, dtype.bytes_for(all).filter(fits)?))) {
        None => Err(Error::from(crate::detail::TooLarge { shape: shape.into() })),
        Some(_) if shape.contains(&0) => Ok((0, 0)),
        Some(all) => Ok(all),
    }
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
        assert_eq!(product(DType::U16, &[]).unwrap(), (1, 2));
        assert_eq!(product(DType::U16, &[2, 3, 4]).unwrap(), (24, 48));
        assert_eq!(product(DType::U16, &[2, 0, 4]).unwrap(), (0, 0));
        assert_eq!(product(DType::U4, &[3, 3]).unwrap(), (9, 5));
        assert!(product(DType::U8, &[usize::MAX, 2]).is_err());
        assert!(product(DType::U8, &[usize::MAX, 0, 2]).is_err());
        assert!(product(DType::U8, &[isize::MAX as usize + 1]).is_err());
        assert!(product(DType::U4, &[isize::MAX as usize + 1]).is_err());
        assert!(product(DType::U8, &[isize::MAX as usize]).is_ok());
        assert!(product(DType::F64, &[isize::MAX as usize / 8]).is_ok());
        assert!(product(DType::F64, &[isize::MAX as usize / 8 + 1]).is_err());
        assert!(product(DType::F64, &[isize::MAX as usize / 8 + 1, 0]).is_err());
    }

    #[test]
    fn row_major_strides() {
        assert_eq!(row_major(&[2, 3, 4]).as_slice(), &[12, 4, 1]);
        assert_eq!(row_major(&[2, 0, 4]).as_slice(), &[4, 4, 1]);
        assert_eq!(row_major(&[]).as_slice(), &[] as &[isize]);
    }
}
