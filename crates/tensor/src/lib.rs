//! A buffer and a layout: one tensor type over every memory.
//!
//! The promise of this crate: a tensor's elements lie inside its buffer, and every way to reach
//! them from safe code goes through the ledger of the allocation. Nothing here knows how memory
//! is obtained (`tenure-memory`) or how offsets are computed (`tenure-layout`); this is where the
//! two meet.
//!
//! ```
//! use tenure_tensor::{Tensor, TensorMemory};
//!
//! // Memory is chosen by itself: DMA-BUF, then shared memory, then the heap.
//! let t = Tensor::<f32>::new(&[1, 3, 224, 224], None, None)?;
//! println!("{} in {}", t.memory(), t.space());
//!
//! // Writing and reading are guards; they exclude each other while they live.
//! let mut m = t.map()?;
//! m.fill(0.0);
//! assert!(t.map_read().is_err());
//! assert_eq!(m[0], 0.0);
//! drop(m);
//! assert_eq!(t.map_read()?.len(), 3 * 224 * 224);
//!
//! // Or say which memory, and give it a name for reports.
//! let frame = Tensor::<u8>::new(&[1080, 1920, 4], Some(TensorMemory::Mem), Some("frame"))?;
//! assert_eq!(frame.memory(), TensorMemory::Mem);
//! # Ok::<(), tenure_tensor::Error>(())
//! ```
#![warn(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used
)]

mod alias;
mod builder;
mod copy;
mod create;
mod debug;
pub mod detail;
mod dynamic;
mod element;
mod error;
#[doc(hidden)]
pub mod fields;
mod handle;
mod image;
mod map;
mod meta;
mod open;
mod planes;
#[cfg(feature = "plan")]
pub mod realize;
mod rows;
mod tensor;
mod values;
mod views;

#[cfg(unix)]
mod descriptor;
#[cfg(feature = "dlpack")]
pub mod dlpack;
#[cfg(feature = "ndarray")]
mod ndarray;
#[cfg(linux_like)]
mod share;
#[cfg(linux_like)]
pub mod wire;

pub use builder::TensorBuilder;
pub use copy::To;
#[cfg(linux_like)]
pub use copy::{copy_all, copy_all_later};
pub use dynamic::DynTensor;
pub use element::{Bool, Dyn, Element, ElementKind};
pub use error::{Error, Result};
pub use map::{Elements, SpanMap, SpanRead, StridedMap, StridedRead, TensorMap, TensorRead};
pub use num_complex::Complex;
pub use rows::{RowsMap, RowsRead};
#[cfg(linux_like)]
pub use share::{Sharing, receive, send};
pub use tensor::{Tensor, TensorDyn};
pub use tenure_layout::ErrorKind;

pub use tenure_layout::{
    Colour, ColourMatrix, ColourRange, DType, ImageLayout, Layout, PixelFormat, PlaneLayout,
    Quantization, Region, ZeroPoints,
};
#[cfg(unix)]
pub use tenure_memory::PlaneDescriptor;
pub use tenure_memory::Protection;
pub use tenure_memory::{
    Allocator, Buffer, BufferIdentity, DeviceVendor, DlDevice, LogicalMemorySpace, Pool,
    PoolLimits, PoolReport, RawBuffer, RawKind, Request, TensorMemory, WeakIdentity,
};
