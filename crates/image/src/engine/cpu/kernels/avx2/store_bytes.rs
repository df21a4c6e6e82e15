//! Rows stored as bytes, one to four of them between each other.
#![expect(unsafe_code, reason = "vector loads and stores by address")]

use std::arch::x86_64::*;

use crate::engine::cpu::kernels::{Finished, Out, portable};

/// # Safety
/// The processor must have AVX2; see [`super::Kernels`].
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) unsafe fn store_bytes(finished: Finished<'_>, flip: u8, out: *mut u8) {
    let Finished { rows, pixels, .. } = finished;
    assert!(rows.iter().all(|row| row.len() >= pixels));
    if pixels < 32 {
        // SAFETY: the caller's promise.
        return unsafe { few(finished, flip, out) };
    }
    // SAFETY: the caller's promise, and rows are long enough.
    unsafe {
        match rows {
            [a] => blocks(finished, flip, out, [a.as_ptr()], |at, [a]| _mm256_storeu_si256(at, a)),
            [a, b] => blocks(finished, flip, out, [a.as_ptr(), b.as_ptr()], |at, x| two(at, x)),
            [a, b, c] => blocks(finished, flip, out, [a, b, c].map(|row| row.as_ptr()), |at, x| {
                three::<IN_ORDER>(at, x)
            }),
            [a, b, c, d] => {
                blocks(finished, flip, out, [a, b, c, d].map(|row| row.as_ptr()), |at, x| {
                    four(at, x)
                });
            }
            _ => portable::store_bytes(finished, flip, out),
        }
    }
}

/// Fewer than 32 pixels, by way of a block of our own: bands are sixteen pixels wide in a picture
/// that is turned.
///
/// # Safety
/// As [`store_bytes`], with rows as long as there are pixels.
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn few(finished: Finished<'_>, flip: u8, out: *mut u8) {
    let Finished { rows, fraction, pixels } = finished;
    if rows.is_empty() || rows.len() > 4 {
        // SAFETY: the caller's promise.
        return unsafe { portable::store_bytes(finished, flip, out) };
    }
    let (mut numbers, mut bytes) = ([[0i16; 32]; 4], [0u8; 4 * 32]);
    for (row, numbers) in rows.iter().zip(&mut numbers) {
        numbers[..pixels].copy_from_slice(&row[..pixels]);
    }
    let [a, b, c, d] = &numbers;
    let all: [&[i16]; 4] = [a, b, c, d];
    let whole = Finished { rows: &all[..rows.len()], fraction, pixels: 32 };
    // SAFETY: 32 pixels in rows and bytes of our own, of which those that were asked for are copied.
    unsafe {
        store_bytes(whole, flip, bytes.as_mut_ptr());
        out.copy_from_nonoverlapping(bytes.as_ptr(), rows.len() * pixels);
    }
}

