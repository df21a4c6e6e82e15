//! Everything a description can be refused for, with the values that were wrong.

use crate::{DType, ErrorKind, PixelFormat, detail};

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a layout, a format or a view of one was refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The number of elements or bytes does not fit the address space.
    #[error(transparent)]
    TooLarge(Box<detail::TooLarge>),
    /// More dimensions than [`crate::MAX_RANK`].
    #[error("{rank} dimensions asked for, at most {} are possible", crate::MAX_RANK)]
    TooManyDimensions {
        /// The rank asked for.
        rank: usize,
    },
    /// Shape and strides have different lengths.
    #[error("shape has {shape} dimensions but strides has {strides}: one stride per dimension")]
    RankMismatch {
        /// Dimensions of the shape.
        shape: usize,
        /// Number of strides.
        strides: usize,
    },
    /// Strides would reach before the start of the buffer or beyond what can be addressed.
    #[error(transparent)]
    Unaddressable(Box<detail::Unaddressable>),
    /// The layout needs more bytes than there are.
    #[error("the layout ends at byte {end}, but there are only {available} bytes")]
    OutOfBounds {
        /// One past the last byte needed.
        end: usize,
        /// Bytes available.
        available: usize,
    },
    /// An axis that does not exist.
    #[error("axis {axis} does not exist: the tensor has {rank} dimensions")]
    NoSuchAxis {
        /// The axis asked for.
        axis: usize,
        /// The number of dimensions.
        rank: usize,
    },
    /// An index outside its dimension.
    #[error(transparent)]
    IndexOutOfBounds(Box<detail::IndexOutOfBounds>),
    /// A range outside its dimension, or one that ends before it starts, or a step of zero.
    #[error(transparent)]
    RangeOutOfBounds(Box<detail::RangeOutOfBounds>),
    /// A pixel region that is empty or leaves the image.
    #[error(transparent)]
    RegionOutOfBounds(Box<detail::RegionOutOfBounds>),
    /// A region whose corner or size cuts a chroma sample.
    #[error(transparent)]
    RegionCutsChroma(Box<detail::RegionCutsChroma>),
    /// A new shape with another number of elements.
    #[error(transparent)]
    ReshapeCount(Box<detail::ReshapeCount>),
    /// A reshape that would need a copy.
    #[error(transparent)]
    ReshapeStrided(Box<detail::ReshapeStrided>),
    /// A permutation that does not name each axis once.
    #[error(transparent)]
    NotAPermutation(Box<detail::NotAPermutation>),
    /// A squeeze of a dimension that is not 1.
    #[error("dimension {axis} has {len} elements: only dimensions of 1 can be squeezed")]
    NotSqueezable {
        /// The dimension.
        axis: usize,
        /// Its elements.
        len: usize,
    },
    /// Shapes that do not broadcast.
    #[error(transparent)]
    NotBroadcastable(Box<detail::NotBroadcastable>),
    /// Two layouts that must have the same shape do not.
    #[error(transparent)]
    ShapeMismatch(Box<detail::ShapeMismatch>),
    /// Two layouts that must have the same element type do not.
    #[error("element types differ: {left} and {right}")]
    DTypeMismatch {
        /// One type.
        left: DType,
        /// The other.
        right: DType,
    },
    /// An offset in the middle of an element, or of a byte for 4-bit types.
    #[error("byte offset {offset} is not a multiple of {align}, the alignment of {dtype}")]
    Misaligned {
        /// The offset in bytes.
        offset: usize,
        /// The element type.
        dtype: DType,
        /// What the offset must be a multiple of.
        align: usize,
    },
    /// A 4-bit view that would start, step or end inside a byte.
    #[error(transparent)]
    SubByte(Box<detail::SubByte>),
    /// An unknown word for an element type.
    #[error("unknown element type {word:?}: known are {}", DType::words())]
    UnknownDType {
        /// The word given.
        word: Box<str>,
    },
    /// An unknown code for an element type.
    #[error("no element type has code {code} with {bits} bits and {lanes} lanes")]
    UnknownDTypeCode {
        /// DLPack type code.
        code: u8,
        /// Bits per lane.
        bits: u8,
        /// Lanes.
        lanes: u16,
    },
    /// An unknown word for a pixel format.
    #[error("unknown pixel format {word:?}: known are {}", PixelFormat::words())]
    UnknownFormat {
        /// The word given.
        word: Box<str>,
    },
    /// A fourcc code that no format has.
    #[error("no pixel format has the fourcc code {code:#010x}")]
    UnknownFourcc {
        /// The code.
        code: u32,
    },
    /// A shape that no image of this format has.
    #[error(transparent)]
    NotThisFormat(Box<detail::NotThisFormat>),
    /// An element type that the format cannot have.
    #[error("{format} images have {} elements, not {dtype}", format.depth_words())]
    FormatElement {
        /// The format.
        format: PixelFormat,
        /// The element type.
        dtype: DType,
    },
    /// An image without pixels.
    #[error("an image of {width}x{height} pixels has no pixels")]
    EmptyImage {
        /// Width.
        width: usize,
        /// Height.
        height: usize,
    },
    /// Width, height or stride too large.
    #[error("a {format} image of {width}x{height} pixels does not fit the address space")]
    ImageTooLarge {
        /// The format.
        format: PixelFormat,
        /// Width.
        width: usize,
        /// Height.
        height: usize,
    },
    /// A row stride shorter than a row.
    #[error("row stride {stride} is shorter than a row of {minimum} bytes")]
    StrideTooShort {
        /// The stride given, in bytes.
        stride: usize,
        /// The smallest possible, in bytes.
        minimum: usize,
    },
    /// A row stride that divides an element or a chroma row.
    #[error("row stride {stride} is not a multiple of {multiple} bytes, as {format} needs")]
    StrideNotMultiple {
        /// The stride given, in bytes.
        stride: usize,
        /// What it must be a multiple of.
        multiple: usize,
        /// The format.
        format: PixelFormat,
    },
    /// The wrong number of planes.
    #[error("{format} has {expected} planes, {given} were given")]
    PlaneCount {
        /// The format.
        format: PixelFormat,
        /// How many it has.
        expected: usize,
        /// How many were given.
        given: usize,
    },
    /// A quantisation that does not fit.
    #[error(transparent)]
    QuantizationCount(Box<detail::QuantizationCount>),
    /// A scale that no value can be divided by.
    #[error("quantisation scale {scale} at {index} is not a finite number above zero")]
    QuantizationScale {
        /// The scale.
        scale: f32,
        /// Its index.
        index: usize,
    },
}

