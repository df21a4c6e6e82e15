//! Samples along rows, gathered and summed.
#![expect(unsafe_code, reason = "reads rows by address")]

use super::part;
use crate::engine::cpu::kernels::{Gather, Gathering, Samples, Then};

/// # Safety
/// See [`Kernels`](crate::engine::cpu::kernels::Kernels).
pub(crate) unsafe fn gather(gather: &Gather, gathering: &Gathering<'_>, numbers: &mut [i16]) {
    for (row, start) in gathering.from.iter().zip(gathering.to) {
        for output in 0..gather.numbers() {
            // SAFETY: the caller's promise.
            let sum = unsafe { sum(gather, *row, output) };
            numbers[start + output] = match gathering.then {
                Then::Nothing => sum,
                Then::Times { factor, add } => part(sum, factor).wrapping_add(add),
                Then::Plus(add) => sum.wrapping_add(add),
            };
        }
    }
}

/// # Safety
/// All windows of the row must be valid for reads.
unsafe fn sum(gather: &Gather, row: *const u8, output: usize) -> i16 {
    let (way, step) = (gather.way, usize::from(gather.step));
    let (block, at) = (output / way.block, output % way.block);
    let table = &gather.tables[block * way.table_bytes(gather.pairs)..];
    let window = gather.windows[output / way.run] as usize;
    let sample = |place: u8, begin: usize| {
        // SAFETY: a byte of the window.
        i32::from(unsafe { row.add(window + begin + usize::from(place) % way.window).read() })
    };
    let (mut large, mut small) = (0, 0);
    for index in 0..2 * gather.pairs {
        let (weights, element) = (way.weights_at(index / 2), 2 * at + index % 2);
        let sample = match way.samples {
            Samples::Together => sample(table[element], index / 2 * 2 * step),
            Samples::Apart => sample(table[2 * at], index * step),
            Samples::Words => {
                let weight = &table[weights + 2 * element..][..2];
                let weight = i32::from(i16::from_ne_bytes([weight[0], weight[1]]));
                small += weight * sample(table[4 * at] + (index * step) as u8, 0);
                continue;
            }
        };
        large += i32::from(table[weights + element]) * sample;
        small += i32::from(table[weights + way.lane() + element]) * sample;
    }
    match way.samples {
        Samples::Words => ((small + 128) >> 8) as i16,
        _ => (large + (small >> Gather::SMALL_BITS)) as i16,
    }
}
