//! What errors carry that would be too large to be returned in every `Result`: one struct for each
//! such variant of [`Error`].

use tenure_layout::{Dims, PixelFormat, Remedy, Strides};

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

boxed!(Batched, NotAnImage, NotImageStrides, NotRowMajor, Overlapping, QuantizedAxis, WrongLength);

/// Elements are not in memory order, so that there is no slice of them.
#[derive(Debug, thiserror::Error)]
#[error(
    "elements of shape {shape:?} with strides {strides:?} are not in memory order{}",
    Remedy::MapStrided.clause()
)]
pub struct NotRowMajor {
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
