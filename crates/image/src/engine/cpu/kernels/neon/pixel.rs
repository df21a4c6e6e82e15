//! Numbers of a column's pixels through the matrix to bytes.
#![expect(unsafe_code, reason = "vector loads by address")]

use std::arch::aarch64::*;

use crate::engine::cpu::fixed::{FixedMatrix, LANES};

/// What happens to the three numbers of a pixel.
pub(super) const NOTHING: u8 = 0;
pub(super) const TO_RGB: u8 = 1;
pub(super) const ANY_MATRIX: u8 = 2;

/// The matrix and the rounding, in vectors.
#[derive(Clone, Copy)]
pub(super) struct Step {
    rows: [[int16x8_t; 3]; 3],
    offset: [int16x8_t; 3],
    /// By how much numbers are shifted to the left: less than nothing.
    right: int16x8_t,
    pub(super) flip: uint8x16_t,
}

impl Step {
    #[target_feature(enable = "neon")]
    #[inline]
    pub(super) fn new(matrix: Option<&FixedMatrix>, fraction: u32, flip: u8) -> Step {
        let zero = vdupq_n_s16(0);
        let mut step = Step {
            rows: [[zero; 3]; 3],
            offset: [zero; 3],
            right: vdupq_n_s16(-(fraction as i16)),
            flip: vdupq_n_u8(flip),
        };
        if let Some(matrix) = matrix {
            for (row, factors) in step.rows.iter_mut().enumerate() {
                step.offset[row] = vdupq_n_s16(matrix.offset[row]);
                for (column, factor) in factors.iter_mut().enumerate() {
                    *factor = vdupq_n_s16(matrix.rows[row][column]);
                }
            }
        }
        step
    }

    /// The bytes of all rows of a pixel, of each colour.
    ///
    /// # Safety
    /// The parts must have a column for this pixel.
    #[target_feature(enable = "neon")]
    #[inline]
    pub(super) unsafe fn column<const KIND: u8>(
        &self,
        from: [&[i16]; 3],
        pixel: usize,
    ) -> [uint8x16_t; 3] {
        let mut halves = [[vdupq_n_s16(0); 3]; 2];
        for (half, numbers) in halves.iter_mut().enumerate() {
            let first = pixel * LANES + 8 * half;
            for (part, number) in numbers.iter_mut().enumerate() {
                // SAFETY: the caller's promise.
                *number = unsafe { vld1q_s16(from[part].as_ptr().add(first)) };
            }
            *numbers = self.pixel::<KIND>(*numbers);
        }
        let [low, high] = halves;
        [self.codes(low[0], high[0]), self.codes(low[1], high[1]), self.codes(low[2], high[2])]
    }

    /// Eight rows of a pixel through the matrix.
    #[target_feature(enable = "neon")]
    #[inline]
    fn pixel<const KIND: u8>(&self, [x, y, z]: [int16x8_t; 3]) -> [int16x8_t; 3] {
        let [r, g, b] = self.rows;
        let [red, green, blue] = match KIND {
            NOTHING => return [x, y, z],
            TO_RGB => {
                let luma = vqrdmulhq_s16(x, r[0]);
                let green = vaddq_s16(vqrdmulhq_s16(y, g[1]), vqrdmulhq_s16(z, g[2]));
                [
                    vaddq_s16(luma, vqrdmulhq_s16(z, r[2])),
                    vaddq_s16(luma, green),
                    vaddq_s16(luma, vqrdmulhq_s16(y, b[1])),
                ]
            }
            _ => [product(r, x, y, z), product(g, x, y, z), product(b, x, y, z)],
        };
        let [r, g, b] = self.offset;
        [vaddq_s16(red, r), vaddq_s16(green, g), vaddq_s16(blue, b)]
    }

    /// Sixteen numbers as bytes.
    #[target_feature(enable = "neon")]
    #[inline]
    fn codes(&self, low: int16x8_t, high: int16x8_t) -> uint8x16_t {
        let low = vqmovun_s16(vrshlq_s16(low, self.right));
        veorq_u8(vqmovun_high_s16(low, vrshlq_s16(high, self.right)), self.flip)
    }
}

#[target_feature(enable = "neon")]
#[inline]
fn product(row: [int16x8_t; 3], x: int16x8_t, y: int16x8_t, z: int16x8_t) -> int16x8_t {
    let two = vaddq_s16(vqrdmulhq_s16(x, row[0]), vqrdmulhq_s16(y, row[1]));
    vaddq_s16(two, vqrdmulhq_s16(z, row[2]))
}
