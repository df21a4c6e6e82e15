//! What errors carry that would be too large to be returned in every `Result`: one struct for each
//! such variant of [`Error`].

use crate::{DType, Dims, Error, PixelFormat, Region, Strides};

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
    TooLarge,
    Unaddressable,
    IndexOutOfBounds,
    RangeOutOfBounds,
    RegionOutOfBounds,
    RegionCutsChroma,
    ReshapeCount,
    ReshapeStrided,
    NotAPermutation,
    NotBroadcastable,
    ShapeMismatch,
    SubByte,
    NotThisFormat,
    QuantizationCount
);

fn axis_words(axis: &Option<usize>) -> String {
    axis.map_or_else(String::new, |axis| format!(" (one for each index of axis {axis})"))
}

/// The number of elements or bytes does not fit the address space.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("shape {shape:?} has more elements or bytes than can be addressed ({})", isize::MAX)]
pub struct TooLarge {
    /// The shape asked for.
    pub shape: Dims,
}

/// Strides would reach before the start of the buffer or beyond what can be addressed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("shape {shape:?} with strides {strides:?} from byte {offset} leaves the address range")]
pub struct Unaddressable {
    /// The shape.
    pub shape: Dims,
    /// Strides in elements.
    pub strides: Strides,
    /// Byte offset of the first element.
    pub offset: usize,
}

/// An index outside its dimension.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("index {index} is outside dimension {axis}, which has {len} elements")]
pub struct IndexOutOfBounds {
    /// The dimension.
    pub axis: usize,
    /// The index asked for.
    pub index: usize,
    /// Elements in the dimension.
    pub len: usize,
}

/// A range outside its dimension, or one that ends before it starts, or a step of zero.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error(
    "range {start}..{end} step {step} does not fit dimension {axis}, which has {len} elements \
     (0 <= start <= end <= {len}, step >= 1)"
)]
pub struct RangeOutOfBounds {
    /// The dimension.
    pub axis: usize,
    /// First index.
    pub start: usize,
    /// One past the last index.
    pub end: usize,
    /// Distance between indices.
    pub step: usize,
    /// Elements in the dimension.
    pub len: usize,
}

/// A pixel region that is empty or leaves the image.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("region {region} does not lie inside the image of {width}x{height} pixels")]
pub struct RegionOutOfBounds {
    /// The region asked for.
    pub region: Region,
    /// Image width.
    pub width: usize,
    /// Image height.
    pub height: usize,
}

/// A region whose corner or size cuts a chroma sample.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error(
    "region {region} cuts a chroma sample of {format}: x and width must be multiples of \
     {horizontal}, y and height of {vertical} (or reach the image's edge)"
)]
pub struct RegionCutsChroma {
    /// The region asked for.
    pub region: Region,
    /// The format.
    pub format: PixelFormat,
    /// Pixels that share a chroma sample horizontally.
    pub horizontal: usize,
    /// Pixels that share a chroma sample vertically.
    pub vertical: usize,
}

/// A new shape with another number of elements.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("cannot reshape {from:?} ({have} elements) to {to:?} ({want} elements)")]
pub struct ReshapeCount {
    /// The shape.
    pub from: Dims,
    /// Its elements.
    pub have: usize,
    /// The shape asked for.
    pub to: Dims,
    /// Its elements.
    pub want: usize,
}

/// A reshape that would need a copy.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error(
    "shape {from:?} with strides {strides:?} cannot be seen as {to:?} without a copy: copy it \
     to a contiguous tensor first"
)]
pub struct ReshapeStrided {
    /// The shape.
    pub from: Dims,
    /// Its strides.
    pub strides: Strides,
    /// The shape asked for.
    pub to: Dims,
}

/// A permutation that does not name each axis once.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{axes:?} is not a permutation of the axes 0..{rank}")]
pub struct NotAPermutation {
    /// The axes given.
    pub axes: Dims,
    /// The number of dimensions.
    pub rank: usize,
}

/// Shapes that do not broadcast.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("shape {from:?} does not broadcast to {to:?}")]
pub struct NotBroadcastable {
    /// The shape.
    pub from: Dims,
    /// The shape asked for.
    pub to: Dims,
}

/// Two layouts that must have the same shape do not.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("shapes differ: {left:?} and {right:?}")]
pub struct ShapeMismatch {
    /// One shape.
    pub left: Dims,
    /// The other.
    pub right: Dims,
}

/// A 4-bit view that would start, step or end inside a byte.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error(
    "{dtype} packs two elements in a byte: a view may not start or end at element {element} or \
     use strides {strides:?} (whole bytes only)"
)]
pub struct SubByte {
    /// The element type.
    pub dtype: DType,
    /// The element the view would start at, or end before.
    pub element: usize,
    /// The strides of the view.
    pub strides: Strides,
}

/// A shape that no image of this format has.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("shape {shape:?} is not that of a {format} image: {format} is {expected}")]
pub struct NotThisFormat {
    /// The shape.
    pub shape: Dims,
    /// The format.
    pub format: PixelFormat,
    /// What a shape of this format looks like.
    pub expected: &'static str,
}

/// A quantisation that does not fit.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("quantisation has {given} {what}, but {expected} are needed{}", axis_words(axis))]
pub struct QuantizationCount {
    /// What was counted: scales or zero points.
    pub what: &'static str,
    /// How many were given.
    pub given: usize,
    /// How many are needed.
    pub expected: usize,
    /// The axis they belong to.
    pub axis: Option<usize>,
}
