//! Loops in plain Rust, for every processor, and for the ends of rows on all others.
#![expect(unsafe_code, reason = "kernels read and write rows by address")]

use half::{bf16, f16};

use super::{Finished, Kernels, Real, Scale, Sum};
use crate::engine::cpu::fixed::{FixedMatrix, Horizontal};

pub(crate) static KERNELS: Kernels = Kernels {
    name: "portable",
    bytes,
    pairs,
    words,
    split_pairs,
    split_triples,
    horizontal,
    matrix,
    store_bytes,
    store_real,
};

/// Numbers that are summed together while the compiler keeps them in registers.
const CHUNK: usize = 16;

/// # Safety
/// See [`Kernels`].
#[inline(always)]
pub(super) unsafe fn bytes(sum: Sum<'_>, out: &mut [i16]) {
    // SAFETY: the caller's promise.
    unsafe { sum_from(sum, out, 1, 0, 0) }
}

/// # Safety
/// See [`Kernels`].
#[inline(always)]
pub(super) unsafe fn pairs(sum: Sum<'_>, even: &mut [i16], odd: &mut [i16]) {
    // SAFETY: the caller's promise.
    unsafe {
        sum_from(sum, even, 2, 0, 0);
        sum_from(sum, odd, 2, 1, 0);
    }
}

/// The sum of bytes `step` apart from byte `first` on, for the outputs from `start` on.
///
/// # Safety
/// See [`Kernels`].
#[inline(always)]
pub(super) unsafe fn sum_from(
    sum: Sum<'_>,
    out: &mut [i16],
    step: usize,
    first: usize,
    start: usize,
) {
    for (chunk, out) in out[start..].chunks_mut(CHUNK).enumerate() {
        let at = first + (start + chunk * CHUNK) * step;
        // SAFETY: as many bytes as outputs, by the caller's promise.
        let byte = |row: *const u8, index: usize| unsafe { *row.wrapping_add(at + index * step) };
        if sum.wide {
            let mut sums = [0i32; CHUNK];
            for tap in sum.taps {
                for (index, sum) in sums.iter_mut().enumerate().take(out.len()) {
                    *sum += i32::from(byte(tap.row, index)) * tap.weight;
                }
            }
            let shift = sum.bits - sum.fraction;
            for (out, sum) in out.iter_mut().zip(sums) {
                *out = saturated((sum + (1 << shift >> 1)) >> shift);
            }
        } else {
            let mut sums = [(sum.taps.len() / 2) as i16; CHUNK];
            for tap in sum.taps {
                for (index, sum) in sums.iter_mut().enumerate().take(out.len()) {
                    add(sum, u32::from(byte(tap.row, index)) << 8, tap.weight);
                }
            }
            out.copy_from_slice(&sums[..out.len()]);
        }
    }
}

/// # Safety
/// See [`Kernels`].
#[inline(always)]
pub(super) unsafe fn words(sum: Sum<'_>, out: &mut [i16]) {
    for (index, out) in out.iter_mut().enumerate() {
        // SAFETY: as many words as outputs, by the caller's promise; rows may be unaligned.
        let word =
            |row: *const u8| unsafe { row.cast::<u16>().wrapping_add(index).read_unaligned() };
        *out = if sum.wide {
            let terms = sum.taps.iter().map(|tap| i32::from(word(tap.row) >> 1) * tap.weight);
            let shift = sum.bits + 7 - sum.fraction;
            saturated((terms.sum::<i32>() + (1 << shift >> 1)) >> shift)
        } else {
            let mut total = (sum.taps.len() / 2) as i16;
            for tap in sum.taps {
                add(&mut total, u32::from(word(tap.row)), tap.weight);
            }
            total
        };
    }
}

/// Adds the upper half of the product of 16 bits and a weight.
#[inline(always)]
fn add(sum: &mut i16, value: u32, weight: i32) {
    let product = ((value * weight.unsigned_abs()) >> 16) as i16;
    *sum = if weight < 0 { sum.saturating_sub(product) } else { sum.saturating_add(product) };
}

#[inline(always)]
fn saturated(value: i32) -> i16 {
    value.clamp(i32::from(i16::MIN), i32::from(i16::MAX)) as i16
}

/// # Safety
/// None is needed; the type is that of the table.
#[inline(always)]
pub(super) unsafe fn split_pairs(from: &[i16], even: &mut [i16], odd: &mut [i16]) {
    for ((pair, even), odd) in from.chunks_exact(2).zip(even).zip(odd) {
        (*even, *odd) = (pair[0], pair[1]);
    }
}

/// # Safety
/// None is needed; the type is that of the table.
#[inline(always)]
pub(super) unsafe fn split_triples(from: &[i16], [a, b, c]: [&mut [i16]; 3]) {
    for (((triple, a), b), c) in from.chunks_exact(3).zip(a).zip(b).zip(c) {
        (*a, *b, *c) = (triple[0], triple[1], triple[2]);
    }
}