impl Error {
    /// What sort of error it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::UnknownDTypeCode { .. } | Error::UnknownFourcc { .. } => ErrorKind::Unsupported,
            Error::DTypeMismatch { .. } | Error::FormatElement { .. } => ErrorKind::WrongType,
            Error::TooLarge { .. }
            | Error::TooManyDimensions { .. }
            | Error::RankMismatch { .. }
            | Error::Unaddressable { .. }
            | Error::OutOfBounds { .. }
            | Error::NoSuchAxis { .. }
            | Error::IndexOutOfBounds { .. }
            | Error::RangeOutOfBounds { .. }
            | Error::RegionOutOfBounds { .. }
            | Error::RegionCutsChroma { .. }
            | Error::ReshapeCount { .. }
            | Error::ReshapeStrided { .. }
            | Error::NotAPermutation { .. }
            | Error::NotSqueezable { .. }
            | Error::NotBroadcastable { .. }
            | Error::ShapeMismatch { .. }
            | Error::Misaligned { .. }
            | Error::SubByte { .. }
            | Error::UnknownDType { .. }
            | Error::UnknownFormat { .. }
            | Error::NotThisFormat { .. }
            | Error::EmptyImage { .. }
            | Error::ImageTooLarge { .. }
            | Error::StrideTooShort { .. }
            | Error::StrideNotMultiple { .. }
            | Error::PlaneCount { .. }
            | Error::QuantizationCount { .. }
            | Error::QuantizationScale { .. } => ErrorKind::Invalid,
        }
    }
}
