//! Samples along rows, gathered and summed, 32 outputs at a time.
//!
//! Few samples are multiplied as bytes, as AVX2 does it: once by the larger parts of weights and once
//! by the smaller ones. More are multiplied as words, two of an output at a time.
#![expect(unsafe_code, reason = "vector loads and stores by address")]

use std::arch::asm;
use std::arch::x86_64::*;

use super::{BYTES, FEW_WORDS, WORDS};
use crate::engine::cpu::kernels::{Gather, Gathering, Then, avx2};

/// # Safety
/// The processor must have AVX-512; see [`super::Kernels`].
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vnni")]
pub(super) unsafe fn gather(gather: &Gather, gathering: &Gathering<'_>, numbers: &mut [i16]) {
    let room = gather.numbers();
    assert!(gathering.to.iter().all(|start| start + room <= numbers.len()));
    let to = numbers.as_mut_ptr();
    // SAFETY: the caller's promise.
    unsafe {
        match (gather.way, gather.pairs) {
            (BYTES, 1) => pairs::<1, false>(gather, gathering, to),
            (BYTES, 2) => pairs::<2, false>(gather, gathering, to),
            (WORDS | FEW_WORDS, 1) => pairs::<1, true>(gather, gathering, to),
            (WORDS, 2) => pairs::<2, true>(gather, gathering, to),
            (WORDS, 3) => pairs::<3, true>(gather, gathering, to),
            (WORDS, 4) => pairs::<4, true>(gather, gathering, to),
            (WORDS, 5) => pairs::<5, true>(gather, gathering, to),
            _ => (avx2::KERNELS.gather)(gather, gathering, numbers),
        }
    }
}

/// # Safety
/// As [`gather`], with room for all blocks wherever numbers begin.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vnni")]
unsafe fn pairs<const PAIRS: usize, const WORDS: bool>(
    gather: &Gather,
    gathering: &Gathering<'_>,
    numbers: *mut i16,
) {
    // SAFETY: the caller's promise.
    unsafe {
        match (gathering.from, gathering.to) {
            ([a, b, c, d, ..], [_, _, _, _, ..]) => {
                rows::<PAIRS, WORDS, 4>(gather, gathering, [*a, *b, *c, *d], numbers);
            }
            ([a, b, c], [_, _, _]) => {
                rows::<PAIRS, WORDS, 3>(gather, gathering, [*a, *b, *c], numbers);
            }
            ([a, b], [_, _]) => rows::<PAIRS, WORDS, 2>(gather, gathering, [*a, *b], numbers),
            ([a], [_]) => rows::<PAIRS, WORDS, 1>(gather, gathering, [*a], numbers),
            _ => {}
        }
    }
}

/// Rows that become one row each.
///
/// # Safety
/// As [`pairs`], with a place for each row.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vnni")]
#[inline]
unsafe fn rows<const PAIRS: usize, const WORDS: bool, const PARTS: usize>(
    gather: &Gather,
    gathering: &Gathering<'_>,
    from: [*const u8; PARTS],
    numbers: *mut i16,
) {
    let mut to = [numbers; PARTS];
    for part in 0..PARTS {
        to[part] = numbers.wrapping_add(gathering.to[part]);
    }
    // SAFETY: the caller's promise.
    unsafe {
        match gathering.then {
            Then::Nothing => {
                each::<PAIRS, WORDS, PARTS>(gather, gathering, from, |block, sums| {
                    for part in 0..PARTS {
                        put(to[part], block, sums[part]);
                    }
                });
            }
            Then::Times { factor, add } => {
                let (factor, add) = (_mm512_set1_epi16(factor), _mm512_set1_epi16(add));
                each::<PAIRS, WORDS, PARTS>(gather, gathering, from, |block, sums| {
                    for part in 0..PARTS {
                        let product = _mm512_mulhrs_epi16(sums[part], factor);
                        put(to[part], block, _mm512_add_epi16(product, add));
                    }
                });
            }
            Then::Plus(add) => {
                let add = _mm512_set1_epi16(add);
                each::<PAIRS, WORDS, PARTS>(gather, gathering, from, |block, sums| {
                    for part in 0..PARTS {
                        put(to[part], block, _mm512_add_epi16(sums[part], add));
                    }
                });
            }
        }
    }
}

/// # Safety
/// There must be room for the block.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vnni")]
#[inline]
unsafe fn put(out: *mut i16, block: usize, numbers: __m512i) {
    // SAFETY: the caller's promise.
    unsafe { _mm512_storeu_si512(out.add(block * BYTES.block).cast(), numbers) }
}

/// Hands the sums of every block to `then`.
///
/// # Safety
/// As [`gather`].
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vnni")]
#[inline]
unsafe fn each<const PAIRS: usize, const WORDS: bool, const PARTS: usize>(
    gather: &Gather,
    gathering: &Gathering<'_>,
    rows: [*const u8; PARTS],
    then: impl Fn(usize, [__m512i; PARTS]),
) {
    // SAFETY: the caller's promise.
    unsafe {
        match WORDS {
            true => words::<PAIRS, PARTS>(gather, gathering, rows, then),
            false => bytes::<PAIRS, PARTS>(gather, gathering, rows, then),
        }
    }
}

