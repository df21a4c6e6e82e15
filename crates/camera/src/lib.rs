//! Frames of V4L2 cameras as tensors, without a copy.
//!
//! The promise of this crate: a frame's bytes are where the camera put them, belong to whoever
//! holds the frame, a view or a guard of it, and go back to the driver when the last of these is
//! gone, on whatever thread and whether or not the stream still exists. Buffers are mapped once,
//! when streaming begins; a slot has the same address and identity at every frame, so that caches
//! of imported textures hit.
//!
//! ```no_run
//! use std::time::Duration;
//! use tenure_camera::{Camera, Wanted};
//! use tenure_tensor::PixelFormat;
//!
//! let mut camera = Camera::open("/dev/video0")?;
//! let mode = camera.negotiate(&Wanted::pixels(PixelFormat::Nv12).size(1280, 720).fps(30.0))?;
//! println!("{mode}");
//! let mut stream = camera.stream()?;
//! // Until none comes for a second.
//! while let Some(frame) = stream.next(Duration::from_secs(1))? {
//!     // A frame is a tensor: format, stride and colour are what the driver says.
//!     let luma = frame.plane(0)?;
//!     println!("{} at {:?}: {}", frame.sequence(), frame.timestamp(), luma.map_rows_read()?[0][0]);
//! }
//! println!("{} frames were dropped", stream.dropped());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! On systems other than Linux and Android the crate is empty.
#![warn(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used
)]
#![cfg(linux_like)]

mod camera;
mod colour;
mod control;
pub mod detail;
mod device;
mod error;
mod formats;
mod fourcc;
mod frame;
mod holders;
mod kernel;
mod list;
mod memory;
mod mode;
mod sequence;
mod session;
mod stream;
mod wanted;

pub use camera::Camera;
pub use control::{Control, ControlKind};
pub use device::Identity;
pub use error::{Error, Result};
pub use formats::{FormatInfo, FrameInterval, FrameSizes};
pub use fourcc::FourCc;
pub use frame::Frame;
pub use holders::Holder;
pub use list::{Found, cameras};
pub use mode::{Mode, PlaneSize};
pub use stream::Stream;
pub use tenure_layout::ErrorKind;
pub use wanted::{FrameMemory, Wanted};
