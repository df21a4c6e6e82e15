//! Pictures between tensors: any camera frame to any model input, in one pass over memory.
//!
//! The promise of this crate: [`ImageProcessor::convert`] writes exactly the destination
//! rectangle, in the memory that the model reads, or says why it cannot before it writes. What a
//! conversion means is in [`Convert`]; engines differ in speed, not in meaning.
//!
//! ```
//! use tenure_image::{Convert, Fit, ImageProcessor, Normalize};
//! use tenure_tensor::{PixelFormat, Tensor};
//!
//! let processor = ImageProcessor::new()?;
//! let frame = Tensor::<u8>::image(1920, 1080, PixelFormat::Nv12, None, None)?;
//! let mut input = Tensor::<f32>::image(640, 640, PixelFormat::PlanarRgb, None, None)?;
//! let letterbox = Convert::new()
//!     .with_fit(Fit::letterbox(114))
//!     .with_normalize(Normalize::scale(1.0 / 255.0));
//! let placement = processor.convert(&frame, &mut input, &letterbox)?;
//! assert_eq!(placement.to_source(0.0, 140.0), (0.0, 0.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![warn(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used
)]
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test that cannot go on should stop"))]

#[cfg(feature = "codecs")]
pub mod codec;
mod colour;
mod component;
mod convert;
mod engine;
mod error;
mod geometry;
mod held;
mod import;
mod job;
mod normalize;
mod placement;
mod processor;
mod taps;

pub use convert::{Convert, Filter, Fit, Rotation, Siting};
pub use engine::EngineKind;
pub use error::{Error, Result};
pub use normalize::Normalize;
pub use placement::Placement;
pub use processor::{Explanation, ImageProcessor, ImageProcessorConfig};
