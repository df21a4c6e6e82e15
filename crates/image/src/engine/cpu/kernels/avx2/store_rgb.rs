//! A row through the matrix and stored as bytes, 32 pixels at a time.
#![expect(unsafe_code, reason = "vector loads by address")]

use std::arch::x86_64::*;

use super::fetch::fetch_pixels;
use super::pixel::{ANY_MATRIX, NOTHING, Step, TO_RGB};
use super::store_bytes::{IN_ORDER, store_colours};
use crate::engine::cpu::kernels::{Columns, Out};

/// Pixels that are stored together.
const PIXELS: usize = 32;

/// # Safety
/// The processor must have AVX2; see [`super::Kernels`].
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) unsafe fn store_rgb(row: Columns<'_>, out: Out) {
    let Columns { from, pixels, matrix, .. } = row;
    assert!(pixels >= PIXELS);
    for part in from {
        assert!(part.len() >= pixels);
    }
    // SAFETY: the caller's promise, with numbers for every pixel.
    unsafe {
        match matrix {
            None => blocks::<NOTHING>(row, out),
            Some(matrix) if matrix.is_to_rgb() => blocks::<TO_RGB>(row, out),
            Some(_) => blocks::<ANY_MATRIX>(row, out),
        }
    }
}

/// # Safety
/// As [`store_rgb`], with at least 32 pixels.
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn blocks<const KIND: u8>(row: Columns<'_>, out: Out) {
    let Columns { from, matrix, fraction, flip, pixels, .. } = row;
    let step = Step::new(matrix, fraction);
    let flip = _mm256_set1_epi8(flip as i8);
    let mut at = 0;
    while at < pixels {
        // The last one ends with the row and may store some pixels again.
        let here = at.min(pixels - PIXELS);
        // SAFETY: here + 32 numbers are inside.
        let (first, second) = unsafe {
            let load = |at: usize| {
                [
                    _mm256_loadu_si256(from[0].as_ptr().add(at).cast()),
                    _mm256_loadu_si256(from[1].as_ptr().add(at).cast()),
                    _mm256_loadu_si256(from[2].as_ptr().add(at).cast()),
                ]
            };
            (step.pixel::<KIND>(load(here)), step.pixel::<KIND>(load(here + PIXELS / 2)))
        };
        let mut codes = [_mm256_setzero_si256(); 3];
        for colour in 0..3 {
            let packed = _mm256_packus_epi16(first[colour], second[colour]);
            codes[colour] = _mm256_xor_si256(_mm256_permute4x64_epi64::<0xd8>(packed), flip);
        }
        fetch_pixels::<PIXELS>(out, here);
        // SAFETY: 32 pixels from `here` on are inside, by the promise of `store_rgb`.
        unsafe { store_colours::<IN_ORDER>(out, here, codes) };
        at += PIXELS;
    }
}
