//! Moving numbers between lanes.
#![expect(unsafe_code, reason = "vector loads and stores by address")]

use std::arch::x86_64::*;

use super::fetch::fetch;
use crate::engine::cpu::kernels::portable;

/// # Safety
/// The processor must have AVX2.
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) unsafe fn split_pairs(from: &[i16], even: &mut [i16], odd: &mut [i16]) {
    let n = even.len().min(odd.len()).min(from.len() / 2);
    let whole = n / 16 * 16;
    let gather = _mm256_setr_epi8(
        0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15, //
        0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15,
    );
    for at in (0..whole).step_by(16) {
        // SAFETY: 32 numbers from 2 * at, 16 to each row: inside, since at + 16 <= n.
        unsafe {
            let from = from.as_ptr().add(2 * at).cast::<__m256i>();
            let a = _mm256_shuffle_epi8(_mm256_loadu_si256(from), gather);
            let b = _mm256_shuffle_epi8(_mm256_loadu_si256(from.add(1)), gather);
            let first = _mm256_permute4x64_epi64::<0xd8>(_mm256_unpacklo_epi64(a, b));
            let second = _mm256_permute4x64_epi64::<0xd8>(_mm256_unpackhi_epi64(a, b));
            _mm256_storeu_si256(even.as_mut_ptr().add(at).cast(), first);
            _mm256_storeu_si256(odd.as_mut_ptr().add(at).cast(), second);
        }
    }
    // SAFETY: none is needed.
    unsafe {
        portable::split_pairs(&from[2 * whole..], &mut even[whole..n], &mut odd[whole..n]);
    }
}

/// # Safety
/// The processor must have AVX2; see [`super::Kernels`].
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) unsafe fn split_bytes(from: *const u8, ahead: usize, even: &mut [u8], odd: &mut [u8]) {
    let n = even.len().min(odd.len());
    let whole = n / 32 * 32;
    let low = _mm256_set1_epi16(0xff);
    for at in (0..whole).step_by(32) {
        fetch(from.wrapping_add(2 * at + ahead));
        // SAFETY: 64 bytes from 2 * at, 32 to each row: inside, since at + 32 <= n.
        unsafe {
            let from = from.add(2 * at).cast::<__m256i>();
            let (a, b) = (_mm256_loadu_si256(from), _mm256_loadu_si256(from.add(1)));
            let first = _mm256_packus_epi16(_mm256_and_si256(a, low), _mm256_and_si256(b, low));
            let second = _mm256_packus_epi16(_mm256_srli_epi16::<8>(a), _mm256_srli_epi16::<8>(b));
            let first = _mm256_permute4x64_epi64::<0xd8>(first);
            let second = _mm256_permute4x64_epi64::<0xd8>(second);
            _mm256_storeu_si256(even.as_mut_ptr().add(at).cast(), first);
            _mm256_storeu_si256(odd.as_mut_ptr().add(at).cast(), second);
        }
    }
    // SAFETY: the caller's promise.
    unsafe {
        portable::split_bytes(from.add(2 * whole), 0, &mut even[whole..n], &mut odd[whole..n]);
    }
}

/// # Safety
/// The processor must have AVX2.
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) unsafe fn split_triples(from: &[i16], [a, b, c]: [&mut [i16]; 3]) {
    let n = a.len().min(b.len()).min(c.len()).min(from.len() / 3);
    let whole = n / 8 * 8;
    // Of 24 numbers in three vectors x, y, z: where those of each row are, and where they go.
    const X: i8 = -1;
    let masks = [
        [
            _mm_setr_epi8(0, 1, 6, 7, 12, 13, X, X, X, X, X, X, X, X, X, X),
            _mm_setr_epi8(X, X, X, X, X, X, 2, 3, 8, 9, 14, 15, X, X, X, X),
            _mm_setr_epi8(X, X, X, X, X, X, X, X, X, X, X, X, 4, 5, 10, 11),
        ],
        [
            _mm_setr_epi8(2, 3, 8, 9, 14, 15, X, X, X, X, X, X, X, X, X, X),
            _mm_setr_epi8(X, X, X, X, X, X, 4, 5, 10, 11, X, X, X, X, X, X),
            _mm_setr_epi8(X, X, X, X, X, X, X, X, X, X, 0, 1, 6, 7, 12, 13),
        ],
        [
            _mm_setr_epi8(4, 5, 10, 11, X, X, X, X, X, X, X, X, X, X, X, X),
            _mm_setr_epi8(X, X, X, X, 0, 1, 6, 7, 12, 13, X, X, X, X, X, X),
            _mm_setr_epi8(X, X, X, X, X, X, X, X, X, X, 2, 3, 8, 9, 14, 15),
        ],
    ];
    for at in (0..whole).step_by(8) {
        // SAFETY: 24 numbers from 3 * at, 8 to each row: inside, since at + 8 <= n.
        unsafe {
            let from = from.as_ptr().add(3 * at).cast::<__m128i>();
            let (x, y, z) =
                (_mm_loadu_si128(from), _mm_loadu_si128(from.add(1)), _mm_loadu_si128(from.add(2)));
            for (mask, out) in masks.iter().zip([a.as_mut_ptr(), b.as_mut_ptr(), c.as_mut_ptr()]) {
                let (x, y, z) = (
                    _mm_shuffle_epi8(x, mask[0]),
                    _mm_shuffle_epi8(y, mask[1]),
                    _mm_shuffle_epi8(z, mask[2]),
                );
                _mm_storeu_si128(out.add(at).cast(), _mm_or_si128(_mm_or_si128(x, y), z));
            }
        }
    }
    let rest = [&mut a[whole..n], &mut b[whole..n], &mut c[whole..n]];
    // SAFETY: none is needed.
    unsafe { portable::split_triples(&from[3 * whole..], rest) }
}
