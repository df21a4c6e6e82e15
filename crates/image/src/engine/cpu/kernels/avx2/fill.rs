//! A pattern, again and again.
#![expect(unsafe_code, reason = "vector loads and stores by address")]

use std::arch::x86_64::*;

use crate::engine::cpu::kernels::{Pattern, portable};

/// Vectors of a pattern.
const VECTORS: usize = size_of::<Pattern>() / size_of::<__m256i>();

/// # Safety
/// The processor must have AVX2; see [`super::Kernels`].
#[target_feature(enable = "avx2")]
pub(super) unsafe fn fill(pattern: &Pattern, out: *mut u8, len: usize) {
    let mut vectors = [_mm256_setzero_si256(); VECTORS];
    for index in 0..VECTORS {
        // SAFETY: a pattern is as long as that.
        vectors[index] =
            unsafe { _mm256_loadu_si256(pattern.as_ptr().cast::<__m256i>().add(index)) };
    }
    let whole = len / pattern.len() * pattern.len();
    for at in (0..whole).step_by(pattern.len()) {
        for index in 0..VECTORS {
            // SAFETY: at + the pattern <= len.
            unsafe {
                _mm256_storeu_si256(out.add(at).cast::<__m256i>().add(index), vectors[index])
            };
        }
    }
    // SAFETY: the caller's promise.
    unsafe { portable::fill::fill(pattern, out.add(whole), len - whole) };
}
