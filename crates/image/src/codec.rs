//! Picture files: JPEG and PNG straight into tensors, and tensors into them.
//!
//! The promise of this module: a file that is damaged, cut off or hostile is an error that says
//! so, with memory bounded before any is taken; and a file that is written is whole. One file for
//! each format; this one tells them apart.
//!
//! ```
//! use tenure_image::codec;
//! use tenure_tensor::{PixelFormat, Tensor};
//!
//! let picture = Tensor::<u8>::image(64, 48, PixelFormat::Nv12, None, None)?;
//! let mut file = vec![];
//! codec::encode_png(&picture, &mut file)?;
//! let back = codec::decode(&file, None)?;
//! assert_eq!((back.width(), back.format()), (Some(64), Some(PixelFormat::Rgb)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::io::{Read, Write};
use std::path::Path;

use tenure_files::whole::{self, Existing};
use tenure_layout::{Colour, ColourRange, DType, PixelFormat};
use tenure_memory::{TensorMemory, regular};
use tenure_tensor::{DynTensor, ElementKind, Tensor, TensorDyn};

use crate::{Convert, EngineKind, Error, ImageProcessor, Result};

mod jpeg;
mod png;
mod rows;
mod several;

#[cfg(test)]
mod tests;

pub use several::more_follow;

/// The most pixels that are decoded: 16384 by 16384.
pub const MOST_PIXELS: usize = 1 << 28;
/// The largest file that is read.
const MOST_BYTES: u64 = 1 << 30;
/// Neither format can make more bytes of a picture from one byte of its file.
const BEST_RATIO: usize = 1100;
/// JPEG's quality where none is given.
pub const QUALITY: u8 = 90;

/// The format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileFormat {
    /// JPEG: small, and not exact.
    Jpeg,
    /// PNG: exact.
    Png,
}

/// What a file says about its picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The file's format.
    pub file: FileFormat,
    /// Pixels across.
    pub width: usize,
    /// Pixels down.
    pub height: usize,
    /// What [`decode`] makes of it, in elements of `u8`: grey, rgb or rgba.
    pub format: PixelFormat,
}

impl FileFormat {
    /// The format of files with such a name.
    ///
    /// # Errors
    /// If it ends neither in `.png` nor in `.jpg` or `.jpeg`.
    pub fn of_name(path: &Path) -> Result<FileFormat> {
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
        match ending.as_deref() {
            Some("png") => Ok(FileFormat::Png),
            Some("jpg" | "jpeg") => Ok(FileFormat::Jpeg),
            _ => Err(Error::FileName { path: path.to_owned() }),
        }
    }

    /// The format of a file that begins so.
    ///
    /// # Errors
    /// If it is none of these.
    pub fn of_bytes(bytes: &[u8]) -> Result<FileFormat> {
        if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
            Ok(FileFormat::Png)
        } else if bytes.starts_with(&[0xff, 0xd8, 0xff]) {
            Ok(FileFormat::Jpeg)
        } else {
            Err(Error::NoPicture { first: bytes.iter().take(8).copied().collect() })
        }
    }

    /// The word for this format: `"jpeg"`.
    pub fn name(self) -> &'static str {
        match self {
            FileFormat::Jpeg => "jpeg",
            FileFormat::Png => "png",
        }
    }
}

/// What a file says about its picture, without decoding it.
///
/// # Errors
/// If it is neither JPEG nor PNG, damaged, or larger than [`MOST_PIXELS`].
pub fn inspect(bytes: &[u8]) -> Result<Head> {
    match FileFormat::of_bytes(bytes)? {
        FileFormat::Jpeg => jpeg::inspect(bytes),
        FileFormat::Png => png::inspect(bytes),
    }
}

/// Decodes a JPEG or PNG file into a new tensor: grey, rgb or rgba, as the file has it, in 8 bits.
/// Palettes become their colours, 16 bits their upper 8, grey with alpha becomes rgba. A note in
/// the file that it should be turned is not followed, and a colour profile not applied.
///
/// # Errors
/// As [`inspect`], and if the file is cut off or no memory serves.
pub fn decode(bytes: &[u8], memory: Option<TensorMemory>) -> Result<TensorDyn> {
    let head = inspect(bytes)?;
    let (width, height) = (head.width, head.height);
    let mut tensor = TensorDyn::image(width, height, head.format, DType::U8, memory, None)?;
    decode_into(bytes, &mut tensor)?;
    Ok(tensor)
}

