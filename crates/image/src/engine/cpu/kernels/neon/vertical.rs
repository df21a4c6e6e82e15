//! Sums of rows.
//!
//! A byte in the upper half of 16 bits times a weight of 16 bits, upper half of the product. Bytes
//! at even places have seven bits to spare, which lets one instruction multiply and take the half;
//! those at odd places carry the even ones below them, need all 16 bits and a product of 32, and
//! what the even ones add to them is taken off the sum.
#![expect(unsafe_code, reason = "vector loads and stores by address")]

use std::arch::aarch64::*;

use super::wide;
use crate::engine::cpu::kernels::{BELOW, Sum, Tap, portable};

/// # Safety
/// The processor must have NEON; see [`super::Kernels`].
#[target_feature(enable = "neon")]
pub(super) unsafe fn bytes(sum: Sum<'_>, out: &mut [i16]) {
    // SAFETY: the caller's promise.
    unsafe {
        if out.len() < 16 {
            portable::bytes(sum, out);
        } else if is_copy(sum) {
            copy_bytes(sum, out);
        } else if !fits(sum.taps) {
            portable::bytes(sum, out);
        } else if sum.wide {
            wide::bytes(sum, out);
        } else if sum.signed {
            bytes_of::<true>(sum, out);
        } else {
            bytes_of::<false>(sum, out);
        }
    }
}

/// # Safety
/// The processor must have NEON; see [`super::Kernels`].
#[target_feature(enable = "neon")]
pub(super) unsafe fn pairs(sum: Sum<'_>, even: &mut [i16], odd: &mut [i16]) {
    let n = even.len().min(odd.len());
    let (even, odd) = (&mut even[..n], &mut odd[..n]);
    // SAFETY: the caller's promise.
    unsafe {
        if n < 16 {
            portable::pairs(sum, even, odd);
        } else if is_copy(sum) {
            copy_pairs(sum, even, odd);
        } else if !fits(sum.taps) {
            portable::pairs(sum, even, odd);
        } else if sum.wide {
            wide::pairs(sum, even, odd);
        } else if sum.signed {
            pairs_of::<true>(sum, even, odd);
        } else {
            pairs_of::<false>(sum, even, odd);
        }
    }
}

/// Whether one row is taken as it is: bytes with seven bits after the point.
fn is_copy(sum: Sum<'_>) -> bool {
    let one = |tap: &Tap| tap.weight() == 0x8000;
    !sum.wide && !sum.finer && sum.begin == 0 && matches!(sum.taps, [tap] if one(tap))
}

/// Whether all weights are below 2^15, as factors of signed multiplications must be.
pub(super) fn fits(taps: &[Tap]) -> bool {
    taps.iter().all(|tap| tap.twice & 0x8000 == 0)
}

/// # Safety
/// One row, valid for reads of as many bytes as outputs, of which there are at least 16.
#[target_feature(enable = "neon")]
unsafe fn copy_bytes(sum: Sum<'_>, out: &mut [i16]) {
    let (n, row) = (out.len(), sum.row(&sum.taps[0]));
    let mut at = 0;
    while at < n {
        // The last one ends with the row and may copy some bytes again.
        let here = at.min(n - 16);
        // SAFETY: here + 16 <= n.
        unsafe {
            let bytes = vld1q_u8(row.add(here));
            let out = out.as_mut_ptr().add(here).cast::<u16>();
            vst1q_u16(out, vshll_n_u8::<7>(vget_low_u8(bytes)));
            vst1q_u16(out.add(8), vshll_high_n_u8::<7>(bytes));
        }
        at += 16;
    }
}

