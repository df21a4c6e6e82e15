//! Memory of devices as memory of tensors: allocated, copied and ordered.
//!
//! The promise of this crate: bytes that only a device reaches are reached through its queue and
//! nothing else, every copy holds both its sides in the ledger until it is done, and whatever a
//! device does not have is an error that says so. What is computed on a device is somebody else's
//! business; this is its memory, the copies, and their order.
//!
//! ```
//! use tenure_gpu::{Gpu, testing};
//! use tenure_memory::{LogicalMemorySpace, TensorMemory};
//! use tenure_tensor::Tensor;
//!
//! // A device of this process, for tests (feature `test-device`); `vulkan`, `cuda`, `hip` and
//! // `opencl` have real ones.
//! let gpu = Gpu::over(testing::TestDevice::new())?;
//! let here = Tensor::from_slice(&[1.0f32, 2.0, 3.0], &[3])?;
//! let there = gpu.to(&here, TensorMemory::Device)?;
//! assert_eq!(there.space(), LogicalMemorySpace::GpuMemory { device_id: 0 });
//! // The CPU does not reach it, and says what does.
//! assert!(there.map_read().unwrap_err().to_string().contains("to(Some(TensorMemory::Mem))"));
//! assert_eq!(there.to(Some(TensorMemory::Mem))?.map_read()?.as_slice(), [1.0, 2.0, 3.0]);
//!
//! // Later, while the program goes on; both sides are held until then.
//! let back = Tensor::<f32>::new(&[3], Some(TensorMemory::Mem), None)?;
//! let fence = back.copy_from_later(&there)?;
//! fence.wait(None)?;
//! assert_eq!(back.map_read()?.as_slice()[2], 3.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![cfg(linux_like)]
#![warn(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used
)]

mod by_hand;
mod carry;
mod core;
#[cfg(feature = "cuda")]
pub mod cuda;
mod device;
#[cfg(feature = "vulkan")]
mod gl;
mod gpu;
mod heap;
#[cfg(feature = "hip")]
pub mod hip;
mod imports;
mod ipc;
#[cfg(feature = "plan")]
mod lanes;
#[cfg(any(feature = "cuda", feature = "hip", feature = "opencl"))]
mod library;
mod memory;
mod missing;
mod open;
#[cfg(feature = "opencl")]
pub mod opencl;
mod peers;
mod process;
mod reach;
mod share;
mod staged;
#[cfg(any(feature = "cuda", feature = "hip"))]
mod streamed;
#[cfg(feature = "test-device")]
pub mod testing;
#[cfg(feature = "vulkan")]
pub mod vulkan;
mod worker;

pub use device::{
    Address, Block, Class, Device, FdKind, IpcHandle, Properties, Region, Task, Work,
};
#[cfg(feature = "vulkan")]
pub use gl::GlBuffer;
pub use gpu::Gpu;
pub use heap::HeapReport;
pub use imports::ImportReport;
pub use ipc::{BadIpc, IpcExported};
#[cfg(feature = "plan")]
pub use lanes::Lanes;
pub use missing::Missing;
pub use open::{Backend, Listed, backends, open};
pub use reach::Reached;
pub use share::Exported;
pub use tenure_layout::ErrorKind;
