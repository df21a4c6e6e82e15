//! Sums of rows in 32 bits, for filters that take many rows: two rows at a time.
#![expect(unsafe_code, reason = "vector loads and stores by address")]

use std::arch::x86_64::*;

use crate::engine::cpu::kernels::{Sum, Tap, portable};

/// # Safety
/// The processor must have AVX2; see [`super::Kernels`].
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) unsafe fn bytes(sum: Sum<'_>, out: &mut [i16]) {
    let n = out.len();
    if n < 32 || !fits(sum.taps) {
        // SAFETY: the caller's promise.
        return unsafe { portable::bytes(sum, out) };
    }
    let mut at = 0;
    while at < n {
        // The last one ends with the row and may compute some outputs again.
        let here = at.min(n - 32);
        // SAFETY: here + 32 <= n, and rows have as many bytes as outputs.
        unsafe {
            let (low, high) = sums(sum, here);
            let out = out.as_mut_ptr().add(here).cast::<__m256i>();
            _mm256_storeu_si256(out, _mm256_permute2x128_si256::<0x20>(low, high));
            _mm256_storeu_si256(out.add(1), _mm256_permute2x128_si256::<0x31>(low, high));
        }
        at += 32;
    }
}

/// # Safety
/// The processor must have AVX2; see [`super::Kernels`].
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) unsafe fn pairs(sum: Sum<'_>, even: &mut [i16], odd: &mut [i16]) {
    let n = even.len().min(odd.len());
    if n < 16 || !fits(sum.taps) {
        // SAFETY: the caller's promise.
        return unsafe { portable::pairs(sum, even, odd) };
    }
    // Of eight numbers in turn, those at even places first.
    let apart = _mm256_broadcastsi128_si256(_mm_setr_epi8(
        0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15,
    ));
    let mut at = 0;
    while at < n {
        let here = at.min(n - 16);
        // SAFETY: here + 16 <= n, and rows have two bytes for each output.
        unsafe {
            let (low, high) = sums(sum, 2 * here);
            let (low, high) = (_mm256_shuffle_epi8(low, apart), _mm256_shuffle_epi8(high, apart));
            let first = _mm256_unpacklo_epi64(low, high);
            let second = _mm256_unpackhi_epi64(low, high);
            _mm256_storeu_si256(even.as_mut_ptr().add(here).cast(), first);
            _mm256_storeu_si256(odd.as_mut_ptr().add(here).cast(), second);
        }
        at += 16;
    }
}

/// # Safety
/// The processor must have AVX2; see [`super::Kernels`].
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) unsafe fn words(sum: Sum<'_>, out: &mut [i16]) {
    let n = out.len();
    if n < 16 || !fits(sum.taps) {
        // SAFETY: the caller's promise.
        return unsafe { portable::words(sum, out) };
    }
    let shift = sum.bits + 7 - sum.fraction;
    let mut at = 0;
    while at < n {
        let here = at.min(n - 16);
        let mut total = Total::new(shift);
        for two in sum.taps.chunks(2) {
            let (first, last) = (sum.row(&two[0]), sum.row(&two[two.len() - 1]));
            // SAFETY: here + 16 <= n, and rows have as many words as outputs.
            let (a, b) = unsafe {
                (
                    _mm256_loadu_si256(first.add(2 * here).cast()),
                    _mm256_loadu_si256(last.add(2 * here).cast()),
                )
            };
            total.add(_mm256_srli_epi16::<1>(a), _mm256_srli_epi16::<1>(b), both(two));
        }
        // SAFETY: as above.
        unsafe { _mm256_storeu_si256(out.as_mut_ptr().add(here).cast(), total.finish()) };
        at += 16;
    }
}

/// Whether all weights are below 2^15, as factors of signed multiplications must be.
#[inline]
fn fits(taps: &[Tap]) -> bool {
    taps.iter().all(|tap| tap.twice & 0x8000 == 0)
}

/// The weights of one row or two, beside each other.
#[inline]
fn both(taps: &[Tap]) -> i32 {
    let half = |tap: Option<&Tap>| tap.map_or(0, |tap| tap.weight() as u16);
    (u32::from(half(taps.first())) | u32::from(half(taps.get(1))) << 16) as i32
}

/// Sums of 32 bytes: of those that unpacking finds in the lower halves (0 to 7 and 16 to 23), and
/// of the others.
///
/// # Safety
/// The rows must be valid for reads of 32 bytes from `at` on.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
unsafe fn sums(sum: Sum<'_>, at: usize) -> (__m256i, __m256i) {
    let shift = sum.bits - sum.fraction;
    let (mut low, mut high) = (Total::new(shift), Total::new(shift));
    let zero = _mm256_setzero_si256();
    for two in sum.taps.chunks(2) {
        let (first, last) = (sum.row(&two[0]), sum.row(&two[two.len() - 1]));
        // SAFETY: the caller's promise.
        let (a, b) = unsafe {
            (_mm256_loadu_si256(first.add(at).cast()), _mm256_loadu_si256(last.add(at).cast()))
        };
        let weights = both(two);
        // Bytes of both rows beside each other, each with a zero above it.
        let (x, y) = (_mm256_unpacklo_epi8(a, b), _mm256_unpackhi_epi8(a, b));
        low.add_pairs(_mm256_unpacklo_epi8(x, zero), _mm256_unpackhi_epi8(x, zero), weights);
        high.add_pairs(_mm256_unpacklo_epi8(y, zero), _mm256_unpackhi_epi8(y, zero), weights);
    }
    (low.finish(), high.finish())
}

/// Sixteen sums of 32 bits: those that unpacking finds in the lower halves, and the others.
#[derive(Clone, Copy)]
struct Total {
    low: __m256i,
    high: __m256i,
    shift: u32,
}

impl Total {
    #[target_feature(enable = "avx2,fma,f16c")]
    #[inline]
    fn new(shift: u32) -> Total {
        let half = _mm256_set1_epi32(1 << shift >> 1);
        Total { low: half, high: half, shift }
    }

    /// Adds words of two rows, each times its weight.
    #[target_feature(enable = "avx2,fma,f16c")]
    #[inline]
    fn add(&mut self, a: __m256i, b: __m256i, weights: i32) {
        self.add_pairs(_mm256_unpacklo_epi16(a, b), _mm256_unpackhi_epi16(a, b), weights);
    }

    /// As [`Total::add`] for rows that are unpacked already.
    #[target_feature(enable = "avx2,fma,f16c")]
    #[inline]
    fn add_pairs(&mut self, low: __m256i, high: __m256i, weights: i32) {
        let weights = _mm256_set1_epi32(weights);
        self.low = _mm256_add_epi32(self.low, _mm256_madd_epi16(low, weights));
        self.high = _mm256_add_epi32(self.high, _mm256_madd_epi16(high, weights));
    }

    /// Without the bits below the point.
    #[target_feature(enable = "avx2,fma,f16c")]
    #[inline]
    fn finish(self) -> __m256i {
        let shift = _mm_cvtsi32_si128(self.shift as i32);
        _mm256_packs_epi32(_mm256_sra_epi32(self.low, shift), _mm256_sra_epi32(self.high, shift))
    }
}
