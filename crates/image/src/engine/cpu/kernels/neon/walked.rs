//! Sums of rows in the order of the source: each row is loaded once for both outputs that it is part
//! of. The sums are those of [`super::vertical`], bit by bit.
#![expect(unsafe_code, reason = "vector loads by address")]

use std::arch::aarch64::*;

use super::band::{Squares, turned};
use super::vertical::{finished, products};
use crate::engine::cpu::fixed::LANES;
use crate::engine::cpu::kernels::{Band, Share, Steps};

/// Vectors of bytes of a row that are summed together.
pub(super) const VECTORS: usize = 2;

/// Sums of bytes at even places and of those at odd places.
type Sums = [[int16x8_t; 2]; VECTORS];

/// Source rows one after the other, from a byte on.
#[derive(Clone, Copy)]
struct Rows {
    first: *const u8,
    stride: usize,
}

/// # Safety
/// The processor must have NEON. Rows of the steps must be valid for reads of `n` bytes, an even
/// number of at least those of a block, and there must be room for as many columns. Weights must be
/// below 2^15.
#[target_feature(enable = "neon")]
pub(super) unsafe fn blocks(band: &Band<'_>, steps: Steps<'_>, n: usize, columns: *mut i16) {
    let stride = band.sum.stride;
    let first = band.sum.first.wrapping_add(steps.first * stride);
    for at in (0..n).step_by(16 * VECTORS) {
        // The last one ends with the row and may be summed again in part.
        let here = at.min(n - 16 * VECTORS);
        let rows = Rows { first: first.wrapping_add(here), stride };
        // SAFETY: blocks end at n at most.
        unsafe { block(band, steps, rows, columns.add(here * LANES)) };
    }
}

/// # Safety
/// As [`blocks`], for the columns of one block.
#[target_feature(enable = "neon")]
#[inline]
unsafe fn block(band: &Band<'_>, steps: Steps<'_>, rows: Rows, columns: *mut i16) {
    // Rows beyond the last are sums of nothing.
    let mut squares: Squares<VECTORS> = [[[vdupq_n_s16(0); LANES]; 2]; VECTORS];
    let mut store = |lane: usize, sums: Sums| {
        for (square, both) in squares.iter_mut().zip(sums) {
            [square[0][lane], square[1][lane]] = finished(both, band.sum.finer);
        }
    };
    let Steps { shares, ends, start, .. } = steps;
    let lanes = (ends.len() - 1).min(LANES);
    let mut sums: Sums = [[vdupq_n_s16(band.lane(0).begin); 2]; VECTORS];
    // SAFETY: the caller's promise: steps are those of rows that may be read.
    unsafe {
        one(rows, start, &shares[start..ends[0]], |share| share.after, &mut sums);
        for lane in 1..lanes {
            let mut next: Sums = [[vdupq_n_s16(band.lane(lane).begin); 2]; VECTORS];
            let at = ends[lane - 1];
            both(rows, at, &shares[at..ends[lane]], &mut sums, &mut next);
            store(lane - 1, sums);
            sums = next;
        }
        let at = ends[lanes - 1];
        one(rows, at, &shares[at..ends[lanes]], |share| share.before, &mut sums);
        store(lanes - 1, sums);
    }
    // SAFETY: there is room by the caller's promise.
    unsafe { turned(&squares, columns) };
}

/// Adds rows to the output before and to the one after.
///
/// # Safety
/// The rows from number `from` on must be valid for reads.
#[target_feature(enable = "neon")]
#[inline]
unsafe fn both(rows: Rows, from: usize, shares: &[Share], before: &mut Sums, after: &mut Sums) {
    let mut row = rows.first.wrapping_add(from * rows.stride);
    for share in shares {
        let (one, other) = (vdupq_n_u16(share.before as u16), vdupq_n_u16(share.after as u16));
        for index in 0..VECTORS {
            // SAFETY: the caller's promise.
            let bytes = unsafe { vld1q_u8(row.add(16 * index)) };
            add(&mut before[index], products(bytes, one));
            add(&mut after[index], products(bytes, other));
        }
        row = row.wrapping_add(rows.stride);
    }
}

/// Adds rows to one output.
///
/// # Safety
/// As [`both`].
#[target_feature(enable = "neon")]
#[inline]
unsafe fn one(
    rows: Rows,
    from: usize,
    shares: &[Share],
    weight: impl Fn(&Share) -> u32,
    sums: &mut Sums,
) {
    let mut row = rows.first.wrapping_add(from * rows.stride);
    for share in shares {
        let weight = vdupq_n_u16(weight(share) as u16);
        for index in 0..VECTORS {
            // SAFETY: the caller's promise.
            let bytes = unsafe { vld1q_u8(row.add(16 * index)) };
            add(&mut sums[index], products(bytes, weight));
        }
        row = row.wrapping_add(rows.stride);
    }
}

#[target_feature(enable = "neon")]
#[inline]
fn add(sums: &mut [int16x8_t; 2], products: [int16x8_t; 2]) {
    *sums = [vaddq_s16(sums[0], products[0]), vaddq_s16(sums[1], products[1])];
}
