//! Sums of rows of numbers, each with its weight.
#![expect(unsafe_code, reason = "vector loads and stores by address")]

use std::arch::x86_64::*;

use crate::engine::cpu::kernels::{Place, portable};

/// Numbers of a vector.
const VECTOR: usize = 16;

/// # Safety
/// The processor must have AVX2.
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) unsafe fn weighted(from: &[i16], rows: &[Place], out: &mut [i16]) {
    assert!(rows.iter().all(|(start, _)| start + out.len() <= from.len()));
    // SAFETY: the processor has the instructions, and rows are long enough.
    unsafe {
        match rows.len() {
            _ if out.len() < VECTOR => portable::weighted(from, rows, out),
            2 => vectors::<2>(from, rows, out),
            3 => vectors::<3>(from, rows, out),
            4 => vectors::<4>(from, rows, out),
            5 => vectors::<5>(from, rows, out),
            8 => vectors::<8>(from, rows, out),
            _ => vectors::<0>(from, rows, out),
        }
    }
}

/// `COUNT` rows, or as many as there are if that is none.
///
/// # Safety
/// The processor must have AVX2. Rows must be as long as `out`, which has at least one vector.
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn vectors<const COUNT: usize>(from: &[i16], rows: &[Place], out: &mut [i16]) {
    let n = out.len();
    let rows = if COUNT == 0 { rows } else { &rows[..COUNT] };
    let mut at = 0;
    while at < n {
        // The last one ends with the row and may compute some outputs again.
        let here = at.min(n - VECTOR);
        let mut sum = _mm256_setzero_si256();
        for index in 0..rows.len() {
            let (start, weight) = rows[index];
            // SAFETY: here + 16 <= n, and rows are as long.
            let numbers = unsafe { _mm256_loadu_si256(from.as_ptr().add(start + here).cast()) };
            let product = _mm256_mulhrs_epi16(numbers, _mm256_set1_epi16(weight));
            sum = _mm256_add_epi16(sum, product);
        }
        // SAFETY: here + 16 <= n.
        unsafe { _mm256_storeu_si256(out.as_mut_ptr().add(here).cast(), sum) };
        at += VECTOR;
    }
}
