//! Columns of sixteen rows through the matrix and stored as bytes, eight pixels at a time.
//!
//! Turning bytes takes half of what turning numbers of 16 bits takes, and nothing is kept between.
#![expect(unsafe_code, reason = "vector loads and stores by address")]

use std::arch::aarch64::*;

use crate::engine::cpu::fixed::{FixedMatrix, LANES};
use crate::engine::cpu::kernels::{Columns, Out};

/// What happens to the three numbers of a pixel.
const NOTHING: u8 = 0;
const TO_RGB: u8 = 1;
const ANY_MATRIX: u8 = 2;

/// # Safety
/// The processor must have NEON; see [`super::Kernels`].
#[target_feature(enable = "neon")]
pub(super) unsafe fn store_columns(columns: Columns<'_>, out: Out, strides: [usize; 3]) {
    let Columns { from, pixels, matrix, .. } = columns;
    assert!(pixels >= LANES);
    for part in from {
        assert!(part.len() >= pixels * LANES);
    }
    // SAFETY: the caller's promise, with columns for every pixel.
    unsafe {
        match matrix {
            None => blocks::<NOTHING>(columns, out, strides),
            Some(matrix) if matrix.is_to_rgb() => blocks::<TO_RGB>(columns, out, strides),
            Some(_) => blocks::<ANY_MATRIX>(columns, out, strides),
        }
    }
}

/// # Safety
/// As [`store_columns`], with at least eight columns.
#[target_feature(enable = "neon")]
unsafe fn blocks<const KIND: u8>(columns: Columns<'_>, out: Out, strides: [usize; 3]) {
    let Columns { from, matrix, fraction, flip, rows, pixels } = columns;
    let step = Step::new(matrix, fraction, flip);
    let mut at = 0;
    while at < pixels {
        // The last one ends with the row and may store some pixels again.
        let here = at.min(pixels - 8);
        // For each colour and pixel the bytes of all rows.
        let mut codes = [[step.flip; 8]; 3];
        for pixel in 0..8 {
            let mut halves = [[vdupq_n_s16(0); 3]; 2];
            for (half, numbers) in halves.iter_mut().enumerate() {
                let first = (here + pixel) * LANES + 8 * half;
                for (part, number) in numbers.iter_mut().enumerate() {
                    // SAFETY: here + 8 columns are inside.
                    *number = unsafe { vld1q_s16(from[part].as_ptr().add(first)) };
                }
                *numbers = step.pixel::<KIND>(*numbers);
            }
            for (colour, codes) in codes.iter_mut().enumerate() {
                codes[pixel] = step.codes(halves[0][colour], halves[1][colour]);
            }
        }
        let [red, green, blue] = codes;
        let colours = [to_rows(red), to_rows(green), to_rows(blue)];
        // SAFETY: eight pixels of every row of the band, by the promise of `store_columns`.
        unsafe { store(&colours, here, rows, out, strides) };
        at += 8;
    }
}

/// The matrix and the rounding, in vectors.
#[derive(Clone, Copy)]
struct Step {
    rows: [[int16x8_t; 3]; 3],
    offset: [int16x8_t; 3],
    /// By how much numbers are shifted to the left: less than nothing.
    right: int16x8_t,
    flip: uint8x16_t,
}

impl Step {
    #[target_feature(enable = "neon")]
    #[inline]
    fn new(matrix: Option<&FixedMatrix>, fraction: u32, flip: u8) -> Step {
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

/// From bytes of sixteen rows for eight pixels to eight pixels of rows k and k + 8.
#[target_feature(enable = "neon")]
#[inline]
fn to_rows([a, b, c, d, e, f, g, h]: [uint8x16_t; 8]) -> [uint8x16_t; 8] {
    // Two pixels of every second row, then four of every fourth, then eight of every eighth.
    let (ab, ab1) = twos(a, b);
    let (cd, cd1) = twos(c, d);
    let (ef, ef1) = twos(e, f);
    let (gh, gh1) = twos(g, h);
    let (ad, ad2) = fours(ab, cd);
    let (ad1, ad3) = fours(ab1, cd1);
    let (eh, eh2) = fours(ef, gh);
    let (eh1, eh3) = fours(ef1, gh1);
    let (row0, row4) = eights(ad, eh);
    let (row1, row5) = eights(ad1, eh1);
    let (row2, row6) = eights(ad2, eh2);
    let (row3, row7) = eights(ad3, eh3);
    [row0, row1, row2, row3, row4, row5, row6, row7]
}

#[target_feature(enable = "neon")]
#[inline]
fn twos(a: uint8x16_t, b: uint8x16_t) -> (uint16x8_t, uint16x8_t) {
    (vreinterpretq_u16_u8(vtrn1q_u8(a, b)), vreinterpretq_u16_u8(vtrn2q_u8(a, b)))
}

#[target_feature(enable = "neon")]
#[inline]
fn fours(a: uint16x8_t, b: uint16x8_t) -> (uint32x4_t, uint32x4_t) {
    (vreinterpretq_u32_u16(vtrn1q_u16(a, b)), vreinterpretq_u32_u16(vtrn2q_u16(a, b)))
}

#[target_feature(enable = "neon")]
#[inline]
fn eights(a: uint32x4_t, b: uint32x4_t) -> (uint8x16_t, uint8x16_t) {
    (vreinterpretq_u8_u32(vtrn1q_u32(a, b)), vreinterpretq_u8_u32(vtrn2q_u32(a, b)))
}

/// Stores eight pixels from `at` on of the first `rows` rows.
///
/// # Safety
/// There must be room for them.
#[target_feature(enable = "neon")]
#[inline]
unsafe fn store(
    [red, green, blue]: &[[uint8x16_t; 8]; 3],
    at: usize,
    rows: usize,
    out: Out,
    strides: [usize; 3],
) {
    for row in 0..8 {
        let (r, g, b) = (red[row], green[row], blue[row]);
        let first = [vget_low_u8(r), vget_low_u8(g), vget_low_u8(b)];
        let second = [vget_high_u8(r), vget_high_u8(g), vget_high_u8(b)];
        // SAFETY: the caller's promise; rows beyond the last are not stored.
        unsafe {
            if row < rows {
                store_row(first, at, row, out, strides);
            }
            if row + 8 < rows {
                store_row(second, at, row + 8, out, strides);
            }
        }
    }
}

/// # Safety
/// There must be room for eight pixels from `at` on of this row.
#[target_feature(enable = "neon")]
#[inline]
unsafe fn store_row(
    [red, green, blue]: [uint8x8_t; 3],
    at: usize,
    row: usize,
    out: Out,
    strides: [usize; 3],
) {
    // SAFETY: the caller's promise.
    unsafe {
        match out {
            Out::Planes([a, b, c]) => {
                vst1_u8(a.add(at + row * strides[0]), red);
                vst1_u8(b.add(at + row * strides[1]), green);
                vst1_u8(c.add(at + row * strides[2]), blue);
            }
            Out::Packed { at: first, blue_first } => {
                let (x, z) = if blue_first { (blue, red) } else { (red, blue) };
                vst3_u8(first.add(3 * at + row * strides[0]), uint8x8x3_t(x, green, z));
            }
        }
    }
}
