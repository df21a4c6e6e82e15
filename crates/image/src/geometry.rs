//! Which source pixels go where: crop, fit, rotation and flips as numbers.

use tenure_layout::{PixelFormat, Region};

use crate::convert::{Convert, Fit, Rotation};
use crate::{Error, Placement, Result};

/// Longest side of a picture: positions and weights are computed exactly up to here.
pub(crate) const LONGEST_SIDE: usize = 1 << 20;

/// A conversion's geometry, resolved for one source and one destination.
///
/// The picture is made along the source's own axes, `across` and `down`; where the rotation swaps
/// them, `transposed` says that `across` runs down the destination.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Geometry {
    /// Source pixels that may be read.
    pub(crate) crop: Region,
    pub(crate) across: Axis,
    pub(crate) down: Axis,
    pub(crate) transposed: bool,
    /// The destination rectangle that is written.
    pub(crate) rectangle: Region,
    /// The part of it that the picture covers; the rest is filled.
    pub(crate) content: Region,
    /// What the rest is filled with.
    pub(crate) fill: [u8; 4],
}

/// How one axis of the source is sampled.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Axis {
    /// First source position taken, in pixels from the image's edge.
    pub(crate) start: f64,
    /// Source pixels taken.
    pub(crate) length: f64,
    /// Output samples.
    pub(crate) outputs: usize,
    /// Whether the first output is the last source position.
    pub(crate) mirrored: bool,
}

impl Axis {
    /// Source pixels for each output.
    pub(crate) fn step(&self) -> f64 {
        self.length / self.outputs as f64
    }
}

impl Geometry {
    pub(crate) fn new(
        (width, height): (usize, usize),
        (target_width, target_height): (usize, usize),
        target: PixelFormat,
        convert: &Convert,
    ) -> Result<Geometry> {
        for (width, height) in [(width, height), (target_width, target_height)] {
            if width.max(height) > LONGEST_SIDE {
                return Err(Error::TooLarge { width, height, limit: LONGEST_SIDE });
            }
        }
        let crop = inside("crop", convert.crop, width, height)?;
        let rectangle = inside("destination rectangle", convert.into, target_width, target_height)?;
        let grid = Grid::of(target);
        grid.check(rectangle, (target_width, target_height), target)?;

        let transposed = matches!(convert.rotation, Rotation::Quarter | Rotation::ThreeQuarters);
        // The source as it stands after the rotation.
        let turned = if transposed { (crop.height, crop.width) } else { (crop.width, crop.height) };
        let (mut content, mut fill) = (rectangle, [0; 4]);
        let mut taken = (turned.0 as f64, turned.1 as f64);
        match convert.fit {
            Fit::Stretch => {}
            Fit::Letterbox { fill: colour } => {
                content = grid.letterbox(turned, rectangle);
                fill = colour;
            }
            Fit::Cover => {
                let (w, h) = (rectangle.width as f64, rectangle.height as f64);
                let scale = (taken.0 / w).min(taken.1 / h);
                taken = (w * scale, h * scale);
            }
        }
        let offset = ((turned.0 as f64 - taken.0) / 2.0, (turned.1 as f64 - taken.1) / 2.0);

        // After the turn: does each axis of the destination run against that of the source?
        let (against_x, against_y) = match convert.rotation {
            Rotation::None => (false, false),
            Rotation::Quarter => (true, false),
            Rotation::Half => (true, true),
            Rotation::ThreeQuarters => (false, true),
        };
        let mirror_x = against_x != convert.flip_horizontal;
        let mirror_y = against_y != convert.flip_vertical;
        let axis = |edge: usize, offset: f64, length: f64, outputs: usize, mirrored: bool| Axis {
            start: edge as f64 + offset,
            length,
            outputs,
            mirrored,
        };
        let (across, down) = if transposed {
            (
                axis(crop.x, offset.1, taken.1, content.height, mirror_y),
                axis(crop.y, offset.0, taken.0, content.width, mirror_x),
            )
        } else {
            (
                axis(crop.x, offset.0, taken.0, content.width, mirror_x),
                axis(crop.y, offset.1, taken.1, content.height, mirror_y),
            )
        };
        Ok(Geometry { crop, across, down, transposed, rectangle, content, fill })
    }

    /// The map between the two pictures.
    pub(crate) fn placement(&self) -> Placement {
        Placement::new(self)
    }

    /// Whether the whole rectangle is picture.
    pub(crate) fn covers(&self) -> bool {
        self.content == self.rectangle
    }
}

