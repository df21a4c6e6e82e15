//! Four-character codes of V4L2.

use std::fmt;

use tenure_layout::{DType, PixelFormat};

/// How the bytes of a frame are encoded, in V4L2's terms.
///
/// ```
/// use tenure_camera::FourCc;
/// use tenure_tensor::PixelFormat;
/// assert_eq!(FourCc::new(b"NM12").to_string(), "NM12");
/// assert_eq!(FourCc::new(b"NM12").pixels(), Some(PixelFormat::Nv12));
/// assert_eq!(FourCc::MJPG.pixels(), None);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct FourCc(pub u32);

impl FourCc {
    /// JPEG pictures one after the other.
    pub const MJPG: FourCc = FourCc::new(b"MJPG");

    /// The code with these letters.
    pub const fn new(letters: &[u8; 4]) -> FourCc {
        FourCc(u32::from_le_bytes(*letters))
    }

    /// What the code means, if it is one of our pixel formats. Samples of two bytes are little-endian
    /// in V4L2, so that on a big-endian machine [`PixelFormat::P010`] is none of them: such frames come
    /// as bytes.
    pub fn pixels(self) -> Option<PixelFormat> {
        self.pixels_in(cfg!(target_endian = "little"))
    }

    /// What it means to a machine of this byte order.
    fn pixels_in(self, little_endian: bool) -> Option<PixelFormat> {
        let format = PixelFormat::from_v4l2_fourcc(self.0).ok()?;
        (little_endian || dtype(format) == DType::U8).then_some(format)
    }
}

/// The type of a camera's elements in this format.
pub(crate) fn dtype(format: PixelFormat) -> DType {
    if format == PixelFormat::P010 { DType::U16 } else { DType::U8 }
}

impl fmt::Display for FourCc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The upmost bit says that bytes are in big-endian order.
        for byte in (self.0 & 0x7fff_ffff).to_le_bytes() {
            write!(f, "{}", byte.escape_ascii())?;
        }
        if self.0 >> 31 == 1 { f.write_str("-BE") } else { Ok(()) }
    }
}

impl fmt::Debug for FourCc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::str::FromStr for FourCc {
    type Err = crate::Error;

    fn from_str(word: &str) -> Result<FourCc, crate::Error> {
        let mut letters = [b' '; 4];
        if word.is_empty() || word.len() > 4 || !word.is_ascii() {
            return Err(crate::Error::BadFourCc { word: word.to_owned() });
        }
        for (to, from) in letters.iter_mut().zip(word.bytes()) {
            *to = from;
        }
        Ok(FourCc::new(&letters))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_samples_are_little_endian() {
        let (p010, nv12) = (FourCc::new(b"P010"), FourCc::new(b"NM12"));
        assert_eq!(p010.pixels_in(true), Some(PixelFormat::P010));
        assert_eq!(p010.pixels_in(false), None);
        assert_eq!(p010.pixels().is_some(), cfg!(target_endian = "little"));
        assert_eq!(nv12.pixels_in(false), Some(PixelFormat::Nv12));
    }

    #[test]
    fn words_go_both_ways() {
        assert_eq!("GREY".parse::<FourCc>().unwrap().pixels(), Some(PixelFormat::Grey));
        assert_eq!("Y8".parse::<FourCc>().unwrap().to_string(), "Y8  ");
        assert!("YUYV2".parse::<FourCc>().is_err());
        assert_eq!(FourCc(FourCc::new(b"Y16 ").0 | 1 << 31).to_string(), "Y16 -BE");
    }
}
