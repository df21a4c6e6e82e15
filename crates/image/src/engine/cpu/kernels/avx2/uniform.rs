//! Rows summed while they are resized with the same weights all along, sixteen outputs at a time.
//!
//! One instruction multiplies bytes by bytes and adds them in pairs.
#![expect(unsafe_code, reason = "vector loads and stores by address")]

use std::arch::x86_64::*;

use super::fetch::fetch_read;
use crate::engine::cpu::fixed::LANES;
use crate::engine::cpu::kernels::portable::uniform as any;
use crate::engine::cpu::kernels::{End, Sum, Uniform};

/// Rows that are summed, and their weights.
struct Rows<const COUNT: usize> {
    first: [*const u8; COUNT],
    weights: [__m256i; COUNT],
}

/// # Safety
/// The processor must have AVX2; see [`super::Kernels`].
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) unsafe fn halved(sum: Sum<'_>, halves: &Uniform<4>, out: &mut [i16]) {
    assert!(halves.fits(out));
    // SAFETY: the caller's promise.
    unsafe {
        match sum.taps.len() {
            _ if halves.same.len() < LANES => any::halved(sum, halves, out),
            1 => halved_of::<1>(&Rows::new(sum), halves, out.as_mut_ptr()),
            2 => halved_of::<2>(&Rows::new(sum), halves, out.as_mut_ptr()),
            3 => halved_of::<3>(&Rows::new(sum), halves, out.as_mut_ptr()),
            4 => halved_of::<4>(&Rows::new(sum), halves, out.as_mut_ptr()),
            _ => any::halved(sum, halves, out),
        }
    }
}

/// # Safety
/// As [`halved`], with at least sixteen outputs of the same weights and room for all.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
unsafe fn halved_of<const COUNT: usize>(rows: &Rows<COUNT>, halves: &Uniform<4>, out: *mut i16) {
    let Uniform { same, first, weights: [a, b, c, d], ends, .. } = halves;
    for end in ends {
        // SAFETY: the caller's promise.
        unsafe { out.add(end.output).write(halved_end(rows, end)) };
    }
    let (left, right) = (pair(*a, *b), pair(*c, *d));
    let out = out.wrapping_add(same.start);
    let mut at = 0;
    while at < same.len() {
        // The last one ends with the row and may compute some outputs again.
        let here = at.min(same.len() - LANES);
        let mut total = _mm256_setzero_si256();
        for index in 0..COUNT {
            let row = rows.first[index].wrapping_add(first + 2 * here);
            // The rows before were fetched for other outputs.
            if index + 2 >= COUNT {
                fetch_read(row);
            }
            // SAFETY: the bytes of sixteen outputs from `here` on.
            let along = unsafe {
                let one = _mm256_maddubs_epi16(_mm256_loadu_si256(row.cast()), left);
                let other = _mm256_maddubs_epi16(_mm256_loadu_si256(row.add(2).cast()), right);
                _mm256_add_epi16(one, other)
            };
            total = added(total, index, _mm256_mulhrs_epi16(along, rows.weights[index]));
        }
        // SAFETY: there is room for sixteen outputs from `here` on.
        unsafe { _mm256_storeu_si256(out.add(here).cast(), total) };
        at += LANES;
    }
}

/// # Safety
/// As [`halved`].
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
unsafe fn halved_end<const COUNT: usize>(rows: &Rows<COUNT>, end: &End<4>) -> i16 {
    // SAFETY: the caller's promise; four weights are eight bytes.
    let (down, weights) =
        unsafe { (rows.four_bytes(end.first), _mm_loadl_epi64(end.weights.as_ptr().cast())) };
    let pairs = _mm_madd_epi16(down, weights);
    let sum = rounded(_mm_add_epi32(pairs, _mm_shuffle_epi32::<1>(pairs)));
    _mm_cvtsi128_si32(sum) as i16
}

/// # Safety
/// The processor must have AVX2; see [`super::Kernels`].
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) unsafe fn slid_pairs(
    sum: Sum<'_>,
    pairs: &Uniform<2>,
    first: &mut [i16],
    second: &mut [i16],
) {
    assert!(pairs.fits(first) && pairs.fits(second));
    let out = (first.as_mut_ptr(), second.as_mut_ptr());
    // SAFETY: the caller's promise.
    unsafe {
        match sum.taps.len() {
            _ if pairs.same.len() < LANES => any::slid_pairs(sum, pairs, first, second),
            1 => slid_pairs_of::<1>(&Rows::new(sum), pairs, out),
            2 => slid_pairs_of::<2>(&Rows::new(sum), pairs, out),
            3 => slid_pairs_of::<3>(&Rows::new(sum), pairs, out),
            4 => slid_pairs_of::<4>(&Rows::new(sum), pairs, out),
            _ => any::slid_pairs(sum, pairs, first, second),
        }
    }
}

