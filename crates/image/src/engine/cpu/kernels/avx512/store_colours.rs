//! Red, green and blue of 64 pixels stored, in planes or between each other.
//!
//! Of three vectors between each other, each takes its bytes of one colour from places that the two
//! others do not use: one permutation serves all of them, and masks choose.
#![expect(unsafe_code, reason = "vector stores by address")]

use std::arch::x86_64::*;

use crate::engine::cpu::kernels::Out;

/// Whether 64 numbers that are packed are two halves, or those at even places and those at odd ones.
pub(super) const HALVES: bool = false;
pub(super) const EVEN_AND_ODD: bool = true;

/// Numbers of 64 pixels as bytes, in the order that [`store_colours`] wants.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
#[inline]
pub(super) fn pack(one: __m512i, other: __m512i) -> __m512i {
    _mm512_packus_epi16(one, other)
}

/// Bytes combined with `flip` by exclusive or, which seldom changes any.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
#[inline]
pub(super) fn flipped(mut codes: [__m512i; 3], flip: u8) -> [__m512i; 3] {
    if flip != 0 {
        for colour in 0..3 {
            codes[colour] = _mm512_xor_si512(codes[colour], _mm512_set1_epi8(flip as i8));
        }
    }
    codes
}

/// Where [`pack`] puts a pixel: eight of the one numbers, eight of the other ones, and so on.
const fn packed(dealt: bool, pixel: usize) -> u8 {
    let (number, other) = if dealt { (pixel / 2, pixel % 2) } else { (pixel % 32, pixel / 32) };
    (16 * (number / 8) + 8 * other + number % 8) as u8
}

/// Pixels in rising order.
const fn rising(dealt: bool) -> [u8; 64] {
    let mut places = [0; 64];
    let mut pixel = 0;
    while pixel < 64 {
        places[pixel] = packed(dealt, pixel);
        pixel += 1;
    }
    places
}

/// For each colour which pixel is at each place of the vector that has the colour there.
const fn between_each_other(dealt: bool) -> [[u8; 64]; 3] {
    let mut places = [[0; 64]; 3];
    let mut byte = 0;
    while byte < 192 {
        places[byte % 3][byte % 64] = packed(dealt, byte / 3);
        byte += 1;
    }
    places
}

/// Every third byte, from the first, the second and the third on.
#[derive(Clone, Copy)]
pub(super) struct Thirds([__mmask64; 3]);

impl Thirds {
    /// Made once for all pixels: the compiler knows nothing of them, or it would make them again for
    /// each vector, which takes longer than to keep them.
    pub(super) fn new() -> Thirds {
        const FIRST: __mmask64 = 0x9249_2492_4924_9249;
        Thirds(std::hint::black_box([FIRST, FIRST << 1, FIRST << 2]))
    }
}

/// Bytes from other places.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
#[inline]
fn permuted(bytes: __m512i, places: &'static [u8; 64]) -> __m512i {
    // SAFETY: 64 bytes are read.
    let places = unsafe { _mm512_loadu_si512(places.as_ptr().cast()) };
    _mm512_permutexvar_epi8(places, bytes)
}

/// Stores 64 pixels, as [`pack`] orders them, from number `at` of a row on.
///
/// # Safety
/// There must be room for them.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
#[inline]
pub(super) unsafe fn store_colours<const DEALT: bool>(
    out: Out,
    at: usize,
    codes: [__m512i; 3],
    thirds: Thirds,
) {
    let [red, green, blue] = codes;
    // SAFETY: the caller's promise.
    unsafe {
        match out {
            Out::Planes(planes) => {
                for plane in 0..3 {
                    let bytes = permuted(codes[plane], const { &rising(DEALT) });
                    _mm512_storeu_si512(planes[plane].add(at).cast(), bytes);
                }
            }
            Out::Packed { at: first, blue_first: false } => {
                between::<DEALT>(first.add(3 * at), [red, green, blue], thirds);
            }
            Out::Packed { at: first, blue_first: true } => {
                between::<DEALT>(first.add(3 * at), [blue, green, red], thirds);
            }
        }
    }
}

/// # Safety
/// There must be room for 192 bytes.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
#[inline]
unsafe fn between<const DEALT: bool>(
    out: *mut u8,
    [a, b, c]: [__m512i; 3],
    Thirds(thirds): Thirds,
) {
    let a = permuted(a, const { &between_each_other(DEALT)[0] });
    let b = permuted(b, const { &between_each_other(DEALT)[1] });
    let c = permuted(c, const { &between_each_other(DEALT)[2] });
    for vector in 0..3 {
        // The byte at place `p` of this vector is of colour `(vector + p) % 3`.
        let [second, third] = [thirds[(4 - vector) % 3], thirds[(5 - vector) % 3]];
        let bytes = _mm512_mask_blend_epi8(third, _mm512_mask_blend_epi8(second, a, b), c);
        // SAFETY: the caller's promise.
        unsafe { _mm512_storeu_si512(out.add(64 * vector).cast(), bytes) };
    }
}
