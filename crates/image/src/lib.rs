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
//!
//! # How exact
//!
//! A conversion is defined by the engine [`EngineKind::Reference`], which computes in `f64`. All others
//! are held to it by tests over random pictures, sizes, formats, filters and colours:
//!
//! | destination | [`EngineKind::Cpu`] | [`EngineKind::Gl`] |
//! |---|---|---|
//! | `u8`, `i8` | 1 code | 2 codes |
//! | `f32` | 0.3 of a code; with [`Filter::Bicubic`] and [`Filter::Lanczos3`] 0.5 | the same |
//! | `f32` whose codes are more than 0.0125 apart | 0.114 of a code; with [`Filter::Lanczos3`] 0.142 | as above |
//! | `f16`, `bf16` | as `f32`, and the last bit of the type | the same |
//!
//! A code is one of 256 steps of a channel, and a normalisation makes `scale / std` of it. So in the
//! numbers that the CPU stores as `f32`:
//!
//! | [`Normalize`] | a code is | within |
//! |---|---|---|
//! | [`Normalize::scale`] of 1/255, 0 to 1 | 0.0039 | 0.0012; with [`Filter::Bicubic`] and [`Filter::Lanczos3`] 0.002 |
//! | [`Normalize::IMAGENET`], -2.1 to 2.6 | 0.0175 | 0.002; with [`Filter::Lanczos3`], at edges from black to white, 0.0025 |
//!
//! On every processor (AVX2, NEON, neither) 8-bit results are the same, bit by bit; those
//! that are quantised may differ by one where two codes are equally near. Processors with AVX-512
//! (VBMI and VNNI) resize in another order where that is faster, and may differ by one as well:
//! the environment variable `TENURE_IMAGE_KERNELS` names the instructions to use (`avx512`, `zen4`,
//! which are the same as AMD's Zen 4 wants them, `avx2`, `neon`, `portable`) instead of the best that
//! there are, and `avx2` gives the results of all others.
//!
//! Samples of chroma that pixels share lie where [`Siting`] says: unless told otherwise as video has
//! them for limited range, and as JPEG has them for full range. Filters go through them as through
//! luma, in their own grid.
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
