//! Weighted sums along rows: columns of sixteen rows at a time.
#![expect(unsafe_code, reason = "vector loads and stores by address")]

use std::arch::x86_64::*;

use crate::engine::cpu::fixed::LANES;
use crate::engine::cpu::kernels::Along;

/// # Safety
/// The processor must have AVX2.
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) unsafe fn horizontal(along: Along<'_>, from: &[i16], out: &mut [i16]) {
    let Along { count, wide, .. } = along;
    // SAFETY: the processor has the instructions; the rest is checked where it is used.
    unsafe {
        match count {
            1 => copies(along, from, out),
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

/// Outputs that are samples.
///
/// # Safety
/// The processor must have AVX2.
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn copies(along: Along<'_>, from: &[i16], out: &mut [i16]) {
    let Along { first, start, step, .. } = along;
    let outputs = first.len().min(out.len() / LANES);
    for output in 0..outputs {
        let out = &mut out[output * LANES..][..LANES];
        let column = &from[(first[output] - start) * step * LANES..][..LANES];
        // SAFETY: a column is sixteen numbers, and so is an output.
        unsafe {
            let column = _mm256_loadu_si256(column.as_ptr().cast());
            _mm256_storeu_si256(out.as_mut_ptr().cast(), column);
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
    let outputs = first.len().min(out.len() / LANES);
    for output in 0..outputs {
        let (out, first) = (&mut out[output * LANES..][..LANES], first[output]);
        let weights = &weights[output * COUNT..][..COUNT];
        let run = &from[(first - start) * step * LANES..][..((COUNT - 1) * step + 1) * LANES];
        let mut sum = _mm256_setzero_si256();
        for (index, weight) in weights.iter().enumerate() {
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
    let outputs = first.len().min(out.len() / LANES);
    for output in 0..outputs {
        let (out, first) = (&mut out[output * LANES..][..LANES], first[output]);
        let weights = &weights[output * count..][..count];
        let run = &from[(first - start) * step * LANES..][..((count - 1) * step + 1) * LANES];
        let mut sum = _mm256_setzero_si256();
        for (index, weight) in weights.iter().enumerate() {
            // SAFETY: the run reaches to the last of `count` columns.
            let column =
                unsafe { _mm256_loadu_si256(run.as_ptr().add(index * step * LANES).cast()) };
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
    let outputs = first.len().min(out.len() / LANES);
    for output in 0..outputs {
        let (out, first) = (&mut out[output * LANES..][..LANES], first[output]);
        let weights = &weights[output * count..][..count];
        let run = &from[(first - start) * step * LANES..][..((count - 1) * step + 1) * LANES];
        let (mut low, mut high) = (half, half);
        for (pair, weights) in weights.chunks_exact(2).enumerate() {
            // SAFETY: the run reaches to the last of `count` columns.
            let (a, b) = unsafe {
                let a = run.as_ptr().add(2 * pair * step * LANES);
                (_mm256_loadu_si256(a.cast()), _mm256_loadu_si256(a.add(step * LANES).cast()))
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
