//! Tensors on disk.
//!
//! The promise of this crate: what a file says is believed only where it agrees with what the file
//! is; a tensor that was opened is a view of the file, and nothing is read until it is touched; a
//! tensor that was loaded has all of its bytes; and a file that was saved has the elements of its
//! tensors and nothing else of their memory, whatever their strides, planes and padding, or is
//! what it was before. What a format cannot hold is refused with the element type's name and never
//! converted; elements in the byte order of other machines are turned into that of this one.
//!
//! [`open`] takes safetensors, GGUF, npy, npz and raw files and folders with an index;
//! [`TensorFile::load`] brings tensors into any memory; [`safetensors::save`] and [`npy::save`]
//! write. [`npy::write`] is for sockets and buffers too.
//!
//! ```
//! use tenure_files::{npy, open};
//! use tenure_tensor::{Tensor, TensorMemory};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("numbers.npy");
//! npy::save(&path, &Tensor::<f32>::from_slice(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0], &[2, 3])?)?;
//!
//! let file = open(&path)?;
//! let view = file.tensor("numbers")?;
//! let copy = file.load().memory(TensorMemory::Mem).run()?.tensor("numbers")?;
//! assert_eq!(view.map_read()?.as_slice(), copy.map_read()?.as_slice());
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

mod catalogue;
pub mod detail;
mod entry;
mod error;
mod flat;
mod gguf;
mod index;
mod load;
pub mod npy;
mod npz;
mod open;
mod order;
mod regular;
pub mod safetensors;
mod shard;
mod source;
pub mod whole;

pub use catalogue::{Catalogue, Format, Refused, catalogue};
pub use entry::{Blocks, Elements, Entry};
pub use error::{Error, Result};
pub use load::{Direct, Load, Loaded, Progress};
pub use open::{TensorFile, open, open_as, open_raw};
pub use tenure_layout::ErrorKind;
