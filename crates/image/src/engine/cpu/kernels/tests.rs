//! Each instruction set against plain Rust, at every length around its vectors.
#![expect(unsafe_code, reason = "calls kernels")]

mod gathered;
mod precise;
mod stored;
mod uniform;

use super::{
    Along, Band, ChromaRow, Coloured, Columns, Finished, Kernels, Mixed, Mixture, Out, Real, Scale,
    Sum, Tap, all, portable,
};
use crate::colour::Matrix;
use crate::engine::cpu::fixed::{FixedMatrix, LANES};
use crate::engine::cpu::pairs::PairTable;
use crate::engine::cpu::walk::Walk;
use tenure_layout::Colour;

const LENGTHS: [usize; 14] = [1, 2, 7, 15, 16, 17, 31, 32, 33, 63, 64, 65, 130, 331];

fn numbers(len: usize, seed: u32, top: i32) -> Vec<i16> {
    let mut state = seed.wrapping_mul(747_796_405).wrapping_add(1);
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((state >> 16) as i32 % top) as i16
    };
    (0..len).map(|_| next()).collect()
}

fn bytes(len: usize, seed: u32) -> Vec<u8> {
    numbers(len, seed, 256).into_iter().map(|number| number as u8).collect()
}

/// Runs the same work with plain loops and with all others, and compares what comes out.
fn both<T: PartialEq + std::fmt::Debug>(what: &str, work: impl Fn(&Kernels) -> T) {
    let expected = work(&portable::KERNELS);
    for kernels in all() {
        assert_eq!(work(kernels), expected, "{what} with {} kernels", kernels.name);
    }
}

/// A sum in 16 bits of rows of a plane.
fn sum_of<'a>(taps: &'a [Tap], plane: &[u8], stride: usize) -> Sum<'a> {
    let (wide, finer, signed) = (false, false, false);
    let first = plane.as_ptr();
    Sum { taps, bits: 15, fraction: 7, wide, finer, signed, begin: 0, first, stride }
}

/// How a sum is made.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    Narrow,
    Finer,
    Wide,
}
use Way::{Finer, Narrow, Wide};

