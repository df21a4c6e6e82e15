//! Rows through a colour matrix and stored as scaled numbers, without rounding in between: floats and
//! halves of them, in planes.
#![expect(unsafe_code, reason = "vector loads and stores by address")]

use std::arch::x86_64::*;

use crate::engine::cpu::kernels::avx2::fetch::fetch_later;
use crate::engine::cpu::kernels::{Coloured, Mixture, Out, Real, avx2};

/// Pixels that are stored together.
const PIXELS: usize = 16;

/// # Safety
/// The processor must have AVX-512; see [`super::Kernels`].
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) unsafe fn store_coloured(coloured: Coloured<'_>, real: Real, out: Out) {
    let Coloured { from, mixture, pixels } = coloured;
    for part in from {
        assert!(part.len() >= pixels);
    }
    // SAFETY: the caller's promise, with numbers for every pixel.
    unsafe {
        match (out, real) {
            _ if pixels < PIXELS => (avx2::KERNELS.store_coloured)(coloured, real, out),
            (Out::Planes(planes), Real::F32) => {
                planar(planes, 4, coloured, mixture, |plane, at, numbers| {
                    _mm512_storeu_ps(planes[plane].cast::<f32>().add(at), numbers);
                });
            }
            (Out::Planes(planes), Real::F16) => {
                planar(planes, 2, coloured, mixture, |plane, at, numbers| {
                    let halves = _mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(numbers);
                    _mm256_storeu_si256(planes[plane].cast::<u16>().add(at).cast(), halves);
                });
            }
            _ => (avx2::KERNELS.store_coloured)(coloured, real, out),
        }
    }
}

/// Hands sixteen numbers of each colour to `store`: the plane, the first pixel, and the numbers. They
/// are of `size` bytes where they are stored.
///
/// # Safety
/// Rows must be as long as there are pixels, of which there are at least sixteen.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
unsafe fn planar(
    planes: [*mut u8; 3],
    size: usize,
    Coloured { from, pixels, .. }: Coloured<'_>,
    mixture: &Mixture,
    store: impl Fn(usize, usize, __m512),
) {
    let zero = [_mm512_setzero_ps(); 3];
    let (mut shares, mut offset, mut least, mut most) = ([zero; 3], zero, zero, zero);
    for colour in 0..3 {
        for part in 0..3 {
            shares[colour][part] = _mm512_set1_ps(mixture.shares[colour][part]);
        }
        offset[colour] = _mm512_set1_ps(mixture.offset[colour]);
        least[colour] = _mm512_set1_ps(mixture.least[colour]);
        most[colour] = _mm512_set1_ps(mixture.most[colour]);
    }
    let mut at = 0;
    while at < pixels {
        // The last one ends with the row and may store some pixels again.
        let here = at.min(pixels - PIXELS);
        let mut parts = zero;
        for part in 0..3 {
            // SAFETY: here + 16 <= pixels.
            let numbers = unsafe { _mm256_loadu_si256(from[part].as_ptr().add(here).cast()) };
            parts[part] = _mm512_cvtepi32_ps(_mm512_cvtepi16_epi32(numbers));
        }
        for plane in 0..3 {
            fetch_later(planes[plane].wrapping_add(here * size));
        }
        let [x, y, z] = parts;
        for colour in 0..3 {
            let [a, b, c] = shares[colour];
            let value = _mm512_fmadd_ps(x, a, offset[colour]);
            let value = _mm512_fmadd_ps(z, c, _mm512_fmadd_ps(y, b, value));
            let value = _mm512_min_ps(_mm512_max_ps(value, least[colour]), most[colour]);
            store(colour, here, value);
        }
        at += PIXELS;
    }
}
