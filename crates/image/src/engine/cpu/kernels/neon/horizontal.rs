//! Weighted sums along rows: columns of sixteen rows at a time.
//!
//! The rounding multiplication saturates where both factors are the most negative number, and
//! that of plain Rust does not: no weight is.
#![expect(unsafe_code, reason = "vector loads and stores by address")]

use std::arch::aarch64::*;

use crate::engine::cpu::fixed::LANES;
use crate::engine::cpu::kernels::Along;

/// # Safety
/// The processor must have NEON.
#[target_feature(enable = "neon")]
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
            _ => narrow::<0>(along, from, out),
        }
    }
}

/// Outputs that are samples.
///
/// # Safety
/// The processor must have NEON.
#[target_feature(enable = "neon")]
unsafe fn copies(along: Along<'_>, from: &[i16], out: &mut [i16]) {
    let Along { first, start, step, .. } = along;
    let outputs = first.len().min(out.len() / LANES);
    for output in 0..outputs {
        let column = &from[(first[output] - start) * step * LANES..][..LANES];
        out[output * LANES..][..LANES].copy_from_slice(column);
    }
}

/// Sums that fit 16 bits, of as many samples as are known when this is compiled, or any number
/// (`COUNT` is 0).
///
/// # Safety
/// The processor must have NEON.
#[target_feature(enable = "neon")]
#[inline]
unsafe fn narrow<const COUNT: usize>(along: Along<'_>, from: &[i16], out: &mut [i16]) {
    let Along { first, start, step, weights, count, .. } = along;
    let count = if COUNT == 0 { count } else { COUNT };
    let outputs = first.len().min(out.len() / LANES);
    for output in 0..outputs {
        let (out, first) = (&mut out[output * LANES..][..LANES], first[output]);
        let weights = &weights[output * count..][..count];
        let run = &from[(first - start) * step * LANES..][..((count - 1) * step + 1) * LANES];
        let (mut low, mut high) = (vdupq_n_s16(0), vdupq_n_s16(0));
        for (index, &weight) in weights.iter().enumerate() {
            // SAFETY: the run reaches to the last of `count` columns.
            let (a, b) = unsafe {
                let column = run.as_ptr().add(index * step * LANES);
                (vld1q_s16(column), vld1q_s16(column.add(8)))
            };
            let weight = vdupq_n_s16(weight);
            low = vaddq_s16(low, vqrdmulhq_s16(a, weight));
            high = vaddq_s16(high, vqrdmulhq_s16(b, weight));
        }
        // SAFETY: an output is one column.
        unsafe {
            vst1q_s16(out.as_mut_ptr(), low);
            vst1q_s16(out.as_mut_ptr().add(8), high);
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
