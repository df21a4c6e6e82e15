//! Sums of rows.
//!
//! A byte in the upper half of 16 bits times a weight of 16 bits, upper half of the product: as
//! exact as 16 bits can be, two multiplications for 32 bytes. Bytes at odd places stay in the
//! upper half as they are; what those at even places add to them is taken off the sum.
#![expect(unsafe_code, reason = "vector loads and stores by address")]

use std::arch::x86_64::*;

use super::wide;
use crate::engine::cpu::kernels::{BELOW, Sum, portable};

/// # Safety
/// The processor must have AVX2; see [`super::Kernels`].
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) unsafe fn bytes(sum: Sum<'_>, out: &mut [i16]) {
    // SAFETY: the caller's promise.
    unsafe { bytes_before(sum, 0, out) }
}

/// As [`bytes`], before a row that is made of the next `rows` rows of the source, which are fetched
/// meanwhile: a processor fetches ahead along a row, but does not guess where the next begins.
///
/// # Safety
/// As [`bytes`].
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) unsafe fn bytes_before(sum: Sum<'_>, rows: usize, out: &mut [i16]) {
    if sum.wide {
        // SAFETY: the caller's promise.
        return unsafe { wide::bytes(sum, out) };
    }
    if out.len() < 32 {
        // SAFETY: the caller's promise.
        return unsafe { portable::bytes(sum, out) };
    }
    // SAFETY: the caller's promise.
    unsafe {
        if sum.signed {
            bytes_of::<true>(sum, rows, out)
        } else {
            bytes_of::<false>(sum, rows, out)
        }
    }
}

/// # Safety
/// As [`bytes`], with at least 32 outputs.
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn bytes_of<const SIGNED: bool>(sum: Sum<'_>, rows: usize, slice: &mut [i16]) {
    let n = slice.len();
    let out = slice.as_mut_ptr();
    let store = |at: usize, even: __m256i, odd: __m256i| {
        let (low, high) = (_mm256_unpacklo_epi16(even, odd), _mm256_unpackhi_epi16(even, odd));
        // SAFETY: callers pass at + 32 <= n.
        unsafe {
            let out = out.add(at).cast::<__m256i>();
            _mm256_storeu_si256(out, _mm256_permute2x128_si256::<0x20>(low, high));
            _mm256_storeu_si256(out.add(1), _mm256_permute2x128_si256::<0x31>(low, high));
        }
    };
    let next = sum.taps.last().map_or(sum.first, |tap| sum.row(tap).wrapping_add(sum.stride));
    let mut at = 0;
    while at + 128 <= n {
        for row in 0..rows {
            let next = next.wrapping_add(row * sum.stride + at);
            _mm_prefetch::<_MM_HINT_T1>(next.cast());
            _mm_prefetch::<_MM_HINT_T1>(next.wrapping_add(64).cast());
        }
        // SAFETY: 128 bytes from `at` are inside every row, as many as outputs.
        let sums = unsafe { sums::<4, SIGNED>(sum, at) };
        for (index, (even, odd)) in sums.iter().enumerate() {
            store(at + 32 * index, *even, *odd);
        }
        at += 128;
    }
    // The last one ends with the row and may compute some outputs again; pairs stay pairs.
    let last = (n - 32) & !1;
    while at < n {
        let here = at.min(last);
        // SAFETY: as above for 32 bytes.
        let [(even, odd)] = unsafe { sums::<1, SIGNED>(sum, here) };
        store(here, even, odd);
        at += 32;
    }
    if !n.is_multiple_of(2) {
        let row = &mut slice[..n];
        // SAFETY: the caller's promise.
        unsafe { portable::bytes_from(sum, row, n - 1) };
    }
}

/// # Safety
/// The processor must have AVX2; see [`super::Kernels`].
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) unsafe fn pairs(sum: Sum<'_>, even: &mut [i16], odd: &mut [i16]) {
    let n = even.len().min(odd.len());
    if sum.wide {
        // SAFETY: the caller's promise.
        return unsafe { wide::pairs(sum, even, odd) };
    }
    if n < 16 {
        // SAFETY: the caller's promise.
        return unsafe { portable::pairs(sum, even, odd) };
    }
    // SAFETY: the caller's promise.
    unsafe {
        if sum.signed {
            pairs_of::<true>(sum, n, even, odd);
        } else {
            pairs_of::<false>(sum, n, even, odd);
        }
    }
}

