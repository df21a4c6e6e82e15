//! Rows through a colour matrix and stored as scaled numbers, without rounding in between: floats and
//! halves of them, in planes.
#![expect(unsafe_code, reason = "vector loads and stores by address")]

use std::arch::x86_64::*;
use std::ops::Range;

use crate::engine::cpu::kernels::avx2::fetch::{LINE, fetch_later};
use crate::engine::cpu::kernels::{Coloured, Mixture, Out, Real, avx2};

/// Pixels that are stored together.
const PIXELS: usize = 16;

/// # Safety
/// The processor must have AVX-512; see [`super::Kernels`].
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) unsafe fn store_coloured(coloured: Coloured<'_>, real: Real, out: Out) {
    let Coloured { from, pixels, .. } = coloured;
    for part in from {
        assert!(part.len() >= pixels);
    }
    // SAFETY: the caller's promise, with numbers for every pixel.
    unsafe {
        match (out, real) {
            _ if pixels < PIXELS => (avx2::KERNELS.store_coloured)(coloured, real, out),
            (Out::Planes(planes), Real::F32) if coloured.around && begin_alike(planes) => {
                around(planes.map(<*mut u8>::cast), coloured);
            }
            (Out::Planes(planes), Real::F32) => {
                planar(planes, 4, coloured, |plane, at, numbers| {
                    _mm512_storeu_ps(planes[plane].cast::<f32>().add(at), numbers);
                });
            }
            (Out::Planes(planes), Real::F16) => {
                planar(planes, 2, coloured, |plane, at, numbers| {
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
    Coloured { from, mixture, pixels, .. }: Coloured<'_>,
    store: impl Fn(usize, usize, __m512),
) {
    let colours = Colours::new(mixture);
    let mut at = 0;
    while at < pixels {
        // The last one ends with the row and may store some pixels again.
        let here = at.min(pixels - PIXELS);
        for plane in 0..3 {
            fetch_later(planes[plane].wrapping_add(here * size));
        }
        // SAFETY: here + 16 <= pixels.
        let all = unsafe { colours.of(from, here) };
        for colour in 0..3 {
            store(colour, here, all[colour]);
        }
        at += PIXELS;
    }
}

/// Whether lines of the cache begin with the same pixels in all planes.
fn begin_alike(planes: [*mut u8; 3]) -> bool {
    let within = planes.map(|plane| plane.addr() % LINE);
    within[0].is_multiple_of(size_of::<f32>()) && within[0] == within[1] && within[1] == within[2]
}

/// Stores floats around the caches, a line at a time: what does not fill one at either end goes
/// through them.
///
/// # Safety
/// As [`planar`], with planes whose lines begin with the same pixels. Nobody else may look at what is
/// stored before [`settle`].
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn around(planes: [*mut f32; 3], Coloured { from, mixture, pixels, .. }: Coloured<'_>) {
    let colours = Colours::new(mixture);
    let begin = planes[0].align_offset(LINE).min(PIXELS - 1);
    let end = begin + (pixels - begin) / PIXELS * PIXELS;
    for pixels in [0..begin, end..pixels] {
        if !pixels.is_empty() {
            // SAFETY: all of these pixels are inside.
            unsafe { some(&colours, planes, from, pixels) };
        }
    }
    let mut at = begin;
    while at < end {
        // SAFETY: at + 16 <= pixels, from where a line begins on.
        unsafe {
            let all = colours.of(from, at);
            for colour in 0..3 {
                _mm512_stream_ps(planes[colour].add(at), all[colour]);
            }
        }
        at += PIXELS;
    }
}

/// Stores fewer than sixteen pixels, which begin or end a row.
///
/// # Safety
/// Rows must have at least sixteen pixels, and these.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
unsafe fn some(colours: &Colours, planes: [*mut f32; 3], from: [&[i16]; 3], pixels: Range<usize>) {
    // The sixteen that these are the first or the last of.
    let here = pixels.start.min(pixels.end.max(PIXELS) - PIXELS);
    let mask = ((1_u32 << pixels.len()) - 1) << (pixels.start - here);
    // SAFETY: the caller's promise.
    unsafe {
        let all = colours.of(from, here);
        for colour in 0..3 {
            _mm512_mask_storeu_ps(planes[colour].add(here), mask as __mmask16, all[colour]);
        }
    }
}

/// Waits until what was stored around the caches can be seen by all.
///
/// # Safety
/// The processor must have AVX-512.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn settle() {
    _mm_sfence();
}

/// A mixture in vectors.
struct Colours {
    shares: [[__m512; 3]; 3],
    offset: [__m512; 3],
    least: [__m512; 3],
    most: [__m512; 3],
}

impl Colours {
    #[target_feature(enable = "avx512f,avx512bw")]
    #[inline]
    fn new(mixture: &Mixture) -> Colours {
        let zero = [_mm512_setzero_ps(); 3];
        let mut all = Colours { shares: [zero; 3], offset: zero, least: zero, most: zero };
        for colour in 0..3 {
            for part in 0..3 {
                all.shares[colour][part] = _mm512_set1_ps(mixture.shares[colour][part]);
            }
            all.offset[colour] = _mm512_set1_ps(mixture.offset[colour]);
            all.least[colour] = _mm512_set1_ps(mixture.least[colour]);
            all.most[colour] = _mm512_set1_ps(mixture.most[colour]);
        }
        all
    }

    /// Red, green and blue of sixteen pixels.
    ///
    /// # Safety
    /// Rows must have as many from `at` on.
    #[target_feature(enable = "avx512f,avx512bw")]
    #[inline]
    unsafe fn of(&self, from: [&[i16]; 3], at: usize) -> [__m512; 3] {
        let mut parts = [_mm512_setzero_ps(); 3];
        for part in 0..3 {
            // SAFETY: the caller's promise.
            let numbers = unsafe { _mm256_loadu_si256(from[part].as_ptr().add(at).cast()) };
            parts[part] = _mm512_cvtepi32_ps(_mm512_cvtepi16_epi32(numbers));
        }
        let [x, y, z] = parts;
        for colour in 0..3 {
            let [a, b, c] = self.shares[colour];
            let value = _mm512_fmadd_ps(x, a, self.offset[colour]);
            let value = _mm512_fmadd_ps(z, c, _mm512_fmadd_ps(y, b, value));
            let value = _mm512_max_ps(value, self.least[colour]);
            parts[colour] = _mm512_min_ps(value, self.most[colour]);
        }
        parts
    }
}
