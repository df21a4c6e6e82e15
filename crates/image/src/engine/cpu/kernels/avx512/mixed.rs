//! Luma in bytes with chroma that two pixels share, through a matrix and stored as bytes.
#![expect(unsafe_code, reason = "vector loads by address")]

use std::arch::x86_64::*;

use super::store_colours::{EVEN_AND_ODD, Thirds, pack, store_colours};
use crate::engine::cpu::kernels::avx2::fetch::{fetch_pixels, fetch_read};
use crate::engine::cpu::kernels::{ChromaRow, Mixed, Out, avx2, portable};

/// Pixels that are stored together.
const PIXELS: usize = 64;

/// With planes of two rows written at once, or one row after the other: some processors take longer
/// for six rows than for chroma that is computed twice.
///
/// # Safety
/// The processor must have AVX-512; see [`super::Kernels`].
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
pub(super) unsafe fn mixed<const AT_ONCE: bool>(mixed: Mixed<'_>, rows: &[(*const u8, Out)]) {
    assert!(mixed.chroma.holds(mixed.pixels));
    let shared = !matches!(mixed.chroma, ChromaRow::Whole(_)) && mixed.matrix.is_to_rgb();
    // SAFETY: the caller's promise, and chroma rows are long enough.
    unsafe {
        match *rows {
            [one] if shared => each(mixed, [one]),
            [one @ (_, Out::Planes(_)), two] if shared && !AT_ONCE => {
                each(mixed, [one]);
                each(mixed, [two]);
            }
            [one, two] if shared => each(mixed, [one, two]),
            _ => (avx2::KERNELS.mixed)(mixed, rows),
        }
    }
}

/// Most bytes are combined with nothing, and what does nothing costs a tenth.
///
/// # Safety
/// As [`blocks`].
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
unsafe fn each<const ROWS: usize>(mixed: Mixed<'_>, rows: [(*const u8, Out); ROWS]) {
    // SAFETY: the caller's promise.
    unsafe {
        match (mixed.flip, mixed.chroma) {
            (0, ChromaRow::Doubled { .. }) => blocks::<ROWS, false, true>(mixed, rows),
            (_, ChromaRow::Doubled { .. }) => blocks::<ROWS, true, true>(mixed, rows),
            (0, _) => blocks::<ROWS, false, false>(mixed, rows),
            _ => blocks::<ROWS, true, false>(mixed, rows),
        }
    }
}

/// Blocks of 64 pixels, the rest one by one.
///
/// # Safety
/// As [`mixed`], with chroma rows as long as the pixels need, each sample of two pixels, which lie
/// between samples if so told.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
#[inline]
unsafe fn blocks<const ROWS: usize, const FLIP: bool, const DOUBLED: bool>(
    mixed: Mixed<'_>,
    rows: [(*const u8, Out); ROWS],
) {
    let Mixed { chroma, matrix, flip, pixels } = mixed;
    let [red, green, blue] = matrix.rows;
    let luma_part = _mm512_set1_epi16(red[0]);
    let (red_v, blue_u) = (_mm512_set1_epi16(red[2]), _mm512_set1_epi16(blue[1]));
    let (green_u, green_v) = (_mm512_set1_epi16(green[1]), _mm512_set1_epi16(green[2]));
    let mut offset = [luma_part; 3];
    for colour in 0..3 {
        // Half of a code is part of it.
        offset[colour] = _mm512_set1_epi16(matrix.offset[colour] + 16);
    }
    let mut weights = [luma_part; 4];
    if let ChromaRow::Doubled { weights: own, .. } = chroma {
        for index in 0..4 {
            weights[index] = _mm512_set1_epi16(own[index]);
        }
    }
    let (zero, byte) = (_mm512_setzero_si512(), _mm512_set1_epi16(255));
    let (flip, thirds) = (_mm512_set1_epi8(flip as i8), Thirds::new());
    let whole = pixels / PIXELS * PIXELS;
    for at in (0..whole).step_by(PIXELS) {
        // SAFETY: the chroma samples of 64 pixels, from `at` on.
        let (u, v, u_odd, v_odd) = unsafe {
            let load = |row: &[i16], at: usize| _mm512_loadu_si512(row.as_ptr().add(at).cast());
            match chroma {
                ChromaRow::Doubled { rows: [u, v], .. } => {
                    let [a, b, c, d] = weights;
                    let product = |x, weight| _mm512_mulhrs_epi16(x, weight);
                    let between = |row: &[i16]| {
                        let (before, own) = (load(row, at / 2), load(row, at / 2 + 1));
                        let after = load(row, at / 2 + 2);
                        let even = _mm512_add_epi16(product(before, a), product(own, b));
                        (even, _mm512_add_epi16(product(own, c), product(after, d)))
                    };
                    let ((u, u_odd), (v, v_odd)) = (between(u), between(v));
                    (u, v, u_odd, v_odd)
                }
                ChromaRow::Whole([u, v]) | ChromaRow::Halved([u, v]) => {
                    let (u, v) = (load(u, at / 2), load(v, at / 2));
                    (u, v, u, v)
                }
                ChromaRow::Bytes { at: first, red_first } => {
                    let both = _mm512_loadu_si512(first.add(at).cast());
                    let first = _mm512_slli_epi16::<7>(_mm512_and_si512(both, byte));
                    let second = _mm512_slli_epi16::<7>(_mm512_srli_epi16::<8>(both));
                    let (u, v) = if red_first { (second, first) } else { (first, second) };
                    (u, v, u, v)
                }
            }
        };
        let shares = |u: __m512i, v: __m512i| {
            let by_both =
                _mm512_add_epi16(_mm512_mulhrs_epi16(u, green_u), _mm512_mulhrs_epi16(v, green_v));
            [
                _mm512_add_epi16(_mm512_mulhrs_epi16(v, red_v), offset[0]),
                _mm512_add_epi16(by_both, offset[1]),
                _mm512_add_epi16(_mm512_mulhrs_epi16(u, blue_u), offset[2]),
            ]
        };
        let evens = shares(u, v);
        let odds = if DOUBLED { shares(u_odd, v_odd) } else { evens };
        for row in 0..ROWS {
            let (luma, out) = rows[row];
            fetch_read(luma.wrapping_add(at));
            fetch_pixels::<PIXELS>(out, at);
            // SAFETY: 64 bytes of luma from `at` on.
            let y = unsafe { _mm512_loadu_si512(luma.add(at).cast()) };
            let luma = |x: __m512i| _mm512_mulhrs_epi16(_mm512_srli_epi16::<1>(x), luma_part);
            let even = luma(_mm512_slli_epi16::<8>(y));
            let odd = luma(_mm512_andnot_si512(byte, y));
            let mut codes = [zero; 3];
            for colour in 0..3 {
                let even = _mm512_srai_epi16::<5>(_mm512_add_epi16(even, evens[colour]));
                let odd = _mm512_srai_epi16::<5>(_mm512_add_epi16(odd, odds[colour]));
                codes[colour] = pack(even, odd);
                if FLIP {
                    codes[colour] = _mm512_xor_si512(codes[colour], flip);
                }
            }
            // SAFETY: room for 64 pixels from `at` on.
            unsafe { store_colours::<EVEN_AND_ODD>(out, at, codes, thirds) };
        }
    }
    for (luma, out) in rows {
        // SAFETY: the caller's promise.
        unsafe { portable::mixed_from(mixed, luma, out, whole) }
    }
}
