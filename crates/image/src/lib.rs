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
//!     .fit(Fit::letterbox(114))
//!     .normalize(Normalize::scale(1.0 / 255.0));
//! let placement = processor.convert(&frame, &input, &letterbox)?;
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
//! | `u8`, `i8`, quantised or not | 1 | 2 codes |
//! | `f32` of which a code is less than 0.1: every usual [`Normalize`] | 0.002, and no more than half a code | 0.3 of a code; with [`Filter::Bicubic`] and [`Filter::Lanczos3`] 0.5 |
//! | `f32` of which a code is 0.1 to 0.5 | 0.02 of a code | as above |
//! | `f32` of which a code is more: [`Normalize::NONE`] | 0.5 of a code | as above |
//! | `f16`, `bf16` | as `f32`, and the last bit of the type | the same |
//!
//! A code is one of 256 steps of a channel, and a normalisation makes `scale / std` of it: 0.0039 of
//! [`Normalize::scale`] with 1/255, 0.0078 where -1 to 1 is wanted, 0.0175 of [`Normalize::IMAGENET`].
//!
//! The CPU works in fixed point where that is exact enough: what every step can lose at most is added
//! up for a conversion's own weights and colours when it is first seen, and the quickest steps that
//! stay within these bounds are taken. What none of them does, such as Lanczos for ImageNet, is made in
//! floating point, in one pass like the rest, at twice the time.
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
pub mod detail;
mod engine;
mod error;
mod geometry;
mod held;
mod import;
mod job;
mod normalize;
mod origin;
mod placement;
mod processor;
mod taps;

pub use convert::{Convert, Filter, Fit, Rotation, Siting};
pub use engine::EngineKind;
pub use error::{Error, Result};
pub use normalize::Normalize;
pub use placement::Placement;
pub use processor::{ChosenImage, Explanation, ImageProcessor, ImageProcessorBuilder};
pub use tenure_layout::ErrorKind;
