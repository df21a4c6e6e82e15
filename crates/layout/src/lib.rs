//! What the bytes of a tensor mean.
//!
//! The promise of this crate: every size, offset and stride that any other part of Tenure uses
//! went through checked arithmetic here. A [`Layout`] that exists describes elements that can be
//! addressed without overflow; whether they fit a given allocation is one comparison with
//! [`Layout::span`]. Nothing here touches memory, the operating system or `unsafe`.
#![forbid(unsafe_code)]
#![warn(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used
)]

mod colour;
pub mod detail;
mod dims;
mod dtype;
mod error;
pub mod format;
mod image;
mod kind;
mod layout;
pub mod order;
mod overlap;
mod quantization;
mod region;
mod remedy;
mod walk;

pub use colour::{Colour, ColourMatrix, ColourRange};
pub use dims::{Dims, MAX_RANK, Strides};
pub use dtype::DType;
pub use error::{Error, Result};
pub use format::PixelFormat;
pub use image::{ImageLayout, PlaneLayout};
pub use kind::ErrorKind;
pub use layout::Layout;
pub use quantization::{Quantization, ZeroPoints};
pub use region::Region;
pub use remedy::{Clause, Language, Remedy};
pub use walk::{Axis, Walk, WalkPair};
