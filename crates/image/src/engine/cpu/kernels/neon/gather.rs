//! Samples along rows, gathered and summed, eight outputs at a time.
#![expect(unsafe_code, reason = "vector loads and stores by address")]

use std::arch::aarch64::*;

use crate::engine::cpu::kernels::portable::gather::gather as gather_any;
use crate::engine::cpu::kernels::{Gather, Gathering, Samples, Then, Way};

/// The other way has tables of the same size.
const WAY: Way = Way::NARROW;
const RUN: usize = WAY.run;

/// # Safety
/// The processor must have NEON; see [`super::Kernels`].
#[target_feature(enable = "neon")]
pub(super) unsafe fn gather(gather: &Gather, gathering: &Gathering<'_>, numbers: &mut [i16]) {
    if !matches!((gather.pairs, gather.way), (1 | 2, Way::NARROW | Way::APART)) {
        // SAFETY: the caller's promise.
        return unsafe { gather_any(gather, gathering, numbers) };
    }
    let room = gather.numbers();
    assert!(gathering.to.iter().all(|start| start + room <= numbers.len()));
    let numbers = numbers.as_mut_ptr();
    for run in 0..room / RUN {
        let sum = |row: *const u8| {
            // SAFETY: the caller's promise.
            let sum = unsafe { sum(gather, row, run) };
            match gathering.then {
                Then::Nothing => sum,
                Then::Times { factor, add } => {
                    vaddq_s16(vqrdmulhq_n_s16(sum, factor), vdupq_n_s16(add))
                }
                Then::Plus(add) => vaddq_s16(sum, vdupq_n_s16(add)),
            }
        };
        // SAFETY: there is room for all runs wherever numbers begin.
        let put = |start: usize, sum| unsafe { vst1q_s16(numbers.add(start + run * RUN), sum) };
        gathering.from.iter().zip(gathering.to).for_each(|(row, to)| put(*to, sum(*row)));
    }
}

/// The sums of a run of outputs.
///
/// # Safety
/// The row's windows must be valid for reads, and there must be a table for the run.
#[target_feature(enable = "neon")]
#[inline]
unsafe fn sum(gather: &Gather, row: *const u8, run: usize) -> int16x8_t {
    let table_bytes = WAY.table_bytes(gather.pairs);
    // SAFETY: the caller's promise: two runs for every table, each half of all its parts.
    unsafe {
        let row = row.add(*gather.windows.get_unchecked(run) as usize);
        let window = |index: usize| vld1q_u8(row.add(index * usize::from(gather.step)));
        let table = gather.tables.as_ptr().add(run / 2 * table_bytes + run % 2 * WAY.lane() / 2);
        let places = vld1q_u8(table);
        let (mut large, mut small) = (vdupq_n_u16(0), vdupq_n_u16(0));
        for pair in 0..gather.pairs {
            let weights = table.add(WAY.weights_at(pair));
            let mut samples = vqtbl1q_u8(window(2 * pair), places);
            if gather.way.samples == Samples::Apart {
                let seconds = vqtbl1q_u8(window(2 * pair + 1), vrev16q_u8(places));
                samples = vorrq_u8(samples, seconds);
            }
            large = vaddq_u16(large, products(samples, vld1q_u8(weights)));
            small = vaddq_u16(small, products(samples, vld1q_u8(weights.add(WAY.lane()))));
        }
        vreinterpretq_s16_u16(vsraq_n_u16::<{ Gather::SMALL_BITS as i32 }>(large, small))
    }
}

/// Bytes times bytes, summed in pairs.
#[target_feature(enable = "neon")]
#[inline]
fn products(samples: uint8x16_t, weights: uint8x16_t) -> uint16x8_t {
    let low = vmull_u8(vget_low_u8(samples), vget_low_u8(weights));
    vpaddq_u16(low, vmull_high_u8(samples, weights))
}