fn inside(
    what: &'static str,
    region: Option<Region>,
    width: usize,
    height: usize,
) -> Result<Region> {
    let region = region.unwrap_or(Region::new(0, 0, width, height));
    let outside = |_| Error::from(crate::detail::Outside { what, region, width, height });
    region.check_inside(width, height).map_err(outside)?;
    Ok(region)
}

/// Positions in the destination that a picture may start and end at.
struct Grid {
    horizontal: usize,
    vertical: usize,
}

impl Grid {
    fn of(format: PixelFormat) -> Grid {
        let (horizontal, vertical) = format.subsampling();
        Grid { horizontal, vertical }
    }

    fn check(&self, region: Region, size: (usize, usize), format: PixelFormat) -> Result<()> {
        let whole = |start: usize, len: usize, limit: usize, step: usize| {
            start.is_multiple_of(step) && (len.is_multiple_of(step) || start + len == limit)
        };
        if whole(region.x, region.width, size.0, self.horizontal)
            && whole(region.y, region.height, size.1, self.vertical)
        {
            Ok(())
        } else {
            Err(Error::from(crate::detail::CutsChroma { region, format }))
        }
    }

    /// The largest rectangle of the picture's shape inside `rectangle`, centred, on the grid.
    fn letterbox(&self, (width, height): (usize, usize), rectangle: Region) -> Region {
        let (w, h) = (rectangle.width as f64, rectangle.height as f64);
        let scale = (w / width as f64).min(h / height as f64);
        let side = |pixels: usize, room: usize, step: usize| {
            let exact = pixels as f64 * scale / step as f64;
            let size = (exact.round() as usize).saturating_mul(step).clamp(step.min(room), room);
            let before = (room - size) / 2 / step * step;
            (before, size)
        };
        let (left, width) = side(width, rectangle.width, self.horizontal);
        let (top, height) = side(height, rectangle.height, self.vertical);
        Region::new(rectangle.x + left, rectangle.y + top, width, height)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(source: (usize, usize), target: (usize, usize), convert: &Convert) -> Geometry {
        Geometry::new(source, target, PixelFormat::Rgb, convert).unwrap()
    }

    #[test]
    fn a_full_hd_frame_in_a_square() {
        let letterbox = Convert::new().fit(Fit::letterbox(114));
        let g = resolve((1920, 1080), (640, 640), &letterbox);
        assert_eq!(g.content, Region::new(0, 140, 640, 360));
        assert_eq!((g.across.step(), g.down.step()), (3.0, 3.0));
        let g = resolve((1920, 1080), (640, 640), &Convert::new().fit(Fit::Cover));
        assert_eq!((g.across.start, g.across.length), (420.0, 1080.0));
        assert!(g.covers());
    }

    #[test]
    fn turned_pictures_swap_their_axes() {
        let turn = Convert::new().rotation(Rotation::Quarter).fit(Fit::letterbox(0));
        let g = resolve((1920, 1080), (640, 640), &turn);
        assert_eq!(g.content, Region::new(140, 0, 360, 640));
        assert_eq!((g.across.outputs, g.down.outputs), (640, 360));
        assert_eq!((g.transposed, g.across.mirrored, g.down.mirrored), (true, false, true));
    }

    #[test]
    fn thin_pictures_keep_a_pixel() {
        let g = resolve((10_000, 1), (64, 64), &Convert::new().fit(Fit::letterbox(0)));
        assert_eq!(g.content, Region::new(0, 31, 64, 1));
    }

    #[test]
    fn subsampled_destinations_stay_on_their_grid() {
        let letterbox = Convert::new().fit(Fit::letterbox(0));
        let g = Geometry::new((100, 37), (64, 64), PixelFormat::Nv12, &letterbox).unwrap();
        assert_eq!((g.content.y % 2, g.content.height % 2), (0, 0));
        let odd = Convert::new().into(Region::new(1, 0, 2, 2));
        let error = Geometry::new((8, 8), (8, 8), PixelFormat::Nv12, &odd).unwrap_err();
        assert!(matches!(error, Error::CutsChroma { .. }), "{error}");
    }

    #[test]
    fn regions_outside_are_refused() {
        let crop = Convert::new().crop(Region::new(5, 5, 10, 1));
        let error = Geometry::new((8, 8), (8, 8), PixelFormat::Rgb, &crop).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the crop 10x1+5+5 is empty or leaves the image of 8x8 pixels"
        );
    }
}
