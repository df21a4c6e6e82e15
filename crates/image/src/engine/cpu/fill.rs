//! The part of a destination rectangle that the picture does not cover.
#![expect(unsafe_code, reason = "writes rows of held memory")]

use half::{bf16, f16};
use smallvec::SmallVec;
use tenure_layout::{DType, Region};

use crate::component::components;
use crate::engine::cpu::kernels::{Kernels, Pattern};
use crate::held::PlaneAddress;
use crate::job::Recipe;

/// Fills everything of the rectangle but the content.
///
/// Where rows lie close to each other they are one. The C library would fill single ones by an
/// instruction that goes around the caches on some processors, at a third of the speed.
///
/// # Safety
/// The planes must be held to write and be those of an image of the recipe's kind, and the kernels
/// those of this processor.
pub(crate) unsafe fn fill(recipe: &Recipe, kernels: &Kernels, target: &[PlaneAddress]) {
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
        let pattern: Pattern = std::array::from_fn(|at| pixel[at % pixel.len()]);
        for region in around.iter().filter(|region| region.width > 0 && region.height > 0) {
            let columns = region.x / first.across..(region.x + region.width).div_ceil(first.across);
            let rows = region.y / first.down..(region.y + region.height).div_ceil(first.down);
            let (start, len) = (columns.start * pixel.len(), columns.len() * pixel.len());
            let together = if len == plane.stride() { rows.len() } else { 1 };
            for row in rows.step_by(together) {
                let out = plane.row(row).wrapping_add(start);
                // SAFETY: the region is inside the image, whose plane is held to write.
                unsafe { (kernels.fill)(&pattern, out, together * len) };
            }
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
