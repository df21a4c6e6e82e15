//! Red, green and blue of 64 pixels stored, in planes or between each other.
//!
//! Of three vectors between each other, each takes its bytes of one colour from places that the two
//! others do not use: one permutation serves all of them, and masks choose.
#![expect(unsafe_code, reason = "vector stores by address")]

use std::arch::x86_64::*;

use crate::engine::cpu::kernels::Out;

/// Numbers of 64 pixels as bytes, in the order that [`store_colours`] wants.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
#[inline]
pub(super) fn pack(low: __m512i, high: __m512i) -> __m512i {
    _mm512_packus_epi16(low, high)
}

/// Where [`pack`] puts a pixel: eight of the low numbers, eight of the high ones, and so on.
const fn packed(pixel: usize) -> u8 {
    let (eight, half) = (pixel % 32 / 8, pixel / 32);
    (16 * eight + 8 * half + pixel % 8) as u8
}

/// Pixels in rising order.
const RISING: [u8; 64] = {
    let mut places = [0; 64];
    let mut pixel = 0;
    while pixel < 64 {
        places[pixel] = packed(pixel);
        pixel += 1;
    }
    places
};

/// For each colour which pixel is at each place of the vector that has the colour there.
const BETWEEN: [[u8; 64]; 3] = {
    let mut places = [[0; 64]; 3];
    let mut at = 0;
    while at < 64 {
        let mut vector = 0;
        while vector < 3 {
            let byte = 64 * vector + at;
            places[byte % 3][at] = packed(byte / 3);
            vector += 1;
        }
        at += 1;
    }
    places
};

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
pub(super) unsafe fn store_colours(out: Out, at: usize, codes: [__m512i; 3], thirds: Thirds) {
    let [red, green, blue] = codes;
    // SAFETY: the caller's promise.
    unsafe {
        match out {
            Out::Planes(planes) => {
                for plane in 0..3 {
                    let bytes = permuted(codes[plane], &RISING);
                    _mm512_storeu_si512(planes[plane].add(at).cast(), bytes);
                }
            }
            Out::Packed { at: first, blue_first: false } => {
                between(first.add(3 * at), [red, green, blue], thirds);
            }
            Out::Packed { at: first, blue_first: true } => {
                between(first.add(3 * at), [blue, green, red], thirds);
            }
        }
    }
}

/// # Safety
/// There must be room for 192 bytes.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
#[inline]
unsafe fn between(out: *mut u8, [a, b, c]: [__m512i; 3], Thirds(thirds): Thirds) {
    let a = permuted(a, &BETWEEN[0]);
    let b = permuted(b, &BETWEEN[1]);
    let c = permuted(c, &BETWEEN[2]);
    for vector in 0..3 {
        // The byte at place `p` of this vector is of colour `(vector + p) % 3`.
        let [second, third] = [thirds[(4 - vector) % 3], thirds[(5 - vector) % 3]];
        let bytes = _mm512_mask_blend_epi8(third, _mm512_mask_blend_epi8(second, a, b), c);
        // SAFETY: the caller's promise.
        unsafe { _mm512_storeu_si512(out.add(64 * vector).cast(), bytes) };
    }
}
