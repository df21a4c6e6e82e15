//! Why a tensor is not in a file, or a file is no tensor.

use std::io;

use tenure_tensor::DType;

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a tensor could not be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The format has no such element type.
    #[error("{format} files have no element type {dtype}: {instead}")]
    NoSuchType {
        /// The format: `npy`.
        format: &'static str,
        /// The element type.
        dtype: DType,
        /// What would do.
        instead: &'static str,
    },
    /// A file that is no tensor.
    #[error("the {format} file {what}")]
    Damaged {
        /// The format: `npy`.
        format: &'static str,
        /// What is wrong with it.
        what: String,
    },
    /// Whoever takes the bytes takes no more.
    #[error("the bytes cannot be written: {0}")]
    Io(#[from] io::Error),
    /// The tensor cannot be read.
    #[error(transparent)]
    Tensor(#[from] tenure_tensor::Error),
}
