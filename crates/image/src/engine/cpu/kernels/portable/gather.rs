//! Samples along rows, gathered and summed.
#![expect(unsafe_code, reason = "reads rows by address")]

use super::part;
use crate::engine::cpu::fixed::{FixedMatrix, LANES};
use crate::engine::cpu::kernels::{Gather, Gathering};

/// # Safety
/// See [`Kernels`](crate::engine::cpu::kernels::Kernels).
pub(crate) unsafe fn gather(gather: &Gather, gathering: &Gathering<'_>, numbers: &mut [i16]) {
    let Gathering { from, to, matrix, half } = gathering;
    for output in 0..gather.blocks() * LANES {
        // SAFETY: the caller's promise.
        let sum = |row: &*const u8| unsafe { sum(gather, *row, output) };
        match (matrix, from, to) {
            (Some(matrix), [u, v], [red, green, blue]) => {
                let colours = chroma(matrix, *half, sum(u), sum(v));
                for (start, colour) in [red, green, blue].into_iter().zip(colours) {
                    numbers[start + output] = colour;
                }
            }
            (Some(matrix), luma, to) => {
                for (row, start) in luma.iter().zip(*to) {
                    numbers[start + output] = part(sum(row), matrix.rows[0][0]);
                }
            }
            (_, from, to) => {
                for (row, start) in from.iter().zip(*to) {
                    numbers[start + output] = sum(row);
                }
            }
        }
    }
}

/// # Safety
/// All windows of the row must be valid for reads.
unsafe fn sum(gather: &Gather, row: *const u8, output: usize) -> i16 {
    let (block, at) = (output / LANES, output % LANES);
    let table = &gather.tables[block * Gather::table_bytes(gather.pairs)..];
    let window = gather.windows[output / Gather::RUN] as usize;
    let (mut large, mut small) = (0, 0);
    for index in 0..2 * gather.pairs {
        let (pair, at) = (index / 2, 2 * at + index % 2);
        let first = if gather.apart { index } else { 2 * pair };
        let place = if gather.apart { table[at - index % 2] } else { table[at] };
        let window = window + first * usize::from(gather.step);
        // SAFETY: a byte of the window.
        let sample = unsafe { row.add(window + usize::from(place) % Gather::WINDOW).read() };
        let at = Gather::weights_at(pair) + at;
        large += i32::from(sample) * i32::from(table[at]);
        small += i32::from(sample) * i32::from(table[at + Gather::LANE]);
    }
    (large + (small >> Gather::SMALL_BITS)) as i16
}

/// What chroma is in red, green and blue, and half of a code.
fn chroma(matrix: &FixedMatrix, half: i16, u: i16, v: i16) -> [i16; 3] {
    let [red, green, blue] = matrix.rows;
    let colours =
        [part(v, red[2]), part(u, green[1]).wrapping_add(part(v, green[2])), part(u, blue[1])];
    std::array::from_fn(|at| colours[at].wrapping_add(matrix.offset[at].wrapping_add(half)))
}
