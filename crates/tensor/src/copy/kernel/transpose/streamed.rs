//! Matrices larger than the caches: tiles are turned in a buffer that stays in the first cache, and
//! whole lines of the result are written past the caches.
//!
//! Rows of a large matrix are often a multiple of a page apart, where all of them fall into the few
//! places that a cache has for such addresses: the lines of a tile drive each other out before they
//! are complete, and each is fetched and written several times. Here a line is written once, and not
//! fetched at all. Rows that start in the middle of a line have their two ends written as usual.
#![expect(unsafe_code, reason = "vector registers and strided addresses")]

use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};
use std::mem::MaybeUninit;

use bytemuck::Pod;
use tenure_layout::Axis;

use super::{REGISTER, block, line};

#[cfg(test)]
mod tests;

/// From this many bytes on, with as many read: second caches are about as large.
pub(super) const LARGE: usize = 2 << 20;
/// Bytes of a cache line.
const LINE: usize = 64;
/// Bytes of the buffer: most of a first cache.
const BUFFER: usize = 24 << 10;

#[repr(align(64))]
struct Buffer([MaybeUninit<u8>; BUFFER]);

/// The sides of a tile of elements of `size` bytes: how many rows are read, as many pages are looked
/// up at a time; and how many elements of each, whose lines come faster together.
const fn sides(size: usize) -> (usize, usize) {
    if size == 1 { (128, 128) } else { (64, 256 / size) }
}

/// Exchanges rows and columns as [`super::transpose`] does.
///
/// # Safety
/// As [`super::transpose`].
pub(super) unsafe fn transpose<T: Pod>(outer: Axis, inner: Axis, d: *mut u8, s: *const u8) {
    let mut buffer = Buffer([MaybeUninit::uninit(); BUFFER]);
    let turned = buffer.0.as_mut_ptr().cast::<u8>();
    let (size, lanes) = (size_of::<T>(), REGISTER / size_of::<T>());
    let (across, down) = sides(size);
    // Rows that start in the middle of a line: a tile of them writes the lines that start in it, the
    // last of which ends in the next tile.
    let aligned = d.addr().is_multiple_of(LINE) && outer.write % LINE as isize == 0;
    let beyond = if aligned { 0 } else { LINE / size };
    let pitch = (across + beyond) * size;
    for j0 in (0..inner.len).step_by(across) {
        let wide = (across + beyond).min(inner.len - j0);
        let is_last = j0 + across >= inner.len;
        for i0 in (0..outer.len).step_by(down) {
            let down = down.min(outer.len - i0);
            let read = |i: usize, j: usize| {
                let (i, j) = ((i0 + i) as isize, (j0 + j) as isize);
                s.wrapping_offset(i * outer.read + j * inner.read)
            };
            let place = |i: usize, j: usize| turned.wrapping_add(i * pitch + j * size);
            let (whole_down, whole_wide) = (down / lanes * lanes, wide / lanes * lanes);
            for j in (0..whole_wide).step_by(lanes) {
                for i in (0..whole_down).step_by(lanes) {
                    // SAFETY: `lanes` rows and columns of the caller's loops, and of the buffer,
                    // which has `down` rows of `pitch` bytes.
                    unsafe { block::<T>(place(i, j), pitch as isize, read(i, j), inner.read) }
                }
            }
            for i in 0..down {
                let from = if i < whole_down { whole_wide } else { 0 };
                let rest = Axis { len: wide - from, write: size as isize, read: inner.read };
                // SAFETY: a part of the caller's loops, and of the buffer.
                unsafe { line::<T>(rest, place(i, from), read(i, from)) }
            }
            for i in 0..down {
                let (to, from) = ((i0 + i) as isize * outer.write, j0 as isize * inner.write);
                let d = d.wrapping_offset(to + from);
                // Up to the first line that starts here the tile before has written.
                let start = if j0 == 0 { 0 } else { d.align_offset(LINE) };
                let next = d.wrapping_add(across * size);
                let end =
                    if is_last { wide * size } else { across * size + next.align_offset(LINE) };
                let start = start.min(end);
                let (d, s) = (d.wrapping_add(start), place(i, 0).wrapping_add(start));
                // SAFETY: bytes of a row that the caller's loops write without gaps. They are in
                // the buffer: a line reaches less than `beyond` elements into the next tile, which
                // has so many, or is the last.
                unsafe { write_past(d, s, end.min(wide * size) - start) }
            }
        }
    }
    // What was written past the caches has to be seen before whatever tells that it was.
    // SAFETY: SSE is part of every x86-64 processor.
    unsafe { _mm_sfence() }
}

/// Copies; whole cache lines of `d` go past the caches.
///
/// # Safety
/// Both must be valid for `len` bytes, and apart.
#[inline(always)]
unsafe fn write_past(d: *mut u8, s: *const u8, len: usize) {
    let head = d.align_offset(LINE).min(len);
    let lines = (len - head) / LINE;
    // SAFETY: `head + lines * LINE <= len`, and `d` is on a line's boundary behind `head`.
    unsafe {
        s.copy_to_nonoverlapping(d, head);
        for at in (head..head + lines * LINE).step_by(REGISTER) {
            let register = _mm_loadu_si128(s.add(at).cast::<__m128i>());
            _mm_stream_si128(d.add(at).cast::<__m128i>(), register);
        }
        let rest = head + lines * LINE;
        s.add(rest).copy_to_nonoverlapping(d.add(rest), len - rest);
    }
}
