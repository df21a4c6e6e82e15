//! Numbers of one to four rows stored between each other.
//!
//! Three rows: the elements of each are put where all three vectors of the result want them, which
//! is never the same place, and each vector takes its own from all of them.
#![expect(unsafe_code, reason = "vector stores by address")]

use std::arch::x86_64::*;

/// Eight floats of each row.
///
/// # Safety
/// Room for them.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
pub(super) unsafe fn floats<const N: usize>(out: *mut f32, rows: [__m256; N]) {
    let (a, b) = (rows[0], rows[1.min(N - 1)]);
    let (c, d) = (rows[2.min(N - 1)], rows[3.min(N - 1)]);
    // SAFETY: the caller's promise.
    unsafe {
        match N {
            1 => _mm256_storeu_ps(out, a),
            2 => {
                let (low, high) = (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
                _mm256_storeu_ps(out, _mm256_permute2f128_ps::<0x20>(low, high));
                _mm256_storeu_ps(out.add(8), _mm256_permute2f128_ps::<0x31>(low, high));
            }
            3 => {
                let a = _mm256_permutevar8x32_ps(a, _mm256_setr_epi32(0, 3, 6, 1, 4, 7, 2, 5));
                let b = _mm256_permutevar8x32_ps(b, _mm256_setr_epi32(5, 0, 3, 6, 1, 4, 7, 2));
                let c = _mm256_permutevar8x32_ps(c, _mm256_setr_epi32(2, 5, 0, 3, 6, 1, 4, 7));
                let x = _mm256_blend_ps::<SECOND>(_mm256_blend_ps::<THIRD>(a, c), b);
                let y = _mm256_blend_ps::<SECOND>(_mm256_blend_ps::<THIRD>(c, b), a);
                let z = _mm256_blend_ps::<SECOND>(_mm256_blend_ps::<THIRD>(b, a), c);
                _mm256_storeu_ps(out, x);
                _mm256_storeu_ps(out.add(8), y);
                _mm256_storeu_ps(out.add(16), z);
            }
            _ => {
                let (ab, ab2) = (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
                let (cd, cd2) = (_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
                // Pixels 0 and 4, 1 and 5, and so on.
                let w = _mm256_shuffle_ps::<0x44>(ab, cd);
                let x = _mm256_shuffle_ps::<0xee>(ab, cd);
                let y = _mm256_shuffle_ps::<0x44>(ab2, cd2);
                let z = _mm256_shuffle_ps::<0xee>(ab2, cd2);
                _mm256_storeu_ps(out, _mm256_permute2f128_ps::<0x20>(w, x));
                _mm256_storeu_ps(out.add(8), _mm256_permute2f128_ps::<0x20>(y, z));
                _mm256_storeu_ps(out.add(16), _mm256_permute2f128_ps::<0x31>(w, x));
                _mm256_storeu_ps(out.add(24), _mm256_permute2f128_ps::<0x31>(y, z));
            }
        }
    }
}

/// Of eight elements, every third from the second and from the third on.
const SECOND: i32 = 0b1001_0010;
const THIRD: i32 = 0b0010_0100;

/// Eight words of each row.
///
/// # Safety
/// Room for them.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
pub(super) unsafe fn words<const N: usize>(out: *mut u16, rows: [__m128i; N]) {
    let (a, b) = (rows[0], rows[1.min(N - 1)]);
    let (c, d) = (rows[2.min(N - 1)], rows[3.min(N - 1)]);
    let out = out.cast::<__m128i>();
    // SAFETY: the caller's promise.
    unsafe {
        match N {
            1 => _mm_storeu_si128(out, a),
            2 => {
                _mm_storeu_si128(out, _mm_unpacklo_epi16(a, b));
                _mm_storeu_si128(out.add(1), _mm_unpackhi_epi16(a, b));
            }
            3 => {
                // The places of floats above, in words.
                let a = _mm_shuffle_epi8(
                    a,
                    _mm_setr_epi8(0, 1, 6, 7, 12, 13, 2, 3, 8, 9, 14, 15, 4, 5, 10, 11),
                );
                let b = _mm_shuffle_epi8(
                    b,
                    _mm_setr_epi8(10, 11, 0, 1, 6, 7, 12, 13, 2, 3, 8, 9, 14, 15, 4, 5),
                );
                let c = _mm_shuffle_epi8(
                    c,
                    _mm_setr_epi8(4, 5, 10, 11, 0, 1, 6, 7, 12, 13, 2, 3, 8, 9, 14, 15),
                );
                let x = _mm_blend_epi16::<SECOND>(_mm_blend_epi16::<THIRD>(a, c), b);
                let y = _mm_blend_epi16::<SECOND>(_mm_blend_epi16::<THIRD>(c, b), a);
                let z = _mm_blend_epi16::<SECOND>(_mm_blend_epi16::<THIRD>(b, a), c);
                _mm_storeu_si128(out, x);
                _mm_storeu_si128(out.add(1), y);
                _mm_storeu_si128(out.add(2), z);
            }
            _ => {
                let (ab, ab2) = (_mm_unpacklo_epi16(a, b), _mm_unpackhi_epi16(a, b));
                let (cd, cd2) = (_mm_unpacklo_epi16(c, d), _mm_unpackhi_epi16(c, d));
                _mm_storeu_si128(out, _mm_unpacklo_epi32(ab, cd));
                _mm_storeu_si128(out.add(1), _mm_unpackhi_epi32(ab, cd));
                _mm_storeu_si128(out.add(2), _mm_unpacklo_epi32(ab2, cd2));
                _mm_storeu_si128(out.add(3), _mm_unpackhi_epi32(ab2, cd2));
            }
        }
    }
}

/// Sixteen bytes of each row.
///
/// # Safety
/// Room for them.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
pub(super) unsafe fn bytes<const N: usize>(out: *mut u8, rows: [__m128i; N]) {
    let (a, b) = (rows[0], rows[1.min(N - 1)]);
    let (c, d) = (rows[2.min(N - 1)], rows[3.min(N - 1)]);
    let out = out.cast::<__m128i>();
    // SAFETY: the caller's promise.
    unsafe {
        match N {
            1 => _mm_storeu_si128(out, a),
            2 => {
                _mm_storeu_si128(out, _mm_unpacklo_epi8(a, b));
                _mm_storeu_si128(out.add(1), _mm_unpackhi_epi8(a, b));
            }
            3 => {
                let a = _mm_shuffle_epi8(
                    a,
                    _mm_setr_epi8(0, 11, 6, 1, 12, 7, 2, 13, 8, 3, 14, 9, 4, 15, 10, 5),
                );
                let b = _mm_shuffle_epi8(
                    b,
                    _mm_setr_epi8(5, 0, 11, 6, 1, 12, 7, 2, 13, 8, 3, 14, 9, 4, 15, 10),
                );
                let c = _mm_shuffle_epi8(
                    c,
                    _mm_setr_epi8(10, 5, 0, 11, 6, 1, 12, 7, 2, 13, 8, 3, 14, 9, 4, 15),
                );
                let second = _mm_setr_epi8(0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0);
                let third = _mm_setr_epi8(0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0);
                let x = _mm_blendv_epi8(_mm_blendv_epi8(a, b, second), c, third);
                let y = _mm_blendv_epi8(_mm_blendv_epi8(b, c, second), a, third);
                let z = _mm_blendv_epi8(_mm_blendv_epi8(c, a, second), b, third);
                _mm_storeu_si128(out, x);
                _mm_storeu_si128(out.add(1), y);
                _mm_storeu_si128(out.add(2), z);
            }
            _ => {
                let (ab, ab2) = (_mm_unpacklo_epi8(a, b), _mm_unpackhi_epi8(a, b));
                let (cd, cd2) = (_mm_unpacklo_epi8(c, d), _mm_unpackhi_epi8(c, d));
                _mm_storeu_si128(out, _mm_unpacklo_epi16(ab, cd));
                _mm_storeu_si128(out.add(1), _mm_unpackhi_epi16(ab, cd));
                _mm_storeu_si128(out.add(2), _mm_unpacklo_epi16(ab2, cd2));
                _mm_storeu_si128(out.add(3), _mm_unpackhi_epi16(ab2, cd2));
            }
        }
    }
}
