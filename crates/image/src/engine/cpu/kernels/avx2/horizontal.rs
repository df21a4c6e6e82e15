//! Weighted sums along rows: columns of sixteen rows at a time.
#![expect(unsafe_code, reason = "vector loads and stores by address")]

use std::arch::x86_64::*;

use crate::engine::cpu::fixed::LANES;
use crate::engine::cpu::kernels::{Along, portable};

/// # Safety
/// The processor must have AVX2.
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) unsafe fn horizontal(along: Along<'_>, from: &[i16], out: &mut [i16]) {
    let Along { count, wide, .. } = along;
    // SAFETY: the processor has the instructions; the rest is checked where it is used.
    unsafe {
        match count {
            1 => portable::horizontal(along, from, out),
            _ if wide => sums_of_32(along, from, out),
            2 => narrow::<2>(along, from, out),
            3 => narrow::<3>(along, from, out),
            4 => narrow::<4>(along, from, out),
            5 => narrow::<5>(along, from, out),
            6 => narrow::<6>(along, from, out),
            _ => sums_of_16(along, from, out),
        }
    }
}

/// As many samples as are known when this is compiled.
///
/// # Safety
/// The processor must have AVX2.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
unsafe fn narrow<const COUNT: usize>(along: Along<'_>, from: &[i16], out: &mut [i16]) {
    let Along { first, start, step, weights, .. } = along;
    let outputs = out.chunks_exact_mut(LANES).zip(first).zip(weights.chunks_exact(COUNT));
    for ((out, first), weights) in outputs {
        let run = &from[(first - start) * step * LANES..][..((COUNT - 1) * step + 1) * LANES];
        let mut sum = _mm256_setzero_si256();
        for (index, weight) in weights.iter().enumerate().take(COUNT) {
            // SAFETY: the run reaches to the last of COUNT columns.
            let column =
                unsafe { _mm256_loadu_si256(run.as_ptr().add(index * step * LANES).cast()) };
            let part = _mm256_mulhrs_epi16(column, _mm256_set1_epi16(*weight));
            sum = _mm256_add_epi16(sum, part);
        }
        // SAFETY: an output is one column.
        unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), sum) };
    }
}

/// Any number of samples whose sums fit 16 bits.
///
/// # Safety
/// The processor must have AVX2.
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn sums_of_16(along: Along<'_>, from: &[i16], out: &mut [i16]) {
    let Along { first, start, step, weights, count, .. } = along;
    let outputs = out.chunks_exact_mut(LANES).zip(first).zip(weights.chunks_exact(count));
    for ((out, first), weights) in outputs {
        let run = &from[(first - start) * step * LANES..];
        let mut sum = _mm256_setzero_si256();
        for (column, weight) in run.chunks_exact(LANES).step_by(step).zip(weights) {
            // SAFETY: a column is sixteen numbers.
            let column = unsafe { _mm256_loadu_si256(column.as_ptr().cast()) };
            let part = _mm256_mulhrs_epi16(column, _mm256_set1_epi16(*weight));
            sum = _mm256_add_epi16(sum, part);
        }
        // SAFETY: an output is one column.
        unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), sum) };
    }
}

/// Pairs of samples, summed in 32 bits.
///
/// # Safety
/// The processor must have AVX2.
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn sums_of_32(along: Along<'_>, from: &[i16], out: &mut [i16]) {
    let Along { first, start, step, weights, count, bits, .. } = along;
    let half = _mm256_set1_epi32(1 << bits >> 1);
    let shift = _mm_cvtsi32_si128(bits as i32);
    let outputs = out.chunks_exact_mut(LANES).zip(first).zip(weights.chunks_exact(count));
    for ((out, first), weights) in outputs {
        let run = &from[(first - start) * step * LANES..];
        let mut columns = run.chunks_exact(LANES).step_by(step);
        let (mut low, mut high) = (half, half);
        for weights in weights.chunks_exact(2) {
            let (Some(a), Some(b)) = (columns.next(), columns.next()) else { break };
            // SAFETY: a column is sixteen numbers.
            let (a, b) = unsafe {
                (_mm256_loadu_si256(a.as_ptr().cast()), _mm256_loadu_si256(b.as_ptr().cast()))
            };
            let both = u32::from(weights[0] as u16) | u32::from(weights[1] as u16) << 16;
            let both = _mm256_set1_epi32(both as i32);
            low = _mm256_add_epi32(low, _mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), both));
            high = _mm256_add_epi32(high, _mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), both));
        }
        let (low, high) = (_mm256_sra_epi32(low, shift), _mm256_sra_epi32(high, shift));
        // SAFETY: an output is one column.
        unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), _mm256_packs_epi32(low, high)) };
    }
}
