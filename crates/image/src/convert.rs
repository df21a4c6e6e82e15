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
/// Made as all options of this library are: from `new()`, by methods named after what they set, each
/// of which takes the description and gives it back. `get_…` tells what is set. The methods are not
/// called `with_…`: a description of one conversion sets four or five of them, and builders of
/// tensors, publishers and processors have the same short names.
///
/// ```
/// use tenure_image::{Convert, Filter, Fit, Normalize};
/// let yolo = Convert::new()
///     .fit(Fit::letterbox(114))
///     .filter(Filter::Bilinear)
///     .normalize(Normalize::scale(1.0 / 255.0));
/// assert_eq!(yolo.get_fit(), Fit::Letterbox { fill: [114, 114, 114, 255] });
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
#[must_use = "a description does nothing until a processor is given it"]
pub struct Convert {
    pub(crate) crop: Option<Region>,
    pub(crate) into: Option<Region>,
    pub(crate) fit: Fit,
    pub(crate) rotation: Rotation,
    pub(crate) flip_horizontal: bool,
    pub(crate) flip_vertical: bool,
    pub(crate) filter: Filter,
    pub(crate) colour: Option<Colour>,
    pub(crate) siting: Option<Siting>,
    pub(crate) normalize: Normalize,
}

impl Convert {
    /// The whole source stretched over the whole destination.
    pub fn new() -> Convert {
        Convert::default()
    }

    /// Takes only this part of the source, in its pixels; all of it if `None`.
    #[doc(alias = "with_crop")]
    pub fn crop(self, region: impl Into<Option<Region>>) -> Convert {
        Convert { crop: region.into(), ..self }
    }

    /// Writes only this part of the destination, in its pixels, and leaves the rest as it is; all
    /// of it if `None`.
    #[doc(alias = "with_into")]
    pub fn into(self, region: impl Into<Option<Region>>) -> Convert {
        Convert { into: region.into(), ..self }
    }

    /// Fits a picture of another shape so.
    #[doc(alias = "with_fit")]
    pub fn fit(self, fit: Fit) -> Convert {
        Convert { fit, ..self }
    }

    /// Turns the picture clockwise.
    #[doc(alias = "with_rotation")]
    pub fn rotation(self, rotation: Rotation) -> Convert {
        Convert { rotation, ..self }
    }

    /// Mirrors the turned picture left to right, top to bottom, or both.
    #[doc(alias = "with_flips")]
    pub fn flips(self, horizontal: bool, vertical: bool) -> Convert {
        Convert { flip_horizontal: horizontal, flip_vertical: vertical, ..self }
    }

    /// Takes samples so.
    #[doc(alias = "with_filter")]
    pub fn filter(self, filter: Filter) -> Convert {
        Convert { filter, ..self }
    }

    /// Reads the source with this matrix and range, whatever it carries. How luma and chroma are
    /// written is the destination's to say, with a colour of its own. Red, green and blue have
    /// neither; where they become luma, a colour that is not the destination's is refused.
    #[doc(alias = "with_colour")]
    pub fn colour(self, colour: impl Into<Option<Colour>>) -> Convert {
        Convert { colour: colour.into(), ..self }
    }

    /// Takes chroma samples to lie here; as usual for the source's range if `None`.
    #[doc(alias = "with_siting")]
    pub fn siting(self, siting: impl Into<Option<Siting>>) -> Convert {
        Convert { siting: siting.into(), ..self }
    }

    /// Stores values so.
    #[doc(alias = "with_normalize")]
    pub fn normalize(self, normalize: Normalize) -> Convert {
        Convert { normalize, ..self }
    }

    /// The part of the source to take, in its pixels; all of it if `None`.
    pub fn get_crop(&self) -> Option<Region> {
        self.crop
    }

    /// The part of the destination to write, in its pixels; all of it if `None`.
    pub fn get_into(&self) -> Option<Region> {
        self.into
    }

    /// How a picture of another shape is fitted.
    pub fn get_fit(&self) -> Fit {
        self.fit
    }

    /// Clockwise turn.
    pub fn get_rotation(&self) -> Rotation {
        self.rotation
    }

    /// How samples are taken.
    pub fn get_filter(&self) -> Filter {
        self.filter
    }

    /// Matrix and range of the source, if not those it carries.
    pub fn get_colour(&self) -> Option<Colour> {
        self.colour
    }

    /// Where chroma samples lie, if not as usual for the source's range.
    pub fn get_siting(&self) -> Option<Siting> {
        self.siting
    }

    /// From 8-bit values to what is stored.
    pub fn get_normalize(&self) -> Normalize {
        self.normalize
    }

    /// Whether the turned picture is mirrored left to right, and top to bottom.
    pub fn get_flips(&self) -> (bool, bool) {
        (self.flip_horizontal, self.flip_vertical)
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