/// # Safety
/// As [`pairs`], with at least 16 pairs.
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn pairs_of<const SIGNED: bool>(sum: Sum<'_>, n: usize, even: &mut [i16], odd: &mut [i16]) {
    let (even, odd) = (even.as_mut_ptr(), odd.as_mut_ptr());
    let mut at = 0;
    while at + 64 <= n {
        // SAFETY: 128 bytes from 2 * at are inside every row, two for each output.
        unsafe {
            for (index, (a, b)) in sums::<4, SIGNED>(sum, 2 * at).iter().enumerate() {
                _mm256_storeu_si256(even.add(at + 16 * index).cast(), *a);
                _mm256_storeu_si256(odd.add(at + 16 * index).cast(), *b);
            }
        }
        at += 64;
    }
    while at < n {
        // The last one ends with the row and may compute some outputs again.
        let here = at.min(n - 16);
        // SAFETY: as above for 32 bytes.
        unsafe {
            let [(a, b)] = sums::<1, SIGNED>(sum, 2 * here);
            _mm256_storeu_si256(even.add(here).cast(), a);
            _mm256_storeu_si256(odd.add(here).cast(), b);
        }
        at += 16;
    }
}

/// Sums of `N` times 32 bytes: those at even places, those at odd places.
///
/// # Safety
/// The rows must be valid for reads of `32 * N` bytes from `at` on.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
pub(super) unsafe fn sums<const N: usize, const SIGNED: bool>(
    sum: Sum<'_>,
    at: usize,
) -> [(__m256i, __m256i); N] {
    let start = _mm256_set1_epi16(sum.begin);
    let mut sums = [(start, start); N];
    for tap in sum.taps {
        let (weight, row) = (_mm256_set1_epi32(tap.twice as i32), sum.row(tap).wrapping_add(at));
        for (index, (even, odd)) in sums.iter_mut().enumerate() {
            // SAFETY: the caller's promise.
            let bytes = unsafe { _mm256_loadu_si256(row.add(32 * index).cast()) };
            let a = _mm256_mulhi_epu16(_mm256_slli_epi16::<8>(bytes), weight);
            let b = _mm256_mulhi_epu16(bytes, weight);
            if SIGNED && tap.negative {
                (*even, *odd) = (_mm256_sub_epi16(*even, a), _mm256_sub_epi16(*odd, b));
            } else {
                (*even, *odd) = (_mm256_add_epi16(*even, a), _mm256_add_epi16(*odd, b));
            }
        }
    }
    for (even, odd) in &mut sums {
        (*even, *odd) = finished((*even, *odd), !SIGNED && sum.finer);
    }
    sums
}

/// Sums of bytes at even places and of those at odd ones, these without what the others added to
/// them; and all without a bit that they have more.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
pub(super) fn finished((even, odd): (__m256i, __m256i), finer: bool) -> (__m256i, __m256i) {
    if finer {
        let below = _mm256_set1_epi16(BELOW as i16);
        let odd = _mm256_sub_epi16(odd, _mm256_srli_epi16::<8>(even));
        let odd = _mm256_subs_epu16(_mm256_add_epi16(odd, below), below);
        (_mm256_srli_epi16::<1>(even), _mm256_srli_epi16::<1>(odd))
    } else {
        (even, _mm256_sub_epi16(odd, _mm256_srai_epi16::<8>(even)))
    }
}

/// # Safety
/// The processor must have AVX2; see [`super::Kernels`].
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) unsafe fn words(sum: Sum<'_>, out: &mut [i16]) {
    let n = out.len();
    if sum.wide {
        // SAFETY: the caller's promise.
        return unsafe { wide::words(sum, out) };
    }
    if n < 16 {
        // SAFETY: the caller's promise.
        return unsafe { portable::words(sum, out) };
    }
    let mut at = 0;
    while at < n {
        // The last one ends with the row and may compute some outputs again.
        let here = at.min(n - 16);
        let mut total = _mm256_set1_epi16(sum.begin);
        for tap in sum.taps {
            let weight = _mm256_set1_epi32(tap.twice as i32);
            // SAFETY: 16 words from `here` are inside every row, as many as outputs.
            let words = unsafe { _mm256_loadu_si256(sum.row(tap).add(2 * here).cast()) };
            let product = _mm256_mulhi_epu16(words, weight);
            total = if tap.negative {
                _mm256_sub_epi16(total, product)
            } else {
                _mm256_add_epi16(total, product)
            };
        }
        // SAFETY: here + 16 <= n.
        unsafe { _mm256_storeu_si256(out.as_mut_ptr().add(here).cast(), total) };
        at += 16;
    }
}
