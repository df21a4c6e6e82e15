//! Every source format as words of four bytes: which bytes of a row make which components.
//!
//! A GPU samples few of the formats that cameras write, but it samples words of four bytes from
//! any memory. A sum over weighted bytes is a sum over words weighted byte by byte, whatever the
//! bytes mean; what is left is to fold the four sums into components.

use tenure_layout::PixelFormat;

/// Samples of a row that are weighted alike.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Feed {
    /// The planes they are in: as many sums.
    pub(super) planes: &'static [usize],
    /// Which of the format's components is sampled like these.
    pub(super) component: usize,
    /// Bytes from one sample to the next.
    pub(super) step: usize,
    /// Bytes of a sample, and what they count.
    pub(super) bytes: &'static [(usize, f64)],
    pub(super) fold: Fold,
}

/// How the sums of the four bytes of words become components.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fold {
    /// All of them are one component.
    Sum,
    /// These bytes, each a component.
    Bytes(&'static str),
    /// Pairs of bytes: the first of each and the second of each, in this order of sums.
    Pairs(&'static str),
    /// Pairs of bytes, low and high: one component each.
    Wide,
    /// Three bytes a pixel, so that words start with each of them in turn: in this order.
    Triples(&'static str),
}

const ONE: &[(usize, f64)] = &[(0, 1.0)];
const SECOND: &[(usize, f64)] = &[(1, 1.0)];
const TWO: &[(usize, f64)] = &[(0, 1.0), (1, 1.0)];
const THREE: &[(usize, f64)] = &[(0, 1.0), (1, 1.0), (2, 1.0)];
const FOUR: &[(usize, f64)] = &[(0, 1.0), (1, 1.0), (2, 1.0), (3, 1.0)];
const EVEN: &[(usize, f64)] = &[(0, 1.0), (2, 1.0)];
const ODD: &[(usize, f64)] = &[(1, 1.0), (3, 1.0)];
const WIDE: &[(usize, f64)] = &[(0, 1.0 / 256.0), (1, 1.0)];
const TWO_WIDE: &[(usize, f64)] = &[(0, 1.0 / 256.0), (1, 1.0), (2, 1.0 / 256.0), (3, 1.0)];

const LUMA: Feed = feed(&[0], 0, 1, ONE, Fold::Sum);

const fn feed(
    planes: &'static [usize],
    component: usize,
    step: usize,
    bytes: &'static [(usize, f64)],
    fold: Fold,
) -> Feed {
    Feed { planes, component, step, bytes, fold }
}

/// What a format is sampled with: its components, in their order.
pub(super) const fn feeds(format: PixelFormat) -> &'static [Feed] {
    match format {
        PixelFormat::Rgb => const { &[feed(&[0], 0, 3, THREE, Fold::Triples("xyz"))] },
        PixelFormat::Bgr => const { &[feed(&[0], 0, 3, THREE, Fold::Triples("zyx"))] },
        PixelFormat::Rgba => const { &[feed(&[0], 0, 4, FOUR, Fold::Bytes("xyzw"))] },
        PixelFormat::Bgra => const { &[feed(&[0], 0, 4, FOUR, Fold::Bytes("zyxw"))] },
        PixelFormat::Grey => const { &[LUMA] },
        PixelFormat::Yuyv => {
            const { &[feed(&[0], 0, 2, ONE, Fold::Sum), feed(&[0], 1, 4, ODD, Fold::Bytes("yw"))] }
        }
        PixelFormat::Uyvy => {
            const { &[feed(&[0], 0, 2, SECOND, Fold::Sum), feed(&[0], 1, 4, EVEN, Fold::Bytes("xz"))] }
        }
        PixelFormat::Nv12 | PixelFormat::Nv16 | PixelFormat::Nv24 => {
            const { &[LUMA, feed(&[1], 1, 2, TWO, Fold::Pairs("xy"))] }
        }
        PixelFormat::Nv21 => const { &[LUMA, feed(&[1], 1, 2, TWO, Fold::Pairs("yx"))] },
        PixelFormat::P010 => {
            const { &[feed(&[0], 0, 2, WIDE, Fold::Sum), feed(&[1], 1, 4, TWO_WIDE, Fold::Wide)] }
        }
        PixelFormat::I420 => const { &[LUMA, feed(&[1, 2], 1, 1, ONE, Fold::Sum)] },
        PixelFormat::PlanarRgb => const { &[feed(&[0, 1, 2], 0, 1, ONE, Fold::Sum)] },
        PixelFormat::PlanarRgba => const { &[feed(&[0, 1, 2, 3], 0, 1, ONE, Fold::Sum)] },
    }
}

impl Feed {
    /// What a byte of a word counts; of samples of three bytes all count.
    pub(super) fn counts(&self, byte: usize) -> f64 {
        let own = self.bytes.iter().find(|(own, _)| *own == byte % self.step);
        own.map_or(0.0, |(_, count)| *count)
    }
}

impl Fold {
    /// How many components come out of one plane.
    pub(super) fn components(self) -> usize {
        match self {
            Fold::Sum => 1,
            Fold::Bytes(names) | Fold::Triples(names) => names.len(),
            Fold::Pairs(_) | Fold::Wide => 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::component::components;

    #[test]
    fn feeds_give_the_components_of_their_format() {
        for format in PixelFormat::all() {
            let given = feeds(format).iter().map(|feed| feed.planes.len() * feed.fold.components());
            assert_eq!(given.sum::<usize>(), components(format).len(), "{format}");
        }
    }
}
