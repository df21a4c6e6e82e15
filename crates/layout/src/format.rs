//! Pixel formats as data: planes, subsampling, words.
//!
//! A format says how a picture's samples are grouped into planes; sizes in bytes are in
//! [`crate::ImageLayout`], codes of other systems in [`fourcc`].

use std::fmt;
use std::str::FromStr;

use crate::{DType, Error, Result};

pub mod fourcc;

/// How pixels are stored. Names give the order of bytes in memory.
///
/// ```
/// use tenure_layout::PixelFormat;
/// assert_eq!("nv12".parse::<PixelFormat>()?, PixelFormat::Nv12);
/// assert_eq!(PixelFormat::Nv12.planes().len(), 2);
/// assert_eq!(PixelFormat::Rgba.channels(), 4);
/// # Ok::<(), tenure_layout::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum PixelFormat {
    /// Red, green, blue.
    Rgb = 0,
    /// Blue, green, red.
    Bgr = 1,
    /// Red, green, blue, alpha.
    Rgba = 2,
    /// Blue, green, red, alpha.
    Bgra = 3,
    /// Luma only.
    Grey = 4,
    /// 4:2:2 in one plane: Y0 U Y1 V.
    Yuyv = 5,
    /// 4:2:2 in one plane: U Y0 V Y1.
    Uyvy = 6,
    /// 4:2:0: a plane of Y, a plane of U V pairs.
    Nv12 = 7,
    /// 4:2:0: a plane of Y, a plane of V U pairs.
    Nv21 = 8,
    /// 4:2:2: a plane of Y, a plane of U V pairs.
    Nv16 = 9,
    /// 4:4:4: a plane of Y, a plane of U V pairs.
    Nv24 = 10,
    /// 4:2:0: planes of Y, U and V.
    I420 = 11,
    /// As [`PixelFormat::Nv12`] with 10 bits in the upper part of 16.
    P010 = 12,
    /// Planes of red, green and blue.
    PlanarRgb = 13,
    /// Planes of red, green, blue and alpha.
    PlanarRgba = 14,
}

/// One plane of a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plane {
    /// Pixels across that share one group of elements.
    pub horizontal: usize,
    /// Pixels down that share one group of elements.
    pub vertical: usize,
    /// Elements in a group.
    pub elements: usize,
}

/// How the samples of a format are arranged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrangement {
    /// All samples of a pixel together: shape \[height, width, channels\].
    Packed,
    /// One plane for each channel: shape \[channels, height, width\].
    Planar,
    /// Luma, then subsampled chroma: shape \[rows of all planes, width\].
    LumaChroma,
}

const fn plane(horizontal: usize, vertical: usize, elements: usize) -> Plane {
    Plane { horizontal, vertical, elements }
}

const FULL: Plane = plane(1, 1, 1);

struct Row {
    format: PixelFormat,
    name: &'static str,
    channels: usize,
    arrangement: Arrangement,
    planes: &'static [Plane],
    shape: &'static str,
}

use Arrangement::{LumaChroma, Packed, Planar};

const fn row(
    format: PixelFormat,
    name: &'static str,
    channels: usize,
    arrangement: Arrangement,
    planes: &'static [Plane],
    shape: &'static str,
) -> Row {
    Row { format, name, channels, arrangement, planes, shape }
}

const SEMI_420: &str = "[height + ceil(height / 2), width rounded up to even]";
const PAIRS_422: &str = "[height, width rounded up to even, 2]";

/// One row per format, in the order of the discriminants.
const TABLE: [Row; 15] = [
    row(PixelFormat::Rgb, "rgb", 3, Packed, &[plane(1, 1, 3)], "[height, width, 3]"),
    row(PixelFormat::Bgr, "bgr", 3, Packed, &[plane(1, 1, 3)], "[height, width, 3]"),
    row(PixelFormat::Rgba, "rgba", 4, Packed, &[plane(1, 1, 4)], "[height, width, 4]"),
    row(PixelFormat::Bgra, "bgra", 4, Packed, &[plane(1, 1, 4)], "[height, width, 4]"),
    row(PixelFormat::Grey, "grey", 1, Packed, &[FULL], "[height, width, 1]"),
    row(PixelFormat::Yuyv, "yuyv", 3, Packed, &[plane(2, 1, 4)], PAIRS_422),
    row(PixelFormat::Uyvy, "uyvy", 3, Packed, &[plane(2, 1, 4)], PAIRS_422),
    row(PixelFormat::Nv12, "nv12", 3, LumaChroma, &[FULL, plane(2, 2, 2)], SEMI_420),
    row(PixelFormat::Nv21, "nv21", 3, LumaChroma, &[FULL, plane(2, 2, 2)], SEMI_420),
    row(
        PixelFormat::Nv16,
        "nv16",
        3,
        LumaChroma,
        &[FULL, plane(2, 1, 2)],
        "[2 * height, width rounded up to even]",
    ),
    row(PixelFormat::Nv24, "nv24", 3, LumaChroma, &[FULL, plane(1, 1, 2)], "[3 * height, width]"),
    row(
        PixelFormat::I420,
        "i420",
        3,
        LumaChroma,
        &[FULL, plane(2, 2, 1), plane(2, 2, 1)],
        SEMI_420,
    ),
    row(PixelFormat::P010, "p010", 3, LumaChroma, &[FULL, plane(2, 2, 2)], SEMI_420),
    row(PixelFormat::PlanarRgb, "planar-rgb", 3, Planar, &[FULL; 3], "[3, height, width]"),
    row(PixelFormat::PlanarRgba, "planar-rgba", 4, Planar, &[FULL; 4], "[4, height, width]"),
];