/// # Safety
/// None is needed; the type is that of the table.
#[inline(always)]
pub(super) unsafe fn horizontal(table: &Horizontal, from: &[i16], out: &mut [i16]) {
    let (window, bits) = (table.window, table.bits);
    for ((out, first), weights) in
        out.iter_mut().zip(&table.first).zip(table.weights.chunks(window))
    {
        let run = &from[*first as usize..][..window];
        let terms = run.iter().zip(weights).map(|(a, b)| i32::from(*a) * i32::from(*b));
        let sum = terms.fold(0i32, i32::wrapping_add);
        *out = saturated(sum.wrapping_add(1 << bits >> 1) >> bits);
    }
}

/// `(value * factor) >> 15`, rounded.
#[inline(always)]
fn part(value: i16, factor: i16) -> i16 {
    ((i32::from(value) * i32::from(factor) + 0x4000) >> 15) as i16
}

/// # Safety
/// None is needed; the type is that of the table.
#[inline(always)]
pub(super) unsafe fn matrix(matrix: &FixedMatrix, from: [&[i16]; 3], to: [&mut [i16]; 3]) {
    let ([x, y, z], [a, b, c]) = (from, to);
    let from = x.iter().zip(y).zip(z);
    for (((x, y), z), ((a, b), c)) in from.zip(a.iter_mut().zip(b).zip(c)) {
        let value = [*x, *y, *z];
        let row = |row: usize| {
            let [x, y, z] = matrix.rows[row];
            part(value[0], x)
                .wrapping_add(part(value[1], y))
                .wrapping_add(part(value[2], z))
                .wrapping_add(matrix.offset[row])
        };
        (*a, *b, *c) = (row(0), row(1), row(2));
    }
}

/// # Safety
/// See [`Kernels`].
#[inline(always)]
pub(super) unsafe fn store_bytes(finished: Finished<'_>, flip: u8, out: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe { store_bytes_from(finished, flip, out, 0) }
}

/// As [`store_bytes`] for the pixels from `start` on.
///
/// # Safety
/// See [`Kernels`].
#[inline(always)]
pub(super) unsafe fn store_bytes_from(
    finished: Finished<'_>,
    flip: u8,
    out: *mut u8,
    start: usize,
) {
    let Finished { rows, fraction, pixels } = finished;
    for (channel, row) in rows.iter().enumerate() {
        for (pixel, value) in row.iter().enumerate().take(pixels).skip(start) {
            let code = value.saturating_add(1 << fraction >> 1) >> fraction;
            let byte = code.clamp(0, 255) as u8 ^ flip;
            // SAFETY: a pixel has as many bytes as there are rows, by the caller's promise.
            unsafe { out.wrapping_add(pixel * rows.len() + channel).write(byte) }
        }
    }
}

/// # Safety
/// See [`Kernels`].
#[inline(always)]
pub(super) unsafe fn store_real(finished: Finished<'_>, scale: &Scale, real: Real, out: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe { store_real_from(finished, scale, real, out, 0) }
}

/// As [`store_real`] for the pixels from `start` on.
///
/// # Safety
/// See [`Kernels`].
#[inline(always)]
pub(super) unsafe fn store_real_from(
    finished: Finished<'_>,
    scale: &Scale,
    real: Real,
    out: *mut u8,
    start: usize,
) {
    // SAFETY: the caller's promise, in every arm.
    unsafe {
        match real {
            Real::F32 => each(finished, scale, start, out.cast::<f32>(), |value| value),
            Real::F16 => each(finished, scale, start, out.cast::<f16>(), f16::from_f32),
            Real::Bf16 => each(finished, scale, start, out.cast::<bf16>(), bf16::from_f32),
            Real::U8 => each(finished, scale, start, out, |value| value.round_ties_even() as u8),
            Real::I8 => {
                each(finished, scale, start, out.cast::<i8>(), |value| {
                    value.round_ties_even() as i8
                });
            }
        }
    }
}

/// # Safety
/// See [`Kernels`].
#[inline(always)]
unsafe fn each<T>(
    finished: Finished<'_>,
    scale: &Scale,
    start: usize,
    out: *mut T,
    store: impl Fn(f32) -> T,
) {
    let Finished { rows, fraction, pixels } = finished;
    let (unit, white) = (1.0 / (1u32 << fraction) as f32, 255i16 << fraction);
    for (channel, row) in rows.iter().enumerate() {
        let (multiply, add) = (scale.multiply[channel & 3] * unit, scale.add[channel & 3]);
        for (pixel, value) in row.iter().enumerate().take(pixels).skip(start) {
            let value = f32::from((*value).clamp(0, white));
            // SAFETY: a pixel has as many elements as there are rows, by the caller's promise.
            unsafe {
                let at = out.wrapping_add(pixel * rows.len() + channel);
                at.write_unaligned(store(value * multiply + add));
            }
        }
    }
}
