//! Sums of rows of luma and chroma, stored as bytes, 32 pixels at a time.
#![expect(unsafe_code, reason = "vector loads by address")]

use std::arch::x86_64::*;

use super::fetch::fetch_both;
use super::store_bytes::{IN_ORDER, store_colours};
use crate::engine::cpu::kernels::portable::kept::store_kept as store_few;
use crate::engine::cpu::kernels::{Kept, Out, Tap};
use crate::engine::cpu::scratch::Ring;

/// Pixels that are stored together.
const PIXELS: usize = 32;

/// # Safety
/// The processor must have AVX2; see [`super::Kernels`].
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) unsafe fn store_kept(kept: &Kept<'_>, out: Out) {
    assert!(kept.are_whole());
    // SAFETY: the caller's promise, with numbers for every pixel.
    unsafe {
        match kept.flip {
            0 => rows::<false>(kept, out),
            _ => rows::<true>(kept, out),
        }
    }
}

/// Most bytes are combined with nothing, and what does nothing costs as well.
///
/// # Safety
/// As [`store_kept`], with rows as long as there are pixels.
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn rows<const FLIP: bool>(kept: &Kept<'_>, out: Out) {
    // SAFETY: the caller's promise.
    unsafe {
        match (kept.luma.len(), kept.chroma.len()) {
            _ if kept.pixels < PIXELS => store_few(kept, out),
            (..=2, ..=2) => blocks::<2, 2, FLIP>(kept, out),
            (3, ..=2) => blocks::<3, 2, FLIP>(kept, out),
            (4, ..=2) => blocks::<4, 2, FLIP>(kept, out),
            (..=3, ..=3) => blocks::<3, 3, FLIP>(kept, out),
            (..=4, ..=4) => blocks::<4, 4, FLIP>(kept, out),
            _ => store_few(kept, out),
        }
    }
}

/// # Safety
/// As [`rows`], with at most `LUMA` and `CHROMA` of them, and at least 32 pixels.
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn blocks<const LUMA: usize, const CHROMA: usize, const FLIP: bool>(
    kept: &Kept<'_>,
    out: Out,
) {
    let &Kept { numbers, rings: [y, u, v], luma, chroma, matrix, flip, pixels, soon } = kept;
    let y = Weighted::<LUMA>::new(numbers, y, luma);
    let u = Weighted::<CHROMA>::new(numbers, u, chroma);
    let v = Weighted::<CHROMA>::new(numbers, v, chroma);
    let [red, green, blue] = matrix.rows;
    let (red, blue) = (_mm256_set1_epi16(red[2]), _mm256_set1_epi16(blue[1]));
    let (green_u, green_v) = (_mm256_set1_epi16(green[1]), _mm256_set1_epi16(green[2]));
    let flip = _mm256_set1_epi8(flip as i8);
    let mut at = 0;
    while at < pixels {
        // The last one ends with the row and may store some pixels again.
        let here = at.min(pixels - PIXELS);
        let mut halves = [[_mm256_setzero_si256(); 3]; 2];
        for half in 0..2 {
            let at = here + half * PIXELS / 2;
            // SAFETY: at + 16 numbers are inside.
            let (y, u, v) = unsafe { (y.sum(at), u.sum(at), v.sum(at)) };
            let by_both =
                _mm256_add_epi16(_mm256_mulhrs_epi16(u, green_u), _mm256_mulhrs_epi16(v, green_v));
            let colours = [_mm256_mulhrs_epi16(v, red), by_both, _mm256_mulhrs_epi16(u, blue)];
            for colour in 0..3 {
                let sum = _mm256_add_epi16(y, colours[colour]);
                halves[half][colour] = _mm256_srai_epi16::<{ Kept::FRACTION as i32 }>(sum);
            }
        }
        let mut codes = [_mm256_setzero_si256(); 3];
        for colour in 0..3 {
            let packed = _mm256_packus_epi16(halves[0][colour], halves[1][colour]);
            codes[colour] = _mm256_permute4x64_epi64::<0xd8>(packed);
            if FLIP {
                codes[colour] = _mm256_xor_si256(codes[colour], flip);
            }
        }
        fetch_both::<PIXELS>(out, here, soon);
        // SAFETY: 32 pixels from `here` on are inside, by the promise of `store_kept`.
        unsafe { store_colours::<IN_ORDER>(out, here, codes) };
        at += PIXELS;
    }
}

/// Rows and their weights.
struct Weighted<const N: usize> {
    first: [*const i16; N],
    weights: [__m256i; N],
}

impl<const N: usize> Weighted<N> {
    /// Those that are missing count nothing.
    #[target_feature(enable = "avx2,fma,f16c")]
    #[inline]
    fn new(numbers: &[i16], kept: &Ring, taps: &[Tap]) -> Weighted<N> {
        let mut rows =
            Weighted { first: [numbers.as_ptr(); N], weights: [_mm256_setzero_si256(); N] };
        for index in 0..N {
            if let Some(tap) = taps.get(index) {
                rows.first[index] = numbers.as_ptr().wrapping_add(kept.place(tap.row));
                rows.weights[index] = _mm256_set1_epi16(tap.narrow());
            }
        }
        rows
    }

    /// # Safety
    /// Rows must have sixteen numbers from `at` on.
    #[target_feature(enable = "avx2,fma,f16c")]
    #[inline]
    unsafe fn sum(&self, at: usize) -> __m256i {
        let mut sum = _mm256_setzero_si256();
        for index in 0..N {
            // SAFETY: the caller's promise.
            let numbers = unsafe { _mm256_loadu_si256(self.first[index].add(at).cast()) };
            let product = _mm256_mulhrs_epi16(numbers, self.weights[index]);
            sum = if index == 0 { product } else { _mm256_add_epi16(sum, product) };
        }
        sum
    }
}
