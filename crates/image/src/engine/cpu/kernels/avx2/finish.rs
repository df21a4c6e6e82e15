//! Columns of sixteen rows through the matrix and stored as bytes, in squares of sixteen by sixteen.
//!
//! Turning bytes takes half of what turning numbers of 16 bits takes, and nothing is kept between.
#![expect(unsafe_code, reason = "vector loads and stores by address")]

use std::arch::x86_64::*;

use super::pixel::{ANY_MATRIX, NOTHING, Step, TO_RGB};
use super::store_bytes::{IN_ORDER, mix_three};
use crate::engine::cpu::fixed::LANES;
use crate::engine::cpu::kernels::{Columns, Out};

/// # Safety
/// The processor must have AVX2; see [`super::Kernels`].
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) unsafe fn store_columns(columns: Columns<'_>, out: Out, strides: [usize; 3]) {
    let Columns { from, pixels, matrix, .. } = columns;
    assert!(pixels >= LANES);
    for part in from {
        assert!(part.len() >= pixels * LANES);
    }
    // SAFETY: the caller's promise, with columns for every pixel.
    unsafe {
        match matrix {
            None => squares::<NOTHING>(columns, out, strides),
            Some(matrix) if matrix.is_to_rgb() => squares::<TO_RGB>(columns, out, strides),
            Some(_) => squares::<ANY_MATRIX>(columns, out, strides),
        }
    }
}

/// # Safety
/// As [`store_columns`], with at least sixteen columns.
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn squares<const KIND: u8>(columns: Columns<'_>, out: Out, strides: [usize; 3]) {
    let Columns { from, matrix, fraction, flip, rows, pixels } = columns;
    let step = Step::new(matrix, fraction);
    let (flips, flip) = (flip != 0, _mm256_set1_epi8(flip as i8));
    let mut at = 0;
    while at < pixels {
        // The last one ends with the row and may store some pixels again.
        let here = at.min(pixels - LANES);
        // Pixels k and k + 8 together, of each colour: rows 0 to 7 of both, then 8 to 15.
        let mut codes = [[_mm256_setzero_si256(); 8]; 3];
        for pixel in 0..8 {
            // SAFETY: here + 16 columns are inside.
            let (first, second) = unsafe {
                let load = |pixel: usize| {
                    let at = (here + pixel) * LANES;
                    [
                        _mm256_loadu_si256(from[0].as_ptr().add(at).cast()),
                        _mm256_loadu_si256(from[1].as_ptr().add(at).cast()),
                        _mm256_loadu_si256(from[2].as_ptr().add(at).cast()),
                    ]
                };
                (step.pixel::<KIND>(load(pixel)), step.pixel::<KIND>(load(pixel + 8)))
            };
            for colour in 0..3 {
                codes[colour][pixel] = _mm256_packus_epi16(first[colour], second[colour]);
            }
        }
        for colour in &mut codes {
            *colour = bytes_to_rows(colour);
            if flips {
                for codes in colour {
                    *codes = _mm256_xor_si256(*codes, flip);
                }
            }
        }
        // SAFETY: sixteen pixels of every row of the band, by the promise of `store_columns`.
        unsafe {
            match rows {
                LANES => store::<true>(&codes, here, rows, out, strides),
                _ => store::<false>(&codes, here, rows, out, strides),
            }
        }
        at += LANES;
    }
}

/// From bytes of pixels k and k + 8 for eight rows, twice, to sixteen pixels of rows k and k + 8.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn bytes_to_rows(codes: &[__m256i; 8]) -> [__m256i; 8] {
    let [a, b, c, d, e, f, g, h] = *codes;
    // Two pixels of every row, then four, eight, sixteen.
    let (a_low, a_high) = (_mm256_unpacklo_epi8(a, b), _mm256_unpackhi_epi8(a, b));
    let (c_low, c_high) = (_mm256_unpacklo_epi8(c, d), _mm256_unpackhi_epi8(c, d));
    let (e_low, e_high) = (_mm256_unpacklo_epi8(e, f), _mm256_unpackhi_epi8(e, f));
    let (g_low, g_high) = (_mm256_unpacklo_epi8(g, h), _mm256_unpackhi_epi8(g, h));
    let first = eights(a_low, c_low, e_low, g_low);
    let second = eights(a_high, c_high, e_high, g_high);
    let mut rows = [_mm256_setzero_si256(); 8];
    for pair in 0..4 {
        rows[2 * pair] = _mm256_unpacklo_epi64(first[pair], second[pair]);
        rows[2 * pair + 1] = _mm256_unpackhi_epi64(first[pair], second[pair]);
    }
    rows
}

/// From two pixels of eight rows, four times, to eight pixels of two rows, four times.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn eights(a: __m256i, b: __m256i, c: __m256i, d: __m256i) -> [__m256i; 4] {
    let (ab_low, ab_high) = (_mm256_unpacklo_epi16(a, b), _mm256_unpackhi_epi16(a, b));
    let (cd_low, cd_high) = (_mm256_unpacklo_epi16(c, d), _mm256_unpackhi_epi16(c, d));
    [
        _mm256_unpacklo_epi32(ab_low, cd_low),
        _mm256_unpackhi_epi32(ab_low, cd_low),
        _mm256_unpacklo_epi32(ab_high, cd_high),
        _mm256_unpackhi_epi32(ab_high, cd_high),
    ]
}

/// Stores sixteen pixels from `at` on of the first `rows` rows, which may be known to be all.
///
/// # Safety
/// There must be room for them.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
unsafe fn store<const ALL: bool>(
    [red, green, blue]: &[[__m256i; 8]; 3],
    at: usize,
    rows: usize,
    out: Out,
    strides: [usize; 3],
) {
    for row in 0..8 {
        // SAFETY: the caller's promise; rows beyond the last are not stored.
        unsafe {
            match out {
                Out::Planes(planes) => {
                    let colours = [red[row], green[row], blue[row]];
                    for plane in 0..3 {
                        let first = planes[plane].add(at + row * strides[plane]);
                        let stride = 8 * strides[plane];
                        store_both::<ALL>(first, stride, row, rows, colours[plane]);
                    }
                }
                Out::Packed { at: first, blue_first } => {
                    let mixed = if blue_first {
                        mix_three::<IN_ORDER>([blue[row], green[row], red[row]])
                    } else {
                        mix_three::<IN_ORDER>([red[row], green[row], blue[row]])
                    };
                    let first = first.add(3 * at + row * strides[0]);
                    for third in 0..3 {
                        let first = first.add(16 * third);
                        store_both::<ALL>(first, 8 * strides[0], row, rows, mixed[third]);
                    }
                }
            }
        }
    }
}

/// Stores the halves of a vector in rows `row` and `row + 8`, if there are as many.
///
/// # Safety
/// There must be room for sixteen bytes at `first`, and `stride` after it.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
unsafe fn store_both<const ALL: bool>(
    first: *mut u8,
    stride: usize,
    row: usize,
    rows: usize,
    both: __m256i,
) {
    // SAFETY: the caller's promise.
    unsafe {
        if ALL || row < rows {
            _mm_storeu_si128(first.cast(), _mm256_castsi256_si128(both));
        }
        if ALL || row + 8 < rows {
            _mm_storeu_si128(first.add(stride).cast(), _mm256_extracti128_si256::<1>(both));
        }
    }
}
