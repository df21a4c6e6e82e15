//! Everything a conversion can be refused for.

use std::io;
use std::path::PathBuf;

use tenure_layout::{Colour, DType, ErrorKind, PixelFormat, Remedy};

use crate::detail;

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a picture could not be converted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A description was refused.
    #[error(transparent)]
    Layout(#[from] tenure_layout::Error),
    /// A tensor was refused.
    #[error(transparent)]
    Tensor(#[from] tenure_tensor::Error),
    /// Memory was refused: most often [`tenure_memory::Error::Busy`].
    #[error(transparent)]
    Memory(#[from] tenure_memory::Error),
    /// A tensor without a format.
    #[error(transparent)]
    NotAnImage(Box<detail::NotAnImage>),
    /// A format that no engine reads or writes.
    #[error(transparent)]
    Format(Box<detail::Format>),
    /// Planes on top of each other.
    #[error(transparent)]
    PlanesOverlap(Box<detail::PlanesOverlap>),
    /// An element type that images are not converted to.
    #[error("images are not converted to {dtype}: u8, i8, f16, bf16 and f32 can be written")]
    TargetType {
        /// The element type.
        dtype: DType,
    },
    /// A region that is not inside its image.
    #[error(transparent)]
    Outside(Box<detail::Outside>),
    /// A destination rectangle that cuts chroma samples.
    #[error(transparent)]
    CutsChroma(Box<detail::CutsChroma>),
    /// A colour for a source that has none.
    #[error(
        "the colour {colour} is that of the source, and {source_format} has none: the \
         {destination} is written as {written}{}",
        Remedy::SetColour.clause()
    )]
    ColourOfRgb {
        /// What the conversion was given.
        colour: Colour,
        /// The source's format.
        source_format: PixelFormat,
        /// The destination's format.
        destination: PixelFormat,
        /// How the destination would be written.
        written: Colour,
    },
    /// A number in the normalisation that makes no sense.
    #[error("{what} of the normalisation is {value}: it must be finite and, to divide by, not 0")]
    Normalize {
        /// Which.
        what: &'static str,
        /// The number.
        value: f32,
    },
    /// Numbers in the normalisation that are too far apart.
    #[error(
        "scale, mean, std and quantisation together make {value} of some pixel: f32 holds numbers \
         up to 3.4e38"
    )]
    Overflow {
        /// What comes out.
        value: f32,
    },
    /// Integers asked to carry real numbers without saying how.
    #[error(
        "a normalised picture in {dtype} needs a quantisation{}",
        Remedy::GiveQuantization.clause()
    )]
    IntegersWithoutScale {
        /// The element type.
        dtype: DType,
    },
    /// A destination quantised by axis.
    #[error("the destination has {scales} quantisation scales: pictures are stored with one")]
    QuantizedByAxis {
        /// How many.
        scales: usize,
    },
    /// Not a multiple of a quarter turn.
    #[error("cannot rotate by {degrees} degrees: 0, 90, 180 and 270 are known")]
    Rotation {
        /// The angle.
        degrees: u32,
    },
    /// A word that is not known.
    #[error(transparent)]
    UnknownWord(Box<detail::UnknownWord>),
    /// A batch of another length than there are sources.
    #[error("{sources} sources do not fill a batch of {elements}")]
    BatchLength {
        /// Sources given.
        sources: usize,
        /// Elements of the batch.
        elements: usize,
    },
    /// A picture so large that positions in it no longer fit.
    #[error("{width}x{height} pixels are too many for one conversion: at most {limit} on a side")]
    TooLarge {
        /// Pixels across.
        width: usize,
        /// Pixels down.
        height: usize,
        /// The most on a side.
        limit: usize,
    },
    /// Threads could not be started.
    #[error(transparent)]
    Threads(Box<detail::Threads>),
    /// Bytes of no picture.
    #[error("the file is neither a JPEG nor a PNG: it begins with {first:02x?}")]
    NoPicture {
        /// Its first bytes.
        first: Vec<u8>,
    },
    /// A picture file that is damaged, cut off, or of a sort that is not known.
    #[error(transparent)]
    Undecodable(Box<detail::Undecodable>),
    /// A picture file of more pixels than are decoded.
    #[error("the picture has {width}x{height} pixels: at most {limit} are decoded")]
    TooManyPixels {
        /// Pixels across.
        width: usize,
        /// Pixels down.
        height: usize,
        /// The most of both together.
        limit: usize,
    },
    /// A destination of another size than the picture.
    #[error(transparent)]
    OtherSize(Box<detail::OtherSize>),
    /// A name that does not tell what to write.
    #[error("{} does not tell what to write: name it .png, .jpg or .jpeg", path.display())]
    FileName {
        /// The name.
        path: PathBuf,
    },
    /// No quality of JPEG.
    #[error("a quality of {quality} is not known: 1 to 100 are")]
    Quality {
        /// What was asked for.
        quality: u8,
    },
    /// A file that is too large to be a picture.
    #[error(transparent)]
    FileTooLarge(Box<detail::FileTooLarge>),
    /// A file that cannot be read.
    #[error(transparent)]
    Read(Box<detail::Read>),
    /// A file that cannot be written.
    #[error(transparent)]
    Write(Box<detail::Write>),
    /// Whoever takes an encoded picture takes no more.
    #[error("the encoded picture cannot be written: {0}")]
    Encoded(#[from] io::Error),
    /// What an engine ran into.
    #[error(transparent)]
    Engine(Box<detail::Engine>),
    /// No engine could do it.
    #[error("no engine could convert this: {}", list(.reasons))]
    NoEngine {
        /// Each engine tried and why it could not.
        reasons: Vec<(&'static str, String)>,
    },
}

impl Error {
    /// What sort of error it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Layout(error) => error.kind(),
            Error::Tensor(error) => error.kind(),
            Error::Memory(error) => error.kind(),
            Error::NoEngine { .. } | Error::Engine(_) => ErrorKind::Unavailable,
            Error::Threads(_) | Error::Read(_) | Error::Write(_) | Error::Encoded(_) => {
                ErrorKind::System
            }
            Error::NoPicture { .. } | Error::Undecodable(_) => ErrorKind::Damaged,
            Error::TargetType { .. } => ErrorKind::WrongType,
            Error::Format(_) => ErrorKind::Unsupported,
            Error::NotAnImage(_)
            | Error::PlanesOverlap(_)
            | Error::Outside(_)
            | Error::CutsChroma(_)
            | Error::ColourOfRgb { .. }
            | Error::Normalize { .. }
            | Error::Overflow { .. }
            | Error::IntegersWithoutScale { .. }
            | Error::QuantizedByAxis { .. }
            | Error::Rotation { .. }
            | Error::UnknownWord(_)
            | Error::BatchLength { .. }
            | Error::TooLarge { .. }
            | Error::TooManyPixels { .. }
            | Error::OtherSize(_)
            | Error::FileName { .. }
            | Error::Quality { .. }
            | Error::FileTooLarge(_) => ErrorKind::Invalid,
        }
    }

    /// What would help, where a call would.
    pub fn remedy(&self) -> Option<Remedy> {
        match self {
            Error::Tensor(error) => error.remedy(),
            Error::Memory(error) => error.remedy(),
            Error::NotAnImage(_) => Some(Remedy::SetFormat),
            Error::ColourOfRgb { .. } => Some(Remedy::SetColour),
            Error::IntegersWithoutScale { .. } => Some(Remedy::GiveQuantization),
            _ => None,
        }
    }

    /// The operating system's answer, if it is one. It is part of the text.
    pub fn os_error(&self) -> Option<&io::Error> {
        match self {
            Error::Tensor(error) => error.os_error(),
            Error::Memory(error) => error.os_error(),
            Error::Read(read) => Some(&read.cause),
            Error::Write(write) => Some(&write.cause),
            Error::Encoded(cause) => Some(cause),
            _ => None,
        }
    }

    /// Whether waiting or dropping a guard would help.
    pub fn is_busy(&self) -> bool {
        self.kind() == ErrorKind::Busy
    }
}

fn list(reasons: &[(&'static str, String)]) -> String {
    if reasons.is_empty() {
        return "the processor was made without any".to_owned();
    }
    let words: Vec<_> = reasons.iter().map(|(engine, why)| format!("{engine}: {why}")).collect();
    words.join("; ")
}
