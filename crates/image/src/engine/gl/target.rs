//! Where a plane of the destination is drawn, byte by byte.

use glow::Framebuffer;

use super::api::Texels;
use super::plan::PlanePart;
use crate::job::Recipe;

/// A plane to draw into.
#[derive(Debug, Clone, Copy)]
pub(super) struct Surface {
    pub(super) framebuffer: Framebuffer,
    /// The word that the rectangle's first byte is in.
    pub(super) x: i32,
    /// The rectangle's first row.
    pub(super) y: i32,
    /// Bytes of that word before the rectangle.
    pub(super) lead: usize,
    /// Words, of which bytes beside the rectangle are somebody's; or, on the way to be copied,
    /// words or quads from the rectangle's first byte on.
    pub(super) texels: Texels,
    /// Whether it is the destination's own memory.
    pub(super) exact: bool,
}

/// Bytes of so many samples of a plane.
pub(super) fn all_bytes(part: &PlanePart, recipe: &Recipe, samples: i32) -> usize {
    let size = recipe.target.dtype.size().unwrap_or(1);
    usize::try_from(samples).unwrap_or(0) * part.channels.len() * size
}

/// The texels of a row of the rectangle, from its first, and which of their bytes belong to it.
pub(super) fn segments(
    surface: &Surface,
    bytes: usize,
) -> impl Iterator<Item = (i32, i32, [bool; 4])> {
    let end = surface.lead + bytes;
    let unit = if surface.texels == Texels::Quads { 16 } else { 4 };
    let words = end.div_ceil(unit);
    let inside = move |word: usize| {
        std::array::from_fn(|byte| {
            !surface.exact || (surface.lead..end).contains(&(word * 4 + byte))
        })
    };
    let whole = |mask: [bool; 4]| mask == [true; 4];
    let first = usize::from(!whole(inside(0)));
    let last = words - usize::from(words > first && !whole(inside(words - 1)));
    let edges = [(0, first), (first, last.saturating_sub(first)), (last, words - last)];
    edges
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(move |(at, count)| (at as i32, count as i32, inside(at)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZero;

    fn of(lead: usize, bytes: usize, exact: bool) -> Vec<(i32, i32, String)> {
        let framebuffer = glow::NativeFramebuffer(NonZero::new(1).unwrap());
        let texels = if exact { Texels::Words } else { Texels::Quads };
        let surface = Surface { framebuffer, x: 0, y: 0, lead, texels, exact };
        let words = |mask: [bool; 4]| mask.map(|on| if on { '1' } else { '0' }).iter().collect();
        segments(&surface, bytes).map(|(at, count, mask)| (at, count, words(mask))).collect()
    }

    #[test]
    fn bytes_of_others_are_left_alone() {
        assert_eq!(of(0, 12, true), [(0, 3, "1111".into())]);
        assert_eq!(of(0, 17, false), [(0, 2, "1111".into())]);
        assert_eq!(
            of(3, 10, true),
            [(0, 1, "0001".into()), (1, 2, "1111".into()), (3, 1, "1000".into())]
        );
        assert_eq!(of(1, 2, true), [(0, 1, "0110".into())]);
        assert_eq!(of(2, 4, true), [(0, 1, "0011".into()), (1, 1, "1100".into())]);
        assert_eq!(of(0, 6, true), [(0, 1, "1111".into()), (1, 1, "1100".into())]);
    }
}
