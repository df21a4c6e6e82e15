//! Sums of rows in the order of the source, as AVX2 makes them, twice as many bytes at a time.
#![expect(unsafe_code, reason = "vector loads by address")]

use std::arch::x86_64::*;
use std::mem::MaybeUninit;

use crate::engine::cpu::fixed::LANES;
use crate::engine::cpu::kernels::avx2::{self, Squares, turn};
use crate::engine::cpu::kernels::{BELOW, Band, Share, Steps, Sum};

/// Vectors of bytes of a row that are summed together.
const VECTORS: usize = 2;

/// Bytes of a row that are summed together.
pub(super) const BLOCK: usize = 64 * VECTORS;

/// Bytes of a row from those that are summed to those that are fetched meanwhile, the last of them in the
/// next band: all of that would be more than the second cache has room for, beside all else.
const AHEAD: usize = 1024;

/// Sums of bytes at even places and of those at odd places.
type Sums = [(__m512i, __m512i); VECTORS];

/// Source rows one after the other, from a byte on, and their weights.
#[derive(Clone, Copy)]
struct Rows {
    row: *const u8,
    share: *const Share,
    stride: usize,
    /// Bytes from there to what is fetched meanwhile, into the second cache: as much later as memory
    /// needs, in which the first has no room for it.
    ahead: usize,
}

/// A band's sums as columns.
///
/// # Safety
/// The processor must have AVX-512. Rows of the steps must be valid for reads of `n` bytes, an even
/// number of at least those of a block, and there must be room for as many columns.
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) unsafe fn columns(band: &Band<'_>, steps: &Steps<'_>, n: usize, columns: *mut i16) {
    steps.check(band);
    let Steps { shares, start, ends, .. } = *steps;
    let (first, stride) = (steps.row(band, start), band.sum.stride);
    let next_band = (ends[ends.len() - 2] - start) * stride;
    let mut at = 0;
    while at < n {
        // The last one ends with the row and may be summed again in part.
        let here = at.min(n - BLOCK);
        let rows = Rows {
            row: first.wrapping_add(here),
            share: shares.as_ptr().wrapping_add(start),
            stride,
            ahead: match band.goes_on {
                true if n < AHEAD => next_band,
                true if here + AHEAD < n => AHEAD,
                true => (next_band + AHEAD).wrapping_sub(n),
                // Of a band that another thread makes nothing, but the next block: the last byte of
                // each line, as the first may be in the line that this one ends in.
                false => BLOCK + 63,
            },
        };
        let mut squares: Squares<{ 2 * VECTORS }> =
            [[[MaybeUninit::uninit(); LANES]; 2]; 2 * VECTORS];
        let mut store = |lane: usize, sums: Sums| {
            for index in 0..VECTORS {
                let (even, odd) = sums[index];
                let (low, high) = squares.split_at_mut(2 * index + 1);
                let (low, high) = (&mut low[2 * index], &mut high[0]);
                low[0][lane].write(_mm512_castsi512_si256(even));
                low[1][lane].write(_mm512_castsi512_si256(odd));
                high[0][lane].write(_mm512_extracti64x4_epi64::<1>(even));
                high[1][lane].write(_mm512_extracti64x4_epi64::<1>(odd));
            }
        };
        // SAFETY: the caller's promise.
        unsafe {
            match band.goes_on {
                true => walk::<_MM_HINT_T1>(band, steps, rows, &mut store),
                false => walk::<_MM_HINT_T0>(band, steps, rows, &mut store),
            }
        }
        for lane in band.ends.len()..LANES {
            store(lane, begin(0));
        }
        // SAFETY: every lane was stored; there is room by the caller's promise.
        unsafe { turn(&squares, columns.add(here * LANES)) };
        at += BLOCK;
    }
}

/// A band's sums as rows: a few source rows at a time, all along them, as memory that is far away
/// wants to be read. What they are in the output after is kept in its row meanwhile.
///
/// # Safety
/// As [`columns`], with room for as many numbers in each row of the band.
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) unsafe fn rows(
    band: &Band<'_>,
    steps: &Steps<'_>,
    n: usize,
    (out, stride): (&mut [i16], usize),
) {
    steps.check(band);
    let (mut from, whole) = (steps.start, n / BLOCK * BLOCK);
    let numbers = out.as_mut_ptr();
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
                let place = |lane: usize| numbers.add(lane * stride + at).cast::<__m512i>();
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
    // What does not fill a block; pairs stay pairs.
    for lane in (0..band.ends.len()).filter(|_| whole < n) {
        let sum = band.lane(lane);
        let rest = Sum { first: sum.first.wrapping_add(whole), ..sum };
        // SAFETY: the caller's promise.
        unsafe { (avx2::KERNELS.bytes)(rest, &mut out[lane * stride..][whole..n]) };
    }
}

/// Sums that are not finished, as [`keep`] left them.
///
/// # Safety
/// There must be a block.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
unsafe fn kept(at: *const __m512i) -> Sums {
    let mut sums = begin(0);
    for index in 0..VECTORS {
        // SAFETY: the caller's promise.
        unsafe {
            let at = at.add(2 * index);
            sums[index] = (_mm512_loadu_si512(at), _mm512_loadu_si512(at.add(1)));
        }
    }
    sums
}

