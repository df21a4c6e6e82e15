//! Sums of rows of luma and chroma, stored as bytes, sixteen pixels at a time.
#![expect(unsafe_code, reason = "vector loads and stores by address")]

use std::arch::aarch64::*;

use crate::engine::cpu::kernels::portable::terms::store_terms as store_few;
use crate::engine::cpu::kernels::{Out, Tap, Terms};
use crate::engine::cpu::scratch::Ring;

/// Pixels that are stored together.
const PIXELS: usize = 16;

/// # Safety
/// The processor must have NEON; see [`super::Kernels`].
#[target_feature(enable = "neon")]
pub(super) unsafe fn store_terms(terms: &Terms<'_>, out: Out) {
    assert!(terms.are_whole());
    let &Terms { numbers, kept: [kept, r, g, b], luma, chroma, fraction, flip, pixels } = terms;
    if pixels < PIXELS {
        // SAFETY: the caller's promise.
        return unsafe { store_few(terms, out) };
    }
    let (right, flip) = (vdupq_n_s16(-(fraction as i16)), vdupq_n_u8(flip));
    // SAFETY: callers pass places within the pixels.
    let sum = |kept: &Ring, taps, at| unsafe { sum(numbers, kept, taps, at) };
    let mut at = 0;
    while at < pixels {
        // The last one ends with the row and may store some pixels again.
        let here = at.min(pixels - PIXELS);
        let halves = [here, here + PIXELS / 2];
        let luma = halves.map(|at| sum(kept, luma, at));
        let codes = [r, g, b].map(|kept| {
            let [low, high] = [0, 1].map(|half| {
                let sum = vaddq_s16(luma[half], sum(kept, chroma, halves[half]));
                vshlq_s16(sum, right)
            });
            veorq_u8(vqmovun_high_s16(vqmovun_s16(low), high), flip)
        });
        let [red, green, blue] = codes;
        // SAFETY: room for sixteen pixels from `here` on.
        unsafe {
            match out {
                Out::Planes(planes) => {
                    for (plane, codes) in planes.into_iter().zip(codes) {
                        vst1q_u8(plane.add(here), codes);
                    }
                }
                Out::Packed { at, blue_first: false } => {
                    vst3q_u8(at.add(3 * here), uint8x16x3_t(red, green, blue));
                }
                Out::Packed { at, blue_first: true } => {
                    vst3q_u8(at.add(3 * here), uint8x16x3_t(blue, green, red));
                }
            }
        }
        at += PIXELS;
    }
}

/// The sum of rows, eight numbers of it.
///
/// # Safety
/// Rows must have as many from `at` on.
#[target_feature(enable = "neon")]
#[inline]
unsafe fn sum(numbers: &[i16], kept: &Ring, taps: &[Tap], at: usize) -> int16x8_t {
    let mut sum = vdupq_n_s16(0);
    for tap in taps {
        // SAFETY: the caller's promise.
        let row = unsafe { vld1q_s16(numbers.as_ptr().add(kept.place(tap.row) + at)) };
        sum = vaddq_s16(sum, vqrdmulhq_n_s16(row, tap.narrow()));
    }
    sum
}
