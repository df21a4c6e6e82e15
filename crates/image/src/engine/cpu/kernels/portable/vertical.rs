//! Sums of rows.
#![expect(unsafe_code, reason = "kernels read rows by address")]

use super::{saturated, to_columns};
use crate::engine::cpu::fixed::LANES;
#[cfg(doc)]
use crate::engine::cpu::kernels::Kernels;
use crate::engine::cpu::kernels::{BELOW, Band, Sum, Tap};

/// # Safety
/// See [`Kernels`].
#[inline(always)]
pub(in super::super) unsafe fn bytes(sum: Sum<'_>, out: &mut [i16]) {
    // SAFETY: the caller's promise.
    unsafe { bytes_from(sum, out, 0) }
}

/// As [`bytes`] for the outputs from `start` on, which is even.
///
/// # Safety
/// See [`Kernels`].
#[inline(always)]
pub(in super::super) unsafe fn bytes_from(sum: Sum<'_>, out: &mut [i16], start: usize) {
    for (index, pair) in out.chunks_mut(2).enumerate().skip(start / 2) {
        // SAFETY: as many bytes as outputs, by the caller's promise.
        unsafe {
            match pair {
                [even, odd] => (*even, *odd) = pair_of(sum, 2 * index),
                [even] => *even = even_of(sum, 2 * index),
                _ => {}
            }
        }
    }
}

/// # Safety
/// See [`Kernels`].
#[inline(always)]
pub(in super::super) unsafe fn pairs(sum: Sum<'_>, even: &mut [i16], odd: &mut [i16]) {
    for (index, (even, odd)) in even.iter_mut().zip(odd).enumerate() {
        // SAFETY: two bytes for each output, by the caller's promise.
        (*even, *odd) = unsafe { pair_of(sum, 2 * index) };
    }
}

/// The sums of two bytes beside each other.
///
/// # Safety
/// The rows must be valid for reads at `at` and after it.
#[inline(always)]
unsafe fn pair_of(sum: Sum<'_>, at: usize) -> (i16, i16) {
    // SAFETY: the caller's promise.
    let byte = |tap: &Tap, at: usize| unsafe { *sum.row(tap).wrapping_add(at) };
    if sum.wide {
        let wide = |at: usize| wide_sum(sum, |tap| i32::from(byte(tap, at)));
        return (wide(at), wide(at + 1));
    }
    // SAFETY: the caller's promise.
    let even = unsafe { even_of(Sum { finer: false, ..sum }, at) };
    let mut odd = sum.begin;
    for tap in sum.taps {
        let both = u32::from(byte(tap, at + 1)) << 8 | u32::from(byte(tap, at));
        add(&mut odd, both, tap.weight());
    }
    // What the lower byte added is the other sum, 256 times smaller.
    if sum.finer {
        let odd = (odd as u16).wrapping_sub(even as u16 >> 8);
        let odd = odd.wrapping_add(BELOW).saturating_sub(BELOW);
        return (done(even), done(odd as i16));
    }
    (even, odd.wrapping_sub(even >> 8))
}

/// The sum of one byte of each row.
///
/// # Safety
/// The rows must be valid for reads at `at`.
#[inline(always)]
pub(in super::super) unsafe fn even_of(sum: Sum<'_>, at: usize) -> i16 {
    // SAFETY: the caller's promise.
    let byte = |tap: &Tap| unsafe { *sum.row(tap).wrapping_add(at) };
    if sum.wide {
        return wide_sum(sum, |tap| i32::from(byte(tap)));
    }
    let mut even = sum.begin;
    sum.taps.iter().for_each(|tap| add(&mut even, u32::from(byte(tap)) << 8, tap.weight()));
    if sum.finer { done(even) } else { even }
}

/// A sum without the bit that it had more.
#[inline(always)]
fn done(finer: i16) -> i16 {
    (finer as u16 >> 1) as i16
}

/// A sum in 32 bits.
#[inline(always)]
fn wide_sum(sum: Sum<'_>, value: impl Fn(&Tap) -> i32) -> i16 {
    let shift = sum.bits - sum.fraction;
    let total: i32 = sum.taps.iter().map(|tap| value(tap) * tap.weight()).sum();
    saturated((total + (1 << shift >> 1)) >> shift)
}

/// # Safety
/// See [`Kernels`].
#[inline(always)]
pub(in super::super) unsafe fn words(sum: Sum<'_>, out: &mut [i16]) {
    for (index, out) in out.iter_mut().enumerate() {
        // SAFETY: as many words as outputs, by the caller's promise; rows may be unaligned.
        let word =
            |tap: &Tap| unsafe { sum.row(tap).cast::<u16>().wrapping_add(index).read_unaligned() };
        *out = if sum.wide {
            let terms = sum.taps.iter().map(|tap| i32::from(word(tap) >> 1) * tap.weight());
            let shift = sum.bits + 7 - sum.fraction;
            saturated((terms.sum::<i32>() + (1 << shift >> 1)) >> shift)
        } else {
            let mut total = sum.begin;
            for tap in sum.taps {
                add(&mut total, u32::from(word(tap)), tap.weight());
            }
            total
        };
    }
}

/// # Safety
/// See [`Kernels`].
pub(super) unsafe fn band(band: &Band<'_>, rows: &mut [i16], stride: usize, columns: &mut [i16]) {
    let n = columns.len() / LANES;
    for (lane, row) in rows.chunks_mut(stride.max(1)).take(LANES).enumerate() {
        // SAFETY: the caller's promise.
        unsafe { bytes(band.lane(lane), &mut row[..n]) };
    }
    // SAFETY: none is needed.
    unsafe { to_columns(rows, stride, columns) };
}

/// Adds the upper half of the product of 16 bits and a weight.
#[inline(always)]
fn add(sum: &mut i16, value: u32, weight: i32) {
    let product = ((value * weight.unsigned_abs()) >> 16) as i16;
    *sum = if weight < 0 { sum.wrapping_sub(product) } else { sum.wrapping_add(product) };
}
