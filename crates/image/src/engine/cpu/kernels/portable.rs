//! Loops in plain Rust, for every processor, and for the ends of rows on all others.
#![expect(unsafe_code, reason = "kernels read and write rows by address")]

use half::{bf16, f16};

use super::{Along, ChromaRow, Finished, Kernels, Mixed, Out, Place, Real, Scale, Way};
use crate::engine::cpu::fixed::{FixedMatrix, LANES};

pub(super) mod coloured;
pub(super) mod fill;
pub(super) mod gather;
pub(super) mod kept;
pub(super) mod precise;
pub(super) mod uniform;
pub(super) mod vertical;

use vertical::band;
pub(super) use vertical::{bytes, bytes_from, even_of, pairs, words};

pub(crate) static KERNELS: Kernels = Kernels {
    name: "portable",
    bytes,
    pairs,
    words,
    band,
    split_pairs,
    split_triples,
    split_bytes,
    to_columns,
    to_rows,
    horizontal,
    weighted,
    ways: &[Way::NARROW, Way::APART],
    gather: gather::gather,
    halved: uniform::halved,
    slid_pairs: uniform::slid_pairs,
    store_kept: kept::store_kept,
    matrix,
    mixed,
    store_columns: None,
    store_rgb: None,
    store_turned: None,
    store_bytes,
    store_real,
    store_coloured: coloured::store_coloured,
    settle: coloured::settle,
    fill: fill::fill,
    precise: precise::PRECISE,
};

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
/// From `from` on there must be two bytes for each of the shorter row.
#[inline(always)]
pub(super) unsafe fn split_bytes(from: *const u8, _ahead: usize, even: &mut [u8], odd: &mut [u8]) {
    for (at, (even, odd)) in even.iter_mut().zip(odd).enumerate() {
        // SAFETY: the caller's promise.
        [*even, *odd] = unsafe { from.add(2 * at).cast::<[u8; 2]>().read() };
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
pub(super) unsafe fn to_columns(from: &[i16], stride: usize, columns: &mut [i16]) {
    for (at, column) in columns.chunks_exact_mut(LANES).enumerate() {
        for (row, value) in column.iter_mut().enumerate() {
            *value = from[row * stride + at];
        }
    }
}

/// # Safety
/// None is needed; the type is that of the table.
#[inline(always)]
pub(super) unsafe fn to_rows<T: Copy>(columns: &[T], stride: usize, to: &mut [T]) {
    for (at, column) in columns.chunks_exact(LANES).enumerate() {
        for (row, value) in column.iter().enumerate() {
            to[row * stride + at] = *value;
        }
    }
}

/// Samples, each with its weight.
pub(crate) fn sum(samples: impl Iterator<Item = (i16, i16)>) -> i16 {
    samples.fold(0i16, |sum, (sample, weight)| sum.wrapping_add(part(sample, weight)))
}

/// # Safety
/// None is needed; the type is that of the table.
#[inline(always)]
pub(super) unsafe fn weighted(from: &[i16], rows: &[Place], out: &mut [i16]) {
    for (at, out) in out.iter_mut().enumerate() {
        *out = sum(rows.iter().map(|(start, weight)| (from[start + at], *weight)));
    }
}

/// # Safety
/// None is needed; the type is that of the table.
#[inline(always)]
pub(super) unsafe fn horizontal(along: Along<'_>, from: &[&[i16]], out: &mut [&mut [i16]]) {
    from.iter().zip(out).for_each(|(from, out)| component(along, from, out));
}

/// Weighted sums of one component.
fn component(along: Along<'_>, from: &[i16], out: &mut [i16]) {
    debug_assert!(along.is_within(from));
    let Along { first, start, step, weights, count, bits, wide, .. } = along;
    let every = along.repeated();
    let outputs = out.chunks_exact_mut(LANES).zip(first).zip(weights.chunks_exact(every * count));
    for ((out, first), weights) in outputs {
        let weights = weights.iter().step_by(every);
        let run = from[(first - start) * step * LANES..].chunks_exact(LANES).step_by(step);
        if count == 1 {
            out.copy_from_slice(&from[(first - start) * step * LANES..][..LANES]);
        } else if wide {
            let mut sums = [0i32; LANES];
            for (column, weight) in run.zip(weights) {
                for (sum, value) in sums.iter_mut().zip(column) {
                    *sum = sum.wrapping_add(i32::from(*value) * i32::from(*weight));
                }
            }
            for (out, sum) in out.iter_mut().zip(sums) {
                *out = saturated(sum.wrapping_add(1 << bits >> 1) >> bits);
            }
        } else {
            let mut sums = [0i16; LANES];
            for (column, weight) in run.zip(weights) {
                for (sum, value) in sums.iter_mut().zip(column) {
                    *sum = sum.wrapping_add(part(*value, *weight));
                }
            }
            out.copy_from_slice(&sums);
        }
    }
}

/// `(value * factor) >> 15`, rounded.
#[inline(always)]
pub(super) fn part(value: i16, factor: i16) -> i16 {
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
pub(super) unsafe fn mixed(mixed: Mixed<'_>, rows: &[(*const u8, Out)]) {
    for &(luma, out) in rows {
        // SAFETY: the caller's promise.
        unsafe { mixed_from(mixed, luma, out, 0) }
    }
}

/// A pixel's chroma between two samples.
#[inline(always)]
fn between(row: &[i16], [a, b, c, d]: [i16; 4], pixel: usize) -> i16 {
    let [before, own, after] = [row[pixel / 2], row[pixel / 2 + 1], row[pixel / 2 + 2]];
    match pixel % 2 {
        0 => part(before, a).wrapping_add(part(own, b)),
        _ => part(own, c).wrapping_add(part(after, d)),
    }
}

/// One row of [`mixed`], the pixels from `start` on.
///
/// # Safety
/// See [`Kernels`].
#[inline(always)]
pub(super) unsafe fn mixed_from(mixed: Mixed<'_>, luma: *const u8, out: Out, start: usize) {
    let Mixed { chroma, matrix, flip, pixels } = mixed;
    for pixel in start..pixels {
        let (u, v) = match chroma {
            ChromaRow::Whole([u, v]) => (u[pixel], v[pixel]),
            ChromaRow::Halved([u, v]) => (u[pixel / 2], v[pixel / 2]),
            ChromaRow::Doubled { rows: [u, v], weights } => {
                (between(u, weights, pixel), between(v, weights, pixel))
            }
            ChromaRow::Bytes { at, red_first } => {
                // SAFETY: two bytes for two pixels, by the caller's promise.
                let byte =
                    |which: bool| unsafe { *at.wrapping_add(pixel / 2 * 2 + usize::from(which)) };
                (i16::from(byte(red_first)) << 7, i16::from(byte(!red_first)) << 7)
            }
        };
        // SAFETY: as many bytes of luma as pixels, by the caller's promise.
        let y = i16::from(unsafe { *luma.wrapping_add(pixel) }) << 7;
        let colours = [0, 1, 2].map(|row| {
            let [a, b, c] = matrix.rows[row];
            let terms = part(y, a).wrapping_add(part(u, b)).wrapping_add(part(v, c));
            let code = terms.wrapping_add(matrix.offset[row]).saturating_add(16) >> 5;
            code.clamp(0, 255) as u8 ^ flip
        });
        let [red, green, blue] = colours;
        // SAFETY: as many bytes to write as pixels ask, by the caller's promise.
        unsafe {
            match out {
                Out::Planes(rows) => {
                    rows.into_iter()
                        .zip(colours)
                        .for_each(|(row, byte)| row.add(pixel).write(byte));
                }
                Out::Packed { at, blue_first } => {
                    let pair = if blue_first { [blue, red] } else { [red, blue] };
                    let at = at.add(3 * pixel);
                    at.write(pair[0]);
                    at.add(1).write(green);
                    at.add(2).write(pair[1]);
                }
            }
        }
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
