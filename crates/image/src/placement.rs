//! Where the picture lies in the destination, and how to get back.

use tenure_layout::Region;

use crate::geometry::Geometry;

/// Where a converted picture lies in its destination: what detections are mapped back with.
///
/// Points are continuous: a pixel covers the square from its number to the next, its centre is at
/// one half.
///
/// ```
/// use tenure_image::{Convert, Fit, ImageProcessor};
/// use tenure_tensor::{PixelFormat, Tensor};
/// let frame = Tensor::<u8>::image(1920, 1080, PixelFormat::Nv12, None, None)?;
/// let mut input = Tensor::<u8>::image(640, 640, PixelFormat::Rgb, None, None)?;
/// let letterbox = Convert::new().fit(Fit::letterbox(114));
/// let placement = ImageProcessor::new()?.convert(&frame, &input, &letterbox)?;
/// assert_eq!(placement.to_source(320.0, 320.0), (960.0, 540.0));
/// assert_eq!(placement.to_destination(0.0, 0.0), (0.0, 140.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Placement {
    content: Region,
    /// Source x and y of destination (x, y): `a * x + b * y + c`, `d * x + e * y + f`.
    to_source: [f64; 6],
}

impl Placement {
    pub(crate) fn new(geometry: &Geometry) -> Placement {
        let line = |axis: crate::geometry::Axis, origin: usize| {
            let step = if axis.mirrored { -axis.step() } else { axis.step() };
            let start = if axis.mirrored { axis.start + axis.length } else { axis.start };
            (step, start - step * origin as f64)
        };
        let content = geometry.content;
        let to_source = if geometry.transposed {
            let (x, from_x) = line(geometry.across, content.y);
            let (y, from_y) = line(geometry.down, content.x);
            [0.0, x, from_x, y, 0.0, from_y]
        } else {
            let (x, from_x) = line(geometry.across, content.x);
            let (y, from_y) = line(geometry.down, content.y);
            [x, 0.0, from_x, 0.0, y, from_y]
        };
        Placement { content, to_source }
    }

    /// The destination pixels that the picture covers.
    pub fn content(&self) -> Region {
        self.content
    }

    /// The source point that a destination point shows.
    pub fn to_source(&self, x: f64, y: f64) -> (f64, f64) {
        let [a, b, c, d, e, f] = self.to_source;
        (a * x + b * y + c, d * x + e * y + f)
    }

    /// The destination point that shows a source point.
    pub fn to_destination(&self, x: f64, y: f64) -> (f64, f64) {
        let [a, b, c, d, e, f] = self.to_destination_matrix();
        (a * x + b * y + c, d * x + e * y + f)
    }

    /// The rows of the matrix from destination to source: `x' = m[0] * x + m[1] * y + m[2]`,
    /// `y' = m[3] * x + m[4] * y + m[5]`.
    pub fn to_source_matrix(&self) -> [f64; 6] {
        self.to_source
    }

    /// The rows of the matrix from source to destination.
    pub fn to_destination_matrix(&self) -> [f64; 6] {
        let [a, b, c, d, e, f] = self.to_source;
        // Either the diagonal or the rest is zero, and what is not is a positive step or its
        // negative: the determinant cannot vanish.
        let determinant = a * e - b * d;
        let (ia, ib, id, ie) =
            (e / determinant, -b / determinant, -d / determinant, a / determinant);
        [ia, ib, -(ia * c + ib * f), id, ie, -(id * c + ie * f)]
    }

    /// Source pixels for each destination pixel, across and down the destination.
    pub fn scale(&self) -> (f64, f64) {
        let [a, b, _, d, e, _] = self.to_source;
        (a.abs() + d.abs(), b.abs() + e.abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Convert, Fit, Rotation};
    use tenure_layout::PixelFormat;

    #[test]
    fn there_and_back_for_every_turn() {
        for rotation in [Rotation::None, Rotation::Quarter, Rotation::Half, Rotation::ThreeQuarters]
        {
            for flips in [(false, false), (true, false), (false, true), (true, true)] {
                let convert = Convert::new()
                    .crop(Region::new(10, 20, 300, 100))
                    .rotation(rotation)
                    .flips(flips.0, flips.1)
                    .fit(Fit::letterbox(0));
                let geometry =
                    Geometry::new((400, 200), (64, 80), PixelFormat::Rgb, &convert).unwrap();
                let placement = geometry.placement();
                let (x, y) = placement.to_source(30.0, 40.0);
                let (back_x, back_y) = placement.to_destination(x, y);
                assert!((back_x - 30.0).abs() < 1e-9 && (back_y - 40.0).abs() < 1e-9);
                // The corners of the picture are the corners of the crop.
                let c = placement.content();
                let (x0, y0) = placement.to_source(c.x as f64, c.y as f64);
                assert!([10.0, 310.0].iter().any(|x| (x - x0).abs() < 1e-9), "{x0}");
                assert!([20.0, 120.0].iter().any(|y| (y - y0).abs() < 1e-9), "{y0}");
            }
        }
    }

    #[test]
    fn a_quarter_turn_takes_the_top_left_to_the_top_right() {
        let convert = Convert::new().rotation(Rotation::Quarter);
        let geometry = Geometry::new((40, 20), (20, 40), PixelFormat::Rgb, &convert).unwrap();
        assert_eq!(geometry.placement().to_destination(0.0, 0.0), (20.0, 0.0));
        assert_eq!(geometry.placement().to_source(0.0, 0.0), (0.0, 20.0));
    }
}
