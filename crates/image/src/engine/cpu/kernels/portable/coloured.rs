//! Rows through a colour matrix and stored as scaled numbers, without rounding in between.
#![expect(unsafe_code, reason = "kernels write rows by address")]

use half::{bf16, f16};

use crate::engine::cpu::kernels::{Coloured, Out, Real};

/// # Safety
/// See [`Kernels`](crate::engine::cpu::kernels::Kernels).
#[inline(always)]
pub(crate) unsafe fn store_coloured(coloured: Coloured<'_>, real: Real, out: Out) {
    // SAFETY: the caller's promise, in every arm.
    unsafe {
        match real {
            Real::F32 => each_coloured(coloured, out, |value| value),
            Real::F16 => each_coloured(coloured, out, f16::from_f32),
            Real::Bf16 => each_coloured(coloured, out, bf16::from_f32),
            Real::U8 => each_coloured(coloured, out, |value| value.round_ties_even() as u8),
            Real::I8 => each_coloured(coloured, out, |value| value.round_ties_even() as i8),
        }
    }
}

/// # Safety
/// See [`Kernels`](crate::engine::cpu::kernels::Kernels).
#[inline(always)]
unsafe fn each_coloured<T>(coloured: Coloured<'_>, out: Out, store: impl Fn(f32) -> T) {
    let Coloured { from, mixture, pixels, .. } = coloured;
    let packed = if mixture.alpha.is_some() { 4 } else { 3 };
    for colour in 0..3 {
        let [x, y, z] = mixture.shares[colour];
        let (first, step): (*mut T, usize) = match out {
            Out::Planes(planes) => (planes[colour].cast(), 1),
            Out::Packed { at, blue_first } => {
                let place = if blue_first { 2 - colour } else { colour };
                (at.cast::<T>().wrapping_add(place), packed)
            }
        };
        let rows = from[0].iter().zip(from[1]).zip(from[2]).take(pixels);
        for (pixel, ((a, b), c)) in rows.enumerate() {
            let value = f32::from(*a) * x + mixture.offset[colour];
            let value = f32::from(*c) * z + (f32::from(*b) * y + value);
            let value = value.max(mixture.least[colour]).min(mixture.most[colour]);
            // SAFETY: there is room for as many elements as pixels, by the caller's promise.
            unsafe { first.wrapping_add(pixel * step).write_unaligned(store(value)) };
        }
    }
    if let (Some(alpha), Out::Packed { at, .. }) = (mixture.alpha, out) {
        for pixel in 0..pixels {
            let at = at.cast::<T>().wrapping_add(packed * pixel + 3);
            // SAFETY: as above.
            unsafe { at.write_unaligned(store(alpha)) };
        }
    }
}

/// Plain stores need nothing.
///
/// # Safety
/// None is needed; the type is that of the table.
pub(crate) unsafe fn settle() {}
