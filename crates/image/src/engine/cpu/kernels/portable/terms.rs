//! Sums of rows of luma and chroma, stored as bytes.
#![expect(unsafe_code, reason = "kernels write rows by address")]

use super::sum;
use crate::engine::cpu::kernels::{Out, Tap, Terms};
use crate::engine::cpu::scratch::Ring;

/// # Safety
/// See [`Kernels`](crate::engine::cpu::kernels::Kernels).
pub(crate) unsafe fn store_terms(terms: &Terms<'_>, out: Out) {
    let &Terms { numbers, kept: [kept, colours @ ..], luma, chroma, fraction, flip, pixels } =
        terms;
    for pixel in 0..pixels {
        let of = |kept: &Ring, taps: &[Tap]| {
            sum(taps.iter().map(|tap| (numbers[kept.place(tap.row) + pixel], tap.narrow())))
        };
        let luma = of(kept, luma);
        for (colour, kept) in colours.iter().enumerate() {
            let code = luma.wrapping_add(of(kept, chroma)) >> fraction;
            let byte = code.clamp(0, 255) as u8 ^ flip;
            let at = match out {
                Out::Planes(planes) => planes[colour].wrapping_add(pixel),
                Out::Packed { at, blue_first } => {
                    let place = if blue_first { 2 - colour } else { colour };
                    at.wrapping_add(3 * pixel + place)
                }
            };
            // SAFETY: the caller's promise.
            unsafe { at.write(byte) };
        }
    }
}
