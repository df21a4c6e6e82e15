//! Rows of bytes between memory and textures of words, where the driver cannot import the memory.
#![expect(unsafe_code, reason = "reads and writes rows at held addresses")]

use std::ptr;

use glow::{Buffer, Framebuffer, Texture};

use super::api::{Area, Gl, Texels};

/// Rows of bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rows {
    pub(super) place: Place,
    /// Bytes from one row to the next.
    pub(super) stride: usize,
    /// Bytes of a row that may be touched.
    pub(super) bytes: usize,
    pub(super) count: usize,
}

/// Where the first byte is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place {
    Address(*mut u8),
    /// In a pixel buffer that is not mapped, with room for a word behind the last row.
    Buffer(Buffer, usize),
}

/// Rows into the texture's first words, one row of words for each.
///
/// # Safety
/// Rows at an address must be valid for reads.
pub(super) unsafe fn upload(gl: &Gl, texture: Texture, rows: Rows, scratch: &mut Vec<u8>) {
    let words = rows.bytes.div_ceil(4);
    let area = |y: usize, count: usize| Area {
        x: 0,
        y: y as i32,
        width: words as i32,
        height: count as i32,
    };
    match rows.place {
        Place::Buffer(buffer, offset) => {
            gl.upload_from(texture, area(0, rows.count), rows.stride / 4, (buffer, offset));
        }
        Place::Address(address) => {
            let regular = rows.stride.is_multiple_of(4) && words * 4 <= rows.stride;
            // The last word of the last row may reach beyond what may be read.
            let whole = if rows.bytes.is_multiple_of(4) { rows.count } else { rows.count - 1 };
            let direct = if regular { whole } else { 0 };
            if direct > 0 {
                // SAFETY: by the caller's promise; words behind a row are before the next one.
                unsafe { gl.upload(texture, area(0, direct), rows.stride / 4, address) };
            }
            if direct == rows.count {
                return;
            }
            let left = rows.count - direct;
            scratch.clear();
            scratch.resize(left * words * 4, 0);
            for (row, to) in scratch.chunks_exact_mut(words * 4).enumerate() {
                let from = address.wrapping_add((direct + row) * rows.stride);
                // SAFETY: by the caller's promise; a row of words has room for a row of bytes.
                unsafe { ptr::copy_nonoverlapping(from, to.as_mut_ptr(), rows.bytes) };
            }
            // SAFETY: the scratch memory has as many words.
            unsafe { gl.upload(texture, area(direct, left), words, scratch.as_ptr()) };
        }
    }
}

/// What a target has in a row: texels of so many bytes.
fn unit(texels: Texels) -> usize {
    if texels == Texels::Quads { 16 } else { 4 }
}

/// Whether [`download`] can go to a pixel buffer that is not mapped: rows are whole texels.
pub(super) fn whole(rows: &Rows, texels: Texels) -> bool {
    let offset = match rows.place {
        Place::Buffer(_, offset) => offset,
        Place::Address(_) => 0,
    };
    let fits = |bytes: usize| bytes.is_multiple_of(unit(texels));
    // OpenGL wants offsets to be whole numbers of what it writes.
    fits(rows.bytes) && fits(rows.stride) && offset.is_multiple_of(4)
}

/// Rows of a target into rows of bytes, and not a byte more.
///
/// # Safety
/// Rows at an address must be valid for writes.
pub(super) unsafe fn download(
    gl: &Gl,
    from: (Framebuffer, Texels),
    (x, y): (i32, i32),
    rows: Rows,
    scratch: &mut Vec<u8>,
) {
    let unit = unit(from.1);
    let width = rows.bytes.div_ceil(unit);
    let area = Area { x, y, width: width as i32, height: rows.count as i32 };
    match rows.place {
        Place::Buffer(buffer, offset) => {
            gl.read_into(from, area, rows.stride / unit, (buffer, offset));
        }
        Place::Address(address) if whole(&rows, from.1) => {
            // SAFETY: by the caller's promise; rows are whole texels.
            unsafe { gl.read(from, area, rows.stride / unit, address) };
        }
        Place::Address(address) => {
            scratch.clear();
            scratch.resize(rows.count * width * unit, 0);
            // SAFETY: the scratch memory has as many texels.
            unsafe { gl.read(from, area, width, scratch.as_mut_ptr()) };
            for (row, from) in scratch.chunks_exact(width * unit).enumerate() {
                let to = address.wrapping_add(row * rows.stride);
                // SAFETY: by the caller's promise; a row of texels has a row of bytes.
                unsafe { ptr::copy_nonoverlapping(from.as_ptr(), to, rows.bytes) };
            }
        }
    }
}
