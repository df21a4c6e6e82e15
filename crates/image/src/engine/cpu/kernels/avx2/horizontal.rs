//! Weighted sums along a row, eight outputs at a time.
#![expect(unsafe_code, reason = "vector loads and stores by address")]

use std::arch::x86_64::*;

use crate::engine::cpu::fixed::{Horizontal, LANES};

/// # Safety
/// The processor must have AVX2.
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) unsafe fn horizontal(table: &Horizontal, from: &[i16], out: &mut [i16]) {
    let (window, outputs) = (table.window, table.first.len());
    let last = table.first.iter().max().map_or(0, |first| *first as usize);
    // Checked once: every window of the table is inside the row, every output in its buffer.
    assert!(last + window <= from.len() && outputs <= out.len());
    assert!(outputs.is_multiple_of(LANES) && table.weights.len() == outputs * window);
    // SAFETY: checked above.
    unsafe {
        match window {
            4 => eights::<4>(table, from.as_ptr(), out.as_mut_ptr()),
            8 => eights::<8>(table, from.as_ptr(), out.as_mut_ptr()),
            _ => long(table, from.as_ptr(), out.as_mut_ptr()),
        }
    }
}

/// Rounds eight sums and stores them.
///
/// # Safety
/// `out` must be valid for eight numbers.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
unsafe fn finish(sums: __m256i, bits: __m128i, half: __m256i, out: *mut i16) {
    let sums = _mm256_sra_epi32(_mm256_add_epi32(sums, half), bits);
    let (low, high) = (_mm256_castsi256_si128(sums), _mm256_extracti128_si256::<1>(sums));
    // SAFETY: the caller's promise.
    unsafe { _mm_storeu_si128(out.cast(), _mm_packs_epi32(low, high)) }
}

/// # Safety
/// As checked in [`horizontal`].
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
unsafe fn eights<const WINDOW: usize>(table: &Horizontal, from: *const i16, out: *mut i16) {
    let (bits, half) =
        (_mm_cvtsi32_si128(table.bits as i32), _mm256_set1_epi32(1 << table.bits >> 1));
    let (first, weights) = (table.first.as_ptr(), table.weights.as_ptr());
    for at in (0..table.first.len()).step_by(8) {
        // SAFETY: a group of eight outputs, whose windows are inside the row.
        unsafe {
            let (first, weights) = (first.add(at), weights.add(at * WINDOW));
            let sums =
                if WINDOW == 4 { four(first, weights, from) } else { eight(first, weights, from) };
            finish(sums, bits, half, out.add(at));
        }
    }
}

/// Eight outputs of four samples each.
///
/// # Safety
/// As checked in [`horizontal`].
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
unsafe fn four(first: *const u32, weights: *const i16, from: *const i16) -> __m256i {
    // SAFETY: the caller's promise.
    unsafe {
        let load = |at: usize| _mm_loadl_epi64(from.add(*first.add(at) as usize).cast());
        let two = |at: usize| _mm_unpacklo_epi64(load(at), load(at + 1));
        let weights = weights.cast::<__m256i>();
        let a = _mm256_madd_epi16(_mm256_set_m128i(two(2), two(0)), _mm256_loadu_si256(weights));
        let b =
            _mm256_madd_epi16(_mm256_set_m128i(two(6), two(4)), _mm256_loadu_si256(weights.add(1)));
        // [0 1 4 5 | 2 3 6 7], in pairs of 64 bits.
        _mm256_permute4x64_epi64::<0xd8>(_mm256_hadd_epi32(a, b))
    }
}

/// Eight outputs of eight samples each.
///
/// # Safety
/// As checked in [`horizontal`].
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
unsafe fn eight(first: *const u32, weights: *const i16, from: *const i16) -> __m256i {
    // SAFETY: the caller's promise.
    unsafe {
        let load = |at: usize| _mm_loadu_si128(from.add(*first.add(at) as usize).cast());
        let two = |at: usize| {
            let weights = _mm256_loadu_si256(weights.add(8 * at).cast());
            _mm256_madd_epi16(_mm256_set_m128i(load(at + 1), load(at)), weights)
        };
        let a = _mm256_hadd_epi32(two(0), two(2));
        let b = _mm256_hadd_epi32(two(4), two(6));
        // [0 2 4 6 | 1 3 5 7].
        let order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
        _mm256_permutevar8x32_epi32(_mm256_hadd_epi32(a, b), order)
    }
}

/// Windows of 16 samples and multiples.
///
/// # Safety
/// As checked in [`horizontal`].
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn long(table: &Horizontal, from: *const i16, out: *mut i16) {
    let (bits, half) =
        (_mm_cvtsi32_si128(table.bits as i32), _mm256_set1_epi32(1 << table.bits >> 1));
    let (first, weights) = (table.first.as_ptr(), table.weights.as_ptr());
    for at in (0..table.first.len()).step_by(8) {
        // SAFETY: a group of eight outputs, whose windows are inside the row.
        unsafe {
            let one = |index: usize| {
                let from = from.add(*first.add(at + index) as usize);
                let weights = weights.add((at + index) * table.window);
                let mut sum = _mm256_setzero_si256();
                for sample in (0..table.window).step_by(16) {
                    let run = _mm256_loadu_si256(from.add(sample).cast());
                    let own = _mm256_loadu_si256(weights.add(sample).cast());
                    sum = _mm256_add_epi32(sum, _mm256_madd_epi16(run, own));
                }
                sum
            };
            let four = |index: usize| {
                let a = _mm256_hadd_epi32(one(index), one(index + 1));
                let b = _mm256_hadd_epi32(one(index + 2), one(index + 3));
                _mm256_hadd_epi32(a, b)
            };
            let (a, b) = (four(0), four(4));
            let low = _mm256_permute2x128_si256::<0x20>(a, b);
            let high = _mm256_permute2x128_si256::<0x31>(a, b);
            finish(_mm256_add_epi32(low, high), bits, half, out.add(at));
        }
    }
}
