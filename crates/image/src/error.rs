//! Everything a conversion can be refused for.

use std::io;
use std::path::PathBuf;

use tenure_layout::{Colour, DType, PixelFormat, Region};

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
    #[error("the {role} of shape {shape:?} is no image: call set_format() first")]
    NotAnImage {
        /// Source or destination.
        role: &'static str,
        /// Its shape.
        shape: Vec<usize>,
    },
    /// A format that no engine reads or writes.
    #[error("{format} images of {dtype} cannot be a {role}: {known}")]
    Format {
        /// Source or destination.
        role: &'static str,
        /// The format.
        format: PixelFormat,
        /// Its element type.
        dtype: DType,
        /// What can be.
        known: &'static str,
    },
    /// Planes on top of each other.
    #[error(
        "planes {first} and {second} of the {format} image share bytes: they start {} and {} bytes \
         into the memory",
        offsets.0,
        offsets.1
    )]
    PlanesOverlap {
        /// The format.
        format: PixelFormat,
        /// The one plane.
        first: usize,
        /// The other.
        second: usize,
        /// Where they start.
        offsets: (usize, usize),
    },
    /// An element type that images are not converted to.
    #[error("images are not converted to {dtype}: u8, i8, f16, bf16 and f32 can be written")]
    TargetType {
        /// The element type.
        dtype: DType,
    },
    /// A region that is not inside its image.
    #[error("the {what} {region} is empty or leaves the image of {width}x{height} pixels")]
    Outside {
        /// Crop or destination rectangle.
        what: &'static str,
        /// The region.
        region: Region,
        /// The image's width.
        width: usize,
        /// The image's height.
        height: usize,
    },
    /// A destination rectangle that cuts chroma samples.
    #[error("the destination rectangle {region} cuts chroma samples: {format} needs even numbers")]
    CutsChroma {
        /// The rectangle.
        region: Region,
        /// The destination's format.
        format: PixelFormat,
    },
    /// A colour for a source that has none.
    #[error(
        "the colour {colour} is that of the source, and {source_format} has none: the \
         {destination} is written as {written}, or as set_colour() says on it"
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
        "a normalised picture in {dtype} needs a quantisation: give one in Normalize or set that \
         of the destination"
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
    #[error("unknown {what} `{word}`: {known} are known")]
    UnknownWord {
        /// What it should be.
        what: &'static str,
        /// The word.
        word: String,
        /// The words that are.
        known: String,
    },
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
    #[error("cannot start {threads} threads: {reason}")]
    Threads {
        /// How many.
        threads: usize,
        /// What the system said.
        reason: String,
    },
    /// Bytes of no picture.
    #[error("the file is neither a JPEG nor a PNG: it begins with {first:02x?}")]
    NoPicture {
        /// Its first bytes.
        first: Vec<u8>,
    },
    /// A picture file that is damaged, cut off, or of a sort that is not known.
    #[error("the {format} file cannot be decoded: {reason}")]
    Undecodable {
        /// Jpeg or png.
        format: &'static str,
        /// What is wrong with it.
        reason: String,
    },
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
    #[error(
        "the picture has {width}x{height} pixels, and its destination {into_width}x{into_height}"
    )]
    OtherSize {
        /// Pixels of the picture across.
        width: usize,
        /// Pixels of the picture down.
        height: usize,
        /// Pixels of the destination across.
        into_width: usize,
        /// Pixels of the destination down.
        into_height: usize,
    },
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
    #[error("{} has more than {limit} bytes: no picture is that large", path.display())]
    FileTooLarge {
        /// The file.
        path: PathBuf,
        /// The most bytes.
        limit: u64,
    },
    /// A file that cannot be read.
    #[error("{} cannot be read: {cause}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        cause: io::Error,
    },
    /// A file that cannot be written.
    #[error("{} cannot be written: {cause}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        cause: io::Error,
    },
    /// Whoever takes an encoded picture takes no more.
    #[error("the encoded picture cannot be written: {0}")]
    Encoded(#[from] io::Error),
    /// What an engine ran into.
    #[error("engine {engine}: {reason}")]
    Engine {
        /// The engine.
        engine: &'static str,
        /// In the words of whoever refused: a driver, most often.
        reason: String,
    },
    /// No engine could do it.
    #[error("no engine could convert this: {}", list(.reasons))]
    NoEngine {
        /// Each engine tried and why it could not.
        reasons: Vec<(&'static str, String)>,
    },
}

fn list(reasons: &[(&'static str, String)]) -> String {
    if reasons.is_empty() {
        return "the processor was made without any".to_owned();
    }
    let words: Vec<_> = reasons.iter().map(|(engine, why)| format!("{engine}: {why}")).collect();
    words.join("; ")
}
