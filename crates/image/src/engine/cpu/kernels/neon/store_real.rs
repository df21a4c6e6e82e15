//! Rows stored as scaled numbers, one to four of them between each other.
#![expect(unsafe_code, reason = "vector loads and stores by address")]

use std::arch::aarch64::*;

use crate::engine::cpu::kernels::{Finished, Real, Scale, portable};

/// # Safety
/// The processor must have NEON; see [`super::Kernels`].
#[target_feature(enable = "neon")]
pub(super) unsafe fn store_real(finished: Finished<'_>, scale: &Scale, real: Real, out: *mut u8) {
    let Finished { rows, pixels, .. } = finished;
    assert!(rows.iter().all(|row| row.len() >= pixels));
    // SAFETY: the caller's promise, and rows are long enough.
    unsafe {
        if pixels < 8 {
            return portable::store_real(finished, scale, real, out);
        }
        match rows {
            [a] => blocks::<1>(finished, [a.as_ptr()], scale, real, out),
            [a, b] => blocks::<2>(finished, [a.as_ptr(), b.as_ptr()], scale, real, out),
            [a, b, c] => {
                blocks::<3>(finished, [a.as_ptr(), b.as_ptr(), c.as_ptr()], scale, real, out)
            }
            [a, b, c, d] => {
                let rows = [a.as_ptr(), b.as_ptr(), c.as_ptr(), d.as_ptr()];
                blocks::<4>(finished, rows, scale, real, out);
            }
            _ => portable::store_real(finished, scale, real, out),
        }
    }
}

/// Blocks of eight pixels; the last one ends with the row and may store some pixels again.
///
/// # Safety
/// At least eight pixels in each row, and room for as many.
#[target_feature(enable = "neon")]
#[inline]
unsafe fn blocks<const N: usize>(
    finished: Finished<'_>,
    rows: [*const i16; N],
    scale: &Scale,
    real: Real,
    out: *mut u8,
) {
    let Finished { fraction, pixels, .. } = finished;
    let unit = 1.0 / (1u32 << fraction) as f32;
    let (mut multiply, mut add) = ([vdupq_n_f32(0.0); N], [vdupq_n_f32(0.0); N]);
    for row in 0..N {
        multiply[row] = vdupq_n_f32(scale.multiply[row] * unit);
        add[row] = vdupq_n_f32(scale.add[row]);
    }
    let (black, white) = (vdupq_n_s16(0), vdupq_n_s16(255 << fraction));
    let mut at = 0;
    while at < pixels {
        let here = at.min(pixels - 8);
        let mut values = [[vdupq_n_f32(0.0); 2]; N];
        for (row, value) in values.iter_mut().enumerate() {
            // SAFETY: here + 8 <= pixels.
            let codes = unsafe { vld1q_s16(rows[row].add(here)) };
            let codes = vminq_s16(vmaxq_s16(codes, black), white);
            let low = vcvtq_f32_s32(vmovl_s16(vget_low_s16(codes)));
            let high = vcvtq_f32_s32(vmovl_high_s16(codes));
            *value =
                [vfmaq_f32(add[row], low, multiply[row]), vfmaq_f32(add[row], high, multiply[row])];
        }
        // SAFETY: room for eight pixels of N elements from `here` on.
        unsafe { put(real, out, here, values) };
        at += 8;
    }
}

