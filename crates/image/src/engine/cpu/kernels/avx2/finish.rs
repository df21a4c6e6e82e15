//! Columns of sixteen rows through the matrix and stored as bytes, in squares of sixteen by sixteen.
//!
//! Turning bytes takes half of what turning numbers of 16 bits takes, and nothing is kept between.
#![expect(unsafe_code, reason = "vector loads and stores by address")]

use std::arch::x86_64::*;
use std::mem::MaybeUninit;

use super::fetch::{LINE, fetch};
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
    let step = Step::new(columns.matrix, columns.fraction);
    let (rows, flip) = (columns.rows, columns.flip);
    // In one place for all squares: each would have it cleared.
    let mut codes: Codes = [MaybeUninit::uninit(); 3 * LANES / 2];
    let mut at = 0;
    while at < columns.pixels {
        // The last one ends with the row and may store some pixels again.
        let here = at.min(columns.pixels - LANES);
        match out {
            _ if !columns.goes_on => {}
            Out::Packed { at, .. } => fetch_below(at.wrapping_add(3 * here), strides[0], rows),
            Out::Planes(planes) if here.is_multiple_of(LINE) => {
                for plane in 0..3 {
                    fetch_below(planes[plane].wrapping_add(here), strides[plane], rows);
                }
            }
            Out::Planes(_) => {}
        }
        // SAFETY: sixteen pixels of every row of the band, by the promise of `store_columns`.
        unsafe {
            match out {
                Out::Planes(planes) => {
                    make::<KIND, PLANES>(&step, &columns.from, here, flip, &mut codes);
                    for plane in 0..3 {
                        let (first, stride) = (planes[plane].add(here), strides[plane]);
                        store_rows::<false, true>(&codes, [plane, plane], first, stride, rows);
                    }
                }
                Out::Packed { at: first, blue_first } => {
                    if blue_first {
                        make::<KIND, BLUE_FIRST>(&step, &columns.from, here, flip, &mut codes);
                    } else {
                        make::<KIND, RED_FIRST>(&step, &columns.from, here, flip, &mut codes);
                    }
                    // Sixteen bytes of a row at a time: eight pixels are 24, then come the others.
                    let first = first.add(3 * here);
                    let (next, last) = (first.add(LANES), first.add(2 * LANES));
                    store_rows::<false, false>(&codes, [0, 1], first, strides[0], rows);
                    store_rows::<false, true>(&codes, [2, 0], next, strides[0], rows);
                    store_rows::<true, true>(&codes, [1, 2], last, strides[0], rows);
                }
            }
        }
        at += LANES;
    }
}

/// Asks for what the next band is stored in. The last byte of each line, as the first may be in the
/// line before.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn fetch_below(first: *mut u8, stride: usize, rows: usize) {
    for row in 0..rows {
        fetch(first.wrapping_add((rows + row) * stride + LINE - 1));
    }
}

/// Codes of eight pixels, and in the other halves of vectors those of eight more: for eight rows,
/// then for eight more.
type Codes = [MaybeUninit<__m256i>; 3 * LANES / 2];

/// The order of codes: colours apart, or as they are in memory.
const PLANES: u8 = 0;
const RED_FIRST: u8 = 1;
const BLUE_FIRST: u8 = 2;

/// Makes all codes: red, green and blue of sixteen pixels.
///
/// # Safety
/// As [`store_columns`], with sixteen columns from `here` on.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
unsafe fn make<const KIND: u8, const ORDER: u8>(
    step: &Step,
    from: &[&[i16]; 3],
    here: usize,
    flip: u8,
    codes: &mut Codes,
) {
    let pixel = |at: usize| {
        // SAFETY: the caller's promise.
        let numbers = unsafe {
            [
                _mm256_loadu_si256(from[0].as_ptr().add(at * LANES).cast()),
                _mm256_loadu_si256(from[1].as_ptr().add(at * LANES).cast()),
                _mm256_loadu_si256(from[2].as_ptr().add(at * LANES).cast()),
            ]
        };
        step.pixel::<KIND>(numbers)
    };
    for index in 0..8 {
        let (one, other) = (pixel(here + index), pixel(here + index + 8));
        for colour in 0..3 {
            let place = match ORDER {
                PLANES => 8 * colour + index,
                RED_FIRST => 3 * index + colour,
                _ => 3 * index + 2 - colour,
            };
            codes[place].write(_mm256_packus_epi16(one[colour], other[colour]));
        }
    }
    if flip != 0 {
        let flip = _mm256_set1_epi8(flip as i8);
        for index in 0..codes.len() {
            // SAFETY: all were written above.
            codes[index].write(_mm256_xor_si256(unsafe { codes[index].assume_init() }, flip));
        }
    }
}

/// Eight bytes of two rows, four times: the first, the second or the third eight of all codes, of
/// the first eight pixels or of the others.
///
/// # Safety
/// All codes are made.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
unsafe fn eight<const OTHERS: bool>(codes: &Codes, part: usize) -> [__m256i; 4] {
    let two = |index: usize| {
        // SAFETY: the caller's promise.
        let (a, b) = unsafe {
            let at = 8 * part + 2 * index;
            (codes[at].assume_init(), codes[at + 1].assume_init())
        };
        if OTHERS { _mm256_unpackhi_epi8(a, b) } else { _mm256_unpacklo_epi8(a, b) }
    };
    eights(two(0), two(1), two(2), two(3))
}

/// Stores eight bytes and eight more of each of the first `rows` rows.
///
/// # Safety
/// All codes are made, and there must be room for sixteen bytes in each of the rows.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
unsafe fn store_rows<const ONE: bool, const OTHER: bool>(
    codes: &Codes,
    parts: [usize; 2],
    first: *mut u8,
    stride: usize,
    rows: usize,
) {
    // SAFETY: the caller's promise.
    let (one, other) = unsafe { (eight::<ONE>(codes, parts[0]), eight::<OTHER>(codes, parts[1])) };
    for pair in 0..4 {
        let even = _mm256_unpacklo_epi64(one[pair], other[pair]);
        let odd = _mm256_unpackhi_epi64(one[pair], other[pair]);
        // SAFETY: the caller's promise; rows beyond the last are not stored.
        unsafe {
            if rows == LANES {
                store_both::<true>(first, stride, 2 * pair, rows, even);
                store_both::<true>(first, stride, 2 * pair + 1, rows, odd);
            } else {
                store_both::<false>(first, stride, 2 * pair, rows, even);
                store_both::<false>(first, stride, 2 * pair + 1, rows, odd);
            }
        }
    }
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

/// Stores the halves of a vector in rows `row` and `row + 8`, if there are as many.
///
/// # Safety
/// There must be room for sixteen bytes in these rows.
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
            _mm_storeu_si128(first.add(row * stride).cast(), _mm256_castsi256_si128(both));
        }
        if ALL || row + 8 < rows {
            let other = _mm256_extracti128_si256::<1>(both);
            _mm_storeu_si128(first.add((row + 8) * stride).cast(), other);
        }
    }
}
