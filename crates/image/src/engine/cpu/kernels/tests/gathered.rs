//! Samples gathered along rows, and sums of such rows stored.
#![expect(unsafe_code, reason = "calls kernels")]

use super::{LENGTHS, both, bytes, numbers};
use crate::colour::Matrix;
use crate::engine::cpu::fixed::{FixedMatrix, LANES};
use crate::engine::cpu::kernels::{Gather, Gathering, KEPT, Out, Tap, Terms};
use crate::engine::cpu::scratch::Rows;
use tenure_layout::Colour;

/// Outputs of `2 * pairs` samples, `step` bytes apart, that wander about their windows.
fn wandering(blocks: usize, pairs: usize, step: u8, row_bytes: usize, apart: bool) -> Gather {
    // The last window that ends inside the row, and the last place of first samples.
    let starts = row_bytes - Gather::reach(pairs, usize::from(step), apart) + 1;
    let places = if apart { Gather::WINDOW } else { Gather::WINDOW - usize::from(step) };
    let (mut windows, mut tables) = (vec![], vec![]);
    for block in 0..blocks {
        let mut table = vec![0; Gather::table_bytes(pairs)];
        for output in 0..LANES {
            if output % Gather::RUN == 0 {
                let start = (block * 17 + output) % starts;
                windows.push(start as u32);
            }
            let place = (output * 5 + block) % places;
            table[2 * output] = place as u8;
            table[2 * output + 1] = if apart { Gather::NOWHERE } else { place as u8 + step };
            // Weights that sum to one; a single sample is one itself.
            let mut left = 8192;
            for index in 0..2 * pairs {
                let weight = match (output % 7, index) {
                    (0, 0) => 8192,
                    (0, _) => 0,
                    _ if index + 1 == 2 * pairs => left,
                    _ => left * (output as i32 + 3) / 23,
                };
                left -= weight;
                let at = Gather::weights_at(index / 2) + 2 * output + index % 2;
                (table[at], table[at + Gather::LANE]) = Gather::weight_parts(weight);
            }
        }
        tables.extend(table);
    }
    Gather { windows, tables, pairs, step, apart }
}

#[test]
fn samples_are_gathered() {
    let matrix = FixedMatrix::new(&Matrix::to_rgb(Colour::HD), 7);
    let shapes = [(1, 1), (1, 2), (1, 4), (2, 1), (2, 2), (2, 4)];
    let shapes = shapes.iter().flat_map(|shape| [(*shape, false), (*shape, true)]);
    for ((pairs, step), apart) in shapes {
        let least = Gather::reach(pairs, usize::from(step), apart);
        for (blocks, row_bytes) in [(1, least), (1, least + 7), (2, 40), (5, 90)] {
            let gather = wandering(blocks, pairs, step, row_bytes, apart);
            let rows: [Vec<u8>; 3] = [1, 2, 3].map(|seed| bytes(row_bytes, seed));
            let rows: Vec<*const u8> = rows.iter().map(|row| row.as_ptr()).collect();
            let start = |at: usize| at * blocks * LANES;
            let cases: [(&[*const u8], &[usize], bool); 7] = [
                (&rows[..1], &[start(0)], false),
                (&rows[..2], &[start(2), start(0)], false),
                (&rows[..3], &[start(0), start(1), start(2)], false),
                (&rows[..1], &[start(1)], true),
                (&rows[..2], &[start(2), start(1)], true),
                (&rows[..3], &[start(0), start(2), start(1)], true),
                (&rows[..2], &[start(0), start(1), start(2)], true),
            ];
            for (from, to, coloured) in cases {
                let matrix = coloured.then_some(&matrix);
                let gathering = Gathering { from, to, matrix, half: 16 };
                // SAFETY: the kernels are those of this processor, and windows are inside the rows.
                both(&format!("gathered {pairs} {step} {apart} {to:?}"), |kernels| unsafe {
                    let mut numbers = vec![0; start(3)];
                    (kernels.gather)(&gather, &gathering, &mut numbers);
                    numbers
                });
            }
        }
    }
}

#[test]
fn what_is_gathered_is_a_weighted_sum() {
    let gather = wandering(1, 2, 1, 18, false);
    let row = bytes(18, 4);
    let mut numbers = vec![0; LANES];
    let gathering = Gathering { from: &[row.as_ptr()], to: &[0], matrix: None, half: 0 };
    // SAFETY: both windows are in the row.
    unsafe { (super::best().gather)(&gather, &gathering, &mut numbers) };
    // The weights of output 1, as they are made above.
    let weights = [8192 * 4 / 23, 6768 * 4 / 23, 5591 * 4 / 23];
    let last = 8192 - weights.iter().sum::<i32>();
    let sum: i32 =
        weights.iter().chain([&last]).zip(&row[5..]).map(|(w, x)| w * i32::from(*x)).sum();
    assert_eq!(numbers[0], i16::from(row[0]) << 7);
    assert!((i32::from(numbers[1]) - (sum >> 6)).abs() <= 1, "{} is not {}", numbers[1], sum >> 6);
}

#[test]
fn terms_are_stored() {
    for len in LENGTHS {
        let stride = len.next_multiple_of(LANES);
        let numbers = numbers(4 * KEPT * stride, 9, 9000);
        let kept = |at: usize| Rows { start: at * KEPT * stride, stride };
        let taps: Vec<Tap> = (3..)
            .zip([9000, 12_000, 6768, 5000])
            .map(|(row, weight)| Tap::new(row, weight))
            .collect();
        for (luma, chroma) in [(0, 1), (1, 1), (2, 2), (3, 2), (4, 1), (3, 3), (4, 4)] {
            let terms = Terms {
                numbers: &numbers,
                luma: (kept(0), &taps[..luma]),
                colours: ([kept(1), kept(2), kept(3)], &taps[..chroma]),
                fraction: 5,
                flip: if luma == 3 { 0x80 } else { 0 },
                pixels: len,
            };
            for packed in [Some(false), Some(true), None] {
                // SAFETY: the kernels are those of this processor, and there is room.
                both(&format!("{len} terms of {luma} and {chroma} rows"), |kernels| unsafe {
                    let mut out = vec![9u8; 3 * len];
                    let first = out.as_mut_ptr();
                    let to = match packed {
                        Some(blue_first) => Out::Packed { at: first, blue_first },
                        None => Out::Planes([0, 1, 2].map(|plane| first.wrapping_add(plane * len))),
                    };
                    (kernels.store_terms)(&terms, to);
                    out
                });
            }
        }
    }
}
