//! Rows to columns and back, in squares of sixteen by sixteen.
#![expect(unsafe_code, reason = "vector loads and stores by address")]

use std::arch::x86_64::*;

use crate::engine::cpu::fixed::LANES;
use crate::engine::cpu::kernels::portable;

/// # Safety
/// The processor must have AVX2.
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) unsafe fn to_columns(from: &[i16], stride: usize, columns: &mut [i16]) {
    let n = columns.len() / LANES;
    let whole = n / LANES * LANES;
    assert!(n == 0 || from.len() >= 15 * stride + n);
    for at in (0..whole).step_by(LANES) {
        // SAFETY: sixteen rows of `stride` hold sixteen numbers from `at` on, and there are
        // sixteen columns from there on.
        unsafe {
            let square =
                square(|row| _mm256_loadu_si256(from.as_ptr().add(row * stride + at).cast()));
            let out = columns.as_mut_ptr().add(at * LANES).cast::<__m256i>();
            for (index, column) in square.iter().enumerate() {
                _mm256_storeu_si256(out.add(index), *column);
            }
        }
    }
    // SAFETY: none is needed.
    unsafe {
        portable::to_columns(&from[whole.min(from.len())..], stride, &mut columns[whole * LANES..])
    }
}

/// # Safety
/// The processor must have AVX2.
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) unsafe fn to_rows(columns: &[i16], stride: usize, to: &mut [i16]) {
    let n = columns.len() / LANES;
    let whole = n / LANES * LANES;
    assert!(n == 0 || to.len() >= 15 * stride + n);
    for at in (0..whole).step_by(LANES) {
        // SAFETY: as above, the other way round.
        unsafe {
            let from = columns.as_ptr().add(at * LANES).cast::<__m256i>();
            let square = square(|index| _mm256_loadu_si256(from.add(index)));
            for (row, numbers) in square.iter().enumerate() {
                _mm256_storeu_si256(to.as_mut_ptr().add(row * stride + at).cast(), *numbers);
            }
        }
    }
    // SAFETY: none is needed.
    unsafe { portable::to_rows(&columns[whole * LANES..], stride, &mut to[whole.min(n)..]) }
}

/// Sixteen rows to every second column.
///
/// # Safety
/// Sixteen vectors at `rows`, room for 31 at `columns`.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
pub(super) unsafe fn rows_to_columns(rows: *const __m256i, columns: *mut __m256i) {
    for high in 0..2 {
        // SAFETY: the caller's promise.
        unsafe {
            // Put together as they are loaded, which costs less than to store them so.
            let half = |row: usize| _mm_load_si128(rows.add(row).cast::<__m128i>().add(high));
            let turned = half_square(|row| _mm256_set_m128i(half(row + 8), half(row)));
            for (index, column) in turned.iter().enumerate() {
                _mm256_storeu_si256(columns.add(2 * (8 * high + index)), *column);
            }
        }
    }
}

/// Sixteen vectors of sixteen numbers, turned.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn square(load: impl Fn(usize) -> __m256i) -> [__m256i; 16] {
    // Halves of rows r and r + 8 together, so that what follows stays inside the halves.
    let [a, b, c, d, e, f, g, h] =
        half_square(|row| _mm256_permute2x128_si256::<0x20>(load(row), load(row + 8)));
    let [i, j, k, l, m, n, o, p] =
        half_square(|row| _mm256_permute2x128_si256::<0x31>(load(row), load(row + 8)));
    [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p]
}

/// Eight vectors, each a half of two rows, to eight columns of sixteen.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn half_square(load: impl Fn(usize) -> __m256i) -> [__m256i; 8] {
    let (a, b, c, d) = (load(0), load(1), load(2), load(3));
    let (e, f, g, h) = (load(4), load(5), load(6), load(7));
    let (s0, s1) = (_mm256_unpacklo_epi16(a, b), _mm256_unpackhi_epi16(a, b));
    let (s2, s3) = (_mm256_unpacklo_epi16(c, d), _mm256_unpackhi_epi16(c, d));
    let (s4, s5) = (_mm256_unpacklo_epi16(e, f), _mm256_unpackhi_epi16(e, f));
    let (s6, s7) = (_mm256_unpacklo_epi16(g, h), _mm256_unpackhi_epi16(g, h));
    let (t0, t1) = (_mm256_unpacklo_epi32(s0, s2), _mm256_unpackhi_epi32(s0, s2));
    let (t2, t3) = (_mm256_unpacklo_epi32(s1, s3), _mm256_unpackhi_epi32(s1, s3));
    let (t4, t5) = (_mm256_unpacklo_epi32(s4, s6), _mm256_unpackhi_epi32(s4, s6));
    let (t6, t7) = (_mm256_unpacklo_epi32(s5, s7), _mm256_unpackhi_epi32(s5, s7));
    [
        _mm256_unpacklo_epi64(t0, t4),
        _mm256_unpackhi_epi64(t0, t4),
        _mm256_unpacklo_epi64(t1, t5),
        _mm256_unpackhi_epi64(t1, t5),
        _mm256_unpacklo_epi64(t2, t6),
        _mm256_unpackhi_epi64(t2, t6),
        _mm256_unpacklo_epi64(t3, t7),
        _mm256_unpackhi_epi64(t3, t7),
    ]
}
