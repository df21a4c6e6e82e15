//! Sums of rows in 32 bits, for filters that take many rows.
#![expect(unsafe_code, reason = "vector loads and stores by address")]

use std::arch::aarch64::*;

use crate::engine::cpu::kernels::Sum;

/// # Safety
/// As [`super::Kernels`], with weights below 2^15 and at least 16 outputs.
#[target_feature(enable = "neon")]
pub(super) unsafe fn bytes(sum: Sum<'_>, out: &mut [i16]) {
    let n = out.len();
    let mut at = 0;
    while at < n {
        // The last one ends with the row and may compute some outputs again.
        let here = at.min(n - 16);
        // SAFETY: here + 16 <= n, and rows have as many bytes as outputs.
        unsafe {
            let [low, high] = sums(sum, here);
            let out = out.as_mut_ptr().add(here);
            vst1q_s16(out, low);
            vst1q_s16(out.add(8), high);
        }
        at += 16;
    }
}

/// # Safety
/// As [`bytes`], with at least 8 pairs.
#[target_feature(enable = "neon")]
pub(super) unsafe fn pairs(sum: Sum<'_>, even: &mut [i16], odd: &mut [i16]) {
    let n = even.len().min(odd.len());
    let mut at = 0;
    while at < n {
        let here = at.min(n - 8);
        // SAFETY: here + 8 <= n, and rows have two bytes for each output.
        unsafe {
            let [low, high] = sums(sum, 2 * here);
            vst1q_s16(even.as_mut_ptr().add(here), vuzp1q_s16(low, high));
            vst1q_s16(odd.as_mut_ptr().add(here), vuzp2q_s16(low, high));
        }
        at += 8;
    }
}

/// # Safety
/// As [`bytes`] with words, and at least 8 outputs.
#[target_feature(enable = "neon")]
pub(super) unsafe fn words(sum: Sum<'_>, out: &mut [i16]) {
    let n = out.len();
    let shift = sum.bits + 7 - sum.fraction;
    let mut at = 0;
    while at < n {
        let here = at.min(n - 8);
        let mut total = [vdupq_n_s32(1 << shift >> 1); 2];
        for tap in sum.taps {
            // SAFETY: here + 8 <= n, and rows have as many words as outputs; bytes may lie
            // anywhere.
            let words = unsafe { vld1q_u8(sum.row(tap).add(2 * here)) };
            let words = vshrq_n_u16::<1>(vreinterpretq_u16_u8(words));
            total = add(total, vreinterpretq_s16_u16(words), tap.weight() as i16);
        }
        // SAFETY: as above.
        unsafe { vst1q_s16(out.as_mut_ptr().add(here), finish(total, shift)) };
        at += 8;
    }
}

/// Sums of 16 bytes.
///
/// # Safety
/// The rows must be valid for reads of 16 bytes from `at` on.
#[target_feature(enable = "neon")]
#[inline]
unsafe fn sums(sum: Sum<'_>, at: usize) -> [int16x8_t; 2] {
    let shift = sum.bits - sum.fraction;
    let half = [vdupq_n_s32(1 << shift >> 1); 2];
    let (mut low, mut high) = (half, half);
    for tap in sum.taps {
        // SAFETY: the caller's promise.
        let bytes = unsafe { vld1q_u8(sum.row(tap).add(at)) };
        let weight = tap.weight() as i16;
        low = add(low, vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(bytes))), weight);
        high = add(high, vreinterpretq_s16_u16(vmovl_high_u8(bytes)), weight);
    }
    [finish(low, shift), finish(high, shift)]
}

#[target_feature(enable = "neon")]
#[inline]
fn add([low, high]: [int32x4_t; 2], values: int16x8_t, weight: i16) -> [int32x4_t; 2] {
    [vmlal_n_s16(low, vget_low_s16(values), weight), vmlal_high_n_s16(high, values, weight)]
}

/// Sums without the bits below the point.
#[target_feature(enable = "neon")]
#[inline]
fn finish([low, high]: [int32x4_t; 2], shift: u32) -> int16x8_t {
    let right = vdupq_n_s32(-(shift as i32));
    vqmovn_high_s32(vqmovn_s32(vshlq_s32(low, right)), vshlq_s32(high, right))
}
