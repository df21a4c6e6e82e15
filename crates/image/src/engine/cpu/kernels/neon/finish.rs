//! Columns of sixteen rows through the matrix and stored as bytes, eight pixels at a time.
//!
//! Turning bytes takes half of what turning numbers of 16 bits takes, and nothing is kept between.
#![expect(unsafe_code, reason = "vector loads and stores by address")]

use std::arch::aarch64::*;

use super::pixel::{ANY_MATRIX, NOTHING, Step, TO_RGB};
use crate::engine::cpu::fixed::LANES;
use crate::engine::cpu::kernels::{Columns, Out};

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
    let Columns { from, matrix, fraction, flip, rows, pixels, .. } = columns;
    let step = Step::new(matrix, fraction, flip);
    let mut at = 0;
    while at < pixels {
        // The last one ends with the row and may store some pixels again.
        let here = at.min(pixels - 8);
        // For each colour and pixel the bytes of all rows.
        let mut codes = [[step.flip; 8]; 3];
        for pixel in 0..8 {
            // SAFETY: here + 8 columns are inside.
            let column = unsafe { step.column::<KIND>(from, here + pixel) };
            for (colour, codes) in codes.iter_mut().enumerate() {
                codes[pixel] = column[colour];
            }
        }
        let [red, green, blue] = codes;
        let colours = [to_rows(red), to_rows(green), to_rows(blue)];
        // SAFETY: eight pixels of every row of the band, by the promise of `store_columns`.
        unsafe { store(&colours, here, rows, out, strides) };
        at += 8;
    }
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
