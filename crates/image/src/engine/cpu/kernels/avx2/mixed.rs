//! Luma that needs no resizing, straight from its bytes to red, green and blue.
#![expect(unsafe_code, reason = "vector loads and stores by address")]

use std::arch::x86_64::*;

use super::fetch::{fetch_pixels, fetch_read};
use super::store_bytes::{EVEN_THEN_ODD, IN_ORDER, store_colours};
use crate::engine::cpu::fixed::FixedMatrix;
use crate::engine::cpu::kernels::{ChromaRow, Mixed, Out, portable};

/// # Safety
/// The processor must have AVX2; see [`super::Kernels`].
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) unsafe fn mixed(mixed: Mixed<'_>, rows: &[(*const u8, Out)]) {
    let Mixed { chroma, matrix, flip, pixels } = mixed;
    assert!(chroma.holds(pixels));
    // SAFETY: the caller's promise, and chroma rows are long enough.
    unsafe {
        match *rows {
            [one] if matrix.is_to_rgb() => match flip {
                0 => kinds::<false, _>(mixed, [one]),
                _ => kinds::<true, _>(mixed, [one]),
            },
            [one, two] if matrix.is_to_rgb() => match flip {
                0 => kinds::<false, _>(mixed, [one, two]),
                _ => kinds::<true, _>(mixed, [one, two]),
            },
            _ => portable::mixed(mixed, rows),
        }
    }
}

/// # Safety
/// As [`mixed`], with chroma rows as long as the pixels need.
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn kinds<const FLIPPED: bool, const ROWS: usize>(
    mixed: Mixed<'_>,
    rows: [(*const u8, Out); ROWS],
) {
    // SAFETY: the caller's promise.
    unsafe {
        match mixed.chroma {
            ChromaRow::Whole(_) => blocks::<WHOLE, FLIPPED, ROWS>(mixed, rows),
            ChromaRow::Halved(_) => blocks::<HALVED, FLIPPED, ROWS>(mixed, rows),
            ChromaRow::Doubled { .. } => blocks::<DOUBLED, FLIPPED, ROWS>(mixed, rows),
            ChromaRow::Bytes { red_first: false, .. } => {
                blocks::<BLUE_RED, FLIPPED, ROWS>(mixed, rows)
            }
            ChromaRow::Bytes { red_first: true, .. } => {
                blocks::<RED_BLUE, FLIPPED, ROWS>(mixed, rows)
            }
        }
    }
}

/// The kinds of chroma rows.
const WHOLE: u8 = 0;
const HALVED: u8 = 1;
const BLUE_RED: u8 = 2;
const RED_BLUE: u8 = 3;
const DOUBLED: u8 = 4;

