//! Sums of rows of numbers, each with its weight.
#![expect(unsafe_code, reason = "vector loads and stores by address")]

use std::arch::x86_64::*;

use crate::engine::cpu::kernels::{Place, avx2};

/// Numbers of a vector.
const VECTOR: usize = 32;

/// # Safety
/// The processor must have AVX-512.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
pub(super) unsafe fn weighted(from: &[i16], rows: &[Place], out: &mut [i16]) {
    assert!(rows.iter().all(|(start, _)| start + out.len() <= from.len()));
    // SAFETY: the processor has the instructions, and rows are long enough.
    unsafe {
        match rows.len() {
            _ if out.len() < VECTOR => (avx2::KERNELS.weighted)(from, rows, out),
            2 => vectors::<2>(from, rows, out),
            3 => vectors::<3>(from, rows, out),
            4 => vectors::<4>(from, rows, out),
            5 => vectors::<5>(from, rows, out),
            6 => vectors::<6>(from, rows, out),
            8 => vectors::<8>(from, rows, out),
            _ => vectors::<0>(from, rows, out),
        }
    }
}

/// `COUNT` rows, or as many as there are if that is none.
///
/// # Safety
/// The processor must have AVX-512. Rows must be as long as `out`, which has at least one vector.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
unsafe fn vectors<const COUNT: usize>(from: &[i16], rows: &[Place], out: &mut [i16]) {
    let n = out.len();
    let rows = if COUNT == 0 { rows } else { &rows[..COUNT] };
    let mut at = 0;
    while at < n {
        // The last one ends with the row and may compute some outputs again.
        let here = at.min(n - VECTOR);
        let mut sum = _mm512_setzero_si512();
        for index in 0..rows.len() {
            let (start, weight) = rows[index];
            // SAFETY: here + 32 <= n, and rows are as long.
            let numbers = unsafe { _mm512_loadu_si512(from.as_ptr().add(start + here).cast()) };
            let product = _mm512_mulhrs_epi16(numbers, _mm512_set1_epi16(weight));
            sum = _mm512_add_epi16(sum, product);
        }
        // SAFETY: here + 32 <= n.
        unsafe { _mm512_storeu_si512(out.as_mut_ptr().add(here).cast(), sum) };
        at += VECTOR;
    }
}
