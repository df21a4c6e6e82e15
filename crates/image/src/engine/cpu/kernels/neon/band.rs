//! Sums of rows that become columns at once, while they are in the first cache.
#![expect(unsafe_code, reason = "vector loads and stores by address")]

use std::arch::aarch64::*;

use super::turn::{to_columns, turn};
use super::vertical::{bytes, fits, sums};
use super::walked;
use crate::engine::cpu::fixed::LANES;
use crate::engine::cpu::kernels::portable::even_of;
use crate::engine::cpu::kernels::{Band, Sum};

/// Vectors of bytes of a row that are summed together, and fewer for the end.
const VECTORS: usize = 4;
const FEWER: usize = 1;

/// Bytes between the rows of a band up to which blocks are taken, and whole rows beyond: what small
/// tables of page addresses cover.
const NEAR: usize = 48 * 4096;

/// # Safety
/// The processor must have NEON; see [`super::Kernels`].
#[target_feature(enable = "neon")]
pub(super) unsafe fn band(band: &Band<'_>, rows: &mut [i16], stride: usize, columns: &mut [i16]) {
    let n = columns.len() / LANES;
    let fits = (0..LANES).all(|lane| fits(band.lane(lane).taps));
    if band.sum.wide || !fits || n < 16 * FEWER + 1 || band.reach() > NEAR {
        for (lane, row) in rows.chunks_mut(stride.max(1)).take(LANES).enumerate() {
            // SAFETY: the caller's promise.
            unsafe { bytes(band.lane(lane), &mut row[..n]) };
        }
        // SAFETY: the processor has the instructions.
        return unsafe { to_columns(rows, stride, columns) };
    }
    // SAFETY: the caller's promise, with at least one of the smaller blocks.
    unsafe {
        let steps = band.steps.filter(|_| n > 16 * walked::VECTORS);
        if let Some(steps) = steps {
            walked::blocks(band, steps, n & !1, columns.as_mut_ptr());
        } else if band.sum.signed {
            blocks::<true>(band, n & !1, columns.as_mut_ptr());
        } else {
            blocks::<false>(band, n & !1, columns.as_mut_ptr());
        }
    }
    // Blocks are of whole pairs.
    if !n.is_multiple_of(2) {
        for (lane, out) in columns[(n - 1) * LANES..].iter_mut().enumerate() {
            // SAFETY: the caller's promise.
            *out = unsafe { even_of(band.lane(lane), n - 1) };
        }
    }
}

/// # Safety
/// As [`band`], for `n` columns, an even number of at least those of the smaller block.
#[target_feature(enable = "neon")]
unsafe fn blocks<const SIGNED: bool>(band: &Band<'_>, n: usize, columns: *mut i16) {
    let all = std::array::from_fn(|lane| band.lane(lane));
    let mut at = 0;
    // The last one ends with the row and may be summed again in part.
    // SAFETY: blocks end at n at most.
    unsafe {
        while at + 16 * VECTORS <= n {
            block::<VECTORS, SIGNED>(&all, at, columns);
            at += 16 * VECTORS;
        }
        while at < n {
            block::<FEWER, SIGNED>(&all, at.min(n - 16 * FEWER), columns);
            at += 16 * FEWER;
        }
    }
}

/// # Safety
/// As [`band`], with `N` vectors of bytes from `at` on in every row.
#[target_feature(enable = "neon")]
#[inline]
unsafe fn block<const N: usize, const SIGNED: bool>(
    all: &[Sum<'_>; LANES],
    at: usize,
    columns: *mut i16,
) {
    let mut squares: Squares<N> = [[[vdupq_n_s16(0); LANES]; 2]; N];
    for (row, sum) in all.iter().enumerate() {
        // SAFETY: the caller's promise.
        let sums = unsafe { sums::<N, SIGNED>(*sum, at) };
        for ([even, odd], [a, b]) in squares.iter_mut().zip(sums) {
            (even[row], odd[row]) = (a, b);
        }
    }
    // SAFETY: the columns of the block are inside.
    unsafe { turned(&squares, columns.add(at * LANES)) };
}

/// Sums of a block, for each vector of bytes those at even and those at odd places, of every row.
pub(super) type Squares<const N: usize> = [[[int16x8_t; LANES]; 2]; N];

/// Turns a block's sums into columns.
///
/// # Safety
/// There must be room for `16 * N` columns.
#[target_feature(enable = "neon")]
#[inline]
pub(super) unsafe fn turned<const N: usize>(squares: &Squares<N>, columns: *mut i16) {
    for (part, square) in squares.as_flattened().iter().enumerate() {
        let square = square.as_ptr().cast::<i16>();
        // SAFETY: sixteen vectors of eight numbers, for every second of sixteen columns, all of
        // which are inside.
        unsafe {
            let columns = columns.add((part / 2 * 16 + part % 2) * LANES);
            turn(square, 8, columns, 2 * LANES);
            turn(square.add(64), 8, columns.add(8), 2 * LANES);
        }
    }
}
