//! The order of the bytes of an element.
//!
//! Files and messages between machines have the least significant byte first; memory has the order
//! of the machine.

use crate::DType;

/// Converts elements between the order of this machine and little-endian, in place. Does nothing on
/// little-endian machines, and nothing for elements of one byte or less.
///
/// ```
/// use tenure_layout::{DType, order};
/// let mut bytes = 0x0102_0304_u32.to_ne_bytes();
/// order::swap_little_endian(&mut bytes, DType::U32);
/// assert_eq!(bytes, [4, 3, 2, 1]);
/// ```
pub fn swap_little_endian(bytes: &mut [u8], dtype: DType) {
    if cfg!(target_endian = "big") {
        // Of a complex number, each of the two.
        reverse(bytes, dtype.align());
    }
}

/// Reverses the bytes of every element of `size` bytes.
pub fn reverse(bytes: &mut [u8], size: usize) {
    // The size is a constant in each arm, so that the compiler swaps whole vectors.
    match size {
        2 => bytes.as_chunks_mut::<2>().0.iter_mut().for_each(|element| element.reverse()),
        4 => bytes.as_chunks_mut::<4>().0.iter_mut().for_each(|element| element.reverse()),
        8 => bytes.as_chunks_mut::<8>().0.iter_mut().for_each(|element| element.reverse()),
        size if size > 1 => bytes.chunks_exact_mut(size).for_each(<[u8]>::reverse),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_reversed_and_not_their_order() {
        let bytes: Vec<u8> = (0..16).collect();
        for (size, first) in [(1, [0, 1, 2]), (2, [1, 0, 3]), (4, [3, 2, 1]), (8, [7, 6, 5])] {
            let mut there = bytes.clone();
            reverse(&mut there, size);
            assert!(there.starts_with(&first), "{size}: {there:?}");
            reverse(&mut there, size);
            assert_eq!(there, bytes);
        }
        let mut odd = vec![1, 2, 3];
        reverse(&mut odd, 3);
        assert_eq!(odd, [3, 2, 1]);
    }
}