fn sums(len: usize, weights: &[i32], way: Way, work: impl Fn(&Kernels, Sum<'_>) -> Vec<i16>) {
    let plane = bytes(2 * len * weights.len(), 3);
    let taps: Vec<Tap> =
        weights.iter().enumerate().map(|(row, weight)| Tap::new(row, *weight)).collect();
    let signed = weights.iter().any(|weight| *weight < 0);
    let (wide, finer) = (way == Wide, way == Finer);
    let begin = Tap::lost(&taps);
    let sum = Sum { wide, finer, signed, begin, ..sum_of(&taps, &plane, 2 * len) };
    both(&format!("{len} sums of {weights:?}, {way:?}"), |kernels| work(kernels, sum));
}

#[test]
fn sums_of_rows() {
    for len in LENGTHS {
        let cases: [(&[i32], Way); 9] = [
            (&[32768], Narrow),
            (&[3641, 7282, 10922, 7282, 3641], Narrow),
            (&[-900, 17284, 17284, -900], Narrow),
            (&[9_000, 14_768, 9_000], Wide),
            (&[-4_000, 20_384, 20_384, -4_000], Wide),
            // Weights of all sixteen bits.
            (&[40_000, -7_232], Narrow),
            (&[40_000, -7_232], Wide),
            (&[7282, 14_564, 21_844, 14_564, 7282], Finer),
            (&[1024; 64], Finer),
        ];
        for (weights, way) in cases {
            // SAFETY: the plane has two bytes for each output in every row.
            sums(len, weights, way, |kernels, sum| unsafe {
                let mut out = vec![0; len];
                (kernels.bytes)(sum, &mut out);
                out
            });
            // SAFETY: as above.
            sums(len, weights, way, |kernels, sum| unsafe {
                let (mut even, mut odd) = (vec![0; len], vec![0; len]);
                (kernels.pairs)(sum, &mut even, &mut odd);
                [even, odd].concat()
            });
            // SAFETY: as above.
            sums(len, weights, way, |kernels, sum| unsafe {
                let (mut rows, mut columns) = (vec![0; (len + 7) * LANES], vec![0; len * LANES]);
                // Of none, of one tap, of two, and so on; then of nothing.
                let taps: Vec<Tap> =
                    (0..=sum.taps.len()).flat_map(|n| &sum.taps[..n]).copied().collect();
                let ends: Vec<(usize, i16)> =
                    (0..=sum.taps.len()).map(|n| (n * (n + 1) / 2, sum.begin)).collect();
                let pairs = PairTable::of(&taps, ends.iter().map(|(end, _)| *end));
                let pairs = pairs.as_ref().filter(|_| sum.wide);
                let pairs = pairs.map(|pairs| pairs.band(&(0..ends.len())));
                let (start, ends, steps, goes_on) = (0, &ends[..], None, true);
                let band = Band { sum, taps: &taps, start, ends, steps, pairs, goes_on };
                (kernels.band)(&band, &mut rows, len + 7, &mut columns);
                columns
            });
        }
        let cases: [(&[i32], Way); 4] = [
            (&[8000, 8384], Narrow),
            (&[32768], Narrow),
            (&[8000, -1000, 9384], Wide),
            (&[40_000, -7_232], Wide),
        ];
        for (weights, way) in cases {
            // SAFETY: as above.
            sums(len, weights, way, |kernels, sum| unsafe {
                let mut out = vec![0; len];
                (kernels.words)(sum, &mut out);
                out
            });
        }
    }
}

#[test]
fn sums_in_the_order_of_the_source() {
    in_the_order_of_the_source([3641, 7282, 10_922, 7282, 3641], Narrow);
    in_the_order_of_the_source([7282, 14_564, 21_844, 14_564, 7282], Finer);
    in_the_order_of_the_source([3641, 7282, 10_922, 7282, 3641], Wide);
}

fn in_the_order_of_the_source(weights: [i32; 5], way: Way) {
    // Triangles around every third row, and one that ends with the picture.
    let (outputs, source) = (19, 3 * 19 - 1);
    let (mut taps, mut ends) = (vec![], vec![]);
    for output in 0..outputs {
        let rows = (3 * output)..(3 * output + weights.len()).min(source);
        let start = taps.len();
        taps.extend(rows.zip(weights).map(|(row, weight)| Tap::new(row, weight)));
        ends.push((taps.len(), (taps.len() - start) as i16 / 2));
    }
    let walk = Walk::of(&taps, ends.iter().map(|(end, _)| *end)).unwrap();
    // Rows beside each other, and so far apart that a band is summed along them.
    let far = 8192;
    let plane = bytes(far * source, 9);
    for (len, stride) in LENGTHS.iter().flat_map(|len| [(*len, *len), (*len, far)]) {
        for rows in [0..1usize, 0..16, 1..17, 3..19, 15..19, 18..19] {
            // SAFETY: the plane has a byte for each output in every row.
            both("a band in the order of the source", |kernels| unsafe {
                let (wide, finer) = (way == Wide, way == Finer);
                let sum = Sum { wide, finer, ..sum_of(&[], &plane, stride) };
                let start = rows.start.checked_sub(1).map_or(0, |before| ends[before].0);
                let (ends, steps) = (&ends[rows.clone()], walk.steps(&rows));
                let (pairs, goes_on) = (None, stride == far);
                let band = Band { sum, taps: &taps, start, ends, steps, pairs, goes_on };
                let (mut scratch, mut columns) = (vec![0; len * LANES], vec![7; len * LANES]);
                (kernels.band)(&band, &mut scratch, len, &mut columns);
                columns
            });
        }
    }
}

#[test]
fn weighted_rows() {
    let from = numbers(1000, 8, 32_640);
    let rows = [(0, 4096), (3, 12_288), (400, -900), (331, 12_288), (7, 32_767), (600, 1)];
    for len in LENGTHS {
        for count in 0..=rows.len() {
            // SAFETY: the kernels are those of this processor.
            both("weighted rows", |kernels| unsafe {
                let mut out = vec![0; len];
                (kernels.weighted)(&from, &rows[..count], &mut out);
                out
            });
        }
    }
}

#[test]
fn numbers_change_places() {
    for len in LENGTHS {
        let mixed = numbers(3 * len, 5, 30_000);
        // SAFETY: the kernels are those of this processor.
        both("pairs apart", |kernels| unsafe {
            let (mut even, mut odd) = (vec![0; len], vec![0; len]);
            (kernels.split_pairs)(&mixed[..2 * len], &mut even, &mut odd);
            (even, odd)
        });
        // SAFETY: as above.
        both("triples apart", |kernels| unsafe {
            let (mut a, mut b, mut c) = (vec![0; len], vec![0; len], vec![0; len]);
            (kernels.split_triples)(&mixed, [&mut a, &mut b, &mut c]);
            (a, b, c)
        });
        let between = bytes(2 * len, 5);
        // SAFETY: two bytes for each.
        both("bytes apart", |kernels| unsafe {
            let (mut even, mut odd) = (vec![0; len], vec![0; len]);
            (kernels.split_bytes)(between.as_ptr(), 0, &mut even, &mut odd);
            assert!(even.iter().eq(between.iter().step_by(2)));
            (even, odd)
        });
        let rows = numbers(LANES * (len + 5), 6, 30_000);
        // SAFETY: as above.
        both("turned", |kernels| unsafe {
            let mut columns = vec![0; len * LANES];
            (kernels.to_columns)(&rows, len + 5, &mut columns);
            let mut back = vec![0; LANES * (len + 3)];
            (kernels.to_rows)(&columns, len + 3, &mut back);
            let same = (0..LANES)
                .all(|row| rows[row * (len + 5)..][..len] == back[row * (len + 3)..][..len]);
            assert!(same);
            (columns, back)
        });
    }
}

#[test]
fn sums_along_rows() {
    for (count, wide) in [(1, false), (2, false), (5, false), (6, false), (9, false), (18, true)] {
        let outputs = 37;
        let first: Vec<usize> = (0..outputs).map(|output| 4 + output * 3).collect();
        let weights = numbers(outputs * count, 8, 32768 / count as i32);
        let twice = |weight: i16| [weight; 2];
        let weights = if wide { weights } else { weights.into_iter().flat_map(twice).collect() };
        for step in 1..=4 {
            let len = ((outputs * 3 + count) * step + 4) * LANES;
            let columns = [9, 10].map(|seed| numbers(len, seed, 32_640));
            let firsts = (4, 4 + (outputs - 1) * 3);
            let (weights, bits) = (&weights[..], 15);
            let along = Along { first: &first, firsts, start: 4, step, weights, count, bits, wide };
            // Components of one band, and of two.
            for parts in [step, 2 * step] {
                // SAFETY: the kernels are those of this processor.
                both(&format!("{count} samples of {parts} parts"), |kernels| unsafe {
                    let all: Vec<&[i16]> = (0..parts)
                        .map(|part| &columns[part / step][part % step * LANES..])
                        .collect();
                    let mut out = vec![vec![0; outputs * LANES]; parts];
                    let mut own: Vec<&mut [i16]> = out.iter_mut().map(|out| &mut out[..]).collect();
                    (kernels.horizontal)(along, &all, &mut own);
                    out
                });
            }
        }
    }
}

#[test]
fn colours() {
    for len in LENGTHS {
        let rows = [11, 12, 13].map(|seed| numbers(len, seed, 32_640));
        for matrix in [Matrix::to_rgb(Colour::HD), Matrix::to_yuv(Colour::JPEG)] {
            let matrix = FixedMatrix::new(&matrix, 7);
            // SAFETY: the kernels are those of this processor.
            both("a matrix", |kernels| unsafe {
                let mut out = [vec![0; len], vec![0; len], vec![0; len]];
                let from = [&rows[0][..], &rows[1][..], &rows[2][..]];
                let [a, b, c] = &mut out;
                (kernels.matrix)(&matrix, from, [a, b, c]);
                out
            });
        }
    }
}
