//! Sums of rows in 32 bits in the order of the source: each pair of rows is loaded and unpacked once
//! for both outputs that it is part of. The sums are those of [`super::wide`].
#![expect(unsafe_code, reason = "vector loads and stores by address")]

use std::arch::x86_64::*;

use super::band::NEAR;
use super::turn::to_columns;
use super::wide;
use crate::engine::cpu::fixed::LANES;
use crate::engine::cpu::kernels::{Band, Share, Steps, Sum};

/// Bytes of a row that are summed together.
pub(super) const BLOCK: usize = 32;

/// Columns that rows are turned into while they are in the first cache.
const TURNED: usize = 8 * BLOCK;

/// Sums of bytes 0 to 3 of each half of a block, of 4 to 7, 8 to 11, and 12 to 15.
pub(super) type Sums = [__m256i; 4];

/// A band's sums as columns; there is room for its rows, `stride` apart.
///
/// # Safety
/// The processor must have AVX2. Rows of the steps must be valid for reads of as many bytes as there
/// are columns, at least those of a block, and weights be below 2^15.
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) unsafe fn columns(
    band: &Band<'_>,
    steps: &Steps<'_>,
    (rows, stride): (&mut [i16], usize),
    columns: &mut [i16],
) {
    let n = columns.len() / LANES;
    steps.check(band);
    assert!(n >= BLOCK && rows.len() >= LANES * stride && stride >= n);
    rows[band.ends.len() * stride..].fill(0);
    if band.reach() > NEAR {
        // SAFETY: the caller's promise.
        unsafe {
            far(band, steps, n, (rows, stride), columns);
            return to_columns(rows, stride, columns);
        }
    }
    for start in (0..n).step_by(TURNED) {
        let end = (start + TURNED).min(n);
        for at in (start..end).step_by(BLOCK) {
            // The last one ends with the row and may be summed again in part.
            // SAFETY: the caller's promise.
            unsafe { near(band, steps, at.min(n - BLOCK), (rows.as_mut_ptr(), stride)) };
        }
        let own = &mut columns[start * LANES..end * LANES];
        // SAFETY: the processor has the instructions.
        unsafe { to_columns(&rows[start..], stride, own) };
    }
}

/// All output rows, a block of them.
///
/// # Safety
/// As [`columns`], with a block from `at` on.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
unsafe fn near(band: &Band<'_>, steps: &Steps<'_>, at: usize, (out, stride): (*mut i16, usize)) {
    let shift = band.sum.bits - band.sum.fraction;
    let mut rows = Rows::new(band, steps, steps.start, at);
    rows.ahead = if band.goes_on {
        (steps.ends[steps.ends.len() - 2] - steps.start) * rows.stride
    } else {
        2 * BLOCK - 1
    };
    let (mut from, mut one) = (steps.start, begin(shift));
    for (lane, end) in steps.ends.iter().enumerate() {
        let mut other = begin(shift);
        // SAFETY: the caller's promise; there is a row for every output before the last end.
        unsafe {
            rows.add_to_both(end - from, &mut one, &mut other);
            if lane > 0 {
                put(out.add((lane - 1) * stride + at), one, shift);
            }
        }
        (from, one) = (*end, other);
    }
}

/// All output rows, a few source rows at a time all along them, as memory that is far away wants to be
/// read. What they are in the output after is kept meanwhile, where columns will be.
///
/// # Safety
/// As [`columns`].
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn far(
    band: &Band<'_>,
    steps: &Steps<'_>,
    n: usize,
    (out, stride): (&mut [i16], usize),
    kept: &mut [i16],
) {
    let shift = band.sum.bits - band.sum.fraction;
    let (mut from, whole) = (steps.start, n / BLOCK * BLOCK);
    assert!(kept.len() >= 2 * whole);
    for (lane, end) in steps.ends.iter().enumerate() {
        for at in (0..whole).step_by(BLOCK) {
            let mut rows = Rows::new(band, steps, from, at);
            rows.ahead = (end - from) * rows.stride;
            // SAFETY: the caller's promise; two numbers are kept for each byte.
            unsafe {
                let place = kept.as_mut_ptr().add(2 * at).cast::<__m256i>();
                let mut one = begin(shift);
                for part in 0..one.len() {
                    if lane > 0 {
                        one[part] = _mm256_loadu_si256(place.add(part));
                    }
                }
                let mut other = begin(shift);
                rows.add_to_both(end - from, &mut one, &mut other);
                if lane > 0 {
                    put(out.as_mut_ptr().add((lane - 1) * stride + at), one, shift);
                }
                for part in 0..other.len() {
                    _mm256_storeu_si256(place.add(part), other[part]);
                }
            }
        }
        from = *end;
    }
    for lane in (0..band.ends.len()).filter(|_| whole < n) {
        let sum = band.lane(lane);
        let rest = Sum { first: sum.first.wrapping_add(whole), ..sum };
        // SAFETY: the caller's promise.
        unsafe { wide::bytes(rest, &mut out[lane * stride..][whole..n]) };
    }
}

