//! Columns stored as AVX2 does it, with twice as many registers: what stays the same for all columns
//! is not loaded again for each.
#![expect(unsafe_code, reason = "calls kernels")]

use crate::engine::cpu::kernels::{Columns, Out, avx2};

/// # Safety
/// The processor must have AVX-512; see [`super::Kernels`].
#[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512vl")]
pub(super) unsafe fn store_columns(columns: Columns<'_>, out: Out, strides: [usize; 3]) {
    // SAFETY: the caller's promise.
    unsafe { avx2::store_columns(columns, out, strides) }
}
