//! Sums of rows that become columns, where they are made in the order of the source.
#![expect(unsafe_code, reason = "calls kernels")]

use super::walked::{self, BLOCK};
use super::{paired, walked_wide};
use crate::engine::cpu::fixed::LANES;
use crate::engine::cpu::kernels::portable::even_of;
use crate::engine::cpu::kernels::{Band, Steps, avx2};

/// With vectors that are twice as long from `NEAR` source rows for each of the output on, or from `FAR`
/// on where these are far from each other: neither near for all processors, nor `ROWS` or fewer, each of
/// which may be in another page.
///
/// # Safety
/// The processor must have AVX-512; see [`super::Kernels`].
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
pub(super) unsafe fn band<const NEAR: usize, const FAR: usize, const ROWS: usize>(
    band: &Band<'_>,
    rows: &mut [i16],
    stride: usize,
    columns: &mut [i16],
) {
    let n = columns.len() / LANES;
    let wide = band.steps.as_ref().filter(|_| band.sum.wide && n >= walked_wide::BLOCK);
    if let Some(steps) = wide {
        // SAFETY: the caller's promise.
        return unsafe { walked_wide::columns(band, steps, (rows, stride), columns) };
    }
    if let Some(pairs) = band.pairs.as_ref().filter(|pairs| paired::fits(pairs, columns)) {
        // SAFETY: the caller's promise.
        return unsafe { paired::columns(band, pairs, (rows, stride), columns) };
    }
    let whole = n & !1;
    let is_near = band.reach() <= avx2::NEAR || band.rows() <= ROWS;
    let fewest = if is_near { NEAR } else { FAR };
    let pays = |steps: &&Steps<'_>| {
        !band.sum.wide && whole >= BLOCK && steps.count() >= fewest * band.ends.len()
    };
    let Some(steps) = band.steps.as_ref().filter(pays) else {
        // SAFETY: the caller's promise.
        return unsafe { (avx2::KERNELS.band)(band, rows, stride, columns) };
    };
    if is_near {
        // SAFETY: the caller's promise, with at least one block.
        unsafe { walked::columns(band, steps, whole, columns.as_mut_ptr()) };
        // Blocks are of whole pairs.
        for (lane, out) in columns[whole * LANES..].iter_mut().enumerate() {
            // SAFETY: the caller's promise.
            *out = unsafe { even_of(band.lane(lane), whole) };
        }
        return;
    }
    assert!(rows.len() >= LANES * stride && stride >= n);
    // SAFETY: the caller's promise, with at least one block.
    unsafe { walked::rows(band, steps, whole, (rows, stride)) };
    for (lane, row) in rows.chunks_mut(stride).take(LANES).enumerate() {
        if lane >= band.ends.len() {
            row[..n].fill(0);
        } else if whole < n {
            // SAFETY: the caller's promise.
            row[whole] = unsafe { even_of(band.lane(lane), whole) };
        }
    }
    // SAFETY: the processor has the instructions.
    unsafe { (avx2::KERNELS.to_columns)(rows, stride, columns) };
}
