//! Sums in floating point.
#![expect(unsafe_code, reason = "kernels read and write rows by address")]

use half::{bf16, f16};

use super::to_rows;
use crate::engine::cpu::fixed::LANES;
use crate::engine::cpu::kernels::Real;
use crate::engine::cpu::kernels::precise::{Blend, ColumnSums, Precise, RowSums};

pub(crate) const PRECISE: Precise = Precise { rows, columns, blend, to_rows, store };

/// # Safety
/// See [`Precise`].
pub(crate) unsafe fn rows(sums: &RowSums<'_>, _: &mut [f32], columns: &mut [f32]) {
    // SAFETY: the caller's promise.
    unsafe { rows_from(sums, columns, 0) }
}

/// As [`rows`] for the columns from `start` on.
///
/// # Safety
/// See [`Precise`].
pub(crate) unsafe fn rows_from(sums: &RowSums<'_>, columns: &mut [f32], start: usize) {
    // SAFETY: rows have as many elements as there are columns, by the caller's promise; words may be
    // unaligned.
    unsafe {
        match sums.words {
            false => sum_rows(sums, columns, start, |row, at| f32::from(row.add(at).read())),
            true => sum_rows(sums, columns, start, |row, at| {
                f32::from(row.cast::<u16>().add(at).read_unaligned()) / 256.0
            }),
        }
    }
}

/// In squares of columns, so that elements of a row that are read are beside each other.
#[inline(always)]
fn sum_rows(
    sums: &RowSums<'_>,
    columns: &mut [f32],
    start: usize,
    element: impl Fn(*const u8, usize) -> f32,
) {
    for at in (start..columns.len() / LANES).step_by(LANES) {
        let square = &mut columns[at * LANES..];
        let square = square.chunks_exact_mut(LANES).take(LANES);
        let len = square.len();
        let mut totals = [[0.0f32; LANES]; LANES];
        for (total, output) in totals.iter_mut().zip(sums.rows.clone()) {
            let (first, weights) = sums.down.run(output);
            for (row, weight) in (first..).zip(weights) {
                let row = sums.row(row);
                for (index, sum) in total[..len].iter_mut().enumerate() {
                    *sum += weight * element(row, at + index);
                }
            }
        }
        for (index, column) in square.enumerate() {
            column.iter_mut().zip(&totals).for_each(|(number, total)| *number = total[index]);
        }
    }
}

/// # Safety
/// See [`Precise`].
pub(crate) unsafe fn columns(sums: &ColumnSums<'_>, from: &[f32], out: &mut [f32]) {
    for (output, out) in sums.outputs.clone().zip(out.chunks_exact_mut(LANES)) {
        let (from, weights) = sums.run(output, from);
        let mut total = [0.0; LANES];
        for (column, weight) in from.chunks_exact(LANES).step_by(sums.step).zip(weights) {
            for (sum, value) in total.iter_mut().zip(column) {
                *sum += weight * value;
            }
        }
        out.copy_from_slice(&total);
    }
}

/// # Safety
/// None is needed; the type is that of the table.
#[inline(always)]
pub(crate) unsafe fn blend(blend: Blend<'_>, out: &mut [f32]) {
    let Blend { parts, offset, least, most } = blend;
    let limited = |value: f32| value.max(least).min(most);
    match parts {
        [] => out.fill(limited(offset)),
        [(a, x)] => {
            for (out, x) in out.iter_mut().zip(*x) {
                *out = limited(x * a + offset);
            }
        }
        [(a, x), (b, y)] => {
            for ((out, x), y) in out.iter_mut().zip(*x).zip(*y) {
                *out = limited(y * b + (x * a + offset));
            }
        }
        [(a, x), (b, y), (c, z), ..] => {
            for (((out, x), y), z) in out.iter_mut().zip(*x).zip(*y).zip(*z) {
                *out = limited(z * c + (y * b + (x * a + offset)));
            }
        }
    }
}

/// # Safety
/// See [`Precise`].
pub(crate) unsafe fn store(rows: &[&[f32]], pixels: usize, real: Real, out: *mut u8) {
    // SAFETY: the caller's promise, in every arm.
    unsafe {
        match real {
            Real::F32 => each(rows, pixels, out.cast::<f32>(), |value| value),
            Real::F16 => each(rows, pixels, out.cast::<f16>(), f16::from_f32),
            Real::Bf16 => each(rows, pixels, out.cast::<bf16>(), bf16::from_f32),
            Real::U8 => each(rows, pixels, out, |value| value.round_ties_even() as u8),
            Real::I8 => {
                each(rows, pixels, out.cast::<i8>(), |value| value.round_ties_even() as i8);
            }
        }
    }
}

/// # Safety
/// See [`Precise`].
unsafe fn each<T>(rows: &[&[f32]], pixels: usize, out: *mut T, store: impl Fn(f32) -> T) {
    for (channel, row) in rows.iter().enumerate() {
        for (pixel, value) in row.iter().enumerate().take(pixels) {
            let at = out.wrapping_add(pixel * rows.len() + channel);
            // SAFETY: a pixel has as many elements as there are rows, by the caller's promise.
            unsafe { at.write_unaligned(store(*value)) };
        }
    }
}
