//! Sums of rows in the order of the source: each row is loaded once for both outputs that it is part
//! of. The sums are those of [`super::vertical`], bit by bit.
#![expect(unsafe_code, reason = "vector loads by address")]

use std::arch::x86_64::*;
use std::mem::MaybeUninit;

use super::band::{Squares, turn};
use super::vertical::{self, sums};
use crate::engine::cpu::fixed::LANES;
use crate::engine::cpu::kernels::{Band, Share, Steps};

/// Vectors of bytes of a row that are summed together: sums of two outputs fill half of the registers.
pub(super) const VECTORS: usize = 2;

/// Bytes of a row that are summed together.
const BLOCK: usize = 32 * VECTORS;

/// Sums of bytes at even places and of those at odd places.
type Sums = [(__m256i, __m256i); VECTORS];

/// Source rows one after the other, from a byte on, and their weights.
#[derive(Clone, Copy)]
struct Rows {
    row: *const u8,
    share: *const Share,
    stride: usize,
    /// Bytes from there to what is fetched meanwhile: the last of the next block, as where rows begin
    /// inside of a line of the cache its first ones are in the line that this block ends in.
    ahead: usize,
}

/// A band's sums as columns.
///
/// # Safety
/// The processor must have AVX2. Rows of the steps must be valid for reads of `n` bytes, an even
/// number of at least those of a block, and there must be room for as many columns.
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) unsafe fn columns(band: &Band<'_>, steps: &Steps<'_>, n: usize, columns: *mut i16) {
    let part = |at: usize, rows: Rows| {
        let mut squares: Squares<VECTORS> = [[[MaybeUninit::uninit(); LANES]; 2]; VECTORS];
        let mut store = |lane: usize, sums: Sums| {
            for index in 0..VECTORS {
                squares[index][0][lane].write(sums[index].0);
                squares[index][1][lane].write(sums[index].1);
            }
        };
        // SAFETY: the caller's promise.
        unsafe { walk(band, steps, rows, &mut store) };
        for lane in band.ends.len()..LANES {
            store(lane, begin(0));
        }
        // SAFETY: every lane was stored; there is room by the caller's promise.
        unsafe { turn(&squares, columns.add(at * LANES)) };
    };
    // SAFETY: the caller's promise.
    unsafe { blocks(band, steps, n, part) };
}

/// A band's sums as rows, `stride` apart: a few source rows at a time, all along them, as memory that
/// is far away wants to be read. What they are in the output after is kept in its row meanwhile.
///
/// # Safety
/// As [`columns`], with room for as many numbers in rows.
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) unsafe fn rows(
    band: &Band<'_>,
    steps: &Steps<'_>,
    n: usize,
    (out, stride): (*mut i16, usize),
) {
    let (mut from, whole) = (steps.start, n / BLOCK * BLOCK);
    steps.check(band);
    for (lane, end) in steps.ends.iter().enumerate() {
        let count = end - from;
        let first = steps.row(band, from);
        for at in (0..whole).step_by(BLOCK) {
            let mut rows = Rows {
                row: first.wrapping_add(at),
                share: steps.shares.as_ptr().wrapping_add(from),
                stride: band.sum.stride,
                ahead: count * band.sum.stride,
            };
            // SAFETY: the caller's promise; lanes are those of the band.
            unsafe {
                let place = |lane: usize| out.add(lane * stride + at).cast::<__m256i>();
                match (lane.checked_sub(1), band.ends.get(lane)) {
                    (Some(lane_before), Some((_, begins))) => {
                        let (mut before, mut after) = (kept(place(lane_before)), begin(*begins));
                        rows.add_to_both::<_MM_HINT_T1>(count, &mut before, &mut after);
                        put(place(lane_before), finished(before, band.sum.finer));
                        keep(place(lane), after);
                    }
                    (None, Some((_, begins))) => {
                        let mut after = begin(*begins);
                        rows.add::<_MM_HINT_T1>(count, |share| share.after, &mut after);
                        keep(place(lane), after);
                    }
                    (Some(lane_before), None) => {
                        let mut before = kept(place(lane_before));
                        rows.add::<_MM_HINT_T1>(count, |share| share.before, &mut before);
                        put(place(lane_before), finished(before, band.sum.finer));
                    }
                    (None, None) => {}
                }
            }
        }
        from = *end;
    }
    // The last block ends with the row and is summed again in part.
    if whole < n {
        for lane in 0..band.ends.len() {
            // SAFETY: the caller's promise.
            unsafe {
                let sums = sums::<VECTORS, false>(band.lane(lane), n - BLOCK);
                put(out.add(lane * stride + n - BLOCK).cast(), sums);
            }
        }
    }
}

/// Sums that are not finished, as [`keep`] left them.
///
/// # Safety
/// There must be a block.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
unsafe fn kept(at: *const __m256i) -> Sums {
    let mut sums = begin(0);
    for index in 0..VECTORS {
        // SAFETY: the caller's promise.
        unsafe {
            let at = at.add(2 * index);
            sums[index] = (_mm256_loadu_si256(at), _mm256_loadu_si256(at.add(1)));
        }
    }
    sums
}

/// # Safety
/// There must be room for a block.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
unsafe fn keep(at: *mut __m256i, sums: Sums) {
    for index in 0..VECTORS {
        // SAFETY: the caller's promise.
        unsafe {
            _mm256_storeu_si256(at.add(2 * index), sums[index].0);
            _mm256_storeu_si256(at.add(2 * index + 1), sums[index].1);
        }
    }
}

