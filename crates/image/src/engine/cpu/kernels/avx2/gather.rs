//! Samples along rows, gathered and summed, sixteen outputs at a time.
//!
//! One instruction multiplies bytes by bytes and adds them in pairs: once with the larger parts of
//! weights and once with the smaller ones.
#![expect(unsafe_code, reason = "vector loads and stores by address")]

use std::arch::x86_64::*;

use crate::engine::cpu::fixed::LANES;
use crate::engine::cpu::kernels::portable::gather::gather as gather_any;
use crate::engine::cpu::kernels::{Gather, Gathering, Then, Way};

/// # Safety
/// The processor must have AVX2; see [`super::Kernels`].
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) unsafe fn gather(gather: &Gather, gathering: &Gathering<'_>, numbers: &mut [i16]) {
    let room = gather.numbers();
    assert!(gathering.to.iter().all(|start| start + room <= numbers.len()));
    // SAFETY: the caller's promise.
    unsafe {
        match (gather.pairs, gather.way) {
            (1, Way::NARROW) => gather_pairs::<1, false>(gather, gathering, numbers.as_mut_ptr()),
            (2, Way::NARROW) => gather_pairs::<2, false>(gather, gathering, numbers.as_mut_ptr()),
            (1, Way::APART) => gather_pairs::<1, true>(gather, gathering, numbers.as_mut_ptr()),
            _ => gather_any(gather, gathering, numbers),
        }
    }
}

/// # Safety
/// As [`gather`], with room for all blocks wherever numbers begin.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
unsafe fn gather_pairs<const PAIRS: usize, const APART: bool>(
    gather: &Gather,
    gathering: &Gathering<'_>,
    numbers: *mut i16,
) {
    // SAFETY: the caller's promise.
    unsafe {
        match gathering.then {
            Then::Nothing => rows::<PAIRS, APART>(gather, gathering, numbers, |sum| sum),
            Then::Times { factor, add } => {
                let (factor, add) = (_mm256_set1_epi16(factor), _mm256_set1_epi16(add));
                rows::<PAIRS, APART>(gather, gathering, numbers, |sum| {
                    _mm256_add_epi16(_mm256_mulhrs_epi16(sum, factor), add)
                });
            }
            Then::Plus(add) => {
                let add = _mm256_set1_epi16(add);
                rows::<PAIRS, APART>(gather, gathering, numbers, |sum| _mm256_add_epi16(sum, add));
            }
        }
    }
}

/// Rows two at a time.
///
/// # Safety
/// As [`gather_pairs`].
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
unsafe fn rows<const PAIRS: usize, const APART: bool>(
    gather: &Gather,
    gathering: &Gathering<'_>,
    numbers: *mut i16,
    then: impl Fn(__m256i) -> __m256i,
) {
    // SAFETY: the caller's promise.
    unsafe {
        match (gathering.from, gathering.to) {
            ([a, b], [to_a, to_b]) => {
                let (to_a, to_b) = (numbers.add(*to_a), numbers.add(*to_b));
                each::<PAIRS, APART, 2>(gather, gathering, [*a, *b], |block, [a, b]| {
                    put(to_a, block, then(a));
                    put(to_b, block, then(b));
                });
            }
            (from, to) => {
                for (row, to) in from.iter().zip(to) {
                    let to = numbers.add(*to);
                    each::<PAIRS, APART, 1>(gather, gathering, [*row], |block, [a]| {
                        put(to, block, then(a));
                    });
                }
            }
        }
    }
}

/// # Safety
/// There must be room for the block.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
unsafe fn put(out: *mut i16, block: usize, numbers: __m256i) {
    // SAFETY: the caller's promise.
    unsafe { _mm256_storeu_si256(out.add(block * LANES).cast(), numbers) }
}

/// Hands the sums of every block to `then`.
///
/// # Safety
/// As [`gather`].
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
unsafe fn each<const PAIRS: usize, const APART: bool, const PARTS: usize>(
    gather: &Gather,
    gathering: &Gathering<'_>,
    rows: [*const u8; PARTS],
    then: impl Fn(usize, [__m256i; PARTS]),
) {
    let (step, ahead) = (usize::from(gather.step), gathering.ahead);
    for block in 0..gather.blocks() {
        // SAFETY: two windows and a table for each block.
        let (low, high, table) = unsafe {
            let windows = gather.windows.as_ptr().add(2 * block);
            let table = gather.tables.as_ptr().add(block * Way::NARROW.table_bytes(PAIRS));
            (windows.read() as usize, windows.add(1).read() as usize, table)
        };
        // SAFETY: parts of a table are vectors.
        let part_of = |at: usize| unsafe { _mm256_loadu_si256(table.add(at).cast()) };
        for part in 0..PARTS {
            // The window of the second half lies in the same line as this one, or in the next, which
            // is fetched with the block after.
            _mm_prefetch::<_MM_HINT_T0>(rows[part].wrapping_add(low + ahead).cast());
        }
        let places = part_of(0);
        // The same places, of second samples.
        let others =
            _mm256_or_si256(_mm256_slli_epi16::<8>(places), _mm256_srli_epi16::<8>(places));
        let (mut large, mut small) =
            ([_mm256_setzero_si256(); PARTS], [_mm256_setzero_si256(); PARTS]);
        for pair in 0..PAIRS {
            let at = Way::NARROW.weights_at(pair);
            let (more, less) = (part_of(at), part_of(at + Way::NARROW.lane()));
            for part in 0..PARTS {
                let window = |index: usize| {
                    // SAFETY: windows are inside the row.
                    unsafe {
                        let row = rows[part].add(index * step);
                        _mm256_loadu2_m128i(row.add(high).cast(), row.add(low).cast())
                    }
                };
                let mut samples = _mm256_shuffle_epi8(window(2 * pair), places);
                if APART {
                    let seconds = _mm256_shuffle_epi8(window(2 * pair + 1), others);
                    samples = _mm256_or_si256(samples, seconds);
                }
                let (a, b) =
                    (_mm256_maddubs_epi16(samples, more), _mm256_maddubs_epi16(samples, less));
                if pair == 0 {
                    (large[part], small[part]) = (a, b);
                } else {
                    large[part] = _mm256_add_epi16(large[part], a);
                    small[part] = _mm256_add_epi16(small[part], b);
                }
            }
        }
        for part in 0..PARTS {
            let small = _mm256_srli_epi16::<{ Gather::SMALL_BITS as i32 }>(small[part]);
            large[part] = _mm256_add_epi16(large[part], small);
        }
        then(block, large);
    }
}
