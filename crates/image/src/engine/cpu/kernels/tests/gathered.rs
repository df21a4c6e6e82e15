//! Samples gathered along rows, and sums of such rows stored.
#![expect(unsafe_code, reason = "calls kernels")]

use super::{LENGTHS, all, both, bytes, numbers, portable};
use crate::colour::Matrix;
use crate::engine::cpu::fixed::{FixedMatrix, LANES};
use crate::engine::cpu::kernels::{Gather, Gathering, Kept, Out, Soon, Tap, Then, Way};
use crate::engine::cpu::scratch::Ring;
use tenure_layout::Colour;

/// Outputs of `2 * pairs` samples, `step` bytes apart, that wander about their windows; none if the
/// window is too small for them.
fn wandering(
    way: Way,
    blocks: usize,
    pairs: usize,
    step: usize,
    row_bytes: usize,
) -> Option<Gather> {
    // The last window that ends inside the row, and the last place of first samples.
    let starts = row_bytes - way.reach(pairs, step) + 1;
    let places = way.window.checked_sub(way.spread(pairs, step)).filter(|places| *places > 0)?;
    let one = 1 << way.weight_bits();
    let (mut windows, mut tables) = (vec![], vec![]);
    for block in 0..blocks {
        let mut table = vec![0; way.table_bytes(pairs)];
        for output in 0..way.block {
            if output % way.run == 0 {
                let start = (block * 17 + output) % starts;
                windows.push(start as u32);
            }
            way.put_place(&mut table, output, (output * 5 + block) % places, step);
            // Weights that sum to one; a single sample is one itself.
            let mut left = one;
            for index in 0..2 * pairs {
                let weight = match (output % 7, index) {
                    (0, 0) => one,
                    (0, _) => 0,
                    // Smaller parts that are as large as they can be.
                    (1, _) if index + 1 < 2 * pairs => 63 + 64 * (index as i32 % 2),
                    _ if index + 1 == 2 * pairs => left,
                    _ => left * (output as i32 + 3) / 37,
                };
                left -= weight;
                way.put_weight(&mut table, output, index, weight);
            }
        }
        tables.extend(table);
    }
    Some(Gather::new(way, windows, &tables, pairs, step))
}

/// All ways of all kernels, with every number of pairs.
fn ways() -> impl Iterator<Item = (Way, usize)> {
    let ways = all().flat_map(|kernels| kernels.ways);
    ways.flat_map(|way| (1..=way.pairs).map(move |pairs| (*way, pairs)))
}

#[test]
fn samples_are_gathered() {
    for ((way, pairs), step) in ways().flat_map(|way| [1, 2, 4].map(|step| (way, step))) {
        let least = way.reach(pairs, step);
        for (blocks, row_bytes) in [(1, least), (1, least + 7), (2, least + 22), (5, least + 60)] {
            let Some(gather) = wandering(way, blocks, pairs, step, row_bytes) else { continue };
            let mut rows: [Vec<u8>; 4] = [1, 2, 3, 4].map(|seed| bytes(row_bytes, seed));
            rows[2].fill(255);
            let rows: Vec<*const u8> = rows.iter().map(|row| row.as_ptr()).collect();
            let start = |at: usize| at * gather.numbers();
            let cases: [(&[*const u8], &[usize]); 4] = [
                (&rows[..1], &[start(1)]),
                (&rows[1..3], &[start(2), start(0)]),
                (&rows[..3], &[start(0), start(2), start(1)]),
                (&rows[..4], &[start(3), start(2), start(1), start(0)]),
            ];
            let thens =
                [Then::Nothing, Then::Times { factor: 9539, add: -579 }, Then::Plus(-16384)];
            for ((from, to), then) in
                cases.into_iter().flat_map(|case| thens.map(|then| (case, then)))
            {
                let gathering = Gathering { from, to, then, ahead: 0 };
                // SAFETY: the kernels are those of this processor, and windows are inside the rows.
                both(&format!("gathered {way:?} {pairs} {step} {to:?}"), |kernels| unsafe {
                    let mut numbers = vec![0; start(4)];
                    (kernels.gather)(&gather, &gathering, &mut numbers);
                    numbers
                });
            }
        }
    }
}

