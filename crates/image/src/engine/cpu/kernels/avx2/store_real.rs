//! Rows stored as scaled numbers, one to four of them between each other.
#![expect(unsafe_code, reason = "vector loads and stores by address")]

use std::arch::x86_64::*;

use super::between;
use crate::engine::cpu::kernels::{Finished, Real, Scale, portable};

/// # Safety
/// The processor must have AVX2, FMA and F16C; see [`super::Kernels`].
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) unsafe fn store_real(finished: Finished<'_>, scale: &Scale, real: Real, out: *mut u8) {
    let Finished { rows, pixels, .. } = finished;
    assert!(rows.iter().all(|row| row.len() >= pixels));
    // SAFETY: the caller's promise, and rows are long enough.
    unsafe {
        match rows {
            _ if pixels < 16 => portable::store_real(finished, scale, real, out),
            [a] => blocks(finished, [a.as_ptr()], scale, real, out),
            [a, b] => blocks(finished, [a.as_ptr(), b.as_ptr()], scale, real, out),
            [a, b, c] => {
                blocks(finished, [a.as_ptr(), b.as_ptr(), c.as_ptr()], scale, real, out);
            }
            [a, b, c, d] => {
                let rows = [a.as_ptr(), b.as_ptr(), c.as_ptr(), d.as_ptr()];
                blocks(finished, rows, scale, real, out);
            }
            _ => portable::store_real(finished, scale, real, out),
        }
    }
}

/// Blocks of sixteen pixels; the last one ends with the row and may store some pixels again.
///
/// # Safety
/// At least sixteen pixels in each row, and room for as many.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
unsafe fn blocks<const N: usize>(
    finished: Finished<'_>,
    rows: [*const i16; N],
    scale: &Scale,
    real: Real,
    out: *mut u8,
) {
    let Finished { fraction, pixels, .. } = finished;
    let unit = 1.0 / (1u32 << fraction) as f32;
    let (black, white) = (_mm256_setzero_si256(), _mm256_set1_epi16(255 << fraction));
    let (mut low, mut high) = ([_mm256_setzero_ps(); N], [_mm256_setzero_ps(); N]);
    let mut at = 0;
    while at < pixels {
        let here = at.min(pixels - 16);
        for (row, from) in rows.iter().enumerate() {
            let multiply = _mm256_set1_ps(scale.multiply[row & 3] * unit);
            let add = _mm256_set1_ps(scale.add[row & 3]);
            // SAFETY: here + 16 <= pixels.
            let codes = unsafe { _mm256_loadu_si256(from.add(here).cast()) };
            let codes = _mm256_min_epi16(_mm256_max_epi16(codes, black), white);
            let first = _mm256_cvtepi16_epi32(_mm256_castsi256_si128(codes));
            let second = _mm256_cvtepi16_epi32(_mm256_extracti128_si256::<1>(codes));
            low[row] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(first), multiply, add);
            high[row] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(second), multiply, add);
        }
        // SAFETY: room for sixteen pixels of N elements from `here` on.
        unsafe { put(real, out, here, low, high) };
        at += 16;
    }
}

/// Stores sixteen pixels from number `at` on, of one to four elements each.
///
/// # Safety
/// Room for them.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
pub(super) unsafe fn put<const N: usize>(
    real: Real,
    out: *mut u8,
    at: usize,
    low: [__m256; N],
    high: [__m256; N],
) {
    // SAFETY: the caller's promise.
    unsafe {
        match real {
            Real::F32 => {
                let out = out.cast::<f32>().add(N * at);
                between::floats(out, low);
                between::floats(out.add(8 * N), high);
            }
            Real::F16 => {
                let out = out.cast::<u16>().add(N * at);
                between::words(out, halves(low));
                between::words(out.add(8 * N), halves(high));
            }
            Real::Bf16 => {
                let out = out.cast::<u16>().add(N * at);
                between::words(out, brains(low));
                between::words(out.add(8 * N), brains(high));
            }
            Real::U8 => between::bytes(out.add(N * at), codes::<N, false>(low, high)),
            Real::I8 => between::bytes(out.add(N * at), codes::<N, true>(low, high)),
        }
    }
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn halves<const N: usize>(rows: [__m256; N]) -> [__m128i; N] {
    let mut out = [_mm_setzero_si128(); N];
    for (index, row) in rows.iter().enumerate() {
        out[index] = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(*row);
    }
    out
}

/// The upper half of each number, rounded to nearest even.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn brains<const N: usize>(rows: [__m256; N]) -> [__m128i; N] {
    let mut out = [_mm_setzero_si128(); N];
    for (index, row) in rows.iter().enumerate() {
        let bits = _mm256_castps_si256(*row);
        let odd = _mm256_and_si256(_mm256_srli_epi32::<16>(bits), _mm256_set1_epi32(1));
        let up = _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff));
        let upper = _mm256_srli_epi32::<16>(_mm256_add_epi32(bits, up));
        let (a, b) = (_mm256_castsi256_si128(upper), _mm256_extracti128_si256::<1>(upper));
        out[index] = _mm_packus_epi32(a, b);
    }
    out
}

/// Sixteen numbers of each row rounded to bytes.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn codes<const N: usize, const SIGNED: bool>(low: [__m256; N], high: [__m256; N]) -> [__m128i; N] {
    let mut out = [_mm_setzero_si128(); N];
    for (index, (low, high)) in low.iter().zip(&high).enumerate() {
        let both = _mm256_packs_epi32(integers(*low), integers(*high));
        let words = _mm256_permute4x64_epi64::<0xd8>(both);
        let (a, b) = (_mm256_castsi256_si128(words), _mm256_extracti128_si256::<1>(words));
        out[index] = if SIGNED { _mm_packs_epi16(a, b) } else { _mm_packus_epi16(a, b) };
    }
    out
}

/// Rounded; what is out of range would become the most negative integer, and is bounded before.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn integers(x: __m256) -> __m256i {
    let limit = _mm256_set1_ps(30000.0);
    let below = _mm256_sub_ps(_mm256_setzero_ps(), limit);
    _mm256_cvtps_epi32(_mm256_max_ps(_mm256_min_ps(x, limit), below))
}