/// # Safety
/// One row, valid for reads of two bytes for each output, of which there are at least 16.
#[target_feature(enable = "neon")]
unsafe fn copy_pairs(sum: Sum<'_>, even: &mut [i16], odd: &mut [i16]) {
    let (n, row) = (even.len().min(odd.len()), sum.row(&sum.taps[0]));
    let mut at = 0;
    while at < n {
        let here = at.min(n - 16);
        // SAFETY: here + 16 <= n.
        unsafe {
            let uint8x16x2_t(a, b) = vld2q_u8(row.add(2 * here));
            let even = even.as_mut_ptr().add(here).cast::<u16>();
            vst1q_u16(even, vshll_n_u8::<7>(vget_low_u8(a)));
            vst1q_u16(even.add(8), vshll_high_n_u8::<7>(a));
            let odd = odd.as_mut_ptr().add(here).cast::<u16>();
            vst1q_u16(odd, vshll_n_u8::<7>(vget_low_u8(b)));
            vst1q_u16(odd.add(8), vshll_high_n_u8::<7>(b));
        }
        at += 16;
    }
}

/// # Safety
/// As [`bytes`], with at least 16 outputs.
#[target_feature(enable = "neon")]
unsafe fn bytes_of<const SIGNED: bool>(sum: Sum<'_>, slice: &mut [i16]) {
    let n = slice.len();
    let out = slice.as_mut_ptr();
    let mut at = 0;
    while at + 64 <= n {
        // SAFETY: 64 bytes from `at` are inside every row, as many as outputs.
        unsafe {
            for (index, both) in sums::<4, SIGNED>(sum, at).iter().enumerate() {
                store_zipped(out.add(at + 16 * index), *both);
            }
        }
        at += 64;
    }
    // The last one ends with the row and may compute some outputs again; pairs stay pairs.
    let last = (n - 16) & !1;
    while at < n {
        let here = at.min(last);
        // SAFETY: as above for 16 bytes.
        unsafe {
            let [sums] = sums::<1, SIGNED>(sum, here);
            store_zipped(out.add(here), sums);
        }
        at += 16;
    }
    if !n.is_multiple_of(2) {
        // SAFETY: the caller's promise.
        unsafe { portable::bytes_from(sum, slice, n - 1) };
    }
}

/// # Safety
/// Room for 16 numbers.
#[target_feature(enable = "neon")]
#[inline]
unsafe fn store_zipped(out: *mut i16, [even, odd]: [int16x8_t; 2]) {
    // SAFETY: the caller's promise.
    unsafe {
        vst1q_s16(out, vzip1q_s16(even, odd));
        vst1q_s16(out.add(8), vzip2q_s16(even, odd));
    }
}

/// # Safety
/// As [`pairs`], with at least 8 pairs.
#[target_feature(enable = "neon")]
unsafe fn pairs_of<const SIGNED: bool>(sum: Sum<'_>, even: &mut [i16], odd: &mut [i16]) {
    let n = even.len().min(odd.len());
    let (even, odd) = (even.as_mut_ptr(), odd.as_mut_ptr());
    let mut at = 0;
    while at + 32 <= n {
        // SAFETY: 64 bytes from 2 * at are inside every row, two for each output.
        unsafe {
            for (index, [a, b]) in sums::<4, SIGNED>(sum, 2 * at).iter().enumerate() {
                vst1q_s16(even.add(at + 8 * index), *a);
                vst1q_s16(odd.add(at + 8 * index), *b);
            }
        }
        at += 32;
    }
    while at < n {
        // The last one ends with the row and may compute some outputs again.
        let here = at.min(n - 8);
        // SAFETY: as above for 16 bytes.
        unsafe {
            let [[a, b]] = sums::<1, SIGNED>(sum, 2 * here);
            vst1q_s16(even.add(here), a);
            vst1q_s16(odd.add(here), b);
        }
        at += 8;
    }
}