/// Decodes a JPEG or PNG file into a tensor of its size, of any format and type that
/// [`ImageProcessor`] writes. Where the decoder can, it writes the tensor's rows itself: JPEG rgb,
/// bgr, rgba, bgra and grey without padding, PNG as it is stored, with any row stride. Luma and
/// chroma without a colour of their own are written as JPEG has them, and say so then.
///
/// # Errors
/// As [`decode`], and if the destination is no image, of another size, or held by somebody. What
/// it contains after an error in the middle of the file is not defined.
pub fn decode_into<E: ElementKind>(bytes: &[u8], destination: &mut Tensor<E>) -> Result<()> {
    let head = inspect(bytes)?;
    let (width, height) = (head.width, head.height);
    let size = destination.width().zip(destination.height());
    if size.is_some_and(|size| size != (width, height)) {
        let (into_width, into_height) = size.unwrap_or_default();
        return Err(Error::from(crate::detail::OtherSize {
            width,
            height,
            into_width,
            into_height,
        }));
    }
    let target = destination.to_dyn();
    // Decoders know grey as files have it.
    let own_grey = target.format() == Some(PixelFormat::Grey) && !is_usual(target.colour());
    let done = match head.file {
        _ if own_grey => false,
        FileFormat::Jpeg => jpeg::decode_into(bytes, head, &target)?,
        FileFormat::Png => png::decode_into(bytes, head, &target)?,
    };
    if !done {
        let heap = Some(TensorMemory::Mem);
        let between = decode(bytes, heap)?;
        processor()?.convert(&between, destination, &Convert::new())?;
        if destination.format().is_some_and(PixelFormat::is_yuv) && destination.colour().is_none() {
            destination.set_colour(Some(Colour::JPEG));
        }
    }
    Ok(())
}

/// Decodes a JPEG or PNG file, whatever its name, into memory that is chosen by itself.
///
/// ```
/// use tenure_image::codec;
/// use tenure_tensor::{PixelFormat, Tensor};
///
/// let picture = Tensor::<u8>::image(320, 200, PixelFormat::Rgb, None, None)?;
/// # let folder = tempfile::tempdir()?;
/// let path = "picture.png";
/// # let path = folder.path().join(path);
/// codec::save(&path, &picture)?;
/// assert_eq!(codec::open(&path)?.width(), Some(320));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`decode`], and if the file cannot be read or is no regular file: a pipe is not waited for.
#[doc(alias = "read_file")]
pub fn open(path: impl AsRef<Path>) -> Result<TensorDyn> {
    open_in(path, None)
}

/// As [`open`], into the memory named.
///
/// # Errors
/// As there.
pub fn open_in(path: impl AsRef<Path>, memory: Option<TensorMemory>) -> Result<TensorDyn> {
    Ok(open_first(path, memory)?.0)
}

/// As [`open_in`], and whether [more pictures follow](more_follow) in the file.
///
/// # Errors
/// As [`open`].
pub fn open_first(
    path: impl AsRef<Path>,
    memory: Option<TensorMemory>,
) -> Result<(TensorDyn, bool)> {
    let path = path.as_ref();
    let failed = |cause| Error::from(crate::detail::Read { path: path.to_owned(), cause });
    let (file, _) = regular::open(path).map_err(failed)?;
    let mut bytes = vec![];
    // One byte more shows that there is more.
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(Error::from(crate::detail::FileTooLarge {
            path: path.to_owned(),
            limit: MOST_BYTES,
        }));
    }
    Ok((decode(&bytes, memory)?, more_follow(&bytes)))
}

