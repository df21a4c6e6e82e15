//! Everything a conversion can be refused for.

use tenure_layout::{DType, PixelFormat, Region};

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
    /// A number in the normalisation that makes no sense.
    #[error("{what} of the normalisation is {value}: it must be finite and, to divide by, not 0")]
    Normalize {
        /// Which.
        what: &'static str,
        /// The number.
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
    let words: Vec<_> = reasons.iter().map(|(engine, why)| format!("{engine}: {why}")).collect();
    words.join("; ")
}
