//! Everything a description can be refused for, with the values that were wrong.

use crate::{DType, Dims, PixelFormat, Region, Strides};

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a layout, a format or a view of one was refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The number of elements or bytes does not fit the address space.
    #[error("shape {shape:?} has more elements or bytes than can be addressed ({})", isize::MAX)]
    TooLarge {
        /// The shape asked for.
        shape: Dims,
    },
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
    #[error("shape {shape:?} with strides {strides:?} from byte {offset} leaves the address range")]
    Unaddressable {
        /// The shape.
        shape: Dims,
        /// Strides in elements.
        strides: Strides,
        /// Byte offset of the first element.
        offset: usize,
    },
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
    #[error("index {index} is outside dimension {axis}, which has {len} elements")]
    IndexOutOfBounds {
        /// The dimension.
        axis: usize,
        /// The index asked for.
        index: usize,
        /// Elements in the dimension.
        len: usize,
    },
    /// A range outside its dimension, or one that ends before it starts, or a step of zero.
    #[error(
        "range {start}..{end} step {step} does not fit dimension {axis}, which has {len} elements \
         (0 <= start <= end <= {len}, step >= 1)"
    )]
    RangeOutOfBounds {
        /// The dimension.
        axis: usize,
        /// First index.
        start: usize,
        /// One past the last index.
        end: usize,
        /// Distance between indices.
        step: usize,
        /// Elements in the dimension.
        len: usize,
    },
    /// A pixel region that is empty or leaves the image.
    #[error("region {region} does not lie inside the image of {width}x{height} pixels")]
    RegionOutOfBounds {
        /// The region asked for.
        region: Region,
        /// Image width.
        width: usize,
        /// Image height.
        height: usize,
    },
    /// A region whose corner or size cuts a chroma sample.
    #[error(
        "region {region} cuts a chroma sample of {format}: x and width must be multiples of \
         {horizontal}, y and height of {vertical} (or reach the image's edge)"
    )]
    RegionCutsChroma {
        /// The region asked for.
        region: Region,
        /// The format.
        format: PixelFormat,
        /// Pixels that share a chroma sample horizontally.
        horizontal: usize,
        /// Pixels that share a chroma sample vertically.
        vertical: usize,
    },
    /// A new shape with another number of elements.
    #[error("cannot reshape {from:?} ({have} elements) to {to:?} ({want} elements)")]
    ReshapeCount {
        /// The shape.
        from: Dims,
        /// Its elements.
        have: usize,
        /// The shape asked for.
        to: Dims,
        /// Its elements.
        want: usize,
    },
    /// A reshape that would need a copy.
    #[error(
        "shape {from:?} with strides {strides:?} cannot be seen as {to:?} without a copy: copy it \
         to a contiguous tensor first"
    )]
    ReshapeStrided {
        /// The shape.
        from: Dims,
        /// Its strides.
        strides: Strides,
        /// The shape asked for.
        to: Dims,
    },
    /// A permutation that does not name each axis once.
    #[error("{axes:?} is not a permutation of the axes 0..{rank}")]
    NotAPermutation {
        /// The axes given.
        axes: Dims,
        /// The number of dimensions.
        rank: usize,
    },
    /// A squeeze of a dimension that is not 1.
    #[error("dimension {axis} has {len} elements: only dimensions of 1 can be squeezed")]
    NotSqueezable {
        /// The dimension.
        axis: usize,
        /// Its elements.
        len: usize,
    },
    /// Shapes that do not broadcast.
    #[error("shape {from:?} does not broadcast to {to:?}")]
    NotBroadcastable {
        /// The shape.
        from: Dims,
        /// The shape asked for.
        to: Dims,
    },
    /// Two layouts that must have the same shape do not.
    #[error("shapes differ: {left:?} and {right:?}")]
    ShapeMismatch {
        /// One shape.
        left: Dims,
        /// The other.
        right: Dims,
    },
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
    #[error(
        "{dtype} packs two elements in a byte: a view may not start or end at element {element} or \
         use strides {strides:?} (whole bytes only)"
    )]
    SubByte {
        /// The element type.
        dtype: DType,
        /// The element the view would start at, or end before.
        element: usize,
        /// The strides of the view.
        strides: Strides,
    },
    /// An unknown word for an element type.
    #[error("unknown element type {word:?}: known are {}", DType::words())]
    UnknownDType {
        /// The word given.
        word: String,
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
        word: String,
    },
    /// A fourcc code that no format has.
    #[error("no pixel format has the fourcc code {code:#010x}")]
    UnknownFourcc {
        /// The code.
        code: u32,
    },
    /// A shape that no image of this format has.
    #[error("shape {shape:?} is not that of a {format} image: {format} is {expected}")]
    NotThisFormat {
        /// The shape.
        shape: Dims,
        /// The format.
        format: PixelFormat,
        /// What a shape of this format looks like.
        expected: &'static str,
    },
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
    #[error("quantisation has {given} {what}, but {expected} are needed{}", axis_words(axis))]
    QuantizationCount {
        /// What was counted: scales or zero points.
        what: &'static str,
        /// How many were given.
        given: usize,
        /// How many are needed.
        expected: usize,
        /// The axis they belong to.
        axis: Option<usize>,
    },
    /// A scale that no value can be divided by.
    #[error("quantisation scale {scale} at {index} is not a finite number above zero")]
    QuantizationScale {
        /// The scale.
        scale: f32,
        /// Its index.
        index: usize,
    },
}

fn axis_words(axis: &Option<usize>) -> String {
    axis.map_or_else(String::new, |axis| format!(" (one for each index of axis {axis})"))
}