/// # Safety
/// As [`halved_of`].
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
unsafe fn slid_pairs_of<const COUNT: usize>(
    rows: &Rows<COUNT>,
    pairs: &Uniform<2>,
    out: (*mut i16, *mut i16),
) {
    let Uniform { same, first, weights: [a, b], ends, .. } = pairs;
    for end in ends {
        // SAFETY: the caller's promise.
        unsafe {
            let (one, other) = slid_pairs_end(rows, end);
            out.0.add(end.output).write(one);
            out.1.add(end.output).write(other);
        }
    }
    let (weights, low) = (pair(*a, *b), _mm256_set1_epi32(0xffff));
    let out = (out.0.wrapping_add(same.start), out.1.wrapping_add(same.start));
    let mut at = 0;
    while at < same.len() {
        // The last one ends with the row and may compute some outputs again.
        let here = at.min(same.len() - LANES);
        // Both components of outputs in turn: the first and third four outputs, and the others.
        let mut totals = (_mm256_setzero_si256(), _mm256_setzero_si256());
        for index in 0..COUNT {
            let row = rows.first[index].wrapping_add(2 * (first + here));
            if index + 1 == COUNT {
                fetch_read(row);
            }
            // SAFETY: the bytes of sixteen outputs from `here` on.
            let (these, next) =
                unsafe { (_mm256_loadu_si256(row.cast()), _mm256_loadu_si256(row.add(2).cast())) };
            let one = _mm256_maddubs_epi16(_mm256_unpacklo_epi8(these, next), weights);
            let other = _mm256_maddubs_epi16(_mm256_unpackhi_epi8(these, next), weights);
            let weight = rows.weights[index];
            totals.0 = added(totals.0, index, _mm256_mulhrs_epi16(one, weight));
            totals.1 = added(totals.1, index, _mm256_mulhrs_epi16(other, weight));
        }
        let firsts = (_mm256_and_si256(totals.0, low), _mm256_and_si256(totals.1, low));
        let seconds = (_mm256_srli_epi32::<16>(totals.0), _mm256_srli_epi32::<16>(totals.1));
        // SAFETY: there is room for sixteen outputs from `here` on.
        unsafe {
            let firsts = _mm256_packus_epi32(firsts.0, firsts.1);
            _mm256_storeu_si256(out.0.add(here).cast(), firsts);
            let seconds = _mm256_packus_epi32(seconds.0, seconds.1);
            _mm256_storeu_si256(out.1.add(here).cast(), seconds);
        }
        at += LANES;
    }
}

/// # Safety
/// As [`slid_pairs`].
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
unsafe fn slid_pairs_end<const COUNT: usize>(rows: &Rows<COUNT>, end: &End<2>) -> (i16, i16) {
    // SAFETY: the caller's promise.
    let down = unsafe { rows.four_bytes(2 * end.first) };
    let weights = u32::from(end.weights[0] as u16) | u32::from(end.weights[1] as u16) << 16;
    let apart = _mm_shufflelo_epi16::<0b11_01_10_00>(down);
    let sums = rounded(_mm_madd_epi16(apart, _mm_set1_epi32(weights as i32)));
    let both = _mm_cvtsi128_si32(sums);
    (both as i16, (both >> 16) as i16)
}

impl<const COUNT: usize> Rows<COUNT> {
    /// As many taps as there are rows.
    #[target_feature(enable = "avx2,fma,f16c")]
    #[inline]
    fn new(sum: Sum<'_>) -> Rows<COUNT> {
        let mut rows = Rows { first: [sum.first; COUNT], weights: [_mm256_setzero_si256(); COUNT] };
        for index in 0..COUNT {
            rows.first[index] = sum.row(&sum.taps[index]);
            rows.weights[index] = _mm256_set1_epi16(sum.taps[index].narrow());
        }
        rows
    }

    /// The sums of four bytes of every row.
    ///
    /// # Safety
    /// Rows must have them.
    #[target_feature(enable = "avx2,fma,f16c")]
    #[inline]
    unsafe fn four_bytes(&self, at: usize) -> __m128i {
        let mut down = _mm_setzero_si128();
        for index in 0..COUNT {
            // SAFETY: the caller's promise.
            let bytes = unsafe { self.first[index].add(at).cast::<i32>().read_unaligned() };
            let bytes = _mm_slli_epi16::<7>(_mm_cvtepu8_epi16(_mm_cvtsi32_si128(bytes)));
            let product = _mm_mulhrs_epi16(bytes, _mm256_castsi256_si128(self.weights[index]));
            down = _mm_add_epi16(down, product);
        }
        down
    }
}

/// Two weights, wherever a vector has two bytes.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn pair(a: u8, b: u8) -> __m256i {
    _mm256_set1_epi16(i16::from_le_bytes([a, b]))
}

/// The first product is the sum.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn added(total: __m256i, index: usize, product: __m256i) -> __m256i {
    if index == 0 { product } else { _mm256_add_epi16(total, product) }
}

/// Sums with fifteen bits after the point, as numbers of 16 bits.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn rounded(sums: __m128i) -> __m128i {
    let sums = _mm_srai_epi32::<15>(_mm_add_epi32(sums, _mm_set1_epi32(1 << 14)));
    _mm_packs_epi32(sums, sums)
}
