//! Rows to columns and back, in squares of eight by eight: two of them make a column.
#![expect(unsafe_code, reason = "vector loads and stores by address")]

use std::arch::aarch64::*;

use crate::engine::cpu::fixed::LANES;
use crate::engine::cpu::kernels::portable;

/// # Safety
/// The processor must have NEON.
#[target_feature(enable = "neon")]
pub(super) unsafe fn to_columns(from: &[i16], stride: usize, columns: &mut [i16]) {
    let n = columns.len() / LANES;
    let whole = n / 8 * 8;
    assert!(n == 0 || from.len() >= (LANES - 1) * stride + n);
    for at in (0..whole).step_by(8) {
        for half in [0, 8] {
            // SAFETY: eight rows of `stride` from `half` on hold eight numbers from `at` on, and
            // there are eight columns from there on.
            unsafe {
                let from = from.as_ptr().add(half * stride + at);
                turn(from, stride, columns.as_mut_ptr().add(at * LANES + half), LANES);
            }
        }
    }
    // SAFETY: none is needed.
    unsafe {
        portable::to_columns(&from[whole.min(from.len())..], stride, &mut columns[whole * LANES..])
    }
}

/// # Safety
/// The processor must have NEON.
#[target_feature(enable = "neon")]
pub(super) unsafe fn to_rows(columns: &[i16], stride: usize, to: &mut [i16]) {
    let n = columns.len() / LANES;
    let whole = n / 8 * 8;
    assert!(n == 0 || to.len() >= (LANES - 1) * stride + n);
    for at in (0..whole).step_by(8) {
        for half in [0, 8] {
            // SAFETY: as above, the other way round.
            unsafe {
                let to = to.as_mut_ptr().add(half * stride + at);
                turn(columns.as_ptr().add(at * LANES + half), LANES, to, stride);
            }
        }
    }
    // SAFETY: none is needed.
    unsafe { portable::to_rows(&columns[whole * LANES..], stride, &mut to[whole.min(n)..]) }
}

/// Eight vectors of eight numbers, turned.
///
/// # Safety
/// Eight numbers can be read at each of eight places from `from` on, and written from `to` on.
#[target_feature(enable = "neon")]
#[inline]
pub(super) unsafe fn turn(from: *const i16, from_stride: usize, to: *mut i16, to_stride: usize) {
    let mut rows = [vdupq_n_s16(0); 8];
    for (index, row) in rows.iter_mut().enumerate() {
        // SAFETY: the caller's promise.
        *row = unsafe { vld1q_s16(from.add(index * from_stride)) };
    }
    let [a, b, c, d, e, f, g, h] = rows;
    // Pairs of rows by pairs of numbers, then by twos of pairs, then by halves.
    let (ab, ab2) = pairs(a, b);
    let (cd, cd2) = pairs(c, d);
    let (ef, ef2) = pairs(e, f);
    let (gh, gh2) = pairs(g, h);
    let (ad0, ad2) = twos(ab, cd);
    let (ad1, ad3) = twos(ab2, cd2);
    let (eh0, eh2) = twos(ef, gh);
    let (eh1, eh3) = twos(ef2, gh2);
    let (row0, row4) = halves(ad0, eh0);
    let (row1, row5) = halves(ad1, eh1);
    let (row2, row6) = halves(ad2, eh2);
    let (row3, row7) = halves(ad3, eh3);
    let turned = [row0, row1, row2, row3, row4, row5, row6, row7];
    for (index, row) in turned.iter().enumerate() {
        // SAFETY: the caller's promise.
        unsafe { vst1q_s16(to.add(index * to_stride), *row) };
    }
}

/// Numbers at even places of both in turn, and those at odd places.
#[target_feature(enable = "neon")]
#[inline]
fn pairs(a: int16x8_t, b: int16x8_t) -> (int32x4_t, int32x4_t) {
    (vreinterpretq_s32_s16(vtrn1q_s16(a, b)), vreinterpretq_s32_s16(vtrn2q_s16(a, b)))
}

#[target_feature(enable = "neon")]
#[inline]
fn twos(a: int32x4_t, b: int32x4_t) -> (int64x2_t, int64x2_t) {
    (vreinterpretq_s64_s32(vtrn1q_s32(a, b)), vreinterpretq_s64_s32(vtrn2q_s32(a, b)))
}

#[target_feature(enable = "neon")]
#[inline]
fn halves(a: int64x2_t, b: int64x2_t) -> (int16x8_t, int16x8_t) {
    (vreinterpretq_s16_s64(vtrn1q_s64(a, b)), vreinterpretq_s16_s64(vtrn2q_s64(a, b)))
}
