//! Rows through a colour matrix and stored as scaled numbers, without rounding in between.
#![expect(unsafe_code, reason = "vector loads and stores by address")]

use std::arch::x86_64::*;

use super::fetch::fetch_later;
use super::store_real::put;
use crate::engine::cpu::kernels::portable::coloured::store_coloured as store_few;
use crate::engine::cpu::kernels::{Coloured, Mixture, Out, Real};

/// Pixels that are stored together.
const PIXELS: usize = 16;

/// # Safety
/// The processor must have AVX2, FMA and F16C; see [`super::Kernels`].
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) unsafe fn store_coloured(coloured: Coloured<'_>, real: Real, out: Out) {
    let Coloured { from, mixture, pixels, .. } = coloured;
    for part in from {
        assert!(part.len() >= pixels);
    }
    if pixels < PIXELS {
        // SAFETY: the caller's promise.
        return unsafe { store_few(coloured, real, out) };
    }
    let colours = Colours::new(mixture);
    let size = real.size();
    let mut at = 0;
    while at < pixels {
        // The last one ends with the row and may store some pixels again.
        let here = at.min(pixels - PIXELS);
        let (mut low, mut high) = ([_mm256_setzero_ps(); 3], [_mm256_setzero_ps(); 3]);
        for part in 0..3 {
            // SAFETY: here + 16 <= pixels.
            let numbers = unsafe { _mm256_loadu_si256(from[part].as_ptr().add(here).cast()) };
            let first = _mm256_cvtepi16_epi32(_mm256_castsi256_si128(numbers));
            let second = _mm256_cvtepi16_epi32(_mm256_extracti128_si256::<1>(numbers));
            (low[part], high[part]) = (_mm256_cvtepi32_ps(first), _mm256_cvtepi32_ps(second));
        }
        let ([a, b, c], [d, e, f]) = (colours.of(low), colours.of(high));
        if let Out::Planes(planes) = out {
            for plane in 0..3 {
                fetch_later(planes[plane].wrapping_add(here * size));
            }
        }
        // SAFETY: room for sixteen pixels from `here` on.
        unsafe {
            match out {
                Out::Planes([red, green, blue]) => {
                    put(real, red, here, [a], [d]);
                    put(real, green, here, [b], [e]);
                    put(real, blue, here, [c], [f]);
                }
                Out::Packed { at, blue_first } => {
                    let ((a, c), (d, f)) =
                        if blue_first { ((c, a), (f, d)) } else { ((a, c), (d, f)) };
                    match mixture.alpha.map(|alpha| _mm256_set1_ps(alpha)) {
                        None => put(real, at, here, [a, b, c], [d, e, f]),
                        Some(alpha) => put(real, at, here, [a, b, c, alpha], [d, e, f, alpha]),
                    }
                }
            }
        }
        at += PIXELS;
    }
}

/// A mixture in vectors.
struct Colours {
    shares: [[__m256; 3]; 3],
    offset: [__m256; 3],
    least: [__m256; 3],
    most: [__m256; 3],
}

impl Colours {
    #[target_feature(enable = "avx2,fma,f16c")]
    #[inline]
    fn new(mixture: &Mixture) -> Colours {
        let zero = [_mm256_setzero_ps(); 3];
        let mut all = Colours { shares: [zero; 3], offset: zero, least: zero, most: zero };
        for colour in 0..3 {
            for part in 0..3 {
                all.shares[colour][part] = _mm256_set1_ps(mixture.shares[colour][part]);
            }
            all.offset[colour] = _mm256_set1_ps(mixture.offset[colour]);
            all.least[colour] = _mm256_set1_ps(mixture.least[colour]);
            all.most[colour] = _mm256_set1_ps(mixture.most[colour]);
        }
        all
    }

    /// Red, green and blue of eight pixels.
    #[target_feature(enable = "avx2,fma,f16c")]
    #[inline]
    fn of(&self, [x, y, z]: [__m256; 3]) -> [__m256; 3] {
        let mut out = [x; 3];
        for colour in 0..3 {
            let [a, b, c] = self.shares[colour];
            let value = _mm256_fmadd_ps(x, a, self.offset[colour]);
            let value = _mm256_fmadd_ps(z, c, _mm256_fmadd_ps(y, b, value));
            let value = _mm256_max_ps(value, self.least[colour]);
            out[colour] = _mm256_min_ps(value, self.most[colour]);
        }
        out
    }
}
