//! Sums of rows that become columns at once, while they are in the first cache.
#![expect(unsafe_code, reason = "vector loads and stores by address")]

use std::arch::x86_64::*;
use std::mem::MaybeUninit;

use super::turn::{rows_to_columns, to_columns};
use super::vertical::{bytes_before, sums};
use super::{paired, walked, walked_wide};
use crate::engine::cpu::fixed::LANES;
use crate::engine::cpu::kernels::portable::even_of;
use crate::engine::cpu::kernels::{Band, Sum};

/// Vectors of bytes of a row that are summed together, and fewer for the end.
const VECTORS: usize = 4;
const FEWER: usize = 2;

/// Bytes between the rows of a band up to which blocks are faster than whole rows: what the first
/// table of page addresses covers, beside all else that is in use.
pub(in crate::engine::cpu::kernels) const NEAR: usize = 30 * 4096;

/// # Safety
/// The processor must have AVX2; see [`super::Kernels`].
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) unsafe fn band(band: &Band<'_>, rows: &mut [i16], stride: usize, columns: &mut [i16]) {
    let n = columns.len() / LANES;
    let wide = band.steps.as_ref().filter(|_| band.sum.wide && n >= walked_wide::BLOCK);
    if let Some(steps) = wide {
        // SAFETY: the caller's promise.
        return unsafe { walked_wide::columns(band, steps, (rows, stride), columns) };
    }
    if let Some(pairs) = band.pairs.as_ref().filter(|pairs| paired::fits(pairs, columns)) {
        // SAFETY: the caller's promise.
        return unsafe { paired::columns(band, pairs, (rows, stride), columns) };
    }
    if band.sum.wide || n < 32 * FEWER + 1 || band.reach() > NEAR {
        // SAFETY: the caller's promise.
        unsafe { sum_rows(band, n, rows, stride) };
        // SAFETY: the processor has the instructions.
        return unsafe { to_columns(rows, stride, columns) };
    }
    // SAFETY: the caller's promise, with at least one of the smaller blocks.
    unsafe {
        if let Some(steps) = &band.steps {
            walked::columns(band, steps, n & !1, columns.as_mut_ptr());
        } else if band.sum.signed {
            blocks::<true>(band, n & !1, columns.as_mut_ptr())
        } else {
            blocks::<false>(band, n & !1, columns.as_mut_ptr())
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

/// Sums that stay rows of `n` numbers.
///
/// # Safety
/// As [`band`].
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn sum_rows(band: &Band<'_>, n: usize, rows: &mut [i16], stride: usize) {
    let mut done = 0;
    if let Some(steps) = band.steps.as_ref().filter(|_| n > 32 * FEWER && !band.sum.wide) {
        assert!(rows.len() >= LANES * stride && stride >= n);
        // SAFETY: the caller's promise.
        unsafe { walked::rows(band, steps, n & !1, (rows.as_mut_ptr(), stride)) };
        done = band.ends.len();
        for lane in (0..done).filter(|_| !n.is_multiple_of(2)) {
            // SAFETY: the caller's promise.
            rows[lane * stride + n - 1] = unsafe { even_of(band.lane(lane), n - 1) };
        }
    }
    let advance = band.advance();
    for (lane, row) in rows.chunks_mut(stride.max(1)).take(LANES).enumerate().skip(done) {
        // SAFETY: the caller's promise.
        unsafe { bytes_before(band.lane(lane), advance, &mut row[..n]) };
    }
}

/// # Safety
/// As [`band`], for `n` columns, an even number of at least those of the smaller block.
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn blocks<const SIGNED: bool>(band: &Band<'_>, n: usize, columns: *mut i16) {
    let all = std::array::from_fn(|lane| band.lane(lane));
    let next_band = LANES * band.advance() * band.sum.stride;
    let ahead = |end: usize| if end < n { end } else { next_band };
    let mut at = 0;
    // The last one ends with the row and may be summed again in part.
    // SAFETY: blocks end at n at most.
    unsafe {
        while at + 32 * VECTORS <= n {
            block::<VECTORS, SIGNED>(&all, at, ahead(at + 32 * VECTORS), columns);
            at += 32 * VECTORS;
        }
        while at < n {
            let here = at.min(n - 32 * FEWER);
            block::<FEWER, SIGNED>(&all, here, ahead(here + 32 * FEWER), columns);
            at += 32 * FEWER;
        }
    }
}

/// # Safety
/// As [`band`], with `N` vectors of bytes from `at` on in every row. As many from `ahead` on are
/// fetched meanwhile: frames from a camera are in no cache, and steps from row to row are too short
/// for the processor to guess what comes next: the next block, or the first one of the next band. Of
/// each line the last byte, as where rows begin inside of one the first lines are those of this block.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
unsafe fn block<const N: usize, const SIGNED: bool>(
    all: &[Sum<'_>; LANES],
    at: usize,
    ahead: usize,
    columns: *mut i16,
) {
    let mut squares: Squares<N> = [[[MaybeUninit::uninit(); LANES]; 2]; N];
    let mut fetched = all[0].taps.first().map_or(0, |tap| tap.row);
    for (row, sum) in all.iter().enumerate() {
        if let Some(last) = sum.taps.last() {
            let next = sum.row(last).wrapping_add(ahead);
            for before in 0..(last.row + 1).saturating_sub(fetched) as usize {
                let next = next.wrapping_sub(before * sum.stride);
                for line in 0..N.div_ceil(2) {
                    _mm_prefetch::<_MM_HINT_T0>(next.wrapping_add(64 * line + 63).cast());
                }
            }
            fetched = fetched.max(last.row + 1);
        }
        // SAFETY: the caller's promise.
        let sums = unsafe { sums::<N, SIGNED>(*sum, at) };
        for (index, (even, odd)) in sums.iter().enumerate() {
            for (part, sum) in [*even, *odd].iter().enumerate() {
                squares[index][part][row].write(*sum);
            }
        }
    }
    // SAFETY: all were written above, row by row; the block's columns are inside.
    unsafe { turn(&squares, columns.add(at * LANES)) };
}

/// Sums of a block, for each vector of bytes those at even and those at odd places, sixteen rows of
/// each.
pub(in crate::engine::cpu::kernels) type Squares<const N: usize> =
    [[[MaybeUninit<__m256i>; LANES]; 2]; N];

/// Turns a block's sums into columns.
///
/// # Safety
/// All of them are written, and there is room for `32 * N` columns.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
pub(in crate::engine::cpu::kernels) unsafe fn turn<const N: usize>(
    squares: &Squares<N>,
    columns: *mut i16,
) {
    for (index, square) in squares.iter().enumerate() {
        for (part, rows) in square.iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe {
                let columns = columns.add((32 * index + part) * LANES);
                rows_to_columns(rows.as_ptr().cast(), columns.cast());
            }
        }
    }
}