/// As [`each`], in the way [`BYTES`].
///
/// # Safety
/// As [`each`].
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vnni")]
#[inline]
unsafe fn bytes<const PAIRS: usize, const PARTS: usize>(
    gather: &Gather,
    gathering: &Gathering<'_>,
    rows: [*const u8; PARTS],
    then: impl Fn(usize, [__m512i; PARTS]),
) {
    let (step, ahead) = (usize::from(gather.step), gathering.ahead);
    let zero = _mm512_setzero_si512();
    for block in 0..gather.blocks() {
        // SAFETY: a window and a table for each block.
        let (start, table) = unsafe {
            let table = gather.tables.as_ptr().add(block * BYTES.table_bytes(PAIRS));
            (gather.windows.as_ptr().add(block).read() as usize, table)
        };
        // SAFETY: parts of a table are vectors.
        let part_of = |at: usize| unsafe { _mm512_loadu_si512(table.add(at).cast()) };
        let places = part_of(0);
        let (mut large, mut small) = ([zero; PARTS], [zero; PARTS]);
        for pair in 0..PAIRS {
            let at = BYTES.weights_at(pair);
            let (more, less) = (part_of(at), part_of(at + BYTES.lane()));
            for part in 0..PARTS {
                let window = rows[part].wrapping_add(start + 2 * pair * step);
                if pair == 0 {
                    fetch(window.wrapping_add(ahead));
                }
                // SAFETY: windows are inside the row.
                let window = unsafe { _mm512_loadu_si512(window.cast()) };
                let samples = _mm512_permutexvar_epi8(places, window);
                let (a, b) =
                    (_mm512_maddubs_epi16(samples, more), _mm512_maddubs_epi16(samples, less));
                if pair == 0 {
                    (large[part], small[part]) = (a, b);
                } else {
                    large[part] = _mm512_add_epi16(large[part], a);
                    small[part] = _mm512_add_epi16(small[part], b);
                }
            }
        }
        for part in 0..PARTS {
            let small = _mm512_srli_epi16::<{ Gather::SMALL_BITS }>(small[part]);
            large[part] = _mm512_add_epi16(large[part], small);
        }
        then(block, large);
    }
}

/// The lower bytes of words.
const EVEN: __mmask64 = 0x5555_5555_5555_5555;

/// As [`each`], in the way [`WORDS`].
///
/// # Safety
/// As [`each`].
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vnni")]
#[inline]
unsafe fn words<const PAIRS: usize, const PARTS: usize>(
    gather: &Gather,
    gathering: &Gathering<'_>,
    rows: [*const u8; PARTS],
    then: impl Fn(usize, [__m512i; PARTS]),
) {
    let (step, ahead) = (usize::from(gather.step), gathering.ahead);
    let (two, half_of_one) = (_mm512_set1_epi8(2 * step as i8), _mm512_set1_epi32(128));
    let in_order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    // Known to nobody: what is known when this is compiled becomes more instructions, not fewer.
    let even = std::hint::black_box(EVEN);
    for block in 0..gather.blocks() {
        // SAFETY: two windows and a table for each block.
        let (starts, table) = unsafe {
            let windows = gather.windows.as_ptr().add(2 * block);
            let table = gather.tables.as_ptr().add(block * WORDS.table_bytes(PAIRS));
            ([windows.read() as usize, windows.add(1).read() as usize], table)
        };
        let mut halves = [[half_of_one; PARTS]; 2];
        for half in 0..2 {
            let table = table.wrapping_add(half * WORDS.lane() / 2);
            // SAFETY: halves of parts of a table are vectors.
            let part_of = |at: usize| unsafe { _mm512_loadu_si512(table.add(at).cast()) };
            let mut windows = [two; PARTS];
            for part in 0..PARTS {
                let window = rows[part].wrapping_add(starts[half]);
                fetch(window.wrapping_add(ahead));
                // SAFETY: windows are inside the row.
                windows[part] = unsafe { _mm512_loadu_si512(window.cast()) };
            }
            let mut places = part_of(0);
            for pair in 0..PAIRS {
                let weights = part_of(WORDS.weights_at(pair));
                for part in 0..PARTS {
                    let samples = _mm512_maskz_permutexvar_epi8(even, places, windows[part]);
                    halves[half][part] = add_products(halves[half][part], samples, weights);
                }
                places = _mm512_add_epi8(places, two);
            }
        }
        let mut sums = [two; PARTS];
        for part in 0..PARTS {
            let low = _mm512_srli_epi32::<8>(halves[0][part]);
            let high = _mm512_srli_epi32::<8>(halves[1][part]);
            sums[part] = _mm512_permutexvar_epi64(in_order, _mm512_packus_epi32(low, high));
        }
        then(block, sums);
    }
}

/// Asks for a line of the cache, wherever that is.
#[target_feature(enable = "sse")]
#[inline]
fn fetch(address: *const u8) {
    _mm_prefetch::<_MM_HINT_T0>(address.cast());
}

/// Products of words, two of them added to each sum. The compiler would make two instructions of what
/// is one, which end a little sooner; but here there is always more to do meanwhile.
#[target_feature(enable = "avx512f,avx512vnni")]
#[inline]
fn add_products(mut sums: __m512i, samples: __m512i, weights: __m512i) -> __m512i {
    // SAFETY: arithmetic on registers, by an instruction that the processor has.
    unsafe {
        asm!(
            "vpdpwssd {sums}, {samples}, {weights}",
            sums = inout(zmm_reg) sums,
            samples = in(zmm_reg) samples,
            weights = in(zmm_reg) weights,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    sums
}