/// Half of the last bit that stays.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
pub(super) fn begin(shift: u32) -> Sums {
    [_mm256_set1_epi32(1 << shift >> 1); 4]
}

/// Stores sums as numbers in rising order.
///
/// # Safety
/// There must be room for a block.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
pub(super) unsafe fn put(at: *mut i16, [a, b, c, d]: Sums, shift: u32) {
    let shift = _mm_cvtsi32_si128(shift as i32);
    let low = _mm256_packs_epi32(_mm256_sra_epi32(a, shift), _mm256_sra_epi32(b, shift));
    let high = _mm256_packs_epi32(_mm256_sra_epi32(c, shift), _mm256_sra_epi32(d, shift));
    // SAFETY: the caller's promise.
    unsafe {
        let at = at.cast::<__m256i>();
        _mm256_storeu_si256(at, _mm256_permute2x128_si256::<0x20>(low, high));
        _mm256_storeu_si256(at.add(1), _mm256_permute2x128_si256::<0x31>(low, high));
    }
}

/// Bytes of two rows beside each other, each with a zero above it.
///
/// # Safety
/// Both must be valid for reads of a block.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
pub(super) unsafe fn unpacked(one: *const u8, other: *const u8) -> [__m256i; 4] {
    // SAFETY: the caller's promise.
    let (a, b) = unsafe { (_mm256_loadu_si256(one.cast()), _mm256_loadu_si256(other.cast())) };
    let zero = _mm256_setzero_si256();
    let (x, y) = (_mm256_unpacklo_epi8(a, b), _mm256_unpackhi_epi8(a, b));
    [
        _mm256_unpacklo_epi8(x, zero),
        _mm256_unpackhi_epi8(x, zero),
        _mm256_unpacklo_epi8(y, zero),
        _mm256_unpackhi_epi8(y, zero),
    ]
}

/// Source rows one after the other, from a byte on, and their weights.
#[derive(Clone, Copy)]
struct Rows {
    row: *const u8,
    share: *const Share,
    stride: usize,
    /// Bytes from there to what is fetched meanwhile.
    ahead: usize,
}

impl Rows {
    /// The rows of the steps from share `from` and byte `at` on.
    fn new(band: &Band<'_>, steps: &Steps<'_>, from: usize, at: usize) -> Rows {
        let row = steps.row(band, from).wrapping_add(at);
        let share = steps.shares.as_ptr().wrapping_add(from);
        Rows { row, share, stride: band.sum.stride, ahead: 0 }
    }

    /// Adds the next rows to the output before and to the one after.
    ///
    /// # Safety
    /// These rows, and as many shares, must be valid for reads.
    #[target_feature(enable = "avx2,fma,f16c")]
    #[inline]
    unsafe fn add_to_both(&mut self, count: usize, before: &mut Sums, after: &mut Sums) {
        for _ in 0..count / 2 {
            // SAFETY: the caller's promise.
            unsafe {
                self.add_two(
                    self.share.read(),
                    self.share.add(1).read(),
                    self.stride,
                    before,
                    after,
                )
            };
            self.row = self.row.wrapping_add(2 * self.stride);
            self.share = self.share.wrapping_add(2);
        }
        if count % 2 == 1 {
            let none = Share { before: 0, after: 0 };
            // SAFETY: the caller's promise; the other row is this one, without weight.
            unsafe { self.add_two(self.share.read(), none, 0, before, after) };
            self.row = self.row.wrapping_add(self.stride);
            self.share = self.share.wrapping_add(1);
        }
    }

    /// Adds a row and the one `stride` bytes after it.
    ///
    /// # Safety
    /// As [`Rows::add_to_both`].
    #[target_feature(enable = "avx2,fma,f16c")]
    #[inline]
    unsafe fn add_two(
        &self,
        one: Share,
        other: Share,
        stride: usize,
        before: &mut Sums,
        after: &mut Sums,
    ) {
        let both = |one: u32, other: u32| _mm256_set1_epi32((one & 0xffff | other << 16) as i32);
        let weights = [both(one.before, other.before), both(one.after, other.after)];
        let next = self.row.wrapping_add(stride);
        _mm_prefetch::<_MM_HINT_T1>(self.row.wrapping_add(self.ahead).cast());
        _mm_prefetch::<_MM_HINT_T1>(next.wrapping_add(self.ahead).cast());
        // SAFETY: the caller's promise.
        let pairs = unsafe { unpacked(self.row, next) };
        for part in 0..pairs.len() {
            let product = _mm256_madd_epi16(pairs[part], weights[0]);
            before[part] = _mm256_add_epi32(before[part], product);
            let product = _mm256_madd_epi16(pairs[part], weights[1]);
            after[part] = _mm256_add_epi32(after[part], product);
        }
    }
}
