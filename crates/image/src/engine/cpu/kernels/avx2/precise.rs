//! Sums in floating point.
#![expect(unsafe_code, reason = "vector loads and stores by address")]

use std::arch::x86_64::*;

use super::fetch::{LINE, fetch, fetch_later};
use super::store_real::put;
use crate::engine::cpu::fixed::LANES;
use crate::engine::cpu::kernels::Real;
use crate::engine::cpu::kernels::portable::{self, precise as plain};
use crate::engine::cpu::kernels::precise::{
    Blend, ColumnSums, Precise, RowSums, TOGETHER, missing,
};

pub(super) const PRECISE: Precise = Precise { rows, columns, blend, to_rows, store };

/// Vectors of each row that are summed together.
const VECTORS: usize = TOGETHER / 8;

/// # Safety
/// The processor must have AVX2 and FMA; see [`Precise`].
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn rows(sums: &RowSums<'_>, kept: &mut [f32], columns: &mut [f32]) {
    let n = columns.len() / LANES;
    let whole = n / TOGETHER * TOGETHER;
    let mask = sums.mask(kept);
    assert!(sums.rows.len() <= LANES);
    let mut totals = [[0.0f32; TOGETHER]; LANES];
    for at in (0..whole).step_by(TOGETHER) {
        let mut present = 0..0;
        for (lane, output) in sums.rows.clone().enumerate() {
            let (first, weights) = sums.down.run(output);
            for row in missing(&mut present, first..first + weights.len()).into_iter().flatten() {
                let place = &mut kept[(row & mask) * TOGETHER..][..TOGETHER];
                let size = if sums.words { 2 } else { 1 };
                // What is next to these, whose last line may be there already.
                fetch(sums.row(row).wrapping_add((at + 2 * TOGETHER) * size - 1));
                for part in (0..TOGETHER).step_by(8) {
                    // SAFETY: rows have as many elements as there are columns, and the place has room.
                    unsafe {
                        let codes = load(sums.row(row), at + part, sums.words);
                        _mm256_storeu_ps(place.as_mut_ptr().add(part), codes);
                    }
                }
            }
            let mut sum = [_mm256_setzero_ps(); VECTORS];
            for (index, weight) in weights.iter().enumerate() {
                let weight = _mm256_set1_ps(*weight);
                let row = kept[((first + index) & mask) * TOGETHER..][..TOGETHER].as_ptr();
                for part in 0..VECTORS {
                    // SAFETY: a row that is kept has as many vectors.
                    let codes = unsafe { _mm256_loadu_ps(row.add(8 * part)) };
                    sum[part] = _mm256_fmadd_ps(codes, weight, sum[part]);
                }
            }
            for part in 0..VECTORS {
                // SAFETY: a row of totals has as many vectors.
                unsafe { _mm256_storeu_ps(totals[lane].as_mut_ptr().add(8 * part), sum[part]) };
            }
        }
        for part in (0..TOGETHER).step_by(8) {
            for lanes in (0..LANES).step_by(8) {
                // SAFETY: eight numbers of a row in eight of sixteen rows, and as many columns.
                unsafe {
                    let from = totals[lanes].as_ptr().add(part);
                    let to = columns.as_mut_ptr().add((at + part) * LANES + lanes);
                    turn(from, TOGETHER, to, LANES);
                }
            }
        }
    }
    // SAFETY: the caller's promise.
    unsafe { plain::rows_from(sums, columns, whole) }
}

/// Eight elements of a row from `at` on.
///
/// # Safety
/// The row must have them.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
unsafe fn load(row: *const u8, at: usize, words: bool) -> __m256 {
    // SAFETY: the caller's promise.
    unsafe {
        if words {
            let words = _mm256_cvtepu16_epi32(_mm_loadu_si128(row.add(2 * at).cast()));
            _mm256_mul_ps(_mm256_cvtepi32_ps(words), _mm256_set1_ps(1.0 / 256.0))
        } else {
            _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64(row.add(at).cast())))
        }
    }
}

