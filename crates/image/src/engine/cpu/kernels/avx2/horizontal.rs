//! Weighted sums along rows: columns of sixteen rows at a time.
#![expect(unsafe_code, reason = "vector loads and stores by address")]

use std::arch::x86_64::*;

use crate::engine::cpu::fixed::LANES;
use crate::engine::cpu::kernels::{Along, together};

/// # Safety
/// The processor must have AVX2; see [`super::Kernels`].
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) unsafe fn horizontal(along: Along<'_>, from: &[&[i16]], out: &mut [&mut [i16]]) {
    if along.count == 1 || along.wide {
        for (from, out) in from.iter().zip(out) {
            // SAFETY: the processor has the instructions; the rest is checked where it is used.
            unsafe {
                if along.count == 1 {
                    copies(along, from, out)
                } else {
                    sums_of_32(along, from, out)
                }
            }
        }
        return;
    }
    let together = together(from.len());
    for (from, out) in from.chunks(together).zip(out.chunks_mut(together)) {
        // SAFETY: the caller's promise.
        unsafe {
            match (from, out, along.step) {
                ([a], [to_a], 1) => sums::<1, 1>(along, [*a], [to_a]),
                ([a, b], [to_a, to_b], 1) => sums::<1, 2>(along, [*a, *b], [to_a, to_b]),
                ([a, b], [to_a, to_b], 2) => sums::<2, 2>(along, [*a, *b], [to_a, to_b]),
                ([a, b], [to_a, to_b], _) => sums::<0, 2>(along, [*a, *b], [to_a, to_b]),
                ([a, b, c], [to_a, to_b, to_c], _) => {
                    sums::<0, 3>(along, [*a, *b, *c], [to_a, to_b, to_c]);
                }
                ([a, b, c, d], [to_a, to_b, to_c, to_d], 2) => {
                    sums::<2, 4>(along, [*a, *b, *c, *d], [to_a, to_b, to_c, to_d]);
                }
                ([a, b, c, d], [to_a, to_b, to_c, to_d], _) => {
                    sums::<0, 4>(along, [*a, *b, *c, *d], [to_a, to_b, to_c, to_d]);
                }
                (from, out, _) => {
                    for (from, out) in from.iter().zip(out) {
                        sums::<0, 1>(along, [*from], [out]);
                    }
                }
            }
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

/// Sums of 16 bits, for components that share their weights.
///
/// # Safety
/// As [`horizontal`].
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
unsafe fn sums<const STEP: usize, const PARTS: usize>(
    along: Along<'_>,
    from: [&[i16]; PARTS],
    out: [&mut [i16]; PARTS],
) {
    // SAFETY: the caller's promise.
    unsafe {
        match along.count {
            2 => sums_of_16::<2, STEP, PARTS>(along, from, out),
            3 => sums_of_16::<3, STEP, PARTS>(along, from, out),
            4 => sums_of_16::<4, STEP, PARTS>(along, from, out),
            5 => sums_of_16::<5, STEP, PARTS>(along, from, out),
            6 => sums_of_16::<6, STEP, PARTS>(along, from, out),
            7 => sums_of_16::<7, STEP, PARTS>(along, from, out),
            8 => sums_of_16::<8, STEP, PARTS>(along, from, out),
            9 => sums_of_16::<9, STEP, PARTS>(along, from, out),
            10 => sums_of_16::<10, STEP, PARTS>(along, from, out),
            11 => sums_of_16::<11, STEP, PARTS>(along, from, out),
            12 => sums_of_16::<12, STEP, PARTS>(along, from, out),
            _ => sums_of_16::<0, STEP, PARTS>(along, from, out),
        }
    }
}

/// `COUNT` samples for each output, `STEP` columns apart, or what the table says if that is none.
///
/// # Safety
/// As [`horizontal`].
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn sums_of_16<const COUNT: usize, const STEP: usize, const PARTS: usize>(
    along: Along<'_>,
    from: [&[i16]; PARTS],
    out: [&mut [i16]; PARTS],
) {
    let Along { first, start, weights, .. } = along;
    let count = if COUNT == 0 { along.count } else { COUNT };
    let step = if STEP == 0 { along.step } else { STEP };
    let mut outputs = first.len().min(weights.len() / (2 * count));
    for out in &out {
        outputs = outputs.min(out.len() / LANES);
    }
    assert!(from.iter().all(|part| along.is_within(part)));
    for (output, first) in first[..outputs].iter().enumerate() {
        let begin = (first - start) * step * LANES;
        let mut sums = [_mm256_setzero_si256(); PARTS];
        for index in 0..count {
            // SAFETY: two numbers for each weight, of which there are enough for all outputs.
            let weight = unsafe {
                let pair = weights.as_ptr().add(2 * (output * count + index)).cast::<i32>();
                _mm256_set1_epi32(pair.read_unaligned())
            };
            for part in 0..PARTS {
                // SAFETY: the run reaches to the last of `count` columns, which is inside.
                let column = unsafe {
                    let column = from[part].as_ptr().add(begin + index * step * LANES);
                    _mm256_loadu_si256(column.cast())
                };
                let product = _mm256_mulhrs_epi16(column, weight);
                sums[part] =
                    if index == 0 { product } else { _mm256_add_epi16(sums[part], product) };
            }
        }
        for part in 0..PARTS {
            // SAFETY: an output is one column, and there is one for each.
            unsafe {
                let out = out[part].as_mut_ptr().add(output * LANES);
                _mm256_storeu_si256(out.cast(), sums[part]);
            }
        }
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
