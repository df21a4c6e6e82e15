//! Rows summed while they are resized with the same weights all along.
#![expect(unsafe_code, reason = "reads rows by address")]

use super::{saturated, sum};
use crate::engine::cpu::kernels::{Sum, Uniform};

/// Where the first sample of a row is, and bytes from it to the next.
pub(crate) type Samples = (usize, usize);

/// Samples that lie beside each other, and those of two components in turn.
pub(crate) const ALONE: Samples = (0, 1);
pub(crate) const FIRSTS: Samples = (0, 2);
pub(crate) const SECONDS: Samples = (1, 2);

/// # Safety
/// See [`Kernels`](crate::engine::cpu::kernels::Kernels).
pub(crate) unsafe fn halved(rows: Sum<'_>, halves: &Uniform<4>, out: &mut [i16]) {
    // SAFETY: the caller's promise.
    unsafe { each(rows, halves, 2, ALONE, out) }
}

/// # Safety
/// See [`Kernels`](crate::engine::cpu::kernels::Kernels).
pub(crate) unsafe fn slid_pairs(
    rows: Sum<'_>,
    pairs: &Uniform<2>,
    first: &mut [i16],
    second: &mut [i16],
) {
    // SAFETY: the caller's promise.
    unsafe {
        each(rows, pairs, 1, FIRSTS, first);
        each(rows, pairs, 1, SECONDS, second);
    }
}

/// Outputs whose samples begin `step` further along each.
///
/// # Safety
/// As [`halved`].
unsafe fn each<const SAMPLES: usize>(
    rows: Sum<'_>,
    uniform: &Uniform<SAMPLES>,
    step: usize,
    samples: Samples,
    out: &mut [i16],
) {
    for (at, output) in uniform.same.clone().enumerate() {
        let first = uniform.first + step * at;
        out[output] = sum(rows.taps.iter().map(|tap| {
            let mut along = 0i16;
            for (index, weight) in uniform.weights.iter().enumerate() {
                let at = samples.0 + (first + index) * samples.1;
                // SAFETY: the samples of every output, by the caller's promise.
                let sample = unsafe { *rows.row(tap).wrapping_add(at) };
                along = along.wrapping_add(i16::from(sample) * i16::from(*weight));
            }
            (along, tap.narrow())
        }));
    }
    // SAFETY: the caller's promise.
    unsafe { ends(rows, uniform, samples, out) };
}

/// The outputs at the ends: rows are summed before samples are.
///
/// # Safety
/// As [`halved`].
pub(crate) unsafe fn ends<const SAMPLES: usize>(
    rows: Sum<'_>,
    uniform: &Uniform<SAMPLES>,
    samples: Samples,
    out: &mut [i16],
) {
    for end in &uniform.ends {
        let mut along = 1 << 14;
        for (index, weight) in end.weights.iter().enumerate() {
            let at = samples.0 + (end.first + index) * samples.1;
            let down = sum(rows.taps.iter().map(|tap| {
                // SAFETY: the samples of every output, by the caller's promise.
                let sample = unsafe { *rows.row(tap).wrapping_add(at) };
                (i16::from(sample) << 7, tap.narrow())
            }));
            along += i32::from(down) * i32::from(*weight);
        }
        out[end.output] = saturated(along >> 15);
    }
}
