//! Rows stored as scaled numbers.
#![expect(unsafe_code, reason = "vector loads and stores by address")]

use std::arch::x86_64::*;

use crate::engine::cpu::kernels::{Finished, Real, Scale, portable};

/// # Safety
/// The processor must have AVX2, FMA and F16C; see [`super::Kernels`].
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) unsafe fn store_real(finished: Finished<'_>, scale: &Scale, real: Real, out: *mut u8) {
    let Finished { rows, pixels, .. } = finished;
    assert!(rows.iter().all(|row| row.len() >= pixels));
    let [row] = rows else {
        // SAFETY: the caller's promise.
        return unsafe { portable::store_real(finished, scale, real, out) };
    };
    if pixels < 16 {
        // SAFETY: the caller's promise.
        return unsafe { portable::store_real(finished, scale, real, out) };
    }
    // SAFETY: the caller's promise, and the row is long enough.
    unsafe {
        match real {
            Real::F32 => blocks(finished, row, scale, |at, low, high| {
                let out = out.cast::<f32>().add(at);
                _mm256_storeu_ps(out, low);
                _mm256_storeu_ps(out.add(8), high);
            }),
            Real::F16 => blocks(finished, row, scale, |at, low, high| {
                let out = out.cast::<u16>().add(at);
                let half = |x| _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(x);
                _mm_storeu_si128(out.cast(), half(low));
                _mm_storeu_si128(out.add(8).cast(), half(high));
            }),
            Real::Bf16 => blocks(finished, row, scale, |at, low, high| {
                let both = _mm256_packus_epi32(brain(low), brain(high));
                let both = _mm256_permute4x64_epi64::<0xd8>(both);
                _mm256_storeu_si256(out.cast::<u16>().add(at).cast(), both);
            }),
            Real::U8 => blocks(finished, row, scale, |at, low, high| {
                let words = words(low, high);
                _mm_storeu_si128(out.add(at).cast(), halves(words, |a, b| _mm_packus_epi16(a, b)));
            }),
            Real::I8 => blocks(finished, row, scale, |at, low, high| {
                let words = words(low, high);
                _mm_storeu_si128(out.add(at).cast(), halves(words, |a, b| _mm_packs_epi16(a, b)));
            }),
        }
    }
}

/// The upper half of each number, rounded to nearest even.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn brain(x: __m256) -> __m256i {
    let bits = _mm256_castps_si256(x);
    let odd = _mm256_and_si256(_mm256_srli_epi32::<16>(bits), _mm256_set1_epi32(1));
    let up = _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff));
    _mm256_srli_epi32::<16>(_mm256_add_epi32(bits, up))
}

/// Sixteen numbers rounded to words, in order.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn words(low: __m256, high: __m256) -> __m256i {
    // What is out of range would become the most negative integer.
    let bound = |x| {
        let limit = _mm256_set1_ps(30000.0);
        let below = _mm256_sub_ps(_mm256_setzero_ps(), limit);
        _mm256_cvtps_epi32(_mm256_max_ps(_mm256_min_ps(x, limit), below))
    };
    _mm256_permute4x64_epi64::<0xd8>(_mm256_packs_epi32(bound(low), bound(high)))
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn halves(x: __m256i, pack: impl Fn(__m128i, __m128i) -> __m128i) -> __m128i {
    pack(_mm256_castsi256_si128(x), _mm256_extracti128_si256::<1>(x))
}

/// Blocks of sixteen pixels; the last one ends with the row and may store some pixels again.
///
/// # Safety
/// At least sixteen pixels in the row.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
unsafe fn blocks(
    finished: Finished<'_>,
    row: &[i16],
    scale: &Scale,
    store: impl Fn(usize, __m256, __m256),
) {
    let Finished { fraction, pixels, .. } = finished;
    let multiply = _mm256_set1_ps(scale.multiply[0] / (1u32 << fraction) as f32);
    let add = _mm256_set1_ps(scale.add[0]);
    let (black, white) = (_mm256_setzero_si256(), _mm256_set1_epi16(255 << fraction));
    let mut at = 0;
    while at < pixels {
        let here = at.min(pixels - 16);
        // SAFETY: here + 16 <= pixels.
        let codes = unsafe { _mm256_loadu_si256(row.as_ptr().add(here).cast()) };
        let codes = _mm256_min_epi16(_mm256_max_epi16(codes, black), white);
        let real = |half: __m128i| {
            _mm256_fmadd_ps(_mm256_cvtepi32_ps(_mm256_cvtepi16_epi32(half)), multiply, add)
        };
        let (low, high) = (_mm256_castsi256_si128(codes), _mm256_extracti128_si256::<1>(codes));
        store(here, real(low), real(high));
        at += 16;
    }
}
