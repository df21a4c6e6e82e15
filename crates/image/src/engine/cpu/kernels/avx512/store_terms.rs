//! Sums of rows of luma and chroma, stored as bytes, 64 pixels at a time.
#![expect(unsafe_code, reason = "vector loads by address")]

use std::arch::x86_64::*;

use super::store_colours::{HALVES, Thirds, flipped, pack, store_colours};
use crate::engine::cpu::kernels::avx2::fetch::fetch_pixels;
use crate::engine::cpu::kernels::{MOST_ROWS, Out, Tap, Terms, avx2};
use crate::engine::cpu::scratch::Ring;

/// Pixels that are stored together.
const PIXELS: usize = 64;

/// Bits after the point of all terms that there are.
const FRACTION: u32 = 5;

/// # Safety
/// The processor must have AVX-512; see [`super::Kernels`].
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
pub(super) unsafe fn store_terms(terms: &Terms<'_>, out: Out) {
    assert!(terms.are_whole());
    let [_, r, g, b] = terms.kept;
    let alike = [g, b].iter().all(|ring| (ring.stride, ring.mask) == (r.stride, r.mask));
    // SAFETY: the caller's promise, with numbers for every pixel.
    unsafe {
        match (terms.luma.len(), terms.chroma.len()) {
            _ if terms.pixels < PIXELS || !alike || terms.fraction != FRACTION => {
                (avx2::KERNELS.store_terms)(terms, out)
            }
            // Half as many rows of chroma, and one more; then as many.
            (..=2, ..=2) => blocks::<2, 2>(terms, out),
            (3, ..=2) => blocks::<3, 2>(terms, out),
            (4, ..=2) => blocks::<4, 2>(terms, out),
            (4, 3) => blocks::<4, 3>(terms, out),
            (5, ..=3) => blocks::<5, 3>(terms, out),
            (6, ..=3) => blocks::<6, 3>(terms, out),
            (6, 4) => blocks::<6, 4>(terms, out),
            (7, ..=4) => blocks::<7, 4>(terms, out),
            (8, ..=4) => blocks::<8, 4>(terms, out),
            (8, 5) => blocks::<8, 5>(terms, out),
            (9, ..=5) => blocks::<9, 5>(terms, out),
            (..=3, ..=3) => blocks::<3, 3>(terms, out),
            (..=4, ..=4) => blocks::<4, 4>(terms, out),
            (..=5, ..=5) => blocks::<5, 5>(terms, out),
            (..=6, ..=6) => blocks::<6, 6>(terms, out),
            (..=7, ..=7) => blocks::<7, 7>(terms, out),
            (..=8, ..=8) => blocks::<8, 8>(terms, out),
            (..=9, ..=9) => blocks::<9, 9>(terms, out),
            (..=MOST_ROWS, ..=MOST_ROWS) => blocks::<MOST_ROWS, MOST_ROWS>(terms, out),
            _ => (avx2::KERNELS.store_terms)(terms, out),
        }
    }
}

/// # Safety
/// As [`store_terms`], with at most `LUMA` and `CHROMA` rows, as long as there are pixels, and at
/// least 64 of them; rows of all colours lie as far from each other.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
unsafe fn blocks<const LUMA: usize, const CHROMA: usize>(terms: &Terms<'_>, out: Out) {
    let &Terms { numbers, kept: [kept, r, g, b], luma, chroma, flip, pixels, .. } = terms;
    let luma = Weighted::<LUMA>::new(numbers, kept, luma);
    let chroma = Weighted::<CHROMA>::new(numbers, r, chroma);
    // From a number of red to that of the other colours.
    let to_green = g.start as isize - r.start as isize;
    let to_blue = b.start as isize - r.start as isize;
    let (zero, thirds) = (_mm512_setzero_si512(), Thirds::new());
    let mut at = 0;
    while at < pixels {
        // The last one ends with the row and may store some pixels again.
        let here = at.min(pixels - PIXELS);
        let mut halves = [[zero; 3]; 2];
        for half in 0..2 {
            let at = (here + half * PIXELS / 2) as isize;
            // SAFETY: at + 32 numbers are inside.
            let (y, all) = unsafe {
                (
                    luma.sum(at),
                    [chroma.sum(at), chroma.sum(at + to_green), chroma.sum(at + to_blue)],
                )
            };
            for colour in 0..3 {
                halves[half][colour] =
                    _mm512_srai_epi16::<FRACTION>(_mm512_add_epi16(y, all[colour]));
            }
        }
        let mut codes = [zero; 3];
        for colour in 0..3 {
            codes[colour] = pack(halves[0][colour], halves[1][colour]);
        }
        fetch_pixels::<PIXELS>(out, here);
        // SAFETY: 64 pixels from `here` on are inside, by the promise of `store_terms`.
        unsafe { store_colours::<HALVES>(out, here, flipped(codes, flip), thirds) };
        at += PIXELS;
    }
}

/// Rows and their weights.
struct Weighted<const N: usize> {
    first: [*const i16; N],
    weights: [__m512i; N],
}

impl<const N: usize> Weighted<N> {
    /// Those that are missing count nothing.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    #[inline]
    fn new(numbers: &[i16], kept: &Ring, taps: &[Tap]) -> Weighted<N> {
        let start = numbers.as_ptr().wrapping_add(kept.start);
        let mut rows = Weighted { first: [start; N], weights: [_mm512_setzero_si512(); N] };
        for index in 0..N {
            if let Some(tap) = taps.get(index) {
                rows.first[index] = numbers.as_ptr().wrapping_add(kept.place(tap.row));
                rows.weights[index] = _mm512_set1_epi16(tap.narrow());
            }
        }
        rows
    }

    /// # Safety
    /// Rows must have 32 numbers from `at` on, counted from where they begin.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    #[inline]
    unsafe fn sum(&self, at: isize) -> __m512i {
        let mut sum = _mm512_setzero_si512();
        for index in 0..N {
            // SAFETY: the caller's promise.
            let numbers = unsafe { _mm512_loadu_si512(self.first[index].offset(at).cast()) };
            let product = _mm512_mulhrs_epi16(numbers, self.weights[index]);
            sum = if index == 0 { product } else { _mm512_add_epi16(sum, product) };
        }
        sum
    }
}