impl PixelFormat {
    /// Every format.
    pub fn all() -> impl Iterator<Item = PixelFormat> {
        TABLE.iter().map(|row| row.format)
    }

    const fn row(self) -> &'static Row {
        &TABLE[self as usize]
    }

    /// The word for this format: `"nv12"`.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// Colour channels: 1, 3 or 4.
    pub const fn channels(self) -> usize {
        self.row().channels
    }

    /// The planes, in memory order.
    pub const fn planes(self) -> &'static [Plane] {
        self.row().planes
    }

    /// How the samples are arranged.
    pub const fn arrangement(self) -> Arrangement {
        self.row().arrangement
    }

    /// Whether luma and chroma are stored, not red, green and blue.
    pub const fn is_yuv(self) -> bool {
        matches!(self.row().arrangement, LumaChroma)
            || matches!(self, PixelFormat::Yuyv | PixelFormat::Uyvy)
    }

    /// What a tensor's shape looks like in this format.
    pub const fn shape_words(self) -> &'static str {
        self.row().shape
    }

    /// Pixels (across, down) that share a sample in the most subsampled plane.
    pub fn subsampling(self) -> (usize, usize) {
        self.planes().iter().fold((1, 1), |(across, down), plane| {
            (across.max(plane.horizontal), down.max(plane.vertical))
        })
    }

    /// Whether images of this format may have elements of this type. Luma with chroma in planes of
    /// their own has 8 or 16 bits (P010 16, of which the upper ten count), YUYV and UYVY have 8; the
    /// others take any number of whole bytes.
    ///
    /// ```
    /// use tenure_layout::{DType, PixelFormat};
    /// assert!(PixelFormat::Nv12.accepts(DType::U8) && PixelFormat::Nv12.accepts(DType::U16));
    /// assert!(!PixelFormat::P010.accepts(DType::U8) && PixelFormat::Rgb.accepts(DType::F32));
    /// ```
    pub fn accepts(self, dtype: DType) -> bool {
        match self {
            PixelFormat::P010 => dtype == DType::U16,
            PixelFormat::Yuyv | PixelFormat::Uyvy => dtype == DType::U8,
            _ if self.is_yuv() => matches!(dtype, DType::U8 | DType::U16),
            _ => dtype.size().is_some() && dtype != DType::Bool && !dtype.is_complex(),
        }
    }

    pub(crate) fn depth_words(self) -> &'static str {
        match self {
            PixelFormat::P010 => "u16",
            PixelFormat::Yuyv | PixelFormat::Uyvy => "u8",
            _ if self.is_yuv() => "u8 or u16",
            _ => "whole-byte number",
        }
    }

    /// The discriminant (the code used on the wire and in C).
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The format with this discriminant.
    pub fn from_code(code: u8) -> Option<PixelFormat> {
        TABLE.get(code as usize).map(|row| row.format)
    }

    pub(crate) fn words() -> String {
        TABLE.iter().map(|row| row.name).collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Display for PixelFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for PixelFormat {
    type Err = Error;

    fn from_str(word: &str) -> Result<PixelFormat> {
        let known = |row: &&Row| row.name.eq_ignore_ascii_case(word);
        TABLE
            .iter()
            .find(known)
            .map(|row| row.format)
            .ok_or_else(|| Error::UnknownFormat { word: word.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_codes() {
        for (code, format) in PixelFormat::all().enumerate() {
            assert_eq!(format.code() as usize, code);
            assert_eq!(PixelFormat::from_code(code as u8), Some(format));
            assert_eq!(format.name().parse::<PixelFormat>().unwrap(), format);
        }
        assert_eq!(PixelFormat::from_code(TABLE.len() as u8), None);
        assert!("rgb16".parse::<PixelFormat>().unwrap_err().to_string().contains("planar-rgb"));
    }

    #[test]
    fn luma_and_chroma_are_whole_numbers() {
        use PixelFormat::{I420, Nv12, Nv16, Nv21, Nv24, P010, Uyvy, Yuyv};
        for (format, bytes, words) in [
            (Nv12, true, true),
            (Nv21, true, true),
            (Nv16, true, true),
            (Nv24, true, true),
            (I420, true, true),
            (Yuyv, true, false),
            (Uyvy, true, false),
            (P010, false, true),
        ] {
            assert_eq!(format.accepts(DType::U8), bytes, "{format}");
            assert_eq!(format.accepts(DType::U16), words, "{format}");
            assert!(!format.accepts(DType::I16) && !format.accepts(DType::F16), "{format}");
            assert_eq!(format.depth_words().contains("u16"), words, "{format}");
        }
        assert!(!PixelFormat::Nv12.accepts(DType::F32));
        assert!(PixelFormat::P010.accepts(DType::U16));
        assert!(PixelFormat::PlanarRgb.accepts(DType::F16));
        assert!(!PixelFormat::Rgb.accepts(DType::U4));
        assert!(!PixelFormat::Rgb.accepts(DType::Complex64));
    }
}
