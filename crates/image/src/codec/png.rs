//! PNG: decoded row by row into the rows of a tensor, whatever their stride; written quickly
//! rather than small.

use std::io::{Cursor, Write};

use png::{BitDepth, ColorType, Compression, Decoder, Encoder, EncodingError, Reader};
use png::{Limits, Transformations};
use tenure_layout::{DType, PixelFormat};
use tenure_tensor::TensorDyn;

use super::rows::{Rows, RowsMut};
use super::{FileFormat, Head, check_size, undecodable};
use crate::{Error, Result};

/// What is written without being converted.
pub(super) const STORED: &[PixelFormat] = &[PixelFormat::Grey, PixelFormat::Rgb, PixelFormat::Rgba];

pub(super) fn inspect(bytes: &[u8]) -> Result<Head> {
    Ok(open(bytes)?.1)
}

/// Opens a file as far as its first row, and checks its size.
fn open(bytes: &[u8]) -> Result<(Reader<Cursor<&[u8]>>, Head)> {
    let mut decoder = Decoder::new_with_limits(Cursor::new(bytes), Limits { bytes: 16 << 20 });
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    decoder.set_transformations(Transformations::EXPAND | Transformations::STRIP_16);
    let wrong = |error| undecodable(FileFormat::Png, error);
    let info = decoder.read_header_info().map_err(wrong)?;
    let head = Head {
        file: FileFormat::Png,
        width: info.width as usize,
        height: info.height as usize,
        format: PixelFormat::Rgba,
    };
    let raw = info.raw_row_length().saturating_mul(head.height);
    check_size(head, raw, bytes.len())?;
    let reader = decoder.read_info().map_err(wrong)?;
    // Known only now: transparent colours come after the header.
    let format = match reader.output_color_type().0 {
        ColorType::Grayscale => PixelFormat::Grey,
        ColorType::Rgb => PixelFormat::Rgb,
        ColorType::GrayscaleAlpha | ColorType::Rgba | ColorType::Indexed => PixelFormat::Rgba,
    };
    Ok((reader, Head { format, ..head }))
}

/// Decodes into a tensor of the picture's size; `false` if it has another format than the file.
pub(super) fn decode_into(bytes: &[u8], head: Head, target: &TensorDyn) -> Result<bool> {
    if target.format() != Some(head.format) || target.dtype() != DType::U8 {
        return Ok(false);
    }
    let wrong = |error| undecodable(FileFormat::Png, error);
    let (mut reader, head) = open(bytes)?;
    let mut rows = RowsMut::new(target)?;
    let grey_alpha = reader.output_color_type().0 == ColorType::GrayscaleAlpha;
    if reader.info().interlaced || grey_alpha {
        let too_large = || undecodable(FileFormat::Png, "its pixels do not fit into memory");
        let length = reader.output_buffer_size().ok_or_else(too_large)?;
        // As many as the file says, which need not be true.
        let mut whole = Vec::new();
        whole.try_reserve_exact(length).map_err(|_| too_large())?;
        whole.resize(length, 0);
        reader.next_frame(&mut whole).map_err(wrong)?;
        let from = whole.chunks(length / head.height.max(1));
        for (row, from) in rows.iter_mut().zip(from) {
            if grey_alpha {
                spread(from, row);
            } else {
                row.copy_from_slice(from);
            }
        }
    } else {
        for row in rows.iter_mut() {
            reader.read_row(row).map_err(wrong)?;
        }
    }
    // What follows the last row must be there too.
    reader.finish().map_err(wrong)?;
    Ok(true)
}

/// Grey and alpha as red, green, blue and alpha.
fn spread(from: &[u8], row: &mut [u8]) {
    for (pixel, pair) in row.chunks_exact_mut(4).zip(from.chunks_exact(2)) {
        if let (&[grey, alpha], [red, green, blue, opacity]) = (pair, pixel) {
            (*red, *green, *blue, *opacity) = (grey, grey, grey, alpha);
        }
    }
}

/// Writes a picture that is in one of the formats [`STORED`].
pub(super) fn encode(picture: &TensorDyn, writer: impl Write) -> Result<()> {
    let (width, height) = (picture.width().unwrap_or(0), picture.height().unwrap_or(0));
    let side = |side: usize| {
        let limit = i32::MAX as usize;
        u32::try_from(side).ok().filter(|_| side <= limit).ok_or(Error::TooLarge {
            width,
            height,
            limit,
        })
    };
    let mut encoder = Encoder::new(writer, side(width)?, side(height)?);
    encoder.set_color(match picture.format() {
        Some(PixelFormat::Grey) => ColorType::Grayscale,
        Some(PixelFormat::Rgba) => ColorType::Rgba,
        _ => ColorType::Rgb,
    });
    encoder.set_depth(BitDepth::Eight);
    encoder.set_compression(Compression::Fast);
    let rows = Rows::new(picture)?;
    let mut writer = encoder.write_header().map_err(written)?;
    let mut stream = writer.stream_writer().map_err(written)?;
    for row in rows.iter() {
        stream.write_all(row)?;
    }
    stream.finish().map_err(written)?;
    writer.finish().map_err(written)?;
    rows.intact()
}

fn written(error: EncodingError) -> Error {
    match error {
        EncodingError::IoError(cause) => cause.into(),
        other => std::io::Error::other(other).into(),
    }
}
