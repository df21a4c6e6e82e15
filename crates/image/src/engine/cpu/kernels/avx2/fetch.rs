//! Lines of the cache that are used later, asked for in time.
//!
//! Into the second cache: the first can wait for few lines at a time, fewer than memory delivers in
//! the time that it needs for one. Pictures that are in no cache take up to a third less time so, and
//! others as long as without.

use std::arch::x86_64::*;

use crate::engine::cpu::kernels::{Out, Soon};

/// Bytes of a line of the cache.
pub(in crate::engine::cpu::kernels) const LINE: usize = 64;

/// Bytes from what is stored to what is fetched meanwhile: as many as are stored in the time that
/// memory needs, and more for what is done between two rows.
const AHEAD: usize = 16 * 1024;

/// The same from what is read: less of it is read than stored.
const READ_AHEAD: usize = 8 * 1024;

/// Asks for a line, wherever that is.
#[target_feature(enable = "sse")]
#[inline]
pub(in crate::engine::cpu::kernels) fn fetch(address: *const u8) {
    _mm_prefetch::<_MM_HINT_T1>(address.cast());
}

/// Asks for what is read after `address`, one line.
#[target_feature(enable = "sse")]
#[inline]
pub(in crate::engine::cpu::kernels) fn fetch_read(address: *const u8) {
    fetch(address.wrapping_add(READ_AHEAD));
}

/// Asks for what is stored after `address`, one line.
#[target_feature(enable = "sse")]
#[inline]
pub(in crate::engine::cpu::kernels) fn fetch_later(address: *const u8) {
    fetch(address.wrapping_add(AHEAD));
}

/// Asks for what is stored after `PIXELS` pixels, of a byte for each colour, from number `at` of a row
/// on.
#[target_feature(enable = "sse")]
#[inline]
pub(in crate::engine::cpu::kernels) fn fetch_pixels<const PIXELS: usize>(out: Out, at: usize) {
    match out {
        Out::Planes(planes) => {
            for plane in 0..3 {
                fetch_later(planes[plane].wrapping_add(at));
            }
        }
        Out::Packed { at: first, .. } => {
            for line in 0..(3 * PIXELS).div_ceil(LINE) {
                fetch_later(first.wrapping_add(3 * at + LINE * line));
            }
        }
    }
}

/// The same, and what is read soon: a few lines after some pixels and a few after others, as memory
/// delivers no more at a time than these.
#[target_feature(enable = "sse")]
#[inline]
pub(in crate::engine::cpu::kernels) fn fetch_both<const PIXELS: usize>(
    out: Out,
    at: usize,
    soon: Soon<'_>,
) {
    fetch_pixels::<PIXELS>(out, at);
    if PIXELS >= LINE || at.is_multiple_of(LINE) {
        for line in soon.lines {
            fetch(line.wrapping_add(soon.step * at));
        }
    }
}
