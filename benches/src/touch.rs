//! Memory that is there: no measurement should pay for the first touch of a page.

use std::hint::black_box;

/// No page of a system we run on is smaller.
const PAGE: usize = 4096;

/// Writes to every page of `bytes`. What they held is lost.
pub fn touch(bytes: &mut [u8]) {
    for page in bytes.chunks_mut(PAGE) {
        if let Some(byte) = page.first_mut() {
            *byte = black_box(1);
        }
    }
}

/// Writes to every line of the cache that `bytes` have, which brings all of them into it, and others out.
pub(crate) fn touch_lines(bytes: &mut [u8]) {
    const LINE: usize = 64;
    for line in bytes.chunks_mut(LINE) {
        if let Some(byte) = line.first_mut() {
            *byte = black_box(byte.wrapping_add(1));
        }
    }
}

/// `len` bytes, all of whose pages have been touched.
#[must_use]
pub fn touched(len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    touch(&mut bytes);
    bytes
}
