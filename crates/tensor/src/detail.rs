//! What errors carry that would be too large to be returned in every `Result`: one struct for each
//! such variant of [`Error`].

use tenure_layout::{DType, Dims, PixelFormat, Remedy, Strides};

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
    Batched,
    NotABatch,
    NotAnImage,
    NotContiguous,
    NotImageStrides,
    NotReinterpretable,
    NotWhole,
    Overlapping,
    QuantizedAxis,
    WrongLength,
);

/// The elements do not follow each other without gaps in the order of their indices, so that there
/// is no slice of them.
#[derive(Debug, thiserror::Error)]
#[error(
    "elements of shape {shape:?} with strides {strides:?} do not follow each other{}",
    self.remedy().clause()
)]
pub struct NotContiguous {
    /// The shape.
    pub shape: Dims,
    /// The strides in elements.
    pub strides: Strides,
    /// Whether there are rows instead: [`crate::Tensor::map_rows`].
    pub rows: bool,
    /// Whether the gaps are the tensor's own: [`crate::Tensor::map_span`].
    pub whole: bool,
}

impl NotContiguous {
    /// What there is where there is no slice.
    pub(crate) fn remedy(&self) -> Remedy {
        Remedy::MapOtherwise { rows: self.rows, whole: self.whole }
    }
}

/// The bytes from the first to the last element were asked for of a tensor that was not allocated
/// as it is: those between its elements belong to others.
#[derive(Debug, thiserror::Error)]
#[error(
    "the tensor of shape {shape:?} with strides {strides:?} is a view, or was made over memory of \
     others: the bytes between its elements are not its own{}",
    Remedy::MapRows.clause()
)]
pub struct NotWhole {
    /// The shape.
    pub shape: Dims,
    /// The strides in elements.
    pub strides: Strides,
}

/// Writing where one place stands for several elements.
#[derive(Debug, thiserror::Error)]
#[error(
    "elements of shape {shape:?} with strides {strides:?} share bytes with each other and \
     cannot be written: copy the tensor first"
)]
pub struct Overlapping {
    /// The shape.
    pub shape: Dims,
    /// The strides in elements.
    pub strides: Strides,
}

/// Strides that an image of this format cannot have.
#[derive(Debug, thiserror::Error)]
#[error(
    "strides {strides:?} of shape {shape:?} are not those of a {format} image with padded rows"
)]
pub struct NotImageStrides {
    /// The shape.
    pub shape: Dims,
    /// The strides in elements.
    pub strides: Strides,
    /// The format.
    pub format: PixelFormat,
}

/// A reshape that would cut the axis whose indices have scales of their own.
#[derive(Debug, thiserror::Error)]
#[error(
    "reshaping {from:?} to {to:?} would divide axis {axis}, whose indices have scales of their \
     own: remove the quantisation first"
)]
pub struct QuantizedAxis {
    /// The axis of the quantisation.
    pub axis: usize,
    /// The shape.
    pub from: Dims,
    /// The shape asked for.
    pub to: Dims,
}

/// An image method on a tensor that is no image.
#[derive(Debug, thiserror::Error)]
#[error("the tensor of shape {shape:?} is no image{}", Remedy::SetFormat.clause())]
pub struct NotAnImage {
    /// Its shape.
    pub shape: Dims,
}

/// An image method on a batch.
#[derive(Debug, thiserror::Error)]
#[error("the tensor of shape {shape:?} is a batch of images{}", Remedy::TakeOneImage.clause())]
pub struct Batched {
    /// Its shape.
    pub shape: Dims,
}

/// An element of a batch was asked for of a single image.
#[derive(Debug, thiserror::Error)]
#[error(
    "the tensor of shape {shape:?} is one {format} image, not a batch{}",
    Remedy::UseImageItself.clause()
)]
pub struct NotABatch {
    /// Its shape.
    pub shape: Dims,
    /// Its format.
    pub format: PixelFormat,
}

/// Bytes that are no whole elements of the type asked for.
#[derive(Debug, thiserror::Error)]
#[error(
    "{have} elements of shape {shape:?} with strides {strides:?} are not {asked} elements: they \
     must follow each other without gaps, in whole elements of {asked} and aligned to them"
)]
pub struct NotReinterpretable {
    /// The element type.
    pub have: DType,
    /// The type asked for.
    pub asked: DType,
    /// The shape.
    pub shape: Dims,
    /// The strides in elements.
    pub strides: Strides,
}

/// A slice of the wrong length.
#[derive(Debug, thiserror::Error)]
#[error("the slice has {given} {what}, the tensor {expected}")]
pub struct WrongLength {
    /// What was counted: elements or bytes.
    pub what: &'static str,
    /// How many were given.
    pub given: usize,
    /// How many the tensor has.
    pub expected: usize,
}
