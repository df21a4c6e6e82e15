//! What errors carry that would be too large to be returned in every `Result`: one struct for each
//! such variant of [`Error`].

use std::fmt;

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
    MisalignedAddress,
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

/// Which tensor an error is about, by its name where it has one.
///
/// ```
/// use tenure_tensor::detail::Which;
/// assert_eq!(Which::from(Some("input")).to_string(), "the tensor \"input\"");
/// assert_eq!(Which::default().to_string(), "the tensor");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Which(Option<Box<str>>);

impl Which {
    /// Its name.
    pub fn name(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

impl From<Option<&str>> for Which {
    #[cold]
    fn from(name: Option<&str>) -> Which {
        Which(name.map(Box::from))
    }
}

impl fmt::Display for Which {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "the tensor {name:?}"),
            None => f.write_str("the tensor"),
        }
    }
}

/// An address that is not aligned to the element type.
#[derive(Debug, thiserror::Error)]
#[error(
    "the bytes of {tensor} start at an address that is not a multiple of {align}, the alignment of \
     {dtype}: copy it"
)]
pub struct MisalignedAddress {
    /// Which tensor.
    pub tensor: Which,
    /// The element type.
    pub dtype: DType,
    /// What the address must be a multiple of.
    pub align: usize,
}

/// The elements do not follow each other without gaps in the order of their indices, so that there
/// is no slice of them.
#[derive(Debug, thiserror::Error)]
#[error(
    "elements of {tensor} of shape {shape:?} with strides {strides:?} do not follow each other{}",
    self.remedy().clause()
)]
pub struct NotContiguous {
    /// Which tensor.
    pub tensor: Which,
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
    "{tensor} of shape {shape:?} with strides {strides:?} is a view, or was made over memory of \
     others: the bytes between its elements are not its own{}",
    Remedy::MapRows.clause()
)]
pub struct NotWhole {
    /// Which tensor.
    pub tensor: Which,
    /// The shape.
    pub shape: Dims,
    /// The strides in elements.
    pub strides: Strides,
}

/// Writing where one place stands for several elements.
#[derive(Debug, thiserror::Error)]
#[error(
    "elements of {tensor} of shape {shape:?} with strides {strides:?} share bytes with each other \
     and cannot be written: copy the tensor first"
)]
pub struct Overlapping {
    /// Which tensor.
    pub tensor: Which,
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
#[error("{tensor} of shape {shape:?} is no image{}", Remedy::SetFormat.clause())]
pub struct NotAnImage {
    /// Which tensor.
    pub tensor: Which,
    /// Its shape.
    pub shape: Dims,
}

/// An image method on a batch.
#[derive(Debug, thiserror::Error)]
#[error("{tensor} of shape {shape:?} is a batch of images{}", Remedy::TakeOneImage.clause())]
pub struct Batched {
    /// Which tensor.
    pub tensor: Which,
    /// Its shape.
    pub shape: Dims,
}

/// An element of a batch was asked for of a single image.
#[derive(Debug, thiserror::Error)]
#[error(
    "{tensor} of shape {shape:?} is one {format} image, not a batch{}",
    Remedy::UseImageItself.clause()
)]
pub struct NotABatch {
    /// Which tensor.
    pub tensor: Which,
    /// Its shape.
    pub shape: Dims,
    /// Its format.
    pub format: PixelFormat,
}

/// Bytes that are no whole elements of the type asked for.
#[derive(Debug, thiserror::Error)]
#[error(
    "{have} elements of {tensor} of shape {shape:?} with strides {strides:?} are not {asked} \
     elements: they must follow each other without gaps, in whole elements of {asked} and aligned to \
     them"
)]
pub struct NotReinterpretable {
    /// Which tensor.
    pub tensor: Which,
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
