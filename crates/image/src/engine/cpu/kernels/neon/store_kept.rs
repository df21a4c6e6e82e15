//! Sums of rows of luma and chroma, stored as bytes, sixteen pixels at a time.
#![expect(unsafe_code, reason = "vector loads and stores by address")]

use std::arch::aarch64::*;

use crate::engine::cpu::kernels::portable::kept::store_kept as store_few;
use crate::engine::cpu::kernels::{Kept, Out, Tap};
use crate::engine::cpu::scratch::Ring;

/// Pixels that are stored together.
const PIXELS: usize = 16;

/// # Safety
/// The processor must have NEON; see [`super::Kernels`].
#[target_feature(enable = "neon")]
pub(super) unsafe fn store_kept(kept: &Kept<'_>, out: Out) {
    assert!(kept.are_whole());
    let &Kept { numbers, rings: [y, u, v], luma, chroma, matrix, flip, pixels, .. } = kept;
    if pixels < PIXELS {
        // SAFETY: the caller's promise.
        return unsafe { store_few(kept, out) };
    }
    let (flip, [red, green, blue]) = (vdupq_n_u8(flip), matrix.rows);
    // SAFETY: callers pass places within the pixels.
    let sum = |ring: &Ring, taps, at| unsafe { sum(numbers, ring, taps, at) };
    // Codes of eight pixels, not yet limited.
    let codes_at = |at: usize| {
        let (y, u, v) = (sum(y, luma, at), sum(u, chroma, at), sum(v, chroma, at));
        let by_both = vaddq_s16(vqrdmulhq_n_s16(u, green[1]), vqrdmulhq_n_s16(v, green[2]));
        [vqrdmulhq_n_s16(v, red[2]), by_both, vqrdmulhq_n_s16(u, blue[1])]
            .map(|number| vshrq_n_s16::<{ Kept::FRACTION as i32 }>(vaddq_s16(y, number)))
    };
    let mut at = 0;
    while at < pixels {
        // The last one ends with the row and may store some pixels again.
        let here = at.min(pixels - PIXELS);
        let (low, high) = (codes_at(here), codes_at(here + PIXELS / 2));
        let codes = [0, 1, 2]
            .map(|colour| veorq_u8(vqmovun_high_s16(vqmovun_s16(low[colour]), high[colour]), flip));
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
unsafe fn sum(numbers: &[i16], ring: &Ring, taps: &[Tap], at: usize) -> int16x8_t {
    let mut sum = vdupq_n_s16(0);
    for tap in taps {
        // SAFETY: the caller's promise.
        let row = unsafe { vld1q_s16(numbers.as_ptr().add(ring.place(tap.row) + at)) };
        sum = vaddq_s16(sum, vqrdmulhq_n_s16(row, tap.narrow()));
    }
    sum
}