/// Writes a picture as PNG or JPEG, as the name says; a file that is there is replaced by a whole
/// one or not at all. Gives the number of bytes.
///
/// # Errors
/// If the name ends in neither, as [`encode_png`], and if the file cannot be written.
pub fn save<E: ElementKind>(path: impl AsRef<Path>, picture: &Tensor<E>) -> Result<u64> {
    let path = path.as_ref();
    let format = FileFormat::of_name(path)?;
    let written = whole::write(path, Existing::Replace, |out| match format {
        FileFormat::Png => encode_png(picture, out),
        FileFormat::Jpeg => encode_jpeg(picture, QUALITY, out),
    });
    written.map_err(|error| match error {
        Error::Encoded(cause) => Error::from(crate::detail::Write { path: path.to_owned(), cause }),
        other => other,
    })
}

/// Writes a picture of `u8` (`u16` for p010) as PNG: grey as grey, alpha where there is one,
/// everything else as red, green and blue.
///
/// # Errors
/// If it is no image of such elements, or somebody holds it to write; and what the writer says.
pub fn encode_png<E: ElementKind>(picture: &Tensor<E>, writer: impl Write) -> Result<()> {
    png::encode(&in_one_of(picture, png::STORED)?, writer)
}

/// Writes a picture as JPEG, as [`encode_png`]; alpha is left out. From a quality of 90 on with
/// all of its colours, below with those of every second pixel across and down.
///
/// # Errors
/// As [`encode_png`], and if the quality is not 1 to 100 or a side has more than 65535 pixels.
pub fn encode_jpeg<E: ElementKind>(
    picture: &Tensor<E>,
    quality: u8,
    writer: impl Write,
) -> Result<()> {
    jpeg::encode(&in_one_of(picture, jpeg::STORED)?, quality, writer)
}

/// The picture in one of these formats, converted if it is in another.
fn in_one_of<E: ElementKind>(picture: &Tensor<E>, known: &[PixelFormat]) -> Result<TensorDyn> {
    let Some((format, image)) = picture.format().zip(picture.image_layout()) else {
        return Err(Error::from(crate::detail::NotAnImage {
            role: "picture",
            shape: picture.shape().to_vec(),
        }));
    };
    let grey = format == PixelFormat::Grey && known.contains(&PixelFormat::Grey);
    let full = picture.colour().is_none_or(|colour| colour.range == ColourRange::Full);
    if known.contains(&format) && picture.dtype() == DType::U8 && (!grey || full) {
        return Ok(picture.to_dyn());
    }
    let alpha = format.channels() == 4 && known.contains(&PixelFormat::Rgba);
    let into = match (grey, alpha) {
        (true, _) => PixelFormat::Grey,
        (false, true) => PixelFormat::Rgba,
        (false, false) => PixelFormat::Rgb,
    };
    let (width, height) = (image.width(), image.height());
    let heap = Some(TensorMemory::Mem);
    let converted = TensorDyn::image(width, height, into, DType::U8, heap, None)?;
    processor()?.convert(picture, &converted, &Convert::new())?;
    Ok(converted)
}

/// Whether grey of this colour is the luma that files have.
fn is_usual(colour: Option<Colour>) -> bool {
    colour.is_none_or(|colour| colour == Colour::JPEG)
}

fn processor() -> Result<ImageProcessor> {
    let engines = Some(vec![EngineKind::Cpu, EngineKind::Reference]);
    ImageProcessor::builder().engines(engines).threads(1).build()
}

/// Refuses pictures that are too large, and files that are too short for their picture, before
/// anything is allocated. `raw` is the bytes of the picture as the file stores it.
fn check_size(head: Head, raw: usize, file: usize) -> Result<()> {
    let Head { width, height, .. } = head;
    if width.checked_mul(height).is_none_or(|pixels| pixels > MOST_PIXELS) {
        return Err(Error::TooManyPixels { width, height, limit: MOST_PIXELS });
    }
    if raw > file.saturating_mul(BEST_RATIO) {
        let reason = format!("{file} bytes cannot hold {width}x{height} pixels: it is cut off");
        return Err(undecodable(head.file, reason));
    }
    Ok(())
}

fn undecodable(file: FileFormat, reason: impl ToString) -> Error {
    Error::from(crate::detail::Undecodable { format: file.name(), reason: reason.to_string() })
}
