//! What GStreamer is told of a picture: its caps, and where its planes are.

use std::fmt::Write as _;

use tenure_layout::{ColourMatrix, ColourRange, DType, ImageLayout, PixelFormat};
use tenure_tensor::TensorDyn;

use super::Error;
use super::places::{Elsewhere, Pieces, Place, Placed};

/// The name of a meta that says where planes are.
const VIDEO_META: &str = "GstVideoMeta";

/// A picture as GStreamer sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Picture {
    /// What it looks like, in GStreamer's words.
    pub(super) caps: String,
    /// Its bytes in each of its memories, which follow each other for GStreamer.
    pub(super) pieces: Pieces,
    /// Where its planes are, serialised; empty if they are where everybody expects them, in one
    /// memory.
    pub(super) meta: Vec<u8>,
}

/// A format of GStreamer's: its name, and its number in a `GstVideoMeta`.
fn format(format: PixelFormat, dtype: DType) -> Option<(&'static str, u32)> {
    Some(match (format, dtype) {
        (PixelFormat::Rgb, DType::U8) => ("RGB", 15),
        (PixelFormat::Bgr, DType::U8) => ("BGR", 16),
        (PixelFormat::Rgba, DType::U8) => ("RGBA", 11),
        (PixelFormat::Bgra, DType::U8) => ("BGRA", 12),
        (PixelFormat::Grey, DType::U8) => ("GRAY8", 25),
        (PixelFormat::Grey, DType::U16) if cfg!(target_endian = "little") => ("GRAY16_LE", 27),
        (PixelFormat::Yuyv, DType::U8) => ("YUY2", 4),
        (PixelFormat::Uyvy, DType::U8) => ("UYVY", 5),
        (PixelFormat::Nv12, DType::U8) => ("NV12", 23),
        (PixelFormat::Nv21, DType::U8) => ("NV21", 24),
        (PixelFormat::Nv16, DType::U8) => ("NV16", 51),
        (PixelFormat::Nv24, DType::U8) => ("NV24", 52),
        (PixelFormat::I420, DType::U8) => ("I420", 2),
        (PixelFormat::P010, DType::U16) if cfg!(target_endian = "little") => ("P010_10LE", 62),
        (PixelFormat::PlanarRgb, DType::U8) => ("RGBP", 99),
        _ => return None,
    })
}

impl Picture {
    /// What GStreamer is told of a tensor. A layout that is not the usual one needs a meta, which
    /// has to be allowed.
    pub(super) fn of(
        name: &str,
        tensor: &TensorDyn,
        framerate: (u32, u32),
        meta_allowed: bool,
    ) -> Result<Picture, Error> {
        let dtype = tensor.dtype();
        let no_image =
            || Error::NoImage { name: name.to_owned(), dtype, shape: tensor.shape().to_vec() };
        let layout = tensor.image_layout().ok_or_else(no_image)?;
        if layout.tensor_layout().is_ok_and(|one| one.rank() < tensor.rank()) {
            return Err(no_image());
        }
        let unnamed = || Error::NoFormat { name: name.to_owned(), format: layout.format(), dtype };
        let (word, number) = format(layout.format(), dtype).ok_or_else(unnamed)?;

        let mut caps = String::new();
        let (width, height) = (layout.width(), layout.height());
        // Writing to a string does not fail.
        let _ = write!(
            caps,
            "video/x-raw, format=(string){word}, width=(int){width}, height=(int){height}, \
             framerate=(fraction){}/{}",
            framerate.0, framerate.1
        );
        if let Some(colour) = tensor.colour().filter(|_| layout.format().is_yuv()) {
            let range = match colour.range {
                ColourRange::Full => 1,
                ColourRange::Limited => 2,
            };
            let matrix = match colour.matrix {
                ColourMatrix::Bt709 => 3,
                ColourMatrix::Bt601 => 4,
                ColourMatrix::Bt2020 => 6,
            };
            // Transfer function and primaries are not known.
            let _ = write!(caps, ", colorimetry=(string){range}:{matrix}:0:0");
        }

        let Placed { pieces, planes, elsewhere } = Placed::of(tensor, layout)?;
        if let Some(Elsewhere { plane, usual }) = elsewhere.filter(|_| !meta_allowed) {
            let found = planes.get(plane).copied().unwrap_or_default();
            return Err(Error::Layout {
                name: name.to_owned(),
                format: layout.format(),
                width,
                height,
                plane,
                offset: found.offset,
                stride: found.stride,
                usual_offset: usual.offset,
                usual_stride: usual.stride,
            });
        }
        // Planes in several memories are mapped where they are if somebody says where that is;
        // otherwise they are copied together.
        let meta = if elsewhere.is_some() || pieces.len() > 1 {
            video_meta(layout, number, &planes)
        } else {
            vec![]
        };
        Ok(Picture { caps, pieces, meta })
    }
}

/// A `GstVideoMeta`, as GStreamer 1.24 and later serialise it: little-endian, the whole length,
/// the name with its length and a zero, a version, and what it says.
fn video_meta(layout: &ImageLayout, format: u32, planes: &[Place]) -> Vec<u8> {
    let mut said = vec![];
    let mut word = |value: usize| {
        // Sizes of pictures; what does not fit is no picture.
        said.extend_from_slice(&u32::try_from(value).unwrap_or(u32::MAX).to_le_bytes());
    };
    let no_flags = 0;
    [no_flags, format as usize, layout.width(), layout.height(), planes.len()]
        .into_iter()
        .for_each(&mut word);
    for plane in planes {
        said.extend_from_slice(&(plane.offset as u64).to_le_bytes());
    }
    for plane in planes {
        let stride = u32::try_from(plane.stride).unwrap_or(u32::MAX);
        said.extend_from_slice(&stride.to_le_bytes());
    }
    // No padding above, below, left and right, and no alignment of strides.
    said.resize(said.len() + 4 * (4 + planes.len()), 0);

    let head = 4 + 4 + VIDEO_META.len() + 1 + 1;
    let mut meta = Vec::with_capacity(head + said.len());
    meta.extend_from_slice(&((head + said.len()) as u32).to_le_bytes());
    meta.extend_from_slice(&(VIDEO_META.len() as u32).to_le_bytes());
    meta.extend_from_slice(VIDEO_META.as_bytes());
    let (end_of_name, version) = (0, 0);
    meta.extend_from_slice(&[end_of_name, version]);
    meta.extend_from_slice(&said);
    meta
}
