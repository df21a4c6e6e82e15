//! Weighted sums along rows: columns of sixteen rows at a time.
//!
//! The rounding multiplication saturates where both factors are the most negative number, and
//! that of plain Rust does not: no weight is.
#![expect(unsafe_code, reason = "vector loads and stores by address")]

use std::arch::aarch64::*;

use crate::engine::cpu::fixed::LANES;
use crate::engine::cpu::kernels::{Along, together};

/// # Safety
/// The processor must have NEON; see [`super::Kernels`].
#[target_feature(enable = "neon")]
pub(super) unsafe fn horizontal(along: Along<'_>, from: &[&[i16]], out: &mut [&mut [i16]]) {
    if along.count == 1 || along.wide {
        for (from, out) in from.iter().zip(out) {
            // SAFETY: the processor has the instructions; the rest is checked where it is used.
            unsafe {
                if along.count == 1 {
                    copies(along, from, out);
                } else {
                    sums_of_32(along, from, out);
                }
            }
        }
        return;
    }
    let together = together(from.len());
    for (from, out) in from.chunks(together).zip(out.chunks_mut(together)) {
        // SAFETY: as above.
        unsafe {
            match (from, out) {
                ([a, b], [to_a, to_b]) => sums(along, [*a, *b], [to_a, to_b]),
                ([a, b, c], [to_a, to_b, to_c]) => {
                    sums(along, [*a, *b, *c], [to_a, to_b, to_c]);
                }
                ([a, b, c, d], [to_a, to_b, to_c, to_d]) => {
                    sums(along, [*a, *b, *c, *d], [to_a, to_b, to_c, to_d]);
                }
                (from, out) => {
                    for (from, out) in from.iter().zip(out) {
                        sums(along, [*from], [out]);
                    }
                }
            }
        }
    }
}

/// Outputs that are samples.
fn copies(along: Along<'_>, from: &[i16], out: &mut [i16]) {
    let Along { first, start, step, .. } = along;
    for (first, out) in first.iter().zip(out.chunks_exact_mut(LANES)) {
        out.copy_from_slice(&from[(first - start) * step * LANES..][..LANES]);
    }
}

/// Sums of 16 bits, for components that share their weights.
///
/// # Safety
/// As [`horizontal`].
#[target_feature(enable = "neon")]
#[inline]
unsafe fn sums<const PARTS: usize>(
    along: Along<'_>,
    from: [&[i16]; PARTS],
    out: [&mut [i16]; PARTS],
) {
    // SAFETY: the processor has the instructions.
    unsafe {
        match along.count {
            2 => sums_of_16::<2, PARTS>(along, from, out),
            3 => sums_of_16::<3, PARTS>(along, from, out),
            4 => sums_of_16::<4, PARTS>(along, from, out),
            5 => sums_of_16::<5, PARTS>(along, from, out),
            6 => sums_of_16::<6, PARTS>(along, from, out),
            _ => sums_of_16::<0, PARTS>(along, from, out),
        }
    }
}

/// `COUNT` samples for each output, or as many as the table says if that is none.
///
/// # Safety
/// As [`horizontal`].
#[target_feature(enable = "neon")]
unsafe fn sums_of_16<const COUNT: usize, const PARTS: usize>(
    along: Along<'_>,
    from: [&[i16]; PARTS],
    mut out: [&mut [i16]; PARTS],
) {
    let Along { first, start, step, weights, .. } = along;
    let count = if COUNT == 0 { along.count } else { COUNT };
    // Each weight is there twice.
    let mut outputs = first.len().min(weights.len() / (2 * count));
    for out in &out {
        outputs = outputs.min(out.len() / LANES);
    }
    assert!(from.iter().all(|part| along.is_within(part)));
    for (output, first) in first[..outputs].iter().enumerate() {
        let begin = (first - start) * step * LANES;
        let weights = &weights[2 * output * count..][..2 * count];
        let mut sums = [[vdupq_n_s16(0); 2]; PARTS];
        for index in 0..count {
            let weight = vdupq_n_s16(weights[2 * index]);
            for (part, [low, high]) in sums.iter_mut().enumerate() {
                // SAFETY: the run reaches to the last of `count` columns, which is inside.
                let (a, b) = unsafe {
                    let column = from[part].as_ptr().add(begin + index * step * LANES);
                    (vld1q_s16(column), vld1q_s16(column.add(8)))
                };
                *low = vaddq_s16(*low, vqrdmulhq_s16(a, weight));
                *high = vaddq_s16(*high, vqrdmulhq_s16(b, weight));
            }
        }
        for (out, [low, high]) in out.iter_mut().zip(sums) {
            // SAFETY: an output is one column, and there is one for each.
            unsafe {
                let out = out.as_mut_ptr().add(output * LANES);
                vst1q_s16(out, low);
                vst1q_s16(out.add(8), high);
            }
        }
    }
}

/// Any number of samples, summed in 32 bits.
///
/// # Safety
/// The processor must have NEON.
#[target_feature(enable = "neon")]
unsafe fn sums_of_32(along: Along<'_>, from: &[i16], out: &mut [i16]) {
    let Along { first, start, step, weights, count, bits, .. } = along;
    let half = vdupq_n_s32(1 << bits >> 1);
    let right = vdupq_n_s32(-(bits as i32));
    let outputs = first.len().min(out.len() / LANES);
    for output in 0..outputs {
        let (out, first) = (&mut out[output * LANES..][..LANES], first[output]);
        let weights = &weights[output * count..][..count];
        let run = &from[(first - start) * step * LANES..][..((count - 1) * step + 1) * LANES];
        let mut sums = [half; 4];
        for (index, &weight) in weights.iter().enumerate() {
            // SAFETY: the run reaches to the last of `count` columns.
            let (low, high) = unsafe {
                let column = run.as_ptr().add(index * step * LANES);
                (vld1q_s16(column), vld1q_s16(column.add(8)))
            };
            sums[0] = vmlal_n_s16(sums[0], vget_low_s16(low), weight);
            sums[1] = vmlal_high_n_s16(sums[1], low, weight);
            sums[2] = vmlal_n_s16(sums[2], vget_low_s16(high), weight);
            sums[3] = vmlal_high_n_s16(sums[3], high, weight);
        }
        for (index, sum) in sums.iter().enumerate() {
            let sum = vqmovn_s32(vshlq_s32(*sum, right));
            // SAFETY: an output is one column.
            unsafe { vst1_s16(out.as_mut_ptr().add(4 * index), sum) };
        }
    }
}
