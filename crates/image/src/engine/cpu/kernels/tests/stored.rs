//! What becomes of numbers when they are stored.
#![expect(unsafe_code, reason = "calls kernels")]

use super::*;
use crate::engine::cpu::kernels::{Pattern, StoreKernel};

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
    all().filter_map(|kernels| kernels.store_columns).for_each(columns_are_stored_by);
}

fn columns_are_stored_by(kernel: StoreKernel) {
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
                goes_on: rows == LANES,
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
    all().filter_map(|kernels| kernels.store_turned).for_each(columns_are_stored_as_rows_by);
}

fn columns_are_stored_as_rows_by(kernel: StoreKernel) {
    let matrices = [Matrix::to_rgb(Colour::HD), Matrix::to_yuv(Colour::JPEG)];
    let [to_rgb, to_yuv] = matrices.map(|matrix| FixedMatrix::new(&matrix, 7));
    let plain = &portable::KERNELS;
    for len in LENGTHS {
        let parts = [11, 12, 13].map(|seed| numbers(len * LANES, seed, 32_640));
        let from = [&parts[0][..], &parts[1], &parts[2]];
        for (matrix, rows) in [(None, 16), (Some(&to_rgb), 16), (Some(&to_yuv), 5), (None, 9)] {
            let fraction = if matrix.is_some() { 5 } else { 7 };
            let flip = if rows == 5 { 0x80 } else { 0 };
            let columns =
                Columns { from, matrix, fraction, flip, rows, pixels: len, goes_on: false };
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
        let matrix = FixedMatrix::new(&Matrix::to_rgb(Colour::HD), 7);
        let (rows, pairs) = ([&chroma[0][..], &chroma[1][..]], bytes(len + 1, 34));
        let kinds = [
            ChromaRow::Whole(rows),
            ChromaRow::Halved(rows),
            ChromaRow::Doubled { rows, weights: [8192, 24576, 24576, 8192] },
            ChromaRow::Doubled { rows, weights: [0, 32767, 16384, 16384] },
            ChromaRow::Bytes { at: pairs.as_ptr(), red_first: false },
            ChromaRow::Bytes { at: pairs.as_ptr(), red_first: true },
        ];
        for (index, chroma) in kinds.into_iter().enumerate() {
            let blue_first = index % 2 == 1;
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
    all().filter_map(|kernels| kernels.store_rgb).for_each(rows_are_stored_by);
}

fn rows_are_stored_by(kernel: unsafe fn(Columns<'_>, Out)) {
    let matrices = [Matrix::to_rgb(Colour::HD), Matrix::to_yuv(Colour::JPEG)];
    let [to_rgb, to_yuv] = matrices.map(|matrix| FixedMatrix::new(&matrix, 7));
    for len in LENGTHS.into_iter().filter(|len| *len >= 2 * LANES) {
        let parts = [11, 12, 13].map(|seed| numbers(len, seed, 32_640));
        let from = [&parts[0][..], &parts[1], &parts[2]];
        for (matrix, flip) in [(None, 0), (Some(&to_rgb), 0), (Some(&to_yuv), 0x80)] {
            let fraction = if matrix.is_some() { 5 } else { 7 };
            let row =
                Columns { from, matrix, fraction, flip, rows: 1, pixels: len, goes_on: false };
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

#[test]
fn rows_become_colours_with_a_point() {
    // Exact in floating point, with and without fused multiplication.
    let without_alpha = Mixture {
        shares: [
            [1.0 / 128.0, 0.0, 1.0 / 64.0],
            [1.0 / 128.0, -0.25, -0.5],
            [0.0, 1.0 / 32.0, 1.0],
        ],
        offset: [-16.0, 128.0, 3.5],
        least: [-4.0, 0.125, 1.0],
        most: [123.5, 63.875, 511.0],
        alpha: None,
    };
    let with_alpha = Mixture { alpha: Some(2.5), ..without_alpha };
    for (len, mixture) in
        LENGTHS.iter().flat_map(|len| [(*len, &without_alpha), (*len, &with_alpha)])
    {
        let parts = [11, 12, 13].map(|seed| numbers(len, seed, 32_640));
        let coloured = Coloured {
            from: [&parts[0], &parts[1], &parts[2]],
            mixture,
            pixels: len,
            around: len % 3 != 0,
        };
        for real in [Real::F32, Real::F16, Real::Bf16, Real::U8, Real::I8] {
            for packed in [Some(false), Some(true), None] {
                // Lines of the cache begin with the same pixel in all planes, the first with any.
                let stride = (4 * len).next_multiple_of(64);
                // SAFETY: there is room for four elements of up to four bytes for each pixel.
                both(&format!("{real:?}, packed {packed:?}"), |kernels| unsafe {
                    let mut out = vec![9u8; 4 * stride + 64];
                    let first = out.as_mut_ptr().wrapping_add(4 * (len % 16));
                    let plane = |index: usize| first.wrapping_add(index * stride);
                    let to = match packed {
                        Some(blue_first) => Out::Packed { at: first, blue_first },
                        None => Out::Planes([plane(0), plane(1), plane(2)]),
                    };
                    (kernels.store_coloured)(coloured, real, to);
                    (kernels.settle)();
                    out
                });
            }
        }
    }
}

#[test]
fn patterns_are_repeated() {
    for len in LENGTHS.into_iter().chain([0, 191, 192, 193, 1000]) {
        for pixel in [1, 2, 3, 4, 6, 8, 12, 16] {
            let pattern: Pattern = std::array::from_fn(|at| (at % pixel) as u8 + 1);
            for kernels in all() {
                let mut out = vec![0; len + 1];
                // SAFETY: the kernels are those of this processor, and there is room.
                unsafe { (kernels.fill)(&pattern, out.as_mut_ptr(), len) };
                let expected = (0..len).map(|at| (at % pixel) as u8 + 1).chain([0]);
                assert!(expected.eq(out), "{len} bytes with {} kernels", kernels.name);
            }
        }
    }
}
