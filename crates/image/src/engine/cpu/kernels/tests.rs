//! Each instruction set against plain Rust, at every length around its vectors.
#![expect(unsafe_code, reason = "calls kernels")]

use super::{
    Along, Band, ChromaRow, Columns, Finished, Kernels, Mixed, Out, Real, Scale, Sum, Tap, best,
    portable,
};
use crate::colour::Matrix;
use crate::engine::cpu::fixed::{FixedMatrix, LANES};
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

/// Runs the same work with both and compares what comes out.
fn both<T: PartialEq + std::fmt::Debug>(what: &str, work: impl Fn(&Kernels) -> T) {
    let (one, other) = (work(&portable::KERNELS), work(best()));
    assert_eq!(one, other, "{what} with {} kernels", best().name);
}

fn sums(len: usize, weights: &[i32], wide: bool, work: impl Fn(&Kernels, Sum<'_>) -> Vec<i16>) {
    let plane = bytes(2 * len * weights.len(), 3);
    let taps: Vec<Tap> =
        weights.iter().enumerate().map(|(row, weight)| Tap::new(row, *weight)).collect();
    let sum = Sum {
        taps: &taps,
        bits: 15,
        fraction: 7,
        wide,
        signed: weights.iter().any(|weight| *weight < 0),
        begin: Tap::lost(&taps),
        first: plane.as_ptr(),
        stride: 2 * len,
    };
    both(&format!("{len} sums of {weights:?}"), |kernels| work(kernels, sum));
}

#[test]
fn sums_of_rows() {
    for len in LENGTHS {
        let cases: [(&[i32], bool); 7] = [
            (&[32768], false),
            (&[3641, 7282, 10922, 7282, 3641], false),
            (&[-900, 17284, 17284, -900], false),
            (&[9_000, 14_768, 9_000], true),
            (&[-4_000, 20_384, 20_384, -4_000], true),
            // Weights of all sixteen bits.
            (&[40_000, -7_232], false),
            (&[40_000, -7_232], true),
        ];
        for (weights, wide) in cases {
            // SAFETY: the plane has two bytes for each output in every row.
            sums(len, weights, wide, |kernels, sum| unsafe {
                let mut out = vec![0; len];
                (kernels.bytes)(sum, &mut out);
                out
            });
            // SAFETY: as above.
            sums(len, weights, wide, |kernels, sum| unsafe {
                let (mut even, mut odd) = (vec![0; len], vec![0; len]);
                (kernels.pairs)(sum, &mut even, &mut odd);
                [even, odd].concat()
            });
            // SAFETY: as above.
            sums(len, weights, wide, |kernels, sum| unsafe {
                let (mut rows, mut columns) = (vec![0; (len + 7) * LANES], vec![0; len * LANES]);
                let fewer = |row: usize| &sum.taps[..row.min(sum.taps.len())];
                let band = std::array::from_fn(|row| Sum { taps: fewer(row), ..sum });
                let band = Band { sums: &band, steps: None };
                (kernels.band)(band, &mut rows, len + 7, &mut columns);
                columns
            });
        }
        let cases: [(&[i32], bool); 4] = [
            (&[8000, 8384], false),
            (&[32768], false),
            (&[8000, -1000, 9384], true),
            (&[40_000, -7_232], true),
        ];
        for (weights, wide) in cases {
            // SAFETY: as above.
            sums(len, weights, wide, |kernels, sum| unsafe {
                let mut out = vec![0; len];
                (kernels.words)(sum, &mut out);
                out
            });
        }
    }
}

#[test]
fn sums_in_the_order_of_the_source() {
    // Triangles around every third row, and one that ends with the picture.
    let weights = [3641, 7282, 10_922, 7282, 3641];
    let (outputs, source) = (19, 3 * 19 - 1);
    let (mut taps, mut ends) = (vec![], vec![]);
    for output in 0..outputs {
        let rows = (3 * output)..(3 * output + weights.len()).min(source);
        taps.extend(rows.zip(weights).map(|(row, weight)| Tap::new(row, weight)));
        ends.push(taps.len());
    }
    let walk = Walk::of(&taps, ends.iter().copied()).unwrap();
    for len in LENGTHS {
        let plane = bytes(len * source, 9);
        for rows in [0..1, 0..16, 1..17, 3..19, 15..19, 18..19] {
            // SAFETY: the plane has a byte for each output in every row.
            both("a band in the order of the source", |kernels| unsafe {
                let sums = std::array::from_fn(|lane| {
                    let row = rows.start + lane;
                    let taps = match row < rows.end {
                        true => &taps[row.checked_sub(1).map_or(0, |row| ends[row])..ends[row]],
                        false => &[],
                    };
                    Sum {
                        taps,
                        bits: 15,
                        fraction: 7,
                        wide: false,
                        signed: false,
                        begin: Tap::lost(taps),
                        first: plane.as_ptr(),
                        stride: len,
                    }
                });
                let (mut scratch, mut columns) = (vec![0; len * LANES], vec![7; len * LANES]);
                let band = Band { sums: &sums, steps: walk.steps(&rows) };
                (kernels.band)(band, &mut scratch, len, &mut columns);
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
            let columns = numbers(((outputs * 3 + count) * step + 4) * LANES, 9, 32_640);
            let firsts = (4, 4 + (outputs - 1) * 3);
            let (weights, bits) = (&weights[..], 15);
            let along = Along { first: &first, firsts, start: 4, step, weights, count, bits, wide };
            // SAFETY: the kernels are those of this processor.
            both(&format!("{count} samples"), |kernels| unsafe {
                let all: [&[i16]; 4] =
                    std::array::from_fn(|part| &columns[part.min(step - 1) * LANES..]);
                let mut out = vec![vec![0; outputs * LANES]; step];
                let mut own: Vec<&mut [i16]> = out.iter_mut().map(|out| &mut out[..]).collect();
                (kernels.horizontal)(along, &all[..step], &mut own);
                out
            });
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

/// What `store_columns` does, one kernel after the other.
fn stored_one_by_one(columns: Columns<'_>, packed: Option<bool>, len: usize) -> Vec<u8> {
    let Columns { from, matrix, fraction, flip, rows, .. } = columns;
    let mut colours = from.map(|part| part[..len * LANES].to_vec());
    let kernels = &portable::KERNELS;
    let [a, b, c] = &mut colours;
    let mut turned = [vec![0; len * LANES], vec![0; len * LANES], vec![0; len * LANES]];
    let mut out = vec![9u8; 3 * len * LANES];
    // SAFETY: the portable kernels run everywhere, and there is room for three bytes of a pixel.
    unsafe {
        if let Some(matrix) = matrix {
            (kernels.matrix)(matrix, from, [a, b, c]);
        }
        for (colour, turned) in colours.iter().zip(&mut turned) {
            (kernels.to_rows)(colour, len, turned);
        }
        for row in 0..rows {
            let [a, b, c] = [0, 1, 2].map(|colour| &turned[colour][row * len..][..len]);
            let rows: [&[i16]; 3] = if packed == Some(true) { [c, b, a] } else { [a, b, c] };
            let whole = Finished { rows: &rows, fraction, pixels: len };
            match packed {
                Some(_) => (kernels.store_bytes)(whole, flip, out[row * 3 * len..].as_mut_ptr()),
                None => {
                    for (plane, row_of) in rows.iter().enumerate() {
                        let own = Finished { rows: &[*row_of], ..whole };
                        let at = (plane * LANES + row) * len;
                        (kernels.store_bytes)(own, flip, out[at..].as_mut_ptr());
                    }
                }
            }
        }
    }
    out
}

#[test]
fn columns_are_stored() {
    let Some(kernel) = best().store_columns else { return };
    let matrices = [Matrix::to_rgb(Colour::HD), Matrix::to_yuv(Colour::JPEG)];
    let [to_rgb, to_yuv] = matrices.map(|matrix| FixedMatrix::new(&matrix, 7));
    for len in LENGTHS.into_iter().filter(|len| *len >= LANES) {
        let parts = [11, 12, 13].map(|seed| numbers(len * LANES, seed, 32_640));
        for (matrix, rows) in [(None, 16), (Some(&to_rgb), 16), (Some(&to_yuv), 5), (None, 9)] {
            let columns = Columns {
                from: [&parts[0], &parts[1], &parts[2]],
                matrix,
                fraction: if matrix.is_some() { 5 } else { 7 },
                flip: if rows == 5 { 0x80 } else { 0 },
                rows,
                pixels: len,
            };
            for packed in [Some(false), Some(true), None] {
                let mut out = vec![9u8; 3 * len * LANES];
                let first = out.as_mut_ptr();
                let (to, stride) = match packed {
                    Some(blue_first) => (Out::Packed { at: first, blue_first }, 3 * len),
                    None => {
                        let plane = |index: usize| first.wrapping_add(index * len * LANES);
                        (Out::Planes([plane(0), plane(1), plane(2)]), len)
                    }
                };
                // SAFETY: the kernels are those of this processor, and there is room.
                unsafe { kernel(columns, to, [stride; 3]) };
                let expected = stored_one_by_one(columns, packed, len);
                assert!(out == expected, "{len} pixels, {rows} rows, packed {packed:?}");
            }
        }
    }
}

#[test]
fn columns_are_stored_as_rows() {
    let Some(kernel) = best().store_turned else { return };
    let matrices = [Matrix::to_rgb(Colour::HD), Matrix::to_yuv(Colour::JPEG)];
    let [to_rgb, to_yuv] = matrices.map(|matrix| FixedMatrix::new(&matrix, 7));
    let plain = &portable::KERNELS;
    for len in LENGTHS {
        let parts = [11, 12, 13].map(|seed| numbers(len * LANES, seed, 32_640));
        let from = [&parts[0][..], &parts[1], &parts[2]];
        for (matrix, rows) in [(None, 16), (Some(&to_rgb), 16), (Some(&to_yuv), 5), (None, 9)] {
            let fraction = if matrix.is_some() { 5 } else { 7 };
            let flip = if rows == 5 { 0x80 } else { 0 };
            let columns = Columns { from, matrix, fraction, flip, rows, pixels: len };
            let mut colours = parts.clone();
            let [a, b, c] = &mut colours;
            // SAFETY: the portable kernels run everywhere.
            matrix.inspect(|matrix| unsafe { (plain.matrix)(matrix, from, [a, b, c]) });
            for packed in [Some(false), Some(true), None] {
                // Rows are a little longer than the pixels that are stored.
                let stride = 3 * (LANES + 1);
                let (mut out, mut expected) =
                    (vec![9u8; 3 * len * stride], vec![9u8; 3 * len * stride]);
                let first = out.as_mut_ptr();
                let plane = |index: usize| index * len * stride;
                let to = match packed {
                    Some(blue_first) => Out::Packed { at: first, blue_first },
                    None => Out::Planes([0, 1, 2].map(|index| first.wrapping_add(plane(index)))),
                };
                // SAFETY: the kernels are those of this processor, and there is room.
                unsafe { kernel(columns, to, [stride; 3]) };
                for pixel in 0..len {
                    let own = |colour: usize| &colours[colour][pixel * LANES..][..rows];
                    let [a, b, c] = [own(0), own(1), own(2)];
                    let stored: Vec<(usize, Vec<&[i16]>)> = match packed {
                        Some(false) => vec![(0, vec![a, b, c])],
                        Some(true) => vec![(0, vec![c, b, a])],
                        None => vec![(plane(0), vec![a]), (plane(1), vec![b]), (plane(2), vec![c])],
                    };
                    for (start, own) in stored {
                        let whole = Finished { rows: &own, fraction, pixels: rows };
                        let at = expected[start + pixel * stride..].as_mut_ptr();
                        // SAFETY: there is room for a row of pixels.
                        unsafe { (plain.store_bytes)(whole, flip, at) };
                    }
                }
                assert!(out == expected, "{len} pixels, {rows} rows, packed {packed:?}");
            }
        }
    }
}

#[test]
fn luma_goes_straight() {
    for len in LENGTHS {
        let (luma, second) = (bytes(len, 30), bytes(len, 33));
        let chroma = [31, 32].map(|seed| numbers(len + 2, seed, 32_640));
        // SAFETY: the kernels are those of this processor.
        both("doubled", |kernels| unsafe {
            let mut out = vec![0; len];
            (kernels.double)(&chroma[0], [8192, 24576, 24576, 8192], &mut out);
            out
        });
        let matrix = FixedMatrix::new(&Matrix::to_rgb(Colour::HD), 7);
        let (rows, pairs) = ([&chroma[0][..], &chroma[1][..]], bytes(len + 1, 34));
        let kinds = [
            ChromaRow::Whole(rows),
            ChromaRow::Halved(rows),
            ChromaRow::Bytes { at: pairs.as_ptr(), red_first: false },
            ChromaRow::Bytes { at: pairs.as_ptr(), red_first: true },
        ];
        for (chroma, blue_first) in kinds.into_iter().zip([false, true, true, false]) {
            let mixed = Mixed { chroma, matrix: &matrix, flip: 0x80, pixels: len };
            // SAFETY: there is room for three bytes for each pixel.
            both("luma and chroma", |kernels| unsafe {
                let mut packed = vec![0u8; 6 * len];
                let (at, next) = (packed.as_mut_ptr(), packed[3 * len..].as_mut_ptr());
                let pair = [(&luma, at), (&second, next)];
                let pair = pair.map(|(luma, at)| (luma.as_ptr(), Out::Packed { at, blue_first }));
                (kernels.mixed)(mixed, &pair);
                let mut planes = [vec![0u8; len], vec![0u8; len], vec![0u8; len]];
                let [a, b, c] = &mut planes;
                let rows = [a.as_mut_ptr(), b.as_mut_ptr(), c.as_mut_ptr()];
                (kernels.mixed)(mixed, &[(luma.as_ptr(), Out::Planes(rows))]);
                (packed, planes)
            });
        }
    }
}

#[test]
fn bytes_and_floats_are_stored() {
    for len in LENGTHS {
        // From below black to above white.
        let row =
            |seed: u32| numbers(len, 20 + seed, 10_000).iter().map(|number| number - 900).collect();
        let rows: Vec<Vec<i16>> = (0..4).map(row).collect();
        for channels in 1..=4 {
            let rows: Vec<&[i16]> = rows.iter().take(channels).map(|row| &row[..]).collect();
            let finished = Finished { rows: &rows, fraction: 5, pixels: len };
            for flip in [0, 0x80] {
                // SAFETY: there is room for a byte of every row for each pixel.
                both("bytes", |kernels| unsafe {
                    let mut out = vec![9u8; len * channels];
                    (kernels.store_bytes)(finished, flip, out.as_mut_ptr());
                    out
                });
            }
            let scale = Scale { multiply: [1.0, 0.5, 2.0, 0.25], add: [0.0, -3.0, 5.0, 1.0] };
            for real in [Real::F32, Real::F16, Real::Bf16, Real::U8, Real::I8] {
                // Powers of two are exact, with and without a fused addition.
                // SAFETY: there is room for four bytes of every row for each pixel.
                both(&format!("{real:?}"), |kernels| unsafe {
                    let mut out = vec![9u8; 4 * len * channels];
                    (kernels.store_real)(finished, &scale, real, out.as_mut_ptr());
                    out
                });
            }
        }
    }
}

#[test]
fn rows_are_stored() {
    let Some(kernel) = best().store_rgb else { return };
    let matrices = [Matrix::to_rgb(Colour::HD), Matrix::to_yuv(Colour::JPEG)];
    let [to_rgb, to_yuv] = matrices.map(|matrix| FixedMatrix::new(&matrix, 7));
    for len in LENGTHS.into_iter().filter(|len| *len >= 2 * LANES) {
        let parts = [11, 12, 13].map(|seed| numbers(len, seed, 32_640));
        let from = [&parts[0][..], &parts[1], &parts[2]];
        for (matrix, flip) in [(None, 0), (Some(&to_rgb), 0), (Some(&to_yuv), 0x80)] {
            let fraction = if matrix.is_some() { 5 } else { 7 };
            let row = Columns { from, matrix, fraction, flip, rows: 1, pixels: len };
            let mut colours = parts.clone();
            let [a, b, c] = &mut colours;
            // SAFETY: the portable kernels run everywhere.
            matrix.inspect(|matrix| unsafe { portable::matrix(matrix, from, [a, b, c]) });
            for packed in [Some(false), Some(true), None] {
                let (mut out, mut expected) = (vec![9u8; 3 * len], vec![9u8; 3 * len]);
                let first = out.as_mut_ptr();
                let to = match packed {
                    Some(blue_first) => Out::Packed { at: first, blue_first },
                    None => Out::Planes([0, 1, 2].map(|plane| first.wrapping_add(plane * len))),
                };
                // SAFETY: the kernels are those of this processor, and there is room.
                unsafe { kernel(row, to) };
                let [a, b, c] = [&colours[0][..], &colours[1], &colours[2]];
                let rows = if packed == Some(true) { [c, b, a] } else { [a, b, c] };
                // SAFETY: as above.
                unsafe {
                    let whole = Finished { rows: &rows, fraction, pixels: len };
                    match packed {
                        Some(_) => portable::store_bytes(whole, flip, expected.as_mut_ptr()),
                        None => {
                            for (row, plane) in rows.iter().zip(expected.chunks_mut(len)) {
                                let own = Finished { rows: &[*row], ..whole };
                                portable::store_bytes(own, flip, plane.as_mut_ptr());
                            }
                        }
                    }
                }
                assert!(out == expected, "{len} pixels, packed {packed:?}");
            }
        }
    }
}
