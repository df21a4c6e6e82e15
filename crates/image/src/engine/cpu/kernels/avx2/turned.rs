//! Columns of sixteen rows through the matrix and stored as bytes, each as a row: of a picture that
//! is turned by a quarter.
#![expect(unsafe_code, reason = "vector loads and stores by address")]

use std::arch::x86_64::*;

use super::pixel::{ANY_MATRIX, NOTHING, Step, TO_RGB};
use super::store_bytes::{IN_ORDER, mix_three};
use crate::engine::cpu::fixed::LANES;
use crate::engine::cpu::kernels::{Columns, Out};

/// # Safety
/// The processor must have AVX2; see [`super::Kernels`].
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) unsafe fn store_turned(columns: Columns<'_>, out: Out, strides: [usize; 3]) {
    let Columns { from, pixels, matrix, .. } = columns;
    for part in from {
        assert!(part.len() >= pixels * LANES);
    }
    // SAFETY: the caller's promise, with columns for every pixel.
    unsafe {
        match matrix {
            None => twos::<NOTHING>(columns, out, strides),
            Some(matrix) if matrix.is_to_rgb() => twos::<TO_RGB>(columns, out, strides),
            Some(_) => twos::<ANY_MATRIX>(columns, out, strides),
        }
    }
}

/// Two columns at a time.
///
/// # Safety
/// As [`store_turned`].
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn twos<const KIND: u8>(columns: Columns<'_>, out: Out, strides: [usize; 3]) {
    let Columns { from, matrix, fraction, flip, rows, pixels, .. } = columns;
    let step = Step::new(matrix, fraction);
    let flip = _mm256_set1_epi8(flip as i8);
    for first in (0..pixels).step_by(2) {
        // The last one of an odd number is stored twice.
        let second = (first + 1).min(pixels - 1);
        // SAFETY: both columns are inside.
        let (a, b) = unsafe {
            let load = |pixel: usize| {
                let at = pixel * LANES;
                [
                    _mm256_loadu_si256(from[0].as_ptr().add(at).cast()),
                    _mm256_loadu_si256(from[1].as_ptr().add(at).cast()),
                    _mm256_loadu_si256(from[2].as_ptr().add(at).cast()),
                ]
            };
            (step.pixel::<KIND>(load(first)), step.pixel::<KIND>(load(second)))
        };
        // Sixteen bytes of the one column, then of the other.
        let mut codes = [flip; 3];
        for colour in 0..3 {
            let both = _mm256_packus_epi16(a[colour], b[colour]);
            codes[colour] = _mm256_xor_si256(_mm256_permute4x64_epi64::<0xd8>(both), flip);
        }
        let [red, green, blue] = codes;
        // SAFETY: room for a row of as many pixels as the band has rows, for every column.
        unsafe {
            match out {
                Out::Planes(planes) => {
                    for plane in 0..3 {
                        let row = |pixel: usize| planes[plane].add(pixel * strides[plane]);
                        store::<1>([row(first), row(second)], [codes[plane]], rows);
                    }
                }
                Out::Packed { at, blue_first } => {
                    let mixed = if blue_first {
                        mix_three::<IN_ORDER>([blue, green, red])
                    } else {
                        mix_three::<IN_ORDER>([red, green, blue])
                    };
                    let row = |pixel: usize| at.add(pixel * strides[0]);
                    store::<3>([row(first), row(second)], mixed, rows);
                }
            }
        }
    }
}

/// Stores `N` bytes for each of `pixels` pixels, sixteen at most, in two rows.
///
/// # Safety
/// There must be room for them.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
unsafe fn store<const N: usize>(rows: [*mut u8; 2], codes: [__m256i; N], pixels: usize) {
    let mut bytes = [[0u8; 16]; 3];
    for (row, to) in rows.into_iter().enumerate() {
        for part in 0..N {
            let half = match row {
                0 => _mm256_castsi256_si128(codes[part]),
                _ => _mm256_extracti128_si256::<1>(codes[part]),
            };
            // SAFETY: the caller's promise, or sixteen bytes of our own.
            unsafe {
                match pixels {
                    LANES => _mm_storeu_si128(to.add(16 * part).cast(), half),
                    _ => _mm_storeu_si128(bytes[part].as_mut_ptr().cast(), half),
                }
            }
        }
        if pixels != LANES {
            // SAFETY: the caller's promise; no more than were stored.
            unsafe { to.copy_from_nonoverlapping(bytes.as_ptr().cast(), N * pixels.min(LANES)) };
        }
    }
}
