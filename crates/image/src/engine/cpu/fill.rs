//! The part of a destination rectangle that the picture does not cover.
#![expect(unsafe_code, reason = "writes rows of held memory")]

use half::{bf16, f16};
use smallvec::SmallVec;
use tenure_layout::{DType, Region};

use crate::component::components;
use crate::held::PlaneAddress;
use crate::job::Recipe;

/// Fills everything of the rectangle but the content.
///
/// # Safety
/// The planes must be held to write and be those of an image of the recipe's kind.
pub(crate) unsafe fn fill(recipe: &Recipe, target: &[PlaneAddress]) {
    let (all, content) = (recipe.geometry.rectangle, recipe.geometry.content);
    let (right, bottom) = (content.x + content.width, content.y + content.height);
    let (all_right, all_bottom) = (all.x + all.width, all.y + all.height);
    let around = [
        Region::new(all.x, all.y, all.width, content.y - all.y),
        Region::new(all.x, bottom, all.width, all_bottom - bottom),
        Region::new(all.x, content.y, content.x - all.x, content.height),
        Region::new(right, content.y, all_right - right, content.height),
    ];
    let own = components(recipe.target.format);
    let size = recipe.target.dtype.size().unwrap_or(1);
    for (index, plane) in target.iter().enumerate() {
        let mut here = own.iter().enumerate().filter(|(_, component)| component.plane == index);
        let Some((_, first)) = here.clone().next() else { continue };
        let mut pixel: SmallVec<[u8; 16]> = SmallVec::from_elem(0, first.step * size);
        here.try_for_each(|(channel, component)| {
            let at = component.first * size;
            let bytes = element(recipe, channel);
            pixel.get_mut(at..at + size).map(|into| into.copy_from_slice(&bytes[..size]))
        });
        let grey = pixel.iter().all(|byte| *byte == pixel[0]).then(|| pixel[0]);
        for region in around.iter().filter(|region| region.width > 0 && region.height > 0) {
            let columns = region.x / first.across..(region.x + region.width).div_ceil(first.across);
            let rows = region.y / first.down..(region.y + region.height).div_ceil(first.down);
            let (start, len) = (columns.start * pixel.len(), columns.len() * pixel.len());
            let first_row = plane.row(rows.start).wrapping_add(start);
            for row in rows.clone() {
                let out = plane.row(row).wrapping_add(start);
                // SAFETY: the region is inside the image, whose plane is held to write; rows do
                // not overlap.
                unsafe {
                    match grey {
                        // Nothing has to be read for it.
                        Some(byte) => out.write_bytes(byte, len),
                        None if row == rows.start => repeat(&pixel, out, len),
                        None => first_row.copy_to_nonoverlapping(out, len),
                    }
                }
            }
        }
    }
}

/// Writes `pixel` again and again over `len` bytes.
///
/// # Safety
/// `out` must be valid for writes of `len` bytes.
unsafe fn repeat(pixel: &[u8], out: *mut u8, len: usize) {
    let mut done = pixel.len().min(len);
    // SAFETY: inside `len` bytes; what is copied from was written before.
    unsafe {
        pixel.as_ptr().copy_to_nonoverlapping(out, done);
        while done < len {
            let more = done.min(len - done);
            out.copy_to_nonoverlapping(out.wrapping_add(done), more);
            done += more;
        }
    }
}

/// The bytes of a fill colour's channel as it is stored.
fn element(recipe: &Recipe, channel: usize) -> [u8; 4] {
    let value = recipe.fill()[channel & 3].clamp(0.0, 255.0);
    // Colours are codes: a conversion to luma and chroma rounds as it does for pixels.
    let value = if recipe.target.format.is_yuv() { value.round() } else { value };
    let affine = &recipe.affine;
    let real = value as f32 * affine.multiply[channel & 3] + affine.add[channel & 3];
    let mut bytes = [0; 4];
    match recipe.target.dtype {
        DType::F32 => bytes = real.to_ne_bytes(),
        DType::F16 => bytes[..2].copy_from_slice(&f16::from_f32(real).to_ne_bytes()),
        DType::Bf16 => bytes[..2].copy_from_slice(&bf16::from_f32(real).to_ne_bytes()),
        DType::I8 => bytes[0] = (real.round() as i8) as u8,
        _ => bytes[0] = real.round() as u8,
    }
    bytes
}
