//! Rows through a colour matrix and stored as scaled numbers, without rounding in between.
#![expect(unsafe_code, reason = "vector loads and stores by address")]

use std::arch::aarch64::*;

use super::store_real::put;
use crate::engine::cpu::kernels::portable::coloured::store_coloured as store_few;
use crate::engine::cpu::kernels::{Coloured, Mixture, Out, Real};

/// Pixels that are stored together.
const PIXELS: usize = 8;

/// # Safety
/// The processor must have NEON; see [`super::Kernels`].
#[target_feature(enable = "neon")]
pub(super) unsafe fn store_coloured(coloured: Coloured<'_>, real: Real, out: Out) {
    let Coloured { from, mixture, pixels, .. } = coloured;
    for part in from {
        assert!(part.len() >= pixels);
    }
    if pixels < PIXELS {
        // SAFETY: the caller's promise.
        return unsafe { store_few(coloured, real, out) };
    }
    let mut at = 0;
    while at < pixels {
        // The last one ends with the row and may store some pixels again.
        let here = at.min(pixels - PIXELS);
        let (mut low, mut high) = ([vdupq_n_f32(0.0); 3], [vdupq_n_f32(0.0); 3]);
        for part in 0..3 {
            // SAFETY: here + 8 <= pixels.
            let numbers = unsafe { vld1q_s16(from[part].as_ptr().add(here)) };
            low[part] = vcvtq_f32_s32(vmovl_s16(vget_low_s16(numbers)));
            high[part] = vcvtq_f32_s32(vmovl_high_s16(numbers));
        }
        let ([a, b, c], [d, e, f]) = (colours(mixture, low), colours(mixture, high));
        // SAFETY: room for eight pixels from `here` on.
        unsafe {
            match out {
                Out::Planes([red, green, blue]) => {
                    put(real, red, here, [[a, d]]);
                    put(real, green, here, [[b, e]]);
                    put(real, blue, here, [[c, f]]);
                }
                Out::Packed { at, blue_first } => {
                    let (first, last) =
                        if blue_first { ([c, f], [a, d]) } else { ([a, d], [c, f]) };
                    match mixture.alpha.map(|alpha| [vdupq_n_f32(alpha); 2]) {
                        None => put(real, at, here, [first, [b, e], last]),
                        Some(alpha) => put(real, at, here, [first, [b, e], last, alpha]),
                    }
                }
            }
        }
        at += PIXELS;
    }
}

/// Red, green and blue of four pixels.
#[target_feature(enable = "neon")]
#[inline]
fn colours(mixture: &Mixture, [x, y, z]: [float32x4_t; 3]) -> [float32x4_t; 3] {
    let mut out = [x; 3];
    for colour in 0..3 {
        let [a, b, c] = mixture.shares[colour];
        let value = vfmaq_n_f32(vdupq_n_f32(mixture.offset[colour]), x, a);
        let value = vfmaq_n_f32(vfmaq_n_f32(value, y, b), z, c);
        let value = vmaxq_f32(value, vdupq_n_f32(mixture.least[colour]));
        out[colour] = vminq_f32(value, vdupq_n_f32(mixture.most[colour]));
    }
    out
}
