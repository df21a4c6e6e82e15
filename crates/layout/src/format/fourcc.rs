//! Four-character codes of the kernel's graphics (DRM) and video (V4L2) systems.
//!
//! DRM names components from the most significant bit of a little-endian word, so that its
//! `BGR888` is red, green, blue in memory. V4L2 has second codes for images whose planes lie in
//! separate buffers.

use crate::{Error, PixelFormat, Result};

const fn code(letters: &[u8; 4]) -> u32 {
    u32::from_le_bytes(*letters)
}

struct Row {
    format: PixelFormat,
    drm: &'static [u8; 4],
    v4l2: &'static [u8; 4],
}

const fn row(format: PixelFormat, drm: &'static [u8; 4], v4l2: &'static [u8; 4]) -> Row {
    Row { format, drm, v4l2 }
}

const TABLE: [Row; 13] = [
    row(PixelFormat::Rgb, b"BG24", b"RGB3"),
    row(PixelFormat::Bgr, b"RG24", b"BGR3"),
    row(PixelFormat::Rgba, b"AB24", b"AB24"),
    row(PixelFormat::Bgra, b"AR24", b"AR24"),
    row(PixelFormat::Grey, b"R8  ", b"GREY"),
    row(PixelFormat::Yuyv, b"YUYV", b"YUYV"),
    row(PixelFormat::Uyvy, b"UYVY", b"UYVY"),
    row(PixelFormat::Nv12, b"NV12", b"NV12"),
    row(PixelFormat::Nv21, b"NV21", b"NV21"),
    row(PixelFormat::Nv16, b"NV16", b"NV16"),
    row(PixelFormat::Nv24, b"NV24", b"NV24"),
    row(PixelFormat::I420, b"YU12", b"YU12"),
    row(PixelFormat::P010, b"P010", b"P010"),
];

/// Codes that mean one of our formats too: padding in place of alpha.
const DRM_ALSO: [(&[u8; 4], PixelFormat); 2] =
    [(b"XB24", PixelFormat::Rgba), (b"XR24", PixelFormat::Bgra)];

/// V4L2 codes for padding in place of alpha and for planes in separate buffers.
const V4L2_ALSO: [(&[u8; 4], PixelFormat); 6] = [
    (b"XB24", PixelFormat::Rgba),
    (b"XR24", PixelFormat::Bgra),
    (b"NM12", PixelFormat::Nv12),
    (b"NM21", PixelFormat::Nv21),
    (b"NM16", PixelFormat::Nv16),
    (b"YM12", PixelFormat::I420),
];

fn find(
    wanted: u32,
    of: impl Fn(&Row) -> &'static [u8; 4],
    also: &[(&[u8; 4], PixelFormat)],
) -> Result<PixelFormat> {
    let main = TABLE.iter().find(|row| code(of(row)) == wanted).map(|row| row.format);
    main.or_else(|| also.iter().find(|(letters, _)| code(letters) == wanted).map(|found| found.1))
        .ok_or(Error::UnknownFourcc { code: wanted })
}

impl PixelFormat {
    /// The DRM code, if DRM has one (it has none for planar RGB).
    pub fn drm_fourcc(self) -> Option<u32> {
        TABLE.iter().find(|row| row.format == self).map(|row| code(row.drm))
    }

    /// The V4L2 code, if V4L2 has one (it has none for planar RGB).
    pub fn v4l2_fourcc(self) -> Option<u32> {
        TABLE.iter().find(|row| row.format == self).map(|row| code(row.v4l2))
    }

    /// The format with this DRM code.
    ///
    /// # Errors
    /// [`Error::UnknownFourcc`].
    pub fn from_drm_fourcc(code: u32) -> Result<PixelFormat> {
        find(code, |row| row.drm, &DRM_ALSO)
    }

    /// The format with this V4L2 code, single- or multi-planar.
    ///
    /// # Errors
    /// [`Error::UnknownFourcc`].
    pub fn from_v4l2_fourcc(code: u32) -> Result<PixelFormat> {
        find(code, |row| row.v4l2, &V4L2_ALSO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_go_both_ways() {
        for format in PixelFormat::all() {
            let planar_rgb = matches!(format, PixelFormat::PlanarRgb | PixelFormat::PlanarRgba);
            assert_eq!(format.drm_fourcc().is_none(), planar_rgb);
            if let (Some(drm), Some(v4l2)) = (format.drm_fourcc(), format.v4l2_fourcc()) {
                assert_eq!(PixelFormat::from_drm_fourcc(drm).unwrap(), format);
                assert_eq!(PixelFormat::from_v4l2_fourcc(v4l2).unwrap(), format);
            }
        }
        assert_eq!(PixelFormat::Nv12.drm_fourcc(), Some(0x3231_564e));
        assert_eq!(PixelFormat::from_v4l2_fourcc(code(b"NM12")).unwrap(), PixelFormat::Nv12);
        assert_eq!(PixelFormat::from_drm_fourcc(code(b"XR24")).unwrap(), PixelFormat::Bgra);
        assert!(PixelFormat::from_drm_fourcc(0).is_err());
    }
}
