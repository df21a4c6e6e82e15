//! Sums of rows in the order of the source: each row is loaded once for both outputs that it is part
//! of. The sums are those of [`super::vertical`], bit by bit.
#![expect(unsafe_code, reason = "vector loads by address")]

use std::arch::x86_64::*;
use std::mem::MaybeUninit;

use super::band::{Squares, ahead, turn};
use crate::engine::cpu::fixed::LANES;
use crate::engine::cpu::kernels::{Share, Steps, Sum};

/// Vectors of bytes of a row that are summed together: sums of two outputs fill half of the registers.
pub(super) const VECTORS: usize = 2;

/// Sums of bytes at even places and of those at odd places.
type Sums = [(__m256i, __m256i); VECTORS];

/// Source rows one after the other.
#[derive(Clone, Copy)]
struct Rows {
    first: *const u8,
    stride: usize,
    /// Bytes of a row before those that are summed, and before those that are fetched meanwhile.
    at: usize,
    ahead: usize,
}

/// # Safety
/// The processor must have AVX2. Rows of the steps must be valid for reads of `n` bytes, an even
/// number of at least those of a block, and there must be room for as many columns.
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) unsafe fn blocks(all: &[Sum<'_>; LANES], steps: Steps<'_>, n: usize, columns: *mut i16) {
    let last = n - 32 * VECTORS;
    let first = all[0].first.wrapping_add(steps.first * all[0].stride);
    let mut at = 0;
    while at < n {
        // The last one ends with the row and may be summed again in part.
        let here = at.min(last);
        let ahead = ahead::<VECTORS>(all, here, n);
        let rows = Rows { first, stride: all[0].stride, at: here, ahead };
        // SAFETY: blocks end at n at most.
        unsafe { block(all, steps, rows, columns.add(here * LANES)) };
        at += 32 * VECTORS;
    }
}

/// # Safety
/// As [`blocks`], for the columns of one block.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
unsafe fn block(all: &[Sum<'_>; LANES], steps: Steps<'_>, rows: Rows, columns: *mut i16) {
    let mut squares: Squares<VECTORS> = [[[MaybeUninit::uninit(); LANES]; 2]; VECTORS];
    let mut store = |lane: usize, sums: Sums| {
        for index in 0..VECTORS {
            let (even, odd) = sums[index];
            // What bytes at even places added to those at odd ones.
            let odd = _mm256_sub_epi16(odd, _mm256_srai_epi16::<8>(even));
            squares[index][0][lane].write(even);
            squares[index][1][lane].write(odd);
        }
    };
    let Steps { shares, ends, start, .. } = steps;
    let lanes = (ends.len() - 1).min(LANES);
    let mut sums = begin(all[0].begin);
    // SAFETY: the caller's promise: steps are those of rows that may be read.
    unsafe {
        one(rows, start, &shares[start..ends[0]], |share| share.after, &mut sums);
        for lane in 1..lanes {
            let mut next = begin(all[lane].begin);
            let at = ends[lane - 1];
            both(rows, at, &shares[at..ends[lane]], &mut sums, &mut next);
            store(lane - 1, sums);
            sums = next;
        }
        let at = ends[lanes - 1];
        one(rows, at, &shares[at..ends[lanes]], |share| share.before, &mut sums);
        store(lanes - 1, sums);
    }
    for lane in lanes..LANES {
        store(lane, begin(0));
    }
    // SAFETY: every lane was stored; there is room by the caller's promise.
    unsafe { turn(&squares, columns) };
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn begin(with: i16) -> Sums {
    [(_mm256_set1_epi16(with), _mm256_set1_epi16(with)); VECTORS]
}

/// Adds rows to the output before and to the one after.
///
/// # Safety
/// The rows from number `from` on must be valid for reads.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
unsafe fn both(rows: Rows, from: usize, shares: &[Share], before: &mut Sums, after: &mut Sums) {
    let mut row = rows.first.wrapping_add(from * rows.stride);
    for share in shares {
        let (one, other) =
            (_mm256_set1_epi32(share.before as i32), _mm256_set1_epi32(share.after as i32));
        _mm_prefetch::<_MM_HINT_T0>(row.wrapping_add(rows.ahead).cast());
        for index in 0..VECTORS {
            // SAFETY: the caller's promise.
            let odd = unsafe { _mm256_loadu_si256(row.add(rows.at + 32 * index).cast()) };
            let even = _mm256_slli_epi16::<8>(odd);
            before[index] = added(before[index], even, odd, one);
            after[index] = added(after[index], even, odd, other);
        }
        row = row.wrapping_add(rows.stride);
    }
}

/// Adds rows to one output.
///
/// # Safety
/// As [`both`].
#[target_feature(enable = "avx2,fma,f16c")]
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
        let weight = _mm256_set1_epi32(weight(share) as i32);
        _mm_prefetch::<_MM_HINT_T0>(row.wrapping_add(rows.ahead).cast());
        for index in 0..VECTORS {
            // SAFETY: the caller's promise.
            let odd = unsafe { _mm256_loadu_si256(row.add(rows.at + 32 * index).cast()) };
            sums[index] = added(sums[index], _mm256_slli_epi16::<8>(odd), odd, weight);
        }
        row = row.wrapping_add(rows.stride);
    }
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn added(
    (evens, odds): (__m256i, __m256i),
    even: __m256i,
    odd: __m256i,
    weight: __m256i,
) -> (__m256i, __m256i) {
    (
        _mm256_add_epi16(evens, _mm256_mulhi_epu16(even, weight)),
        _mm256_add_epi16(odds, _mm256_mulhi_epu16(odd, weight)),
    )
}
