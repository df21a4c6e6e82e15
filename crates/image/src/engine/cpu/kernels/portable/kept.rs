//! Sums of rows of luma and chroma, stored as bytes.
#![expect(unsafe_code, reason = "kernels write rows by address")]

use super::{part, sum};
use crate::engine::cpu::kernels::{Kept, Out, Tap};
use crate::engine::cpu::scratch::Ring;

/// # Safety
/// See [`Kernels`](crate::engine::cpu::kernels::Kernels).
pub(crate) unsafe fn store_kept(kept: &Kept<'_>, out: Out) {
    let &Kept { numbers, rings, luma, chroma, matrix, fraction, flip, pixels, .. } = kept;
    for pixel in 0..pixels {
        let of = |ring: &Ring, taps: &[Tap]| {
            sum(taps.iter().map(|tap| (numbers[ring.place(tap.row) + pixel], tap.narrow())))
        };
        let [y, u, v] = [of(rings[0], luma), of(rings[1], chroma), of(rings[2], chroma)];
        for (colour, [a, b, c]) in matrix.rows.into_iter().enumerate() {
            let offset = matrix.offset[colour].wrapping_add(1 << fraction >> 1);
            let number = part(y, a).wrapping_add(part(u, b)).wrapping_add(part(v, c));
            let code = number.wrapping_add(offset) >> fraction;
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
