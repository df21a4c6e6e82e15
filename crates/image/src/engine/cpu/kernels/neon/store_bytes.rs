//! Rows stored as bytes, one to four of them between each other.
#![expect(unsafe_code, reason = "vector loads and stores by address")]

use std::arch::aarch64::*;

use crate::engine::cpu::kernels::{Finished, portable};

/// # Safety
/// The processor must have NEON; see [`super::Kernels`].
#[target_feature(enable = "neon")]
pub(super) unsafe fn store_bytes(finished: Finished<'_>, flip: u8, out: *mut u8) {
    let Finished { rows, fraction, pixels } = finished;
    assert!(rows.iter().all(|row| row.len() >= pixels));
    if pixels < 16 {
        // SAFETY: the caller's promise.
        return unsafe { portable::store_bytes(finished, flip, out) };
    }
    let how = How { right: vdupq_n_s16(-(fraction as i16)), flip: vdupq_n_u8(flip) };
    let mut at = 0;
    while at < pixels {
        // The last block ends with the row and may store some pixels again.
        let here = at.min(pixels - 16);
        // SAFETY: 16 pixels from `here` on are in the rows, and there is room for them.
        unsafe {
            match rows {
                [a] => vst1q_u8(out.add(here), how.codes(a, here)),
                [a, b] => {
                    let both = uint8x16x2_t(how.codes(a, here), how.codes(b, here));
                    vst2q_u8(out.add(2 * here), both);
                }
                [a, b, c] => {
                    let (a, b, c) = (how.codes(a, here), how.codes(b, here), how.codes(c, here));
                    vst3q_u8(out.add(3 * here), uint8x16x3_t(a, b, c));
                }
                [a, b, c, d] => {
                    let (a, b) = (how.codes(a, here), how.codes(b, here));
                    let (c, d) = (how.codes(c, here), how.codes(d, here));
                    vst4q_u8(out.add(4 * here), uint8x16x4_t(a, b, c, d));
                }
                _ => return portable::store_bytes(finished, flip, out),
            }
        }
        at += 16;
    }
}

#[derive(Clone, Copy)]
struct How {
    /// By how much numbers are shifted to the left: less than nothing.
    right: int16x8_t,
    flip: uint8x16_t,
}

impl How {
    /// Sixteen numbers as bytes.
    ///
    /// # Safety
    /// The row must hold sixteen numbers from `at` on.
    #[target_feature(enable = "neon")]
    #[inline]
    unsafe fn codes(&self, row: &[i16], at: usize) -> uint8x16_t {
        // SAFETY: the caller's promise.
        let (low, high) = unsafe {
            let row = row.as_ptr().add(at);
            (vld1q_s16(row), vld1q_s16(row.add(8)))
        };
        let low = vqmovun_s16(vrshlq_s16(low, self.right));
        veorq_u8(vqmovun_high_s16(low, vrshlq_s16(high, self.right)), self.flip)
    }
}
