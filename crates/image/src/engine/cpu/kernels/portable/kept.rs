//! Sums of rows of luma and chroma, stored as bytes.
#![expect(unsafe_code, reason = "kernels write rows by address")]

use super::{part, sum};
use crate::engine::cpu::kernels::{Kept, Out, Tap};
use crate::engine::cpu::scratch::Ring;

/// # Safety
/// See [`Kernels`](crate::engine::cpu::kernels::Kernels).
pub(crate) unsafe fn store_kept(kept: &Kept<'_>, out: Out) {
    let &Kept { numbers, rings, luma, chroma, matrix, flip, pixels, .. } = kept;
    let [[_, _, red], [_, green_u, green_v], [_, blue, _]] = matrix.rows;
    for pixel in 0..pixels {
        let of = |ring: &Ring, taps: &[Tap]| {
            sum(taps.iter().map(|tap| (numbers[ring.place(tap.row) + pixel], tap.narrow())))
        };
        let [y, u, v] = [of(rings[0], luma), of(rings[1], chroma), of(rings[2], chroma)];
        let green = part(u, green_u).wrapping_add(part(v, green_v));
        for (colour, number) in [part(v, red), green, part(u, blue)].into_iter().enumerate() {
            let code = y.wrapping_add(number) >> Kept::FRACTION;
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
