//! Sums of rows of numbers, each with its weight.
#![expect(unsafe_code, reason = "vector loads and stores by address")]

use std::arch::aarch64::*;

use crate::engine::cpu::kernels::{Place, portable};

/// Numbers of a vector.
const VECTOR: usize = 8;

/// # Safety
/// The processor must have NEON.
#[target_feature(enable = "neon")]
pub(super) unsafe fn weighted(from: &[i16], rows: &[Place], out: &mut [i16]) {
    let n = out.len();
    assert!(rows.iter().all(|(start, _)| start + n <= from.len()));
    if n < VECTOR {
        // SAFETY: none is needed.
        return unsafe { portable::weighted(from, rows, out) };
    }
    for at in (0..n).step_by(VECTOR) {
        // The last one ends with the row and may compute some outputs again.
        let here = at.min(n - VECTOR);
        let mut sum = vdupq_n_s16(0);
        for (start, weight) in rows {
            // SAFETY: here + 8 <= n, and rows are as long.
            let numbers = unsafe { vld1q_s16(from.as_ptr().add(start + here)) };
            sum = vaddq_s16(sum, vqrdmulhq_s16(numbers, vdupq_n_s16(*weight)));
        }
        // SAFETY: here + 8 <= n.
        unsafe { vst1q_s16(out.as_mut_ptr().add(here), sum) };
    }
}
