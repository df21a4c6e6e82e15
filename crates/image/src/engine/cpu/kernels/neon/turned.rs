//! Columns of sixteen rows through the matrix and stored as bytes, each as a row: of a picture that
//! is turned by a quarter.
#![expect(unsafe_code, reason = "vector stores by address")]

use std::arch::aarch64::*;

use super::pixel::{ANY_MATRIX, NOTHING, Step, TO_RGB};
use crate::engine::cpu::fixed::LANES;
use crate::engine::cpu::kernels::{Columns, Out};

/// # Safety
/// The processor must have NEON; see [`super::Kernels`].
#[target_feature(enable = "neon")]
pub(super) unsafe fn store_turned(columns: Columns<'_>, out: Out, strides: [usize; 3]) {
    let Columns { from, pixels, matrix, .. } = columns;
    for part in from {
        assert!(part.len() >= pixels * LANES);
    }
    // SAFETY: the caller's promise, with columns for every pixel.
    unsafe {
        match matrix {
            None => each::<NOTHING>(columns, out, strides),
            Some(matrix) if matrix.is_to_rgb() => each::<TO_RGB>(columns, out, strides),
            Some(_) => each::<ANY_MATRIX>(columns, out, strides),
        }
    }
}

/// # Safety
/// As [`store_turned`].
#[target_feature(enable = "neon")]
unsafe fn each<const KIND: u8>(columns: Columns<'_>, out: Out, strides: [usize; 3]) {
    let Columns { from, matrix, fraction, flip, rows, pixels, .. } = columns;
    let step = Step::new(matrix, fraction, flip);
    for pixel in 0..pixels {
        // SAFETY: the column is inside, and there is room for a row of as many pixels as the band
        // has rows.
        unsafe {
            let [red, green, blue] = step.column::<KIND>(from, pixel);
            match out {
                Out::Planes(planes) => {
                    for (plane, codes) in [red, green, blue].into_iter().enumerate() {
                        let to = planes[plane].add(pixel * strides[plane]);
                        if rows == LANES {
                            vst1q_u8(to, codes);
                        } else {
                            let mut bytes = [0; LANES];
                            vst1q_u8(bytes.as_mut_ptr(), codes);
                            to.copy_from_nonoverlapping(bytes.as_ptr(), rows.min(LANES));
                        }
                    }
                }
                Out::Packed { at, blue_first } => {
                    let (x, z) = if blue_first { (blue, red) } else { (red, blue) };
                    let (to, mixed) = (at.add(pixel * strides[0]), uint8x16x3_t(x, green, z));
                    if rows == LANES {
                        vst3q_u8(to, mixed);
                    } else {
                        let mut bytes = [0; 3 * LANES];
                        vst3q_u8(bytes.as_mut_ptr(), mixed);
                        to.copy_from_nonoverlapping(bytes.as_ptr(), 3 * rows.min(LANES));
                    }
                }
            }
        }
    }
}