/// Blocks of 32 pixels, the rest one by one.
///
/// # Safety
/// As [`mixed`], with chroma rows as long as the pixels need.
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn blocks<const KIND: u8, const FLIPPED: bool, const ROWS: usize>(
    mixed: Mixed<'_>,
    rows: [(*const u8, Out); ROWS],
) {
    let Mixed { chroma, matrix, flip, pixels } = mixed;
    let (u, v, bytes): (&[i16], &[i16], *const u8) = match chroma {
        ChromaRow::Whole([u, v]) | ChromaRow::Halved([u, v]) => (u, v, std::ptr::null()),
        ChromaRow::Doubled { rows: [u, v], .. } => (u, v, std::ptr::null()),
        ChromaRow::Bytes { at, .. } => (&[], &[], at),
    };
    let mut weights = [_mm256_setzero_si256(); 4];
    if let ChromaRow::Doubled { weights: own, .. } = chroma {
        for index in 0..4 {
            weights[index] = _mm256_set1_epi16(own[index]);
        }
    }
    let parts = Parts::new(matrix);
    let luma_part = _mm256_set1_epi16(matrix.rows[0][0]);
    let flip = _mm256_set1_epi8(flip as i8);
    let (zero, byte) = (_mm256_setzero_si256(), _mm256_set1_epi16(255));
    let whole = pixels / 32 * 32;
    for at in (0..whole).step_by(32) {
        // Red, green and blue without luma, of two halves of the pixels: those at even places and those
        // at odd places, which have the same where two pixels share a sample. Where each has its own, in
        // the order that unpacking bytes gives: pixels 0 to 7 and 16 to 23, then the others.
        // SAFETY: the chroma samples of 32 pixels, from `at` on.
        let (one, other) = unsafe {
            let load = |row: &[i16], at: usize| _mm256_loadu_si256(row.as_ptr().add(at).cast());
            if KIND == WHOLE {
                let split = |row: &[i16]| {
                    let (a, b) = (load(row, at), load(row, at + 16));
                    let low = _mm256_permute2x128_si256::<0x20>(a, b);
                    (low, _mm256_permute2x128_si256::<0x31>(a, b))
                };
                let ((u_low, u_high), (v_low, v_high)) = (split(u), split(v));
                (parts.colours(u_low, v_low), parts.colours(u_high, v_high))
            } else if KIND == DOUBLED {
                let [a, b, c, d] = weights;
                let between = |row: &[i16]| {
                    let (before, own) = (load(row, at / 2), load(row, at / 2 + 1));
                    let after = load(row, at / 2 + 2);
                    let product = |x, weight| _mm256_mulhrs_epi16(x, weight);
                    let even = _mm256_add_epi16(product(before, a), product(own, b));
                    (even, _mm256_add_epi16(product(own, c), product(after, d)))
                };
                let ((u_even, u_odd), (v_even, v_odd)) = (between(u), between(v));
                (parts.colours(u_even, v_even), parts.colours(u_odd, v_odd))
            } else {
                let (u, v) = if KIND == HALVED {
                    (load(u, at / 2), load(v, at / 2))
                } else {
                    let both = _mm256_loadu_si256(bytes.add(at).cast());
                    let first = _mm256_slli_epi16::<7>(_mm256_and_si256(both, byte));
                    let second = _mm256_slli_epi16::<7>(_mm256_srli_epi16::<8>(both));
                    if KIND == BLUE_RED { (first, second) } else { (second, first) }
                };
                let shared = parts.colours(u, v);
                (shared, shared)
            }
        };
        for row in 0..ROWS {
            let (luma, out) = rows[row];
            fetch_read(luma.wrapping_add(at));
            fetch_pixels::<32>(out, at);
            // SAFETY: 32 bytes of luma from `at` on.
            let y = unsafe { _mm256_loadu_si256(luma.add(at).cast()) };
            let (y_one, y_other) = if KIND == WHOLE {
                (_mm256_unpacklo_epi8(zero, y), _mm256_unpackhi_epi8(zero, y))
            } else {
                (_mm256_slli_epi16::<8>(y), _mm256_andnot_si256(byte, y))
            };
            let luma = |x: __m256i| _mm256_mulhrs_epi16(_mm256_srli_epi16::<1>(x), luma_part);
            let (y_one, y_other) = (luma(y_one), luma(y_other));
            let mut codes = [zero; 3];
            for colour in 0..3 {
                let one = _mm256_srai_epi16::<5>(_mm256_add_epi16(y_one, one[colour]));
                let other = _mm256_srai_epi16::<5>(_mm256_add_epi16(y_other, other[colour]));
                codes[colour] = _mm256_packus_epi16(one, other);
                if FLIPPED {
                    codes[colour] = _mm256_xor_si256(codes[colour], flip);
                }
            }
            // SAFETY: room for 32 pixels from `at` on.
            unsafe {
                if KIND == WHOLE {
                    store_colours::<IN_ORDER>(out, at, codes);
                } else {
                    store_colours::<EVEN_THEN_ODD>(out, at, codes);
                }
            }
        }
    }
    for (luma, out) in rows {
        // SAFETY: the caller's promise.
        unsafe { portable::mixed_from(mixed, luma, out, whole) }
    }
}

/// What chroma adds to red, green and blue.
struct Parts {
    red_v: __m256i,
    green_u: __m256i,
    green_v: __m256i,
    blue_u: __m256i,
    /// Rounding is part of it.
    offset: [__m256i; 3],
}

impl Parts {
    #[target_feature(enable = "avx2,fma,f16c")]
    #[inline]
    fn new(matrix: &FixedMatrix) -> Parts {
        let [red, green, blue] = matrix.offset;
        Parts {
            red_v: _mm256_set1_epi16(matrix.rows[0][2]),
            green_u: _mm256_set1_epi16(matrix.rows[1][1]),
            green_v: _mm256_set1_epi16(matrix.rows[1][2]),
            blue_u: _mm256_set1_epi16(matrix.rows[2][1]),
            offset: [
                _mm256_set1_epi16(red + 16),
                _mm256_set1_epi16(green + 16),
                _mm256_set1_epi16(blue + 16),
            ],
        }
    }

    #[target_feature(enable = "avx2,fma,f16c")]
    #[inline]
    fn colours(&self, u: __m256i, v: __m256i) -> [__m256i; 3] {
        let green = _mm256_add_epi16(
            _mm256_mulhrs_epi16(u, self.green_u),
            _mm256_mulhrs_epi16(v, self.green_v),
        );
        [
            _mm256_add_epi16(_mm256_mulhrs_epi16(v, self.red_v), self.offset[0]),
            _mm256_add_epi16(green, self.offset[1]),
            _mm256_add_epi16(_mm256_mulhrs_epi16(u, self.blue_u), self.offset[2]),
        ]
    }
}
