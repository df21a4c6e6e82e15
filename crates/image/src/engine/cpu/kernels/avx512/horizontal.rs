//! Weighted sums along rows in 32 bits: products of two columns are added as they are made.
#![expect(unsafe_code, reason = "vector loads and stores by address")]

use std::arch::x86_64::*;

use crate::engine::cpu::fixed::LANES;
use crate::engine::cpu::kernels::{Along, avx2};

/// # Safety
/// The processor must have AVX-512; see [`super::Kernels`].
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
pub(super) unsafe fn horizontal(along: Along<'_>, from: &[&[i16]], out: &mut [&mut [i16]]) {
    if !along.wide || along.count < 2 {
        // SAFETY: the caller's promise.
        return unsafe { (avx2::KERNELS.horizontal)(along, from, out) };
    }
    for (from, out) in from.iter().zip(out) {
        // SAFETY: the processor has the instructions; the rest is checked where it is used.
        unsafe { sums(along, from, out) };
    }
}

/// Pairs of samples, of which there is an even number for each output.
///
/// # Safety
/// The processor must have AVX-512.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
unsafe fn sums(along: Along<'_>, from: &[i16], out: &mut [i16]) {
    let Along { first, start, step, weights, count, bits, .. } = along;
    let half = _mm512_set1_epi32(1 << bits >> 1);
    let shift = _mm_cvtsi32_si128(bits as i32);
    let outputs = first.len().min(out.len() / LANES).min(weights.len() / count);
    assert!(along.is_within(from) && count.is_multiple_of(2));
    // Numbers of one column and of the other in turn: the second 32 further than the first.
    let rising = _mm512_cvtepu16_epi32(_mm256_setr_epi16(
        0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
    ));
    let second = _mm512_slli_epi32::<16>(_mm512_add_epi32(rising, _mm512_set1_epi32(32)));
    let in_turn = _mm512_or_si512(rising, second);
    for (output, first) in first[..outputs].iter().enumerate() {
        let mut total = half;
        let run = from.as_ptr().wrapping_add((first - start) * step * LANES);
        let own = weights.as_ptr().wrapping_add(output * count).cast::<i32>();
        for pair in 0..count / 2 {
            // SAFETY: the run reaches to the last of `count` columns, which is inside, and there are
            // as many weights for every output.
            unsafe {
                let a = run.add(2 * pair * step * LANES);
                let b = a.add(step * LANES);
                let (a, b) = (_mm256_loadu_si256(a.cast()), _mm256_loadu_si256(b.cast()));
                let (a, b) = (_mm512_castsi256_si512(a), _mm512_castsi256_si512(b));
                let both = _mm512_permutex2var_epi16(a, in_turn, b);
                let weights = _mm512_set1_epi32(own.add(pair).read_unaligned());
                total = _mm512_dpwssd_epi32(total, both, weights);
            }
        }
        let numbers = _mm512_cvtsepi32_epi16(_mm512_sra_epi32(total, shift));
        // SAFETY: an output is one column, and there is one for each.
        unsafe { _mm256_storeu_si256(out.as_mut_ptr().add(output * LANES).cast(), numbers) };
    }
}