/// Stores sums as numbers in rising order.
///
/// # Safety
/// There must be room for a block.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
unsafe fn put(at: *mut __m256i, sums: Sums) {
    for index in 0..VECTORS {
        let (even, odd) = sums[index];
        let (low, high) = (_mm256_unpacklo_epi16(even, odd), _mm256_unpackhi_epi16(even, odd));
        // SAFETY: the caller's promise.
        unsafe {
            let (one, other) = (at.add(2 * index), at.add(2 * index + 1));
            _mm256_storeu_si256(one, _mm256_permute2x128_si256::<0x20>(low, high));
            _mm256_storeu_si256(other, _mm256_permute2x128_si256::<0x31>(low, high));
        }
    }
}

/// Hands out blocks: where each begins, and its rows.
///
/// # Safety
/// As [`columns`].
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
unsafe fn blocks(band: &Band<'_>, steps: &Steps<'_>, n: usize, part: impl Fn(usize, Rows)) {
    let (last, stride) = (n - BLOCK, band.sum.stride);
    let Steps { shares, start, ends, .. } = *steps;
    steps.check(band);
    let next_band = (ends[ends.len() - 2] - start) * stride;
    let row = steps.row(band, start);
    let mut at = 0;
    while at < n {
        // The last one ends with the row and may be summed again in part.
        let here = at.min(last);
        let next = here + BLOCK;
        let rows = Rows {
            row: row.wrapping_add(here),
            share: shares.as_ptr().wrapping_add(start),
            stride,
            ahead: if next < n { next - here + BLOCK - 1 } else { next_band.wrapping_sub(here) },
        };
        part(here, rows);
        at += BLOCK;
    }
}

/// Sums the rows of a block for some outputs, of which there is at least one.
///
/// # Safety
/// Rows of the steps must be valid for reads.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
unsafe fn walk(
    band: &Band<'_>,
    steps: &Steps<'_>,
    mut rows: Rows,
    mut store: impl FnMut(usize, Sums),
) {
    let (outputs, finer) = (band.ends, band.sum.finer);
    let (ends, lanes) = (steps.ends, outputs.len());
    let mut one = begin(outputs[0].1);
    // SAFETY: the caller's promise.
    unsafe {
        rows.add::<_MM_HINT_T0>(ends[0] - steps.start, |share| share.after, &mut one);
        let mut lane = 1;
        // Two at a time: what is after a row for one is before it for the next.
        while lane + 1 < lanes {
            let mut other = begin(outputs[lane].1);
            rows.add_to_both::<_MM_HINT_T0>(ends[lane] - ends[lane - 1], &mut one, &mut other);
            store(lane - 1, finished(one, finer));
            one = begin(outputs[lane + 1].1);
            rows.add_to_both::<_MM_HINT_T0>(ends[lane + 1] - ends[lane], &mut other, &mut one);
            store(lane, finished(other, finer));
            lane += 2;
        }
        if lane < lanes {
            let mut other = begin(outputs[lane].1);
            rows.add_to_both::<_MM_HINT_T0>(ends[lane] - ends[lane - 1], &mut one, &mut other);
            store(lane - 1, finished(one, finer));
            one = other;
        }
        rows.add::<_MM_HINT_T0>(ends[lanes] - ends[lanes - 1], |share| share.before, &mut one);
        store(lanes - 1, finished(one, finer));
    }
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn finished(mut sums: Sums, finer: bool) -> Sums {
    for index in 0..VECTORS {
        sums[index] = vertical::finished(sums[index], finer);
    }
    sums
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn begin(with: i16) -> Sums {
    [(_mm256_set1_epi16(with), _mm256_set1_epi16(with)); VECTORS]
}

impl Rows {
    /// Adds the next rows to the output before and to the one after.
    ///
    /// # Safety
    /// These rows, and as many shares, must be valid for reads.
    #[target_feature(enable = "avx2,fma,f16c")]
    #[inline]
    unsafe fn add_to_both<const HINT: i32>(
        &mut self,
        count: usize,
        before: &mut Sums,
        after: &mut Sums,
    ) {
        for _ in 0..count {
            // SAFETY: the caller's promise.
            let share = unsafe { self.share.read() };
            let (one, other) =
                (_mm256_set1_epi32(share.before as i32), _mm256_set1_epi32(share.after as i32));
            _mm_prefetch::<HINT>(self.row.wrapping_add(self.ahead).cast());
            for index in 0..VECTORS {
                // SAFETY: the caller's promise.
                let odd = unsafe { _mm256_loadu_si256(self.row.add(32 * index).cast()) };
                let even = _mm256_slli_epi16::<8>(odd);
                before[index] = added(before[index], even, odd, one);
                after[index] = added(after[index], even, odd, other);
            }
            self.step();
        }
    }

    /// Adds the next rows to one output.
    ///
    /// # Safety
    /// As [`Rows::add_to_both`].
    #[target_feature(enable = "avx2,fma,f16c")]
    #[inline]
    unsafe fn add<const HINT: i32>(
        &mut self,
        count: usize,
        weight: impl Fn(Share) -> u32,
        sums: &mut Sums,
    ) {
        for _ in 0..count {
            // SAFETY: the caller's promise.
            let weight = _mm256_set1_epi32(weight(unsafe { self.share.read() }) as i32);
            _mm_prefetch::<HINT>(self.row.wrapping_add(self.ahead).cast());
            for index in 0..VECTORS {
                // SAFETY: the caller's promise.
                let odd = unsafe { _mm256_loadu_si256(self.row.add(32 * index).cast()) };
                sums[index] = added(sums[index], _mm256_slli_epi16::<8>(odd), odd, weight);
            }
            self.step();
        }
    }

    #[inline(always)]
    fn step(&mut self) {
        self.row = self.row.wrapping_add(self.stride);
        self.share = self.share.wrapping_add(1);
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