/// Sums of `N` times 16 bytes: those at even places, those at odd places.
///
/// # Safety
/// The rows must be valid for reads of `16 * N` bytes from `at` on; weights are below 2^15.
#[target_feature(enable = "neon")]
#[inline]
pub(super) unsafe fn sums<const N: usize, const SIGNED: bool>(
    sum: Sum<'_>,
    at: usize,
) -> [[int16x8_t; 2]; N] {
    let mut sums = [[vdupq_n_s16(sum.begin); 2]; N];
    for tap in sum.taps {
        let (weight, row) = (vdupq_n_u16(tap.twice as u16), sum.row(tap).wrapping_add(at));
        for (index, [a, b]) in sums.iter_mut().enumerate() {
            // SAFETY: the caller's promise.
            let bytes = unsafe { vld1q_u8(row.add(16 * index)) };
            let [even, odd] = products(bytes, weight);
            if SIGNED && tap.negative {
                (*a, *b) = (vsubq_s16(*a, even), vsubq_s16(*b, odd));
            } else {
                (*a, *b) = (vaddq_s16(*a, even), vaddq_s16(*b, odd));
            }
        }
    }
    for both in &mut sums {
        *both = finished(*both, !SIGNED && sum.finer);
    }
    sums
}

/// Sums of bytes at even places and of those at odd ones, these without what the others added to
/// them; and all without a bit that they have more.
#[target_feature(enable = "neon")]
#[inline]
pub(super) fn finished([even, odd]: [int16x8_t; 2], finer: bool) -> [int16x8_t; 2] {
    if !finer {
        return [even, vsubq_s16(odd, vshrq_n_s16::<8>(even))];
    }
    let whole = vreinterpretq_u16_s16(even);
    let (odd, below) = (vreinterpretq_u16_s16(odd), vdupq_n_u16(BELOW));
    let odd = vsubq_u16(odd, vshrq_n_u16::<8>(whole));
    let odd = vqsubq_u16(vaddq_u16(odd, below), below);
    let (even, odd) = (vshrq_n_u16::<1>(whole), vshrq_n_u16::<1>(odd));
    [vreinterpretq_s16_u16(even), vreinterpretq_s16_u16(odd)]
}

/// Bytes at even places and bytes at odd ones times a weight; what those at even places add to the
/// others is still part of them.
#[target_feature(enable = "neon")]
#[inline]
pub(super) fn products(bytes: uint8x16_t, weight: uint16x8_t) -> [int16x8_t; 2] {
    let both = vreinterpretq_u16_u8(bytes);
    let even = vandq_u16(vshlq_n_u16::<7>(both), vdupq_n_u16(0x7f80));
    // Doubled, so that this is the upper half of the byte in the upper half.
    let even = vqdmulhq_s16(vreinterpretq_s16_u16(even), vreinterpretq_s16_u16(weight));
    [even, upper(both, weight)]
}

/// The upper halves of products.
#[target_feature(enable = "neon")]
#[inline]
fn upper(a: uint16x8_t, b: uint16x8_t) -> int16x8_t {
    let low = vmull_u16(vget_low_u16(a), vget_low_u16(b));
    let high = vmull_high_u16(a, b);
    let halves = vuzp2q_u16(vreinterpretq_u16_u32(low), vreinterpretq_u16_u32(high));
    vreinterpretq_s16_u16(halves)
}

/// # Safety
/// The processor must have NEON; see [`super::Kernels`].
#[target_feature(enable = "neon")]
pub(super) unsafe fn words(sum: Sum<'_>, out: &mut [i16]) {
    let n = out.len();
    // SAFETY: the caller's promise.
    unsafe {
        if n < 8 || sum.wide && !fits(sum.taps) {
            return portable::words(sum, out);
        }
        if sum.wide {
            return wide::words(sum, out);
        }
    }
    let mut at = 0;
    while at < n {
        // The last one ends with the row and may compute some outputs again.
        let here = at.min(n - 8);
        let mut total = vdupq_n_s16(sum.begin);
        for tap in sum.taps {
            // SAFETY: 8 words from `here` are inside every row, as many as outputs; bytes may lie
            // anywhere.
            let words = unsafe { vld1q_u8(sum.row(tap).add(2 * here)) };
            let product = upper(vreinterpretq_u16_u8(words), vdupq_n_u16(tap.twice as u16));
            total =
                if tap.negative { vsubq_s16(total, product) } else { vaddq_s16(total, product) };
        }
        // SAFETY: here + 8 <= n.
        unsafe { vst1q_s16(out.as_mut_ptr().add(here), total) };
        at += 8;
    }
}
