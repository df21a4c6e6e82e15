//! Columns of sixteen rows through the matrix and stored as bytes, in squares of sixteen by sixteen.
//!
//! Turning bytes takes half of what turning numbers of 16 bits takes, and nothing is kept between.
#![expect(unsafe_code, reason = "vector loads and stores by address")]

use std::arch::x86_64::*;

use super::pixel::{ANY_MATRIX, NOTHING, Step, TO_RGB};
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
    let flip = (flip != 0).then(|| _mm256_set1_epi8(flip as i8));
    // Where red and blue are among the three.
    let (first, last) = match out {
        Out::Packed { blue_first: true, .. } => (2, 0),
        _ => (0, 2),
    };
    let mut at = 0;
    while at < pixels {
        // The last one ends with the row and may store some pixels again.
        let here = at.min(pixels - LANES);
        // Red, green and blue of each pixel, for sixteen rows.
        let mut colours = [[_mm256_setzero_si256(); 3]; LANES];
        for pixel in 0..LANES {
            // SAFETY: here + 16 columns are inside.
            let numbers = unsafe {
                let at = (here + pixel) * LANES;
                [
                    _mm256_loadu_si256(from[0].as_ptr().add(at).cast()),
                    _mm256_loadu_si256(from[1].as_ptr().add(at).cast()),
                    _mm256_loadu_si256(from[2].as_ptr().add(at).cast()),
                ]
            };
            let [red, green, blue] = step.pixel::<KIND>(numbers);
            (colours[pixel][first], colours[pixel][last]) = (red, blue);
            colours[pixel][1] = green;
        }
        let colours = colours.as_flattened();
        // SAFETY: sixteen pixels of every row of the band, by the promise of `store_columns`.
        unsafe {
            match out {
                Out::Planes(planes) => {
                    for plane in 0..3 {
                        let first = planes[plane].add(here);
                        store_square::<3>(&colours[plane..], flip, first, strides[plane], rows);
                    }
                }
                // Sixteen bytes of a row at a time, a third of what the pixels take.
                Out::Packed { at: first, .. } => {
                    for third in 0..3 {
                        let first = first.add(3 * here + LANES * third);
                        let columns = &colours[LANES * third..];
                        store_square::<1>(columns, flip, first, strides[0], rows);
                    }
                }
            }
        }
        at += LANES;
    }
}

/// Stores the first `rows` rows of sixteen columns of codes as bytes: one in `EVERY` of these.
///
/// # Safety
/// There must be room for sixteen bytes in each of them.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
unsafe fn store_square<const EVERY: usize>(
    columns: &[__m256i],
    flip: Option<__m256i>,
    first: *mut u8,
    stride: usize,
    rows: usize,
) {
    // Columns k and k + 8 together: rows 0 to 7 of both, then 8 to 15.
    let mut codes = [_mm256_setzero_si256(); 8];
    for index in 0..8 {
        codes[index] = _mm256_packus_epi16(columns[EVERY * index], columns[EVERY * (index + 8)]);
    }
    let mut codes = bytes_to_rows(&codes);
    if let Some(flip) = flip {
        for index in 0..8 {
            codes[index] = _mm256_xor_si256(codes[index], flip);
        }
    }
    // SAFETY: the caller's promise; rows beyond the last are not stored.
    unsafe {
        if rows == LANES {
            store_rows::<true>(&codes, first, stride, rows);
        } else {
            store_rows::<false>(&codes, first, stride, rows);
        }
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

/// Stores rows k and k + 8 of each vector.
///
/// # Safety
/// As [`store_square`].
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
unsafe fn store_rows<const ALL: bool>(
    codes: &[__m256i; 8],
    first: *mut u8,
    stride: usize,
    rows: usize,
) {
    for row in 0..8 {
        // SAFETY: the caller's promise; rows beyond the last are not stored.
        unsafe {
            store_both::<ALL>(first.add(row * stride), 8 * stride, row, rows, codes[row]);
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
