//! JPEG: decoded into the tensor itself where its rows follow each other.

use tenure_layout::{DType, PixelFormat};
use tenure_memory::TensorMemory;
use tenure_tensor::{DynTensor, TensorDyn};
use zune_jpeg::JpegDecoder;
use zune_jpeg::errors::DecodeErrors;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use super::rows::RowsMut;
use super::{FileFormat, Head, check_size, undecodable};
use crate::Result;

mod encode;
mod entropy;
mod tables;

pub(super) use encode::encode;

/// What is written without being converted.
pub(super) const STORED: &[PixelFormat] =
    &[PixelFormat::Grey, PixelFormat::Rgb, PixelFormat::Bgr, PixelFormat::Rgba, PixelFormat::Bgra];
/// Scans of one file; hostile ones have thousands over one large picture.
const MOST_SCANS: usize = 64;
/// The most pixels on a side that the format can say.
const MOST_SIDE: usize = u16::MAX as usize;

/// A file whose head is read.
type Opened<'a> = JpegDecoder<ZCursor<&'a [u8]>>;

pub(super) fn inspect(bytes: &[u8]) -> Result<Head> {
    Ok(open(bytes, ColorSpace::RGB)?.1)
}

/// Opens a file, checks its size, and says which of its colours are stored.
fn open(bytes: &[u8], colours: ColorSpace) -> Result<(Opened<'_>, Head, ColorSpace)> {
    // Strict: what is cut off must not become a grey half.
    let options = DecoderOptions::default()
        .set_max_width(MOST_SIDE)
        .set_max_height(MOST_SIDE)
        .jpeg_set_max_scans(MOST_SCANS)
        .set_strict_mode(true)
        .jpeg_set_out_colorspace(colours);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().map_err(wrong)?;
    let unknown = || undecodable(FileFormat::Jpeg, "its header does not say what it is");
    let info = decoder.info().ok_or_else(unknown)?;
    let stored = decoder.input_colorspace().ok_or_else(unknown)?;
    let format = if stored == ColorSpace::Luma { PixelFormat::Grey } else { PixelFormat::Rgb };
    let (width, height) = (usize::from(info.width), usize::from(info.height));
    let head = Head { file: FileFormat::Jpeg, width, height, format };
    check_size(head, width.saturating_mul(height), bytes.len())?;
    Ok((decoder, head, stored))
}

/// Decodes into a tensor of the picture's size; `false` if the decoder has no such format.
pub(super) fn decode_into(bytes: &[u8], head: Head, target: &TensorDyn) -> Result<bool> {
    let Some(format) = target.format().filter(|_| target.dtype() == DType::U8) else {
        return Ok(false);
    };
    let colours = match format {
        PixelFormat::Grey => ColorSpace::Luma,
        PixelFormat::Rgb => ColorSpace::RGB,
        PixelFormat::Bgr => ColorSpace::BGR,
        PixelFormat::Rgba => ColorSpace::RGBA,
        PixelFormat::Bgra => ColorSpace::BGRA,
        _ => return Ok(false),
    };
    // Of other colours than the usual ones it makes red, green and blue only.
    let (mut decoder, _, stored) = open(bytes, colours)?;
    if stored != ColorSpace::YCbCr && format != head.format {
        return Ok(false);
    }
    if !has_end(bytes) {
        return Err(undecodable(FileFormat::Jpeg, "it is cut off: there is no mark for its end"));
    }
    let mut rows = RowsMut::new(target)?;
    if let Some(all) = rows.together() {
        decoder.decode_into(all).map_err(wrong)?;
        return Ok(true);
    }
    let heap = Some(TensorMemory::Mem);
    let tight = TensorDyn::image(head.width, head.height, format, DType::U8, heap, None)?;
    let mut between = RowsMut::new(&tight)?;
    if let Some(all) = between.together() {
        decoder.decode_into(all).map_err(wrong)?;
    }
    for (to, from) in rows.iter_mut().zip(between.iter_mut()) {
        to.copy_from_slice(from);
    }
    Ok(true)
}

/// Whether there is a mark for the end after the first scan begins. Decoders read ahead, and do
/// not miss the last few bytes.
fn has_end(bytes: &[u8]) -> bool {
    let mut rest = bytes.get(2..).unwrap_or_default();
    // Segments: a mark of two bytes, a length that counts itself, and the rest.
    while let [0xff, mark, after @ ..] = rest {
        rest = match (mark, after) {
            (0xda, _) => return after.windows(2).any(|pair| pair == [0xff, 0xd9]),
            // A mark may be filled up with ones from the front.
            (0xff, _) => rest.get(1..).unwrap_or_default(),
            (_, [high, low, ..]) => {
                let length = usize::from(u16::from_be_bytes([*high, *low]));
                after.get(length.max(2)..).unwrap_or_default()
            }
            _ => return false,
        };
    }
    false
}

fn wrong(error: DecodeErrors) -> crate::Error {
    undecodable(FileFormat::Jpeg, error)
}
