//! Sums of rows in the order of the source: each row is loaded once for both outputs that it is part
//! of. The sums are those of [`super::vertical`], bit by bit.
#![expect(unsafe_code, reason = "vector loads by address")]

use std::arch::x86_64::*;
use std::mem::MaybeUninit;

use super::band::{Squares, turn};
use crate::engine::cpu::fixed::LANES;
use crate::engine::cpu::kernels::{Band, Share, Steps};

/// Vectors of bytes of a row that are summed together: sums of two outputs fill half of the registers.
pub(super) const VECTORS: usize = 2;

/// Sums of bytes at even places and of those at odd places.
type Sums = [(__m256i, __m256i); VECTORS];

/// Source rows one after the other, from a byte on, and their weights.
#[derive(Clone, Copy)]
struct Rows {
    row: *const u8,
    share: *const Share,
    stride: usize,
    /// Bytes from there to those that are fetched meanwhile.
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
        unsafe { walk(band.ends, steps, rows, &mut store) };
        for lane in band.ends.len()..LANES {
            store(lane, begin(0));
        }
        // SAFETY: every lane was stored; there is room by the caller's promise.
        unsafe { turn(&squares, columns.add(at * LANES)) };
    };
    // SAFETY: the caller's promise.
    unsafe { blocks(band, steps, n, part) };
}

/// A band's sums as rows, `stride` apart, in groups of `lanes` rows.
///
/// # Safety
/// As [`columns`], with room for as many numbers in rows.
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) unsafe fn rows(
    band: &Band<'_>,
    steps: &Steps<'_>,
    lanes: usize,
    n: usize,
    (out, stride): (*mut i16, usize),
) {
    for first in (0..band.ends.len()).step_by(lanes) {
        let end = (first + lanes).min(band.ends.len());
        let band = Band { ends: &band.ends[first..end], ..*band };
        let start = first.checked_sub(1).map_or(steps.start, |before| steps.ends[before]);
        let steps = Steps { start, ends: &steps.ends[first..=end], ..*steps };
        let part = |at: usize, rows: Rows| {
            let store = |lane: usize, sums: Sums| {
                for index in 0..VECTORS {
                    let (even, odd) = sums[index];
                    let (low, high) =
                        (_mm256_unpacklo_epi16(even, odd), _mm256_unpackhi_epi16(even, odd));
                    // SAFETY: there is room by the caller's promise.
                    unsafe {
                        let out = out.add((first + lane) * stride + at + 32 * index);
                        let (one, other) = (out.cast::<__m256i>(), out.add(16).cast::<__m256i>());
                        _mm256_storeu_si256(one, _mm256_permute2x128_si256::<0x20>(low, high));
                        _mm256_storeu_si256(other, _mm256_permute2x128_si256::<0x31>(low, high));
                    }
                }
            };
            // SAFETY: the caller's promise.
            unsafe { walk(band.ends, &steps, rows, store) };
        };
        // SAFETY: the caller's promise.
        unsafe { blocks(&band, &steps, n, part) };
    }
}

/// Hands out blocks: where each begins, and its rows.
///
/// # Safety
/// As [`columns`].
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
unsafe fn blocks(band: &Band<'_>, steps: &Steps<'_>, n: usize, part: impl Fn(usize, Rows)) {
    let (last, stride) = (n - 32 * VECTORS, band.sum.stride);
    let Steps { first, shares, start, ends } = *steps;
    // Addresses depend on it.
    assert!(ends.is_sorted() && ends.last().is_some_and(|end| *end <= shares.len()));
    assert!(start <= ends[0] && ends.len() == band.ends.len() + 1 && ends.len() <= LANES + 1);
    let next_band = (ends[ends.len() - 2] - start) * stride;
    let row = band.sum.first.wrapping_add((first + start) * stride);
    let mut at = 0;
    while at < n {
        // The last one ends with the row and may be summed again in part.
        let here = at.min(last);
        let next = here + 32 * VECTORS;
        let rows = Rows {
            row: row.wrapping_add(here),
            share: shares.as_ptr().wrapping_add(start),
            stride,
            ahead: if next < n { next - here } else { next_band.wrapping_sub(here) },
        };
        part(here, rows);
        at += 32 * VECTORS;
    }
}

/// Sums the rows of a block for some outputs, of which there is at least one.
///
/// # Safety
/// Rows of the steps must be valid for reads.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
unsafe fn walk(
    outputs: &[(usize, i16)],
    steps: &Steps<'_>,
    mut rows: Rows,
    mut store: impl FnMut(usize, Sums),
) {
    let (ends, lanes) = (steps.ends, outputs.len());
    let mut one = begin(outputs[0].1);
    // SAFETY: the caller's promise.
    unsafe {
        rows.add(ends[0] - steps.start, |share| share.after, &mut one);
        let mut lane = 1;
        // Two at a time: what is after a row for one is before it for the next.
        while lane + 1 < lanes {
            let mut other = begin(outputs[lane].1);
            rows.add_to_both(ends[lane] - ends[lane - 1], &mut one, &mut other);
            store(lane - 1, finished(one));
            one = begin(outputs[lane + 1].1);
            rows.add_to_both(ends[lane + 1] - ends[lane], &mut other, &mut one);
            store(lane, finished(other));
            lane += 2;
        }
        if lane < lanes {
            let mut other = begin(outputs[lane].1);
            rows.add_to_both(ends[lane] - ends[lane - 1], &mut one, &mut other);
            store(lane - 1, finished(one));
            one = other;
        }
        rows.add(ends[lanes] - ends[lanes - 1], |share| share.before, &mut one);
        store(lanes - 1, finished(one));
    }
}

/// Without what bytes at even places added to those at odd ones.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn finished(mut sums: Sums) -> Sums {
    for index in 0..VECTORS {
        let (even, odd) = sums[index];
        sums[index].1 = _mm256_sub_epi16(odd, _mm256_srai_epi16::<8>(even));
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
    unsafe fn add_to_both(&mut self, count: usize, before: &mut Sums, after: &mut Sums) {
        for _ in 0..count {
            // SAFETY: the caller's promise.
            let share = unsafe { self.share.read() };
            let (one, other) =
                (_mm256_set1_epi32(share.before as i32), _mm256_set1_epi32(share.after as i32));
            _mm_prefetch::<_MM_HINT_T0>(self.row.wrapping_add(self.ahead).cast());
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
    unsafe fn add(&mut self, count: usize, weight: impl Fn(Share) -> u32, sums: &mut Sums) {
        for _ in 0..count {
            // SAFETY: the caller's promise.
            let weight = _mm256_set1_epi32(weight(unsafe { self.share.read() }) as i32);
            _mm_prefetch::<_MM_HINT_T0>(self.row.wrapping_add(self.ahead).cast());
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
