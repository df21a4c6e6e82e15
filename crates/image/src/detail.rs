//! What errors carry that would be too large to be returned in every `Result`: one struct for each
//! such variant of [`Error`].

use std::io;
use std::path::PathBuf;

use tenure_layout::{DType, PixelFormat, Region, Remedy};

use crate::Error;

macro_rules! boxed {
    ($($name:ident),* $(,)?) => {$(
        impl From<$name> for Error {
            #[cold]
            fn from(detail: $name) -> Error {
                Error::$name(Box::new(detail))
            }
        }
    )*};
}

boxed!(
    CutsChroma,
    Engine,
    FileTooLarge,
    Format,
    NotAnImage,
    OtherSize,
    Outside,
    PlanesOverlap,
    Read,
    Threads,
    Undecodable,
    UnknownWord,
    Write
);

/// A tensor without a format.
#[derive(Debug, thiserror::Error)]
#[error("the {role} of shape {shape:?} is no image{}", Remedy::SetFormat.clause())]
pub struct NotAnImage {
    /// Source or destination.
    pub role: &'static str,
    /// Its shape.
    pub shape: Vec<usize>,
}

/// A format that no engine reads or writes.
#[derive(Debug, thiserror::Error)]
#[error("{format} images of {dtype} cannot be a {role}: {known}")]
pub struct Format {
    /// Source or destination.
    pub role: &'static str,
    /// The format.
    pub format: PixelFormat,
    /// Its element type.
    pub dtype: DType,
    /// What can be.
    pub known: &'static str,
}

/// Planes on top of each other.
#[derive(Debug, thiserror::Error)]
#[error(
    "planes {first} and {second} of the {format} image share bytes: they start {} and {} bytes \
     into the memory",
    offsets.0,
    offsets.1
)]
pub struct PlanesOverlap {
    /// The format.
    pub format: PixelFormat,
    /// The one plane.
    pub first: usize,
    /// The other.
    pub second: usize,
    /// Where they start.
    pub offsets: (usize, usize),
}

/// A region that is not inside its image.
#[derive(Debug, thiserror::Error)]
#[error("the {what} {region} is empty or leaves the image of {width}x{height} pixels")]
pub struct Outside {
    /// Crop or destination rectangle.
    pub what: &'static str,
    /// The region.
    pub region: Region,
    /// The image's width.
    pub width: usize,
    /// The image's height.
    pub height: usize,
}

/// A destination rectangle that cuts chroma samples.
#[derive(Debug, thiserror::Error)]
#[error("the destination rectangle {region} cuts chroma samples: {format} needs even numbers")]
pub struct CutsChroma {
    /// The rectangle.
    pub region: Region,
    /// The destination's format.
    pub format: PixelFormat,
}

/// A word that is not known.
#[derive(Debug, thiserror::Error)]
#[error("unknown {what} `{word}`: {known} are known")]
pub struct UnknownWord {
    /// What it should be.
    pub what: &'static str,
    /// The word.
    pub word: String,
    /// The words that are.
    pub known: String,
}

/// Threads could not be started.
#[derive(Debug, thiserror::Error)]
#[error("cannot start {threads} threads: {reason}")]
pub struct Threads {
    /// How many.
    pub threads: usize,
    /// What the system said.
    pub reason: String,
}

/// A picture file that is damaged, cut off, or of a sort that is not known.
#[derive(Debug, thiserror::Error)]
#[error("the {format} file cannot be decoded: {reason}")]
pub struct Undecodable {
    /// Jpeg or png.
    pub format: &'static str,
    /// What is wrong with it.
    pub reason: String,
}

/// A destination of another size than the picture.
#[derive(Debug, thiserror::Error)]
#[error("the picture has {width}x{height} pixels, and its destination {into_width}x{into_height}")]
pub struct OtherSize {
    /// Pixels of the picture across.
    pub width: usize,
    /// Pixels of the picture down.
    pub height: usize,
    /// Pixels of the destination across.
    pub into_width: usize,
    /// Pixels of the destination down.
    pub into_height: usize,
}

/// A file that is too large to be a picture.
#[derive(Debug, thiserror::Error)]
#[error("{} has more than {limit} bytes: no picture is that large", path.display())]
pub struct FileTooLarge {
    /// The file.
    pub path: PathBuf,
    /// The most bytes.
    pub limit: u64,
}

/// A file that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{} cannot be read: {cause}", path.display())]
pub struct Read {
    /// The file.
    pub path: PathBuf,
    /// The system's answer.
    pub cause: io::Error,
}

/// A file that cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("{} cannot be written: {cause}", path.display())]
pub struct Write {
    /// The file.
    pub path: PathBuf,
    /// The system's answer.
    pub cause: io::Error,
}

/// What an engine ran into.
#[derive(Debug, thiserror::Error)]
#[error("engine {engine}: {reason}")]
pub struct Engine {
    /// The engine.
    pub engine: &'static str,
    /// In the words of whoever refused: a driver, most often.
    pub reason: String,
}
