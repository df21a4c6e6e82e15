//! Tenure: where every tensor lives, and for how long.
//!
//! The crate to add: it re-exports the tensor ([`Tensor`], [`TensorDyn`]), its memory
//! ([`memory`]) and its layout ([`layout`]).
//!
//! ```
//! use tenure::{DType, LogicalMemorySpace, PixelFormat, Tensor, DynTensor, TensorDyn, TensorMemory};
//!
//! let t = Tensor::<f32>::new(&[1, 3, 224, 224], None, None)?;
//! println!("{} {}", t.memory(), t.space());
//!
//! let frame = Tensor::<u8>::new(&[1080, 1920, 4], Some(TensorMemory::Shm), Some("frame"))?;
//! let fd = frame.clone_fd()?;
//!
//! let mut m = t.map()?;
//! m.as_mut_slice().fill(0.0);
//! println!("{}", m.as_slice()[0]);
//! drop(m);
//! let sum: f32 = t.map_read()?.as_slice().iter().sum();
//!
//! let mut image = TensorDyn::new(&[480, 640, 3], DType::U8, None, None)?;
//! image.set_format(PixelFormat::Rgb)?;
//! assert_eq!(image.row_stride(), None);
//! assert_eq!(image.effective_row_stride(), Some(640 * 3));
//!
//! let dma = TensorMemory::try_from("dma")?;
//! assert_eq!(String::from(TensorMemory::Shm), "shm");
//! if frame.memory() != dma {
//!     println!("{}", frame.dmabuf().unwrap_err());
//! }
//! assert_eq!(t.space(), LogicalMemorySpace::MainMemory);
//! # let _ = (fd, sum);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! No feature is on by default. `full` is everything but `bridge` (streams to other machines, whose
//! dependencies take minutes to build) and `test-device` (a faulty device, for tests): `async`,
//! `camera` (or `v4l2`), `codecs`, `dlpack`, `files`, `image`, `models`, `ndarray`, `plan`, `stream`, the engine
//! `gl`, and the devices of `vulkan`, `cuda`, `hip` and `opencl` in `gpu`.

mod error;
pub mod prelude;

pub use error::{Error, Result};

// What is in the crates below, each under its own name.
#[cfg(feature = "bridge")]
pub use tenure_bridge as bridge;
#[cfg(feature = "camera")]
pub use tenure_camera as camera;
#[cfg(feature = "files")]
pub use tenure_files as files;
#[cfg(feature = "gpu")]
pub use tenure_gpu as gpu;
#[cfg(feature = "image")]
pub use tenure_image as image;
pub use tenure_layout as layout;
pub use tenure_memory as memory;
#[cfg(feature = "models")]
pub use tenure_models as models;
#[cfg(feature = "plan")]
pub use tenure_plan as plan;
#[cfg(feature = "stream")]
pub use tenure_stream as stream;
/// The tensor crate, with its own [`Error`](tenure_tensor::Error): what tensors return.
pub use tenure_tensor as tensor;
#[cfg(feature = "dlpack")]
pub use tenure_tensor::dlpack;
#[cfg(feature = "plan")]
pub use tenure_tensor::realize;

// Tensors, and the guards that give their elements.
pub use tenure_tensor::{
    Bool, Dyn, DynTensor, Element, ElementKind, Elements, RowsMap, RowsRead, SpanMap, SpanRead,
    StridedMap, StridedRead, Tensor, TensorBuilder, TensorDyn, TensorMap, TensorRead, To,
};
// Copies of many tensors at once, and tensors to and from other processes.
#[cfg(all(any(target_os = "linux", target_os = "android"), not(miri)))]
pub use tenure_tensor::{Sharing, copy_all, copy_all_later, receive, send};

// What the elements mean.
pub use tenure_layout::{
    Colour, ColourMatrix, ColourRange, DType, ImageLayout, Layout, PixelFormat, PlaneLayout,
    Quantization, Region, ZeroPoints,
};
// What is wrong, and what to do about it.
pub use tenure_layout::{ErrorKind, Language, Remedy};

// Where the bytes live.
#[cfg(all(any(target_os = "linux", target_os = "android"), not(miri)))]
pub use tenure_memory::Fence;
#[cfg(unix)]
pub use tenure_memory::PlaneDescriptor;
pub use tenure_memory::{
    Allocator, Buffer, BufferIdentity, DeviceVendor, DlDevice, LogicalMemorySpace, Pool,
    PoolLimits, PoolReport, Protection, RawBuffer, RawKind, Refusal, Request, TensorMemory,
    WeakIdentity, Why,
};

// Crates whose types are part of this interface, in the versions it is built with.
pub use half;
#[cfg(feature = "ndarray")]
pub use ndarray;

/// The programs of the README and the guide, compiled and run as those of this documentation are.
#[cfg(all(
    doctest,
    feature = "codecs",
    feature = "files",
    feature = "models",
    feature = "ndarray",
    feature = "stream",
    feature = "vulkan"
))]
mod documents {
    #[doc = include_str!("../../../README.md")]
    struct Readme;
    #[doc = include_str!("../../../docs/guide/devices.md")]
    struct Devices;
    #[doc = include_str!("../../../docs/guide/files.md")]
    struct Files;
    #[doc = include_str!("../../../docs/guide/images.md")]
    struct Images;
    #[doc = include_str!("../../../docs/guide/models.md")]
    struct Models;
    #[doc = include_str!("../../../docs/guide/rust.md")]
    struct Rust;
    #[doc = include_str!("../../../docs/guide/streams.md")]
    struct Streams;
}