/// Eight rows of eight numbers to as many columns.
///
/// # Safety
/// Both must have them, as many numbers apart as told.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
unsafe fn turn(from: *const f32, stride: usize, to: *mut f32, to_stride: usize) {
    let mut pairs = [_mm256_setzero_ps(); 8];
    for row in 0..4 {
        // Halves of rows r and r + 4 together, so that what follows stays inside the halves.
        // SAFETY: the caller's promise.
        unsafe {
            let half = |row: usize, at: usize| _mm_loadu_ps(from.add(row * stride + at));
            pairs[row] = _mm256_set_m128(half(row + 4, 0), half(row, 0));
            pairs[row + 4] = _mm256_set_m128(half(row + 4, 4), half(row, 4));
        }
    }
    for half in [0, 4] {
        let [a, b, c, d] = [pairs[half], pairs[half + 1], pairs[half + 2], pairs[half + 3]];
        let (ab, ab2) = (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
        let (cd, cd2) = (_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
        // SAFETY: the caller's promise.
        unsafe {
            _mm256_storeu_ps(to.add(half * to_stride), _mm256_shuffle_ps::<0x44>(ab, cd));
            _mm256_storeu_ps(to.add((half + 1) * to_stride), _mm256_shuffle_ps::<0xee>(ab, cd));
            _mm256_storeu_ps(to.add((half + 2) * to_stride), _mm256_shuffle_ps::<0x44>(ab2, cd2));
            _mm256_storeu_ps(to.add((half + 3) * to_stride), _mm256_shuffle_ps::<0xee>(ab2, cd2));
        }
    }
}

/// # Safety
/// The processor must have AVX2 and FMA; see [`Precise`].
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn columns(sums: &ColumnSums<'_>, from: &[f32], out: &mut [f32]) {
    let step = sums.step * LANES;
    for (output, out) in sums.outputs.clone().zip(out.chunks_exact_mut(LANES)) {
        let (from, weights) = sums.run(output, from);
        assert!(weights.len().saturating_sub(1) * step + LANES <= from.len());
        let (two, one) = weights.as_chunks::<2>();
        // Every second sample has sums of its own: none waits for the one just before it.
        let (mut even, mut odd) = ([_mm256_setzero_ps(); 2], [_mm256_setzero_ps(); 2]);
        let mut column = from.as_ptr();
        // SAFETY: as many columns as weights, which are there.
        unsafe {
            for [first, second] in two {
                even = added(even, column, *first);
                odd = added(odd, column.wrapping_add(step), *second);
                column = column.wrapping_add(2 * step);
            }
            for last in one {
                even = added(even, column, *last);
            }
            _mm256_storeu_ps(out.as_mut_ptr(), _mm256_add_ps(even[0], odd[0]));
            _mm256_storeu_ps(out.as_mut_ptr().add(8), _mm256_add_ps(even[1], odd[1]));
        }
    }
}

/// A column times its weight, added.
///
/// # Safety
/// The column must be there.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
unsafe fn added([low, high]: [__m256; 2], column: *const f32, weight: f32) -> [__m256; 2] {
    let weight = _mm256_set1_ps(weight);
    // SAFETY: the caller's promise.
    unsafe {
        [
            _mm256_fmadd_ps(_mm256_loadu_ps(column), weight, low),
            _mm256_fmadd_ps(_mm256_loadu_ps(column.add(8)), weight, high),
        ]
    }
}

/// # Safety
/// The processor must have AVX2 and FMA.
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn blend(blend: Blend<'_>, out: &mut [f32]) {
    // SAFETY: none is needed; it is compiled again with longer vectors.
    unsafe { plain::blend(blend, out) }
}

/// # Safety
/// The processor must have AVX2 and FMA.
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn to_rows(columns: &[f32], stride: usize, to: &mut [f32]) {
    let n = columns.len() / LANES;
    let whole = n / 8 * 8;
    assert!(n == 0 || to.len() >= (LANES - 1) * stride + n);
    for at in (0..whole).step_by(8) {
        for lanes in (0..LANES).step_by(8) {
            // SAFETY: eight columns from `at` on, and room for eight numbers from there on in each of
            // sixteen rows.
            unsafe {
                let from = columns.as_ptr().add(at * LANES + lanes);
                turn(from, LANES, to.as_mut_ptr().add(lanes * stride + at), stride);
            }
        }
    }
    // SAFETY: none is needed.
    unsafe { portable::to_rows(&columns[whole * LANES..], stride, &mut to[whole.min(n)..]) }
}

/// # Safety
/// The processor must have AVX2, FMA and F16C; see [`Precise`].
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn store(rows: &[&[f32]], pixels: usize, real: Real, out: *mut u8) {
    assert!(rows.iter().all(|row| row.len() >= pixels));
    // SAFETY: the caller's promise, and rows are long enough.
    unsafe {
        match rows {
            _ if pixels < 16 => plain::store(rows, pixels, real, out),
            [a] => blocks([a], pixels, real, out),
            [a, b] => blocks([a, b], pixels, real, out),
            [a, b, c] => blocks([a, b, c], pixels, real, out),
            [a, b, c, d] => blocks([a, b, c, d], pixels, real, out),
            _ => plain::store(rows, pixels, real, out),
        }
    }
}

/// Blocks of sixteen pixels; the last one ends with the row and may store some pixels again.
///
/// # Safety
/// At least sixteen pixels in each row, and room for as many.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
unsafe fn blocks<const N: usize>(rows: [&[f32]; N], pixels: usize, real: Real, out: *mut u8) {
    let (mut low, mut high) = ([_mm256_setzero_ps(); N], [_mm256_setzero_ps(); N]);
    for at in (0..pixels).step_by(16) {
        let here = at.min(pixels - 16);
        for line in 0..(16 * N * real.size()).div_ceil(LINE) {
            fetch_later(out.wrapping_add(here * N * real.size() + LINE * line));
        }
        for row in 0..N {
            // SAFETY: here + 16 <= pixels.
            unsafe {
                let from = rows[row].as_ptr().add(here);
                (low[row], high[row]) = (_mm256_loadu_ps(from), _mm256_loadu_ps(from.add(8)));
            }
        }
        // SAFETY: room for sixteen pixels of N elements from `here` on.
        unsafe { put(real, out, here, low, high) };
    }
}
