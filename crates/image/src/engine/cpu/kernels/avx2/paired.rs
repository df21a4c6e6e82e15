//! Sums of rows in 32 bits by pairs of rows, which are unpacked once and kept for all outputs that they
//! are part of: with filters that overshoot, these are four and more. The sums are those of
//! [`super::wide`].
#![expect(unsafe_code, reason = "vector loads and stores by address")]

use std::arch::x86_64::*;

use super::fetch::fetch;
use super::turn::to_columns;
use super::walked_wide::{Sums, begin, put, unpacked};
use crate::engine::cpu::fixed::LANES;
use crate::engine::cpu::kernels::precise::missing;
use crate::engine::cpu::kernels::{Band, Pairs};

/// Bytes of a row that are summed together.
const BLOCK: usize = 32;

/// Numbers that are kept of a pair.
const KEPT: usize = 2 * BLOCK;

/// Whether there is room for pairs where columns will be, and at least one block of these.
pub(super) fn fits(pairs: &Pairs<'_>, columns: &[i16]) -> bool {
    columns.len() >= BLOCK * LANES && pairs.kept * KEPT <= columns.len()
}

/// A band's sums as columns; there is room for its rows, `stride` apart.
///
/// # Safety
/// The processor must have AVX2. Rows of the pairs must be valid for reads of as many bytes as there are
/// columns, and what [`fits`] asks must hold.
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) unsafe fn columns(
    band: &Band<'_>,
    pairs: &Pairs<'_>,
    (rows, stride): (&mut [i16], usize),
    columns: &mut [i16],
) {
    let n = columns.len() / LANES;
    let lanes = band.ends.len();
    assert!(fits(pairs, columns) && rows.len() >= LANES * stride && stride >= n);
    assert!(pairs.firsts.len() == lanes && pairs.ends.len() == lanes && lanes <= LANES);
    rows[lanes * stride..].fill(0);
    for at in (0..n).step_by(BLOCK) {
        // The last one ends with the row and may be summed again in part.
        let here = at.min(n - BLOCK);
        // SAFETY: the caller's promise.
        unsafe { block(band, pairs, here, (rows.as_mut_ptr(), stride), columns) };
    }
    // SAFETY: the processor has the instructions.
    unsafe { to_columns(rows, stride, columns) };
}

/// All output rows, a block of them.
///
/// # Safety
/// As [`columns`], with a block from `at` on.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
unsafe fn block(
    band: &Band<'_>,
    pairs: &Pairs<'_>,
    at: usize,
    (out, stride): (*mut i16, usize),
    kept: &mut [i16],
) {
    let shift = band.sum.bits - band.sum.fraction;
    let (mut present, mask) = (0..0, pairs.kept - 1);
    let place = |pair: usize| (pair & mask) * KEPT;
    for lane in 0..band.ends.len() {
        let (first, weights) = pairs.of(lane);
        for pair in missing(&mut present, first..first + weights.len()).into_iter().flatten() {
            let row = |row: usize| {
                let row = row.min(pairs.last) * band.sum.stride;
                band.sum.first.wrapping_add(row + at)
            };
            let (one, other) = (row(2 * pair), row(2 * pair + 1));
            // What is next to these, whose last line may be there already.
            fetch(one.wrapping_add(BLOCK + 63));
            fetch(other.wrapping_add(BLOCK + 63));
            // SAFETY: the caller's promise, and a place for each pair.
            unsafe {
                let both = unpacked(one, other);
                let place = kept[place(pair)..][..KEPT].as_mut_ptr().cast::<__m256i>();
                for part in 0..both.len() {
                    _mm256_storeu_si256(place.add(part), both[part]);
                }
            }
        }
        let mut sums: Sums = begin(shift);
        for index in 0..weights.len() {
            let weight = _mm256_set1_epi32(weights[index] as i32);
            let pair = kept[place(first + index)..][..KEPT].as_ptr().cast::<__m256i>();
            for part in 0..sums.len() {
                // SAFETY: what was kept above.
                let both = unsafe { _mm256_loadu_si256(pair.add(part)) };
                sums[part] = _mm256_add_epi32(sums[part], _mm256_madd_epi16(both, weight));
            }
        }
        // SAFETY: room for a block in each row.
        unsafe { put(out.add(lane * stride + at), sums, shift) };
    }
}
