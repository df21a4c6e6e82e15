//! Sums in floating point: products are added with one rounding or two, so that results differ a
//! little.
#![expect(unsafe_code, reason = "calls kernels")]

use super::{LENGTHS, bytes};
use crate::convert::Filter;
use crate::engine::cpu::fixed::LANES;
use crate::engine::cpu::kernels::precise::{Blend, ColumnSums, RowSums, Runs, TOGETHER, missing};
use crate::engine::cpu::kernels::{Kernels, Real, all, portable};
use crate::geometry::Axis;
use crate::taps::{Samples, Taps};

fn runs(filter: Filter, samples: usize, outputs: usize, mirrored: bool) -> Runs {
    let axis = Axis { start: 0.0, length: samples as f64, outputs, mirrored };
    let of = |pixels| Samples::new(0, pixels, 1, None);
    Runs::new(&Taps::new(filter, &axis, &of(samples), &of(outputs)))
}

fn reals(len: usize, seed: u32) -> Vec<f32> {
    bytes(len, seed).into_iter().map(|byte| f32::from(byte) * 1.25 - 30.0).collect()
}

/// Runs the same work with plain loops and with all others, and compares what comes out.
fn both(what: &str, work: impl Fn(&Kernels) -> Vec<f32>) {
    let expected = work(&portable::KERNELS);
    for kernels in all() {
        let result = work(kernels);
        let close = |(a, b): (&f32, &f32)| (a - b).abs() < 1e-3;
        let same = result.len() == expected.len() && result.iter().zip(&expected).all(close);
        assert!(same, "{what} with {} kernels: {result:?}, not {expected:?}", kernels.name);
    }
}

#[test]
fn sums_of_rows() {
    let source = 40;
    for len in LENGTHS {
        let plane = bytes(2 * len * source, 3);
        for (filter, outputs) in [(Filter::Lanczos3, 17), (Filter::Bicubic, 90), (Filter::Area, 2)]
        {
            for (mirrored, words) in [(false, false), (true, false), (false, true)] {
                let down = runs(filter, source, outputs, mirrored);
                let rows = outputs.saturating_sub(20)..outputs.min(outputs.saturating_sub(20) + 16);
                both(&format!("{len} sums down, {filter}"), |kernels| {
                    let (first, rows) = (plane.as_ptr(), rows.clone());
                    let sums = RowSums { first, stride: 2 * len, words, down: &down, rows };
                    let mut kept = vec![0.0; down.most_kept() * TOGETHER];
                    let mut columns = vec![7.0; len * LANES];
                    // SAFETY: the plane has two bytes for each column in every row.
                    unsafe { (kernels.precise.rows)(&sums, &mut kept, &mut columns) };
                    columns
                });
            }
        }
    }
}

#[test]
fn sums_of_columns() {
    for (filter, outputs) in [(Filter::Lanczos3, 17), (Filter::Bicubic, 90), (Filter::Nearest, 7)] {
        let across = runs(filter, 40, outputs, false);
        for step in 1..=4 {
            let columns = reals(40 * step * LANES, 5);
            both(&format!("{outputs} sums along, {filter}"), |kernels| {
                let outputs = 2..outputs;
                let (start, mut out) = (0, vec![7.0; outputs.len() * LANES]);
                let sums = ColumnSums { across: &across, outputs, start, step };
                // SAFETY: the kernels are those of this processor.
                unsafe { (kernels.precise.columns)(&sums, &columns, &mut out) };
                out
            });
        }
    }
}

#[test]
fn blends_and_rows() {
    for len in LENGTHS {
        let parts = [1, 2, 3].map(|seed| reals(len * LANES, seed));
        let shares = [(1.2, &parts[0][..]), (-0.4, &parts[1]), (2.1, &parts[2])];
        for count in 0..=shares.len() {
            both(&format!("{len} columns of {count} parts"), |kernels| {
                let (offset, least, most) = (-17.5, -40.0, 333.25);
                let blend = Blend { parts: &shares[..count], offset, least, most };
                let (mut columns, mut rows) =
                    (vec![7.0; len * LANES], vec![7.0; LANES * (len + 3)]);
                // SAFETY: the kernels are those of this processor.
                unsafe {
                    (kernels.precise.blend)(blend, &mut columns);
                    (kernels.precise.to_rows)(&columns, len + 3, &mut rows);
                }
                assert!(columns.iter().all(|number| (least..=most).contains(number)));
                [columns, rows].concat()
            });
        }
    }
}

#[test]
fn stored_numbers() {
    for len in LENGTHS {
        let rows = [1, 2, 3, 4].map(|seed| reals(len, seed));
        let rows: Vec<&[f32]> = rows.iter().map(|row| &row[..]).collect();
        for count in 1..=rows.len() {
            for real in [Real::F32, Real::F16, Real::Bf16, Real::U8, Real::I8] {
                both(&format!("{len} pixels of {count} as {real:?}"), |kernels| {
                    let mut out = vec![9u8; 4 * count * len + 1];
                    // SAFETY: room for four bytes of each element.
                    unsafe {
                        (kernels.precise.store)(&rows[..count], len, real, out.as_mut_ptr());
                    }
                    out.into_iter().map(f32::from).collect()
                });
            }
        }
    }
}

#[test]
fn rows_that_are_missing() {
    let mut present = 0..0;
    let all = |present: &mut _, needed| missing(present, needed).into_iter().flatten();
    assert!(all(&mut present, 2..5).eq(2..5));
    assert!(all(&mut present, 4..7).eq(5..7));
    assert!(all(&mut present, 9..11).eq(9..11));
    assert!(all(&mut present, 8..10).eq(8..9));
    assert!(all(&mut present, 8..10).eq(0..0));
}