/// Stores eight pixels from number `at` on, of one to four elements each.
///
/// # Safety
/// Room for them.
#[target_feature(enable = "neon")]
#[inline]
pub(super) unsafe fn put<const N: usize>(
    real: Real,
    out: *mut u8,
    at: usize,
    values: [[float32x4_t; 2]; N],
) {
    // SAFETY: the caller's promise.
    unsafe {
        match real {
            Real::F32 => {
                let out = out.cast::<f32>().add(N * at);
                floats(out, values, 0);
                floats(out.add(4 * N), values, 1);
            }
            Real::F16 => {
                let mut halves = [vdupq_n_u16(0); N];
                for (half, [low, high]) in halves.iter_mut().zip(values) {
                    let both = vcvt_high_f16_f32(vcvt_f16_f32(low), high);
                    *half = vreinterpretq_u16_f16(both);
                }
                words(out.cast::<u16>().add(N * at), halves);
            }
            Real::Bf16 => {
                let mut halves = [vdupq_n_u16(0); N];
                for (half, [low, high]) in halves.iter_mut().zip(values) {
                    *half = vshrn_high_n_u32::<16>(
                        vshrn_n_u32::<16>(rounded_up(low)),
                        rounded_up(high),
                    );
                }
                words(out.cast::<u16>().add(N * at), halves);
            }
            Real::U8 => {
                let mut codes = [vdup_n_u8(0); N];
                for (code, value) in codes.iter_mut().zip(values) {
                    *code = vqmovun_s16(integers(value));
                }
                bytes(out.add(N * at), codes);
            }
            Real::I8 => {
                let mut codes = [vdup_n_u8(0); N];
                for (code, value) in codes.iter_mut().zip(values) {
                    *code = vreinterpret_u8_s8(vqmovn_s16(integers(value)));
                }
                bytes(out.add(N * at), codes);
            }
        }
    }
}

/// The bits of numbers whose upper half is the nearest, even where two are.
#[target_feature(enable = "neon")]
#[inline]
fn rounded_up(x: float32x4_t) -> uint32x4_t {
    let bits = vreinterpretq_u32_f32(x);
    let odd = vandq_u32(vshrq_n_u32::<16>(bits), vdupq_n_u32(1));
    vaddq_u32(bits, vaddq_u32(odd, vdupq_n_u32(0x7fff)))
}

/// Rounded to the nearest, even where two are, and held between the bounds of 16 bits.
#[target_feature(enable = "neon")]
#[inline]
fn integers([low, high]: [float32x4_t; 2]) -> int16x8_t {
    vqmovn_high_s32(vqmovn_s32(vcvtnq_s32_f32(low)), vcvtnq_s32_f32(high))
}

/// Four pixels of floats: the first of each row's two vectors, or the second.
///
/// # Safety
/// Room for them.
#[target_feature(enable = "neon")]
#[inline]
unsafe fn floats<const N: usize>(out: *mut f32, rows: [[float32x4_t; 2]; N], half: usize) {
    let row = |index: usize| rows[index.min(N - 1)][half];
    // SAFETY: the caller's promise.
    unsafe {
        match N {
            1 => vst1q_f32(out, row(0)),
            2 => vst2q_f32(out, float32x4x2_t(row(0), row(1))),
            3 => vst3q_f32(out, float32x4x3_t(row(0), row(1), row(2))),
            _ => vst4q_f32(out, float32x4x4_t(row(0), row(1), row(2), row(3))),
        }
    }
}

/// Eight pixels of words.
///
/// # Safety
/// Room for them.
#[target_feature(enable = "neon")]
#[inline]
unsafe fn words<const N: usize>(out: *mut u16, rows: [uint16x8_t; N]) {
    let row = |index: usize| rows[index.min(N - 1)];
    // SAFETY: the caller's promise.
    unsafe {
        match N {
            1 => vst1q_u16(out, row(0)),
            2 => vst2q_u16(out, uint16x8x2_t(row(0), row(1))),
            3 => vst3q_u16(out, uint16x8x3_t(row(0), row(1), row(2))),
            _ => vst4q_u16(out, uint16x8x4_t(row(0), row(1), row(2), row(3))),
        }
    }
}

/// Eight pixels of bytes.
///
/// # Safety
/// Room for them.
#[target_feature(enable = "neon")]
#[inline]
unsafe fn bytes<const N: usize>(out: *mut u8, rows: [uint8x8_t; N]) {
    let row = |index: usize| rows[index.min(N - 1)];
    // SAFETY: the caller's promise.
    unsafe {
        match N {
            1 => vst1_u8(out, row(0)),
            2 => vst2_u8(out, uint8x8x2_t(row(0), row(1))),
            3 => vst3_u8(out, uint8x8x3_t(row(0), row(1), row(2))),
            _ => vst4_u8(out, uint8x8x4_t(row(0), row(1), row(2), row(3))),
        }
    }
}
