//! Colour matrices, eight pixels at a time.
#![expect(unsafe_code, reason = "vector loads and stores by address")]

use std::arch::aarch64::*;

use crate::engine::cpu::fixed::FixedMatrix;
use crate::engine::cpu::kernels::portable;

/// # Safety
/// The processor must have NEON.
#[target_feature(enable = "neon")]
pub(super) unsafe fn matrix(matrix: &FixedMatrix, from: [&[i16]; 3], to: [&mut [i16]; 3]) {
    let lengths = from.iter().map(|row| row.len()).chain(to.iter().map(|row| row.len()));
    let n = lengths.min().unwrap_or(0);
    let whole = n / 8 * 8;
    let [red, green, blue] = [set(matrix.rows[0]), set(matrix.rows[1]), set(matrix.rows[2])];
    let offset = set(matrix.offset);
    let to_rgb = matrix.is_to_rgb();
    for at in (0..whole).step_by(8) {
        // SAFETY: eight numbers from `at` on are inside each row.
        let (x, y, z) = unsafe {
            let [x, y, z] = from;
            (
                vld1q_s16(x.as_ptr().add(at)),
                vld1q_s16(y.as_ptr().add(at)),
                vld1q_s16(z.as_ptr().add(at)),
            )
        };
        let out = if to_rgb {
            let luma = vqrdmulhq_s16(x, red[0]);
            let chroma = vaddq_s16(vqrdmulhq_s16(y, green[1]), vqrdmulhq_s16(z, green[2]));
            [
                vaddq_s16(luma, vqrdmulhq_s16(z, red[2])),
                vaddq_s16(luma, chroma),
                vaddq_s16(luma, vqrdmulhq_s16(y, blue[1])),
            ]
        } else {
            [product(red, x, y, z), product(green, x, y, z), product(blue, x, y, z)]
        };
        for index in 0..3 {
            let value = vaddq_s16(out[index], offset[index]);
            // SAFETY: as above.
            unsafe { vst1q_s16(to[index].as_mut_ptr().add(at), value) };
        }
    }
    let rest = (from.map(|row| &row[whole..n]), to.map(|row| &mut row[whole..n]));
    // SAFETY: none is needed.
    unsafe { portable::matrix(matrix, rest.0, rest.1) }
}

#[target_feature(enable = "neon")]
#[inline]
fn set([a, b, c]: [i16; 3]) -> [int16x8_t; 3] {
    [vdupq_n_s16(a), vdupq_n_s16(b), vdupq_n_s16(c)]
}

/// One row of a matrix times a pixel.
#[target_feature(enable = "neon")]
#[inline]
fn product(row: [int16x8_t; 3], x: int16x8_t, y: int16x8_t, z: int16x8_t) -> int16x8_t {
    let two = vaddq_s16(vqrdmulhq_s16(x, row[0]), vqrdmulhq_s16(y, row[1]));
    vaddq_s16(two, vqrdmulhq_s16(z, row[2]))
}
