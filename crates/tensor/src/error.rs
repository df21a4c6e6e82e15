//! Everything a tensor can be refused for.

use std::io;

use tenure_layout::{DType, ErrorKind, PixelFormat, Remedy};

use crate::detail;

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
    #[error("{tensor} has {have} elements, not {asked}")]
    WrongElement {
        /// Which tensor.
        tensor: detail::Which,
        /// What it has.
        have: DType,
        /// What was asked for.
        asked: DType,
    },
    /// A type that is stored but not computed with was asked for as a Rust type.
    #[error(
        "{dtype} elements share bytes and have no Rust type{}",
        Remedy::UseDynamic.clause()
    )]
    NoRustType {
        /// The type.
        dtype: DType,
    },
    /// The elements do not follow each other without gaps in the order of their indices, so that
    /// there is no slice of them.
    #[error(transparent)]
    NotContiguous(Box<detail::NotContiguous>),
    /// The bytes from the first to the last element were asked for of a tensor that was not
    /// allocated as it is: those between its elements belong to others.
    #[error(transparent)]
    NotWhole(Box<detail::NotWhole>),
    /// Writing where one place stands for several elements.
    #[error(transparent)]
    Overlapping(Box<detail::Overlapping>),
    /// An address that is not aligned to the element type.
    #[error(transparent)]
    MisalignedAddress(Box<detail::MisalignedAddress>),
    /// Bytes that are no whole elements of the type asked for.
    #[error(transparent)]
    NotReinterpretable(Box<detail::NotReinterpretable>),
    /// An image method on a tensor that is no image.
    #[error(transparent)]
    NotAnImage(Box<detail::NotAnImage>),
    /// An image method on a batch.
    #[error(transparent)]
    Batched(Box<detail::Batched>),
    /// An element of a batch was asked for of a single image.
    #[error(transparent)]
    NotABatch(Box<detail::NotABatch>),
    /// Strides that an image of this format cannot have.
    #[error(transparent)]
    NotImageStrides(Box<detail::NotImageStrides>),
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
    #[error(
        "{tensor} of format {format} has its planes in {buffers} buffers{}",
        Remedy::MapPlanes.clause()
    )]
    SeveralBuffers {
        /// Which tensor.
        tensor: detail::Which,
        /// The format.
        format: PixelFormat,
        /// How many buffers.
        buffers: usize,
    },
    /// A slice of the wrong length.
    #[error(transparent)]
    WrongLength(Box<detail::WrongLength>),
    /// A quantisation on elements that are no integers.
    #[error("{dtype} elements are no integers and cannot be quantised")]
    NotQuantizable {
        /// The element type.
        dtype: DType,
    },
    /// A reshape that would cut the axis whose indices have scales of their own.
    #[error(transparent)]
    QuantizedAxis(Box<detail::QuantizedAxis>),
    /// What DLPack cannot describe, or a DLPack structure that makes no sense.
    #[cfg(feature = "dlpack")]
    #[error(transparent)]
    Dlpack(#[from] crate::dlpack::Fault),
    /// A description from another process that makes no sense.
    #[cfg(linux_like)]
    #[error("the description of the tensor was refused: {0}")]
    Description(Box<crate::wire::Fault>),
}

#[cfg(linux_like)]
impl From<crate::wire::Fault> for Error {
    #[cold]
    fn from(fault: crate::wire::Fault) -> Error {
        Error::Description(Box::new(fault))
    }
}

impl Error {
    /// What sort of error it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Layout(error) => error.kind(),
            Error::Memory(error) => error.kind(),
            Error::WrongElement { .. }
            | Error::NoRustType { .. }
            | Error::NotQuantizable { .. } => ErrorKind::WrongType,
            Error::NotContiguous(_)
            | Error::NotWhole(_)
            | Error::Overlapping(_)
            | Error::MisalignedAddress(_)
            | Error::NotReinterpretable(_)
            | Error::SeveralBuffers { .. } => ErrorKind::Unsupported,
            Error::NotAnImage(_)
            | Error::Batched(_)
            | Error::NotABatch(_)
            | Error::NotImageStrides(_)
            | Error::BeforeStart { .. }
            | Error::WrongLength(_)
            | Error::QuantizedAxis(_) => ErrorKind::Invalid,
            #[cfg(feature = "dlpack")]
            Error::Dlpack(fault) => fault.kind(),
            #[cfg(linux_like)]
            Error::Description(fault) => fault.kind(),
        }
    }

    /// What would help, where a call would.
    pub fn remedy(&self) -> Option<Remedy> {
        match self {
            Error::Memory(error) => error.remedy(),
            Error::NoRustType { .. } => Some(Remedy::UseDynamic),
            Error::NotContiguous(strided) => Some(strided.remedy()),
            Error::NotWhole(_) => Some(Remedy::MapRows),
            Error::NotAnImage(_) => Some(Remedy::SetFormat),
            Error::Batched(_) => Some(Remedy::TakeOneImage),
            Error::NotABatch(_) => Some(Remedy::UseImageItself),
            Error::SeveralBuffers { .. } => Some(Remedy::MapPlanes),
            #[cfg(feature = "dlpack")]
            Error::Dlpack(fault) => fault.remedy(),
            _ => None,
        }
    }

    /// The operating system's answer, if it is one. It is part of the text.
    pub fn os_error(&self) -> Option<&io::Error> {
        match self {
            Error::Memory(error) => error.os_error(),
            _ => None,
        }
    }

    /// Whether waiting or dropping a guard would help.
    pub fn is_busy(&self) -> bool {
        self.kind() == ErrorKind::Busy
    }
}
