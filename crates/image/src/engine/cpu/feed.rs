//! How the bytes of a source format become rows of components.

use tenure_layout::PixelFormat;

use crate::engine::cpu::fixed::Vertical;
use crate::engine::cpu::picked::Places;

/// What a plane's rows hold, and which component each part is, in the order of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// One component in bytes.
    Bytes(usize),
    /// One component in words of 16 bits.
    Words(usize),
    /// Two components in turn, in bytes.
    Pairs([usize; 2]),
    /// Two components in turn, in words.
    WordPairs([usize; 2]),
    /// Luma and chroma in turn, chroma again two in turn; whether luma is first.
    LumaChroma { luma_first: bool },
    /// Three components in turn.
    Triples([usize; 3]),
    /// Four components in turn.
    Quads([usize; 4]),
}

/// The feeds of a format: plane and shape.
pub(crate) fn shapes(format: PixelFormat) -> &'static [(usize, Shape)] {
    use Shape::{Bytes, LumaChroma, Pairs, Quads, Triples, WordPairs, Words};
    match format {
        PixelFormat::Rgb => &[(0, Triples([0, 1, 2]))],
        PixelFormat::Bgr => &[(0, Triples([2, 1, 0]))],
        PixelFormat::Rgba => &[(0, Quads([0, 1, 2, 3]))],
        PixelFormat::Bgra => &[(0, Quads([2, 1, 0, 3]))],
        PixelFormat::Grey => &[(0, Bytes(0))],
        PixelFormat::Yuyv => &[(0, LumaChroma { luma_first: true })],
        PixelFormat::Uyvy => &[(0, LumaChroma { luma_first: false })],
        PixelFormat::Nv12 | PixelFormat::Nv16 | PixelFormat::Nv24 => {
            &[(0, Bytes(0)), (1, Pairs([1, 2]))]
        }
        PixelFormat::Nv21 => &[(0, Bytes(0)), (1, Pairs([2, 1]))],
        PixelFormat::I420 => &[(0, Bytes(0)), (1, Bytes(1)), (2, Bytes(2))],
        PixelFormat::P010 => &[(0, Words(0)), (1, WordPairs([1, 2]))],
        PixelFormat::PlanarRgb => &[(0, Bytes(0)), (1, Bytes(1)), (2, Bytes(2))],
        PixelFormat::PlanarRgba => &[(0, Bytes(0)), (1, Bytes(1)), (2, Bytes(2)), (3, Bytes(3))],
    }
}

impl Shape {
    /// The components it gives.
    pub(crate) fn components(&self) -> &[usize] {
        match self {
            Shape::Bytes(component) | Shape::Words(component) => std::slice::from_ref(component),
            Shape::Pairs(two) | Shape::WordPairs(two) => two,
            Shape::LumaChroma { .. } => &[0, 1, 2],
            Shape::Triples(three) => three,
            Shape::Quads(four) => four,
        }
    }

    /// Bytes of the smallest whole group of samples.
    pub(crate) fn group_bytes(&self) -> usize {
        match self {
            Shape::Bytes(_) => 1,
            Shape::Words(_) | Shape::Pairs(_) => 2,
            Shape::Triples(_) => 3,
            Shape::WordPairs(_) | Shape::LumaChroma { .. } | Shape::Quads(_) => 4,
        }
    }

    /// Samples of a component in a group.
    pub(crate) fn samples(&self, component: usize) -> usize {
        match self {
            Shape::LumaChroma { .. } if component == 0 => 2,
            _ => 1,
        }
    }

    /// Numbers in a group.
    pub(crate) fn numbers(&self) -> usize {
        if self.is_words() { self.group_bytes() / 2 } else { self.group_bytes() }
    }

    pub(crate) fn is_words(&self) -> bool {
        matches!(self, Shape::Words(_) | Shape::WordPairs(_))
    }
}

/// A plane that is read, and how its rows are summed.
#[derive(Debug)]
pub(crate) struct Feed {
    pub(crate) plane: usize,
    pub(crate) shape: Shape,
    pub(crate) vertical: Vertical,
    /// Where samples are picked before anything else.
    pub(crate) places: Option<Places>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::component::components;

    #[test]
    fn feeds_agree_with_the_components() {
        for format in PixelFormat::all() {
            let all = components(format);
            let mut seen = vec![];
            for (plane, shape) in shapes(format) {
                let size = if shape.is_words() { 2 } else { 1 };
                for &component in shape.components() {
                    let own = all[component];
                    assert_eq!(own.plane, *plane, "{format}");
                    assert_eq!(own.step * size * shape.samples(component), shape.group_bytes());
                    seen.push(component);
                }
            }
            seen.sort_unstable();
            assert_eq!(seen, (0..all.len()).collect::<Vec<_>>(), "{format}");
        }
    }
}