#[test]
fn what_is_gathered_is_a_weighted_sum() {
    for (way, pairs) in ways().filter(|(_, pairs)| *pairs > 1) {
        let bytes = bytes(way.reach(pairs, 1), 4);
        let gather = wandering(way, 1, pairs, 1, bytes.len()).unwrap();
        let mut numbers = vec![0; gather.numbers()];
        let from = &[bytes.as_ptr()];
        let gathering = Gathering { from, to: &[0], then: Then::Nothing, ahead: 0 };
        // SAFETY: all windows are in the row.
        unsafe { (portable::KERNELS.gather)(&gather, &gathering, &mut numbers) };
        // The weights of output 2, as they are made above.
        let one = 1 << way.weight_bits();
        let (mut left, mut sum) = (one, 0);
        for (index, byte) in bytes[10..][..2 * pairs].iter().enumerate() {
            let weight = if index + 1 == 2 * pairs { left } else { left * 5 / 37 };
            left -= weight;
            sum += weight * i32::from(*byte);
        }
        let off = |number: i16, exact: f64| (f64::from(number) - exact).abs();
        assert!(off(numbers[0], f64::from(bytes[0]) * 128.0) <= 1.0, "{way:?}: {}", numbers[0]);
        let exact = f64::from(sum) / f64::from(one) * 128.0;
        assert!(off(numbers[2], exact) <= 1.0, "{way:?}: {} is not {exact}", numbers[2]);
    }
}

#[test]
fn kept_rows_are_stored() {
    let matrix = FixedMatrix::new(&Matrix::to_rgb(Colour::HD), 7);
    for len in LENGTHS {
        let stride = len.next_multiple_of(LANES);
        let mut numbers = numbers(3 * 16 * stride, 9, 32_640);
        // As much above as below zero, and luma within what colours have room for.
        numbers.iter_mut().for_each(|number| *number -= 16_320);
        numbers[..16 * stride].iter_mut().for_each(|number| *number /= 2);
        let taps: Vec<Tap> = (3..)
            .zip([9000, 12_000, 6768, 5000, 900, 30, 70, 4000, 3000, 1000])
            .map(|(row, weight)| Tap::new(row, weight))
            .collect();
        let counts = [(0_usize, 1), (1, 1), (2, 2), (3, 2), (4, 1), (3, 3), (4, 4), (5, 3), (5, 4)];
        let counts = counts.into_iter().chain([(6, 3), (7, 4), (8, 4), (8, 5), (9, 5), (10, 10)]);
        for (luma, chroma) in counts {
            let mask = luma.max(chroma).next_power_of_two() - 1;
            let ring = |at: usize| Ring { start: at * 16 * stride, stride, mask };
            let lines = [numbers.as_ptr().cast(); 2];
            let kept = Kept {
                numbers: &numbers,
                // In no order, as they may lie in the scratch memory.
                rings: [&ring(0), &ring(2), &ring(1)],
                luma: &taps[..luma],
                chroma: &taps[..chroma],
                matrix: &matrix,
                flip: if luma == 3 { 0x80 } else { 0 },
                pixels: len,
                soon: Soon { lines: &lines[..luma % 3], step: 2 },
            };
            for packed in [Some(false), Some(true), None] {
                // SAFETY: the kernels are those of this processor, and there is room.
                both(&format!("{len} pixels of {luma} and {chroma} rows"), |kernels| unsafe {
                    let mut out = vec![9u8; 3 * len];
                    let first = out.as_mut_ptr();
                    let to = match packed {
                        Some(blue_first) => Out::Packed { at: first, blue_first },
                        None => Out::Planes([0, 1, 2].map(|plane| first.wrapping_add(plane * len))),
                    };
                    (kernels.store_kept)(&kept, to);
                    out
                });
            }
        }
    }
}
