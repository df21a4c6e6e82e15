//! What a conversion does, as plain data.

use std::fmt;
use std::str::FromStr;

use tenure_layout::{Colour, Region};

use crate::{Error, Normalize, Result};

/// What happens between the source and the destination of
/// [`ImageProcessor::convert`](crate::ImageProcessor::convert).
///
/// In this order: the source is cropped, rotated, flipped, resized to its place in the
/// destination, converted in colour, normalised and stored.
///
/// ```
/// use tenure_image::{Convert, Filter, Fit, Normalize};
/// let yolo = Convert::new()
///     .with_fit(Fit::letterbox(114))
///     .with_filter(Filter::Bilinear)
///     .with_normalize(Normalize::scale(1.0 / 255.0));
/// assert_eq!(yolo.fit, Fit::Letterbox { fill: [114, 114, 114, 255] });
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Convert {
    /// The part of the source to take, in its pixels; all of it if `None`.
    pub crop: Option<Region>,
    /// The part of the destination to write, in its pixels; all of it if `None`. The rest is
    /// left as it is.
    pub into: Option<Region>,
    /// How a picture of another shape is fitted.
    pub fit: Fit,
    /// Clockwise turn.
    pub rotation: Rotation,
    /// Mirrored left to right, after the rotation.
    pub flip_horizontal: bool,
    /// Mirrored top to bottom, after the rotation.
    pub flip_vertical: bool,
    /// How samples are taken.
    pub filter: Filter,
    /// Matrix and range of the source, if not those it carries. How luma and chroma are written is
    /// the destination's to say, with a colour of its own.
    pub colour: Option<Colour>,
    /// Where chroma samples lie between luma samples, if not as usual for the source's range.
    pub siting: Option<Siting>,
    /// From 8-bit values to what is stored.
    pub normalize: Normalize,
}

impl Convert {
    /// The whole source stretched over the whole destination.
    pub fn new() -> Convert {
        Convert::default()
    }

    /// Takes only this part of the source.
    pub fn with_crop(self, region: Region) -> Convert {
        Convert { crop: Some(region), ..self }
    }

    /// Writes only this part of the destination.
    pub fn with_into(self, region: Region) -> Convert {
        Convert { into: Some(region), ..self }
    }

    /// Fits a picture of another shape so.
    pub fn with_fit(self, fit: Fit) -> Convert {
        Convert { fit, ..self }
    }

    /// Turns the picture clockwise.
    pub fn with_rotation(self, rotation: Rotation) -> Convert {
        Convert { rotation, ..self }
    }

    /// Mirrors the turned picture left to right, top to bottom, or both.
    pub fn with_flips(self, horizontal: bool, vertical: bool) -> Convert {
        Convert { flip_horizontal: horizontal, flip_vertical: vertical, ..self }
    }

    /// Takes samples so.
    pub fn with_filter(self, filter: Filter) -> Convert {
        Convert { filter, ..self }
    }

    /// Reads the source with this matrix and range, whatever it carries. Red, green and blue have
    /// neither; where they become luma, a colour that is not the destination's is refused.
    pub fn with_colour(self, colour: Colour) -> Convert {
        Convert { colour: Some(colour), ..self }
    }

    /// Takes chroma samples to lie here.
    pub fn with_siting(self, siting: Siting) -> Convert {
        Convert { siting: Some(siting), ..self }
    }

    /// Stores values so.
    pub fn with_normalize(self, normalize: Normalize) -> Convert {
        Convert { normalize, ..self }
    }
}

/// How a picture is fitted into a rectangle of another shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Fit {
    /// Over the whole rectangle, whatever becomes of its proportions.
    #[default]
    Stretch,
    /// As large as fits, centred; the rest is filled.
    Letterbox {
        /// Red, green, blue and alpha of the rest, before normalisation.
        fill: [u8; 4],
    },
    /// As small as covers the rectangle, centred; what stands out is cut off.
    Cover,
}

impl Fit {
    /// A letterbox filled with an opaque grey.
    pub const fn letterbox(grey: u8) -> Fit {
        Fit::Letterbox { fill: [grey, grey, grey, 255] }
    }
}

/// A clockwise turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rotation {
    /// As it is.
    #[default]
    None,
    /// A quarter turn clockwise.
    Quarter,
    /// Upside down.
    Half,
    /// A quarter turn counter-clockwise.
    ThreeQuarters,
}

impl Rotation {
    /// The rotation by this many degrees clockwise.
    ///
    /// # Errors
    /// If it is none of 0, 90, 180 and 270.
    pub fn from_degrees(degrees: u32) -> Result<Rotation> {
        match degrees {
            0 => Ok(Rotation::None),
            90 => Ok(Rotation::Quarter),
            180 => Ok(Rotation::Half),
            270 => Ok(Rotation::ThreeQuarters),
            _ => Err(Error::Rotation { degrees }),
        }
    }

    /// Degrees clockwise.
    pub const fn degrees(self) -> u32 {
        match self {
            Rotation::None => 0,
            Rotation::Quarter => 90,
            Rotation::Half => 180,
            Rotation::ThreeQuarters => 270,
        }
    }
}

/// How samples are taken when the size changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Filter {
    /// The nearest sample.
    Nearest,
    /// Between the two nearest samples of each axis, also when reducing: what OpenCV's
    /// `INTER_LINEAR` and a GPU's texture unit do. Details alias when reducing.
    Bilinear,
    /// A triangle as wide as the reduction asks: what Pillow and fast_image_resize call
    /// bilinear. The same as [`Filter::Bilinear`] when enlarging.
    #[default]
    Antialiased,
    /// The mean over the area of an output pixel: OpenCV's `INTER_AREA`.
    Area,
    /// Cubic (Catmull-Rom), as wide as the reduction asks.
    Bicubic,
    /// Lanczos with three lobes, as wide as the reduction asks.
    Lanczos3,
}

const FILTERS: [(Filter, &str); 6] = [
    (Filter::Nearest, "nearest"),
    (Filter::Bilinear, "bilinear"),
    (Filter::Antialiased, "antialiased"),
    (Filter::Area, "area"),
    (Filter::Bicubic, "bicubic"),
    (Filter::Lanczos3, "lanczos3"),
];

impl Filter {
    /// Every filter.
    pub fn all() -> impl Iterator<Item = Filter> {
        FILTERS.iter().map(|(filter, _)| *filter)
    }

    /// The word for this filter: `"bilinear"`.
    pub fn name(self) -> &'static str {
        FILTERS.iter().find(|(filter, _)| *filter == self).map_or("", |(_, name)| name)
    }

    /// Whether some of its weights are below zero, so that edges overshoot.
    pub(crate) fn overshoots(self) -> bool {
        matches!(self, Filter::Bicubic | Filter::Lanczos3)
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Filter {
    type Err = Error;

    fn from_str(word: &str) -> Result<Filter> {
        let known = |(_, name): &&(Filter, &str)| name.eq_ignore_ascii_case(word);
        FILTERS.iter().find(known).map(|(filter, _)| *filter).ok_or_else(|| {
            Error::from(crate::detail::UnknownWord {
                what: "filter",
                word: word.to_owned(),
                known: FILTERS.iter().map(|(_, name)| *name).collect::<Vec<_>>().join(", "),
            })
        })
    }
}

/// Where the chroma samples of subsampled formats lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Siting {
    /// In the middle of the luma samples they belong to: JPEG, MPEG-1. The default for full
    /// range.
    Centre,
    /// Across on the left one of them, down in the middle: MPEG-2, H.264, H.265. The default for
    /// limited range.
    Left,
}
