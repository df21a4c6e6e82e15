//! Sums of rows of luma and chroma, stored as bytes, 64 pixels at a time.
#![expect(unsafe_code, reason = "vector loads by address")]

use std::arch::x86_64::*;

use super::store_colours::{HALVES, Thirds, flipped, pack, store_colours};
use crate::engine::cpu::fixed::FixedMatrix;
use crate::engine::cpu::kernels::avx2::fetch::fetch_both;
use crate::engine::cpu::kernels::{Kept, MOST_ROWS, Out, Tap, avx2};
use crate::engine::cpu::scratch::Ring;

/// Pixels that are stored together.
const PIXELS: usize = 64;

/// # Safety
/// The processor must have AVX-512; see [`super::Kernels`].
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
pub(super) unsafe fn store_kept(kept: &Kept<'_>, out: Out) {
    assert!(kept.are_whole());
    let [_, u, v] = kept.rings;
    let alike = (u.stride, u.mask) == (v.stride, v.mask);
    // SAFETY: the caller's promise, with numbers for every pixel.
    unsafe {
        match (kept.luma.len(), kept.chroma.len()) {
            _ if kept.pixels < PIXELS || !alike => (avx2::KERNELS.store_kept)(kept, out),
            // Half as many rows of chroma, and one more; then as many.
            (..=2, ..=2) => blocks::<2, 2>(kept, out),
            (3, ..=2) => blocks::<3, 2>(kept, out),
            (4, ..=2) => blocks::<4, 2>(kept, out),
            (4, 3) => blocks::<4, 3>(kept, out),
            (5, ..=3) => blocks::<5, 3>(kept, out),
            (6, ..=3) => blocks::<6, 3>(kept, out),
            (6, 4) => blocks::<6, 4>(kept, out),
            (7, ..=4) => blocks::<7, 4>(kept, out),
            (8, ..=4) => blocks::<8, 4>(kept, out),
            (8, 5) => blocks::<8, 5>(kept, out),
            (9, ..=5) => blocks::<9, 5>(kept, out),
            (..=3, ..=3) => blocks::<3, 3>(kept, out),
            (..=4, ..=4) => blocks::<4, 4>(kept, out),
            (..=5, ..=5) => blocks::<5, 5>(kept, out),
            (..=6, ..=6) => blocks::<6, 6>(kept, out),
            (..=7, ..=7) => blocks::<7, 7>(kept, out),
            (..=8, ..=8) => blocks::<8, 8>(kept, out),
            (..=9, ..=9) => blocks::<9, 9>(kept, out),
            (..=MOST_ROWS, ..=MOST_ROWS) => blocks::<MOST_ROWS, MOST_ROWS>(kept, out),
            _ => (avx2::KERNELS.store_kept)(kept, out),
        }
    }
}

/// # Safety
/// As [`store_kept`], with at most `LUMA` and `CHROMA` rows, as long as there are pixels, and at
/// least 64 of them; rows of both kinds of chroma lie as far from each other.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
unsafe fn blocks<const LUMA: usize, const CHROMA: usize>(kept: &Kept<'_>, out: Out) {
    let &Kept { numbers, rings: [y, u, v], luma, chroma, matrix, flip, pixels, soon, .. } = kept;
    let luma = Weighted::<LUMA>::new(numbers, y, luma);
    let chroma = Weighted::<CHROMA>::new(numbers, u, chroma);
    // From a number of chroma of the first kind to that of the second.
    let to_other = v.start as isize - u.start as isize;
    let (zero, thirds) = (_mm512_setzero_si512(), Thirds::new());
    let colours = Colours::new(matrix);
    let mut at = 0;
    while at < pixels {
        // The last one ends with the row and may store some pixels again.
        let here = at.min(pixels - PIXELS);
        let mut halves = [[zero; 3]; 2];
        for half in 0..2 {
            let at = (here + half * PIXELS / 2) as isize;
            // SAFETY: at + 32 numbers are inside.
            let sums = unsafe { [luma.sum(at), chroma.sum(at), chroma.sum(at + to_other)] };
            halves[half] = colours.of(sums);
        }
        let mut codes = [zero; 3];
        for colour in 0..3 {
            codes[colour] = pack(halves[0][colour], halves[1][colour]);
        }
        fetch_both::<PIXELS>(out, here, soon);
        // SAFETY: 64 pixels from `here` on are inside, by the promise of `store_kept`.
        unsafe { store_colours::<HALVES>(out, here, flipped(codes, flip), thirds) };
        at += PIXELS;
    }
}

/// What chroma is in colours, in vectors.
struct Colours {
    red: __m512i,
    green: [__m512i; 2],
    blue: __m512i,
}

impl Colours {
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    #[inline]
    fn new(matrix: &FixedMatrix) -> Colours {
        let [red, green, blue] = matrix.rows;
        Colours {
            red: _mm512_set1_epi16(red[2]),
            green: [_mm512_set1_epi16(green[1]), _mm512_set1_epi16(green[2])],
            blue: _mm512_set1_epi16(blue[1]),
        }
    }

    /// Red, green and blue as codes, not yet limited.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    #[inline]
    fn of(&self, [y, u, v]: [__m512i; 3]) -> [__m512i; 3] {
        let [by_u, by_v] = self.green;
        let mut all = [
            _mm512_mulhrs_epi16(v, self.red),
            _mm512_add_epi16(_mm512_mulhrs_epi16(u, by_u), _mm512_mulhrs_epi16(v, by_v)),
            _mm512_mulhrs_epi16(u, self.blue),
        ];
        for colour in 0..3 {
            let sum = _mm512_add_epi16(y, all[colour]);
            all[colour] = _mm512_srai_epi16::<{ Kept::FRACTION }>(sum);
        }
        all
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
