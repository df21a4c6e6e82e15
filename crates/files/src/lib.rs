//! Tensors in files that other programs read.
//!
//! The promise of this crate: a file holds the elements of a tensor and nothing else of its
//! memory, whatever its strides, planes and padding; what a format cannot hold is refused with the
//! element type's name and never converted. One module for each format; where the bytes go is the
//! caller's business, so that files, sockets and buffers are the same.
//!
//! ```
//! use tenure_files::npy;
//! use tenure_tensor::Tensor;
//!
//! let t = Tensor::<f32>::from_slice(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0], &[2, 3])?;
//! let mut file = vec![];
//! npy::write(&mut file, &t)?;
//! assert!(file.starts_with(b"\x93NUMPY"));
//! assert_eq!(file.len(), 128 + t.size_bytes());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]
#![warn(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used
)]

mod error;
pub mod npy;
pub mod whole;

pub use error::{Error, Result};
