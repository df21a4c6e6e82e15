//! What a driver says about colours, in our words.

use tenure_layout::{Colour, ColourMatrix, ColourRange, PixelFormat};

/// A driver's description of colours: numbers of V4L2's enumerations, zero for "the default".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Described {
    pub(crate) colorspace: u32,
    pub(crate) encoding: u32,
    pub(crate) quantization: u32,
}

const SMPTE240M: u32 = 2;
const REC709: u32 = 3;
const JPEG: u32 = 7;
const BT2020: u32 = 10;
const RAW: u32 = 11;
const DCI_P3: u32 = 12;

impl Described {
    /// `None` where it is something that has no name with us (SMPTE 240M, constant luminance,
    /// raw sensor data), so that nobody converts with the wrong matrix.
    pub(crate) fn colour(self, pixels: Option<PixelFormat>) -> Option<Colour> {
        // As V4L2_MAP_YCBCR_ENC_DEFAULT.
        let encoding = match (self.encoding, self.colorspace) {
            (0, REC709 | DCI_P3) => 2,
            (0, BT2020) => 6,
            (0, SMPTE240M) => 8,
            (0, RAW) => return None,
            (0, _) => 1,
            (given, _) => given,
        };
        let matrix = match encoding {
            1 | 3 | 5 => ColourMatrix::Bt601,
            2 | 4 => ColourMatrix::Bt709,
            6 => ColourMatrix::Bt2020,
            _ => return None,
        };
        // As V4L2_MAP_QUANTIZATION_DEFAULT, which asks whether the format is RGB. For luma alone
        // (GREY) V4L2 does not settle it: the documentation of the format calls it YCbCr without
        // chroma, which would be limited, but the kernel's pattern generator (v4l2-tpg) asks the
        // macro with "not YCbCr" and writes 0 to 255, as monochrome sensors do. A driver that
        // says which range it uses is believed.
        let full = match (self.quantization, pixels) {
            (0, _) if self.colorspace == JPEG => true,
            (0, Some(format)) => !format.is_yuv(),
            // The default of a format without a name with us, which may be RGB or not.
            (0, None) => return None,
            (given, _) => given == 1,
        };
        let range = if full { ColourRange::Full } else { ColourRange::Limited };
        Some(Colour { matrix, range })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn colour(colorspace: u32, encoding: u32, quantization: u32) -> Option<Colour> {
        Described { colorspace, encoding, quantization }.colour(Some(PixelFormat::Nv12))
    }

    #[test]
    fn defaults_are_those_of_the_kernel() {
        assert_eq!(colour(3, 0, 0), Some(Colour::HD));
        assert_eq!(colour(7, 0, 0), Some(Colour::JPEG));
        assert_eq!(colour(8, 0, 0).unwrap().to_string(), "bt601 limited");
        assert_eq!(colour(10, 0, 1).unwrap().to_string(), "bt2020 full");
        assert_eq!(colour(8, 2, 2), Some(Colour::HD));
        let rgb = Described { colorspace: 8, encoding: 0, quantization: 0 };
        assert_eq!(rgb.colour(Some(PixelFormat::Rgb)).unwrap().range, ColourRange::Full);
    }

    #[test]
    fn the_range_of_an_unknown_format_is_not_guessed() {
        let of = |colorspace, quantization| {
            Described { colorspace, encoding: 0, quantization }.colour(None)
        };
        assert_eq!((of(8, 0), of(7, 0)), (None, Some(Colour::JPEG)));
        assert_eq!(of(8, 1).unwrap().range, ColourRange::Full);
    }

    #[test]
    fn luma_alone_is_full_unless_the_driver_says_otherwise() {
        let range = |quantization| {
            let described = Described { colorspace: 8, encoding: 0, quantization };
            described.colour(Some(PixelFormat::Grey)).unwrap().range
        };
        assert_eq!([0, 1].map(range), [ColourRange::Full; 2]);
        assert_eq!(range(2), ColourRange::Limited);
    }

    #[test]
    fn what_has_no_name_is_not_guessed() {
        assert_eq!(colour(2, 0, 0), None);
        assert_eq!(colour(11, 0, 0), None);
        assert_eq!(colour(10, 7, 0), None);
    }
}
