//! Model files as plain graphs: which node reads and writes which tensor, and how large each is.
//!
//! The promise of this crate: whatever the file holds, reading it ends with a [`Graph`] whose
//! sizes were computed with checked arithmetic, or with an [`Error`] that names the offset, node
//! or tensor; memory and time are bounded, whatever its size. Weights are never copied, and those
//! of a large ONNX file not even read.
#![forbid(unsafe_code)]
#![warn(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used
)]

mod element;
mod error;
mod file;
mod graph;
pub mod onnx;
mod order;
mod rules;
mod schedule;
pub mod tflite;

pub use element::ElementType;
pub use error::{Error, Result};
pub use file::{Format, read, read_bytes};
pub use graph::{Graph, Kind, Node, TensorInfo};
pub use tenure_layout::ErrorKind;