/// Blocks of 32 pixels; the last one ends with the row and may store some pixels again.
///
/// # Safety
/// At least 32 pixels, in rows and at `out`.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
unsafe fn blocks<const N: usize>(
    finished: Finished<'_>,
    flip: u8,
    out: *mut u8,
    rows: [*const i16; N],
    store: impl Fn(*mut __m256i, [__m256i; N]),
) {
    let Finished { fraction, pixels, .. } = finished;
    let half = _mm256_set1_epi16(1 << fraction >> 1);
    let bits = _mm_cvtsi32_si128(fraction as i32);
    let flip = _mm256_set1_epi8(flip as i8);
    let mut at = 0;
    while at < pixels {
        let here = at.min(pixels - 32);
        let mut codes = [_mm256_setzero_si256(); N];
        for (index, code) in codes.iter_mut().enumerate() {
            // SAFETY: here + 32 <= pixels.
            let (a, b) = unsafe {
                let row = rows[index].add(here).cast::<__m256i>();
                (_mm256_loadu_si256(row), _mm256_loadu_si256(row.add(1)))
            };
            let a = _mm256_sra_epi16(_mm256_adds_epi16(a, half), bits);
            let b = _mm256_sra_epi16(_mm256_adds_epi16(b, half), bits);
            let packed = _mm256_permute4x64_epi64::<0xd8>(_mm256_packus_epi16(a, b));
            *code = _mm256_xor_si256(packed, flip);
        }
        store(out.wrapping_add(here * N).cast(), codes);
        at += 32;
    }
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn two(out: *mut __m256i, [a, b]: [__m256i; 2]) {
    let (low, high) = (_mm256_unpacklo_epi8(a, b), _mm256_unpackhi_epi8(a, b));
    // SAFETY: 32 pixels of two bytes, by the promise of `store_bytes`.
    unsafe {
        _mm256_storeu_si256(out, _mm256_permute2x128_si256::<0x20>(low, high));
        _mm256_storeu_si256(out.add(1), _mm256_permute2x128_si256::<0x31>(low, high));
    }
}

/// Stores red, green and blue of 32 pixels from number `at` of a row on.
///
/// # Safety
/// There must be room for them.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
pub(super) unsafe fn store_colours<const DEALT: bool>(out: Out, at: usize, codes: [__m256i; 3]) {
    let [red, green, blue] = codes;
    // SAFETY: the caller's promise.
    unsafe {
        match out {
            Out::Planes(planes) => {
                for plane in 0..3 {
                    _mm256_storeu_si256(
                        planes[plane].add(at).cast(),
                        rising::<DEALT>(codes[plane]),
                    );
                }
            }
            Out::Packed { at: first, blue_first: false } => {
                three::<DEALT>(first.add(3 * at).cast(), codes);
            }
            Out::Packed { at: first, blue_first: true } => {
                three::<DEALT>(first.add(3 * at).cast(), [blue, green, red]);
            }
        }
    }
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn three<const DEALT: bool>(out: *mut __m256i, rows: [__m256i; 3]) {
    let [x, y, z] = mix_three::<DEALT>(rows);
    // SAFETY: 32 pixels of three bytes, by the promise of `store_bytes`.
    unsafe {
        _mm256_storeu_si256(out, _mm256_permute2x128_si256::<0x20>(x, y));
        _mm256_storeu_si256(out.add(1), _mm256_permute2x128_si256::<0x30>(z, x));
        _mm256_storeu_si256(out.add(2), _mm256_permute2x128_si256::<0x31>(y, z));
    }
}

/// Whether the sixteen pixels of a lane are in rising order, or the even ones before the odd ones:
/// parameters and no values, so that where bytes go is known when this is compiled.
pub(super) const IN_ORDER: bool = false;
pub(super) const EVEN_THEN_ODD: bool = true;

/// The places of pixels.
const fn places(dealt: bool, pixels: [i8; 16]) -> [i8; 16] {
    let mut places = pixels;
    let mut at = 0;
    while dealt && at < 16 {
        places[at] = pixels[at] / 2 + pixels[at] % 2 * 8;
        at += 1;
    }
    places
}

/// Bytes in rising order of their pixels.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn rising<const DEALT: bool>(bytes: __m256i) -> __m256i {
    if DEALT { spread(bytes, const { &places(DEALT, RISING) }) } else { bytes }
}

const RISING: [i8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
/// Each third of a lane's 48 bytes takes its first, second and third byte of three from other
/// rows; one shuffle puts a row's bytes where all three thirds want them.
const FIRST: [i8; 16] = [0, 11, 6, 1, 12, 7, 2, 13, 8, 3, 14, 9, 4, 15, 10, 5];
const SECOND: [i8; 16] = [5, 0, 11, 6, 1, 12, 7, 2, 13, 8, 3, 14, 9, 4, 15, 10];
const THIRD: [i8; 16] = [10, 5, 0, 11, 6, 1, 12, 7, 2, 13, 8, 3, 14, 9, 4, 15];

/// Bytes from other places of their lanes.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn spread(bytes: __m256i, from: &'static [i8; 16]) -> __m256i {
    // SAFETY: sixteen bytes are read.
    let from = unsafe { _mm_loadu_si128(from.as_ptr().cast()) };
    _mm256_shuffle_epi8(bytes, _mm256_broadcastsi128_si256(from))
}

/// Three rows of sixteen bytes, twice, between each other: three thirds, twice.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
pub(super) fn mix_three<const DEALT: bool>([a, b, c]: [__m256i; 3]) -> [__m256i; 3] {
    let a = spread(a, const { &places(DEALT, FIRST) });
    let b = spread(b, const { &places(DEALT, SECOND) });
    let c = spread(c, const { &places(DEALT, THIRD) });
    let second = _mm256_broadcastsi128_si256(_mm_setr_epi8(
        0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0,
    ));
    let third = _mm256_broadcastsi128_si256(_mm_setr_epi8(
        0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0,
    ));
    let mix = |x, y, z| _mm256_blendv_epi8(_mm256_blendv_epi8(x, y, second), z, third);
    [mix(a, b, c), mix(b, c, a), mix(c, a, b)]
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn four(out: *mut __m256i, [a, b, c, d]: [__m256i; 4]) {
    let (ab_low, ab_high) = (_mm256_unpacklo_epi8(a, b), _mm256_unpackhi_epi8(a, b));
    let (cd_low, cd_high) = (_mm256_unpacklo_epi8(c, d), _mm256_unpackhi_epi8(c, d));
    let w = _mm256_unpacklo_epi16(ab_low, cd_low);
    let x = _mm256_unpackhi_epi16(ab_low, cd_low);
    let y = _mm256_unpacklo_epi16(ab_high, cd_high);
    let z = _mm256_unpackhi_epi16(ab_high, cd_high);
    // SAFETY: 32 pixels of four bytes, by the promise of `store_bytes`.
    unsafe {
        _mm256_storeu_si256(out, _mm256_permute2x128_si256::<0x20>(w, x));
        _mm256_storeu_si256(out.add(1), _mm256_permute2x128_si256::<0x20>(y, z));
        _mm256_storeu_si256(out.add(2), _mm256_permute2x128_si256::<0x31>(w, x));
        _mm256_storeu_si256(out.add(3), _mm256_permute2x128_si256::<0x31>(y, z));
    }
}
