//! Rows summed while they are resized with the same weights all along, sixteen outputs at a time.
#![expect(unsafe_code, reason = "vector loads and stores by address")]

use std::arch::aarch64::*;

use crate::engine::cpu::fixed::LANES;
use crate::engine::cpu::kernels::portable::uniform as any;
use crate::engine::cpu::kernels::{Sum, Uniform};

/// # Safety
/// The processor must have NEON; see [`super::Kernels`].
#[target_feature(enable = "neon")]
pub(super) unsafe fn halved(sum: Sum<'_>, halves: &Uniform<4>, out: &mut [i16]) {
    assert!(halves.fits(out));
    let Uniform { same, first, weights: [a, b, c, d], .. } = halves;
    let n = same.len();
    if n < LANES {
        // SAFETY: the caller's promise.
        return unsafe { any::halved(sum, halves, out) };
    }
    for at in (0..n).step_by(LANES) {
        // The last one ends with the row and may compute some outputs again.
        let here = at.min(n - LANES);
        let mut total = [vdupq_n_s16(0); 2];
        for tap in sum.taps {
            // SAFETY: the bytes of sixteen outputs from `here` on.
            let (one, other) = unsafe {
                let row = sum.row(tap).add(first + 2 * here);
                (vld2q_u8(row), vld2q_u8(row.add(2)))
            };
            let samples = [(one.0, *a), (one.1, *b), (other.0, *c), (other.1, *d)];
            add(&mut total, samples, tap.narrow());
        }
        // SAFETY: there is room for sixteen outputs from `here` on.
        unsafe { put(out.as_mut_ptr().add(same.start + here), total) };
    }
    // SAFETY: the caller's promise.
    unsafe { any::ends(sum, halves, any::ALONE, out) };
}

/// # Safety
/// The processor must have NEON; see [`super::Kernels`].
#[target_feature(enable = "neon")]
pub(super) unsafe fn slid_pairs(
    sum: Sum<'_>,
    pairs: &Uniform<2>,
    first: &mut [i16],
    second: &mut [i16],
) {
    assert!(pairs.fits(first) && pairs.fits(second));
    let Uniform { same, first: start, weights: [a, b], .. } = pairs;
    let n = same.len();
    if n < LANES {
        // SAFETY: the caller's promise.
        return unsafe { any::slid_pairs(sum, pairs, first, second) };
    }
    for at in (0..n).step_by(LANES) {
        // The last one ends with the row and may compute some outputs again.
        let here = at.min(n - LANES);
        let mut totals = [[vdupq_n_s16(0); 2]; 2];
        for tap in sum.taps {
            // SAFETY: the bytes of sixteen outputs from `here` on.
            let (these, next) = unsafe {
                let row = sum.row(tap).add(2 * (start + here));
                (vld2q_u8(row), vld2q_u8(row.add(2)))
            };
            let weight = tap.narrow();
            add(&mut totals[0], [(these.0, *a), (next.0, *b)], weight);
            add(&mut totals[1], [(these.1, *a), (next.1, *b)], weight);
        }
        // SAFETY: there is room for sixteen outputs from `here` on.
        unsafe {
            put(first.as_mut_ptr().add(same.start + here), totals[0]);
            put(second.as_mut_ptr().add(same.start + here), totals[1]);
        }
    }
    // SAFETY: the caller's promise.
    unsafe {
        any::ends(sum, pairs, any::FIRSTS, first);
        any::ends(sum, pairs, any::SECONDS, second);
    }
}

/// Adds a row: samples with their weights, all of them with the row's.
#[target_feature(enable = "neon")]
#[inline]
fn add<const SAMPLES: usize>(
    total: &mut [int16x8_t; 2],
    samples: [(uint8x16_t, u8); SAMPLES],
    weight: i16,
) {
    let (mut low, mut high) = (vdupq_n_u16(0), vdupq_n_u16(0));
    for (bytes, weight) in samples {
        low = vmlal_u8(low, vget_low_u8(bytes), vdup_n_u8(weight));
        high = vmlal_high_u8(high, bytes, vdupq_n_u8(weight));
    }
    for (total, along) in total.iter_mut().zip([low, high]) {
        *total = vaddq_s16(*total, vqrdmulhq_n_s16(vreinterpretq_s16_u16(along), weight));
    }
}

/// # Safety
/// There must be room for sixteen numbers.
#[target_feature(enable = "neon")]
#[inline]
unsafe fn put(out: *mut i16, [low, high]: [int16x8_t; 2]) {
    // SAFETY: the caller's promise.
    unsafe {
        vst1q_s16(out, low);
        vst1q_s16(out.add(LANES / 2), high);
    }
}
