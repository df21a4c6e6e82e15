//! Everything a tensor can be refused for.

use tenure_layout::{DType, Dims, PixelFormat, Strides};

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a tensor could not be made, viewed, mapped, copied or shared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The description was refused.
    #[error(transparent)]
    Layout(#[from] tenure_layout::Error),
    /// The memory was refused.
    #[error(transparent)]
    Memory(#[from] tenure_memory::Error),
    /// A typed tensor was asked for elements of another type.
    #[error("the tensor has {have} elements, not {asked}")]
    WrongElement {
        /// What it has.
        have: DType,
        /// What was asked for.
        asked: DType,
    },
    /// A type that is stored but not computed with was asked for as a Rust type.
    #[error(
        "{dtype} elements share bytes and have no Rust type: use TensorDyn, which maps as bytes"
    )]
    NoRustType {
        /// The type.
        dtype: DType,
    },
    /// The elements do not follow each other without gaps in the order of their indices, so that
    /// there is no slice of them.
    #[error(
        "elements of shape {shape:?} with strides {strides:?} do not follow each other: use {}",
        ways(*rows, *whole)
    )]
    NotContiguous {
        /// The shape.
        shape: Dims,
        /// The strides in elements.
        strides: Strides,
        /// Whether there are rows instead: [`crate::Tensor::map_rows`].
        rows: bool,
        /// Whether the gaps are the tensor's own: [`crate::Tensor::map_span`].
        whole: bool,
    },
    /// The bytes from the first to the last element were asked for of a tensor that was not
    /// allocated as it is: those between its elements belong to others.
    #[error(
        "the tensor of shape {shape:?} with strides {strides:?} is a view, or was made over memory \
         of others: the bytes between its elements are not its own, use map_rows() or map_strided()"
    )]
    NotWhole {
        /// The shape.
        shape: Dims,
        /// The strides in elements.
        strides: Strides,
    },
    /// Writing where one place stands for several elements.
    #[error(
        "elements of shape {shape:?} with strides {strides:?} share bytes with each other and \
         cannot be written: copy the tensor first"
    )]
    Overlapping {
        /// The shape.
        shape: Dims,
        /// The strides in elements.
        strides: Strides,
    },
    /// An address that is not aligned to the element type.
    #[error(
        "the tensor's bytes start at an address that is not a multiple of {align}, the alignment of {dtype}: copy it"
    )]
    MisalignedAddress {
        /// The element type.
        dtype: DType,
        /// What the address must be a multiple of.
        align: usize,
    },
    /// Bytes that are no whole elements of the type asked for.
    #[error(
        "{have} elements of shape {shape:?} with strides {strides:?} are not {asked} elements: they \
         must follow each other without gaps, in whole elements of {asked} and aligned to them"
    )]
    NotReinterpretable {
        /// The element type.
        have: DType,
        /// The type asked for.
        asked: DType,
        /// The shape.
        shape: Dims,
        /// The strides in elements.
        strides: Strides,
    },
    /// An image method on a tensor that is no image.
    #[error("the tensor of shape {shape:?} is no image: call set_format() first")]
    NotAnImage {
        /// Its shape.
        shape: Dims,
    },
    /// An image method on a batch.
    #[error("the tensor of shape {shape:?} is a batch of images: take one with batch() first")]
    Batched {
        /// Its shape.
        shape: Dims,
    },
    /// An element of a batch was asked for of a single image.
    #[error(
        "the tensor of shape {shape:?} is one {format} image, not a batch: use it as it is, or \
         index() for one of its rows or channels"
    )]
    NotABatch {
        /// Its shape.
        shape: Dims,
        /// Its format.
        format: PixelFormat,
    },
    /// Strides that an image of this format cannot have.
    #[error(
        "strides {strides:?} of shape {shape:?} are not those of a {format} image with padded rows"
    )]
    NotImageStrides {
        /// The shape.
        shape: Dims,
        /// The strides in elements.
        strides: Strides,
        /// The format.
        format: PixelFormat,
    },
    /// An offset before the bytes that a view was cut to.
    #[error(
        "the plane offset of this view must be at least {start}, where its bytes begin, got {offset}"
    )]
    BeforeStart {
        /// The offset asked for.
        offset: usize,
        /// The smallest possible.
        start: usize,
    },
    /// One slice was asked for of an image whose planes are in several buffers.
    #[error("the {format} image has its planes in {buffers} buffers: map each with plane()")]
    SeveralBuffers {
        /// The format.
        format: PixelFormat,
        /// How many buffers.
        buffers: usize,
    },
    /// A slice of the wrong length.
    #[error("the slice has {given} {what}, the tensor {expected}")]
    WrongLength {
        /// What was counted: elements or bytes.
        what: &'static str,
        /// How many were given.
        given: usize,
        /// How many the tensor has.
        expected: usize,
    },
    /// A quantisation on elements that are no integers.
    #[error("{dtype} elements are no integers and cannot be quantised")]
    NotQuantizable {
        /// The element type.
        dtype: DType,
    },
    /// A reshape that would cut the axis whose indices have scales of their own.
    #[error(
        "reshaping {from:?} to {to:?} would divide axis {axis}, whose indices have scales of their \
         own: remove the quantisation first"
    )]
    QuantizedAxis {
        /// The axis of the quantisation.
        axis: usize,
        /// The shape.
        from: Dims,
        /// The shape asked for.
        to: Dims,
    },
    /// What DLPack cannot describe, or a DLPack structure that makes no sense.
    #[cfg(feature = "dlpack")]
    #[error(transparent)]
    Dlpack(#[from] crate::dlpack::Fault),
    /// A description from another process that makes no sense.
    #[cfg(linux_like)]
    #[error("the description of the tensor was refused: {0}")]
    Description(#[from] crate::wire::Fault),
}

/// What there is where there is no slice.
fn ways(rows: bool, whole: bool) -> &'static str {
    match (rows, whole) {
        (true, true) => "map_rows(), map_strided(), or map_span() for all bytes with the gaps",
        (true, false) => "map_rows() or map_strided()",
        (false, true) => "map_strided(), or map_span() for all bytes in memory order",
        (false, false) => "map_strided(), or copy the tensor",
    }
}