/// # Safety
/// There must be room for a block.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
unsafe fn keep(at: *mut __m512i, sums: Sums) {
    for index in 0..VECTORS {
        // SAFETY: the caller's promise.
        unsafe {
            _mm512_storeu_si512(at.add(2 * index), sums[index].0);
            _mm512_storeu_si512(at.add(2 * index + 1), sums[index].1);
        }
    }
}

/// Stores sums as numbers in rising order.
///
/// # Safety
/// There must be room for a block.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
unsafe fn put(at: *mut __m512i, sums: Sums) {
    // Of the parts of sixteen bytes of two vectors one each in turn, the first half and the second.
    let first = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
    let second = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
    for index in 0..VECTORS {
        let (even, odd) = sums[index];
        let (low, high) = (_mm512_unpacklo_epi16(even, odd), _mm512_unpackhi_epi16(even, odd));
        // SAFETY: the caller's promise.
        unsafe {
            let one = _mm512_permutex2var_epi64(low, first, high);
            let other = _mm512_permutex2var_epi64(low, second, high);
            _mm512_storeu_si512(at.add(2 * index), one);
            _mm512_storeu_si512(at.add(2 * index + 1), other);
        }
    }
}

/// Sums the rows of a block for some outputs, of which there is at least one.
///
/// # Safety
/// Rows of the steps must be valid for reads.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
unsafe fn walk<const HINT: i32>(
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
        rows.add::<HINT>(ends[0] - steps.start, |share| share.after, &mut one);
        for lane in 1..lanes {
            let mut other = begin(outputs[lane].1);
            rows.add_to_both::<HINT>(ends[lane] - ends[lane - 1], &mut one, &mut other);
            store(lane - 1, finished(one, finer));
            one = other;
        }
        rows.add::<HINT>(ends[lanes] - ends[lanes - 1], |share| share.before, &mut one);
        store(lanes - 1, finished(one, finer));
    }
}

/// Sums without what bytes at even places added to those at odd ones, and without a bit that they
/// have more.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn finished(mut sums: Sums, finer: bool) -> Sums {
    for index in 0..VECTORS {
        let (even, odd) = sums[index];
        sums[index] = if finer {
            let below = _mm512_set1_epi16(BELOW as i16);
            let odd = _mm512_sub_epi16(odd, _mm512_srli_epi16::<8>(even));
            let odd = _mm512_subs_epu16(_mm512_add_epi16(odd, below), below);
            (_mm512_srli_epi16::<1>(even), _mm512_srli_epi16::<1>(odd))
        } else {
            (even, _mm512_sub_epi16(odd, _mm512_srai_epi16::<8>(even)))
        };
    }
    sums
}

#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn begin(with: i16) -> Sums {
    [(_mm512_set1_epi16(with), _mm512_set1_epi16(with)); VECTORS]
}

impl Rows {
    /// Adds the next rows to the output before and to the one after.
    ///
    /// # Safety
    /// These rows, and as many shares, must be valid for reads.
    #[target_feature(enable = "avx512f,avx512bw")]
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
                (_mm512_set1_epi32(share.before as i32), _mm512_set1_epi32(share.after as i32));
            for index in 0..VECTORS {
                // SAFETY: the caller's promise.
                let odd = unsafe { self.load::<HINT>(index) };
                let even = _mm512_slli_epi16::<8>(odd);
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
    #[target_feature(enable = "avx512f,avx512bw")]
    #[inline]
    unsafe fn add<const HINT: i32>(
        &mut self,
        count: usize,
        weight: impl Fn(Share) -> u32,
        sums: &mut Sums,
    ) {
        for _ in 0..count {
            // SAFETY: the caller's promise.
            let weight = _mm512_set1_epi32(weight(unsafe { self.share.read() }) as i32);
            for index in 0..VECTORS {
                // SAFETY: the caller's promise.
                let odd = unsafe { self.load::<HINT>(index) };
                sums[index] = added(sums[index], _mm512_slli_epi16::<8>(odd), odd, weight);
            }
            self.step();
        }
    }

    /// # Safety
    /// As [`Rows::add_to_both`].
    #[target_feature(enable = "avx512f,avx512bw")]
    #[inline]
    unsafe fn load<const HINT: i32>(&self, index: usize) -> __m512i {
        let at = self.row.wrapping_add(64 * index);
        _mm_prefetch::<HINT>(at.wrapping_add(self.ahead).cast());
        // SAFETY: the caller's promise.
        unsafe { _mm512_loadu_si512(at.cast()) }
    }

    #[inline(always)]
    fn step(&mut self) {
        self.row = self.row.wrapping_add(self.stride);
        self.share = self.share.wrapping_add(1);
    }
}

#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn added(
    (evens, odds): (__m512i, __m512i),
    even: __m512i,
    odd: __m512i,
    weight: __m512i,
) -> (__m512i, __m512i) {
    (
        _mm512_add_epi16(evens, _mm512_mulhi_epu16(even, weight)),
        _mm512_add_epi16(odds, _mm512_mulhi_epu16(odd, weight)),
    )
}
