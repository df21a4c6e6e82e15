//! What nearly every program needs: `use tenure::prelude::*`.
//!
//! It has the trait [`DynTensor`], whose functions make tensors with an element type known at run
//! time (`TensorDyn::new(shape, dtype, memory, name)`).
//!
//! ```
//! use tenure::prelude::*;
//!
//! let input: Tensor<f32> = Tensor::new(&[1, 3, 224, 224], None, None)?;
//! let any = TensorDyn::new(&[1, 3, 224, 224], DType::F32, None, None)?;
//! let frame = Tensor::<u8>::image(1920, 1080, PixelFormat::Nv12, None, Some("cam"))?;
//! let face = frame.view(Region::new(600, 200, 256, 256))?;
//! # let _ = (input, any, face);
//! # Ok::<(), tenure::Error>(())
//! ```

pub use tenure_tensor::{
    Allocator, Colour, DType, DynTensor, Element, LogicalMemorySpace, PixelFormat, Pool,
    Quantization, Region, Tensor, TensorDyn, TensorMemory,
};
#[cfg(all(any(target_os = "linux", target_os = "android"), not(miri)))]
pub use tenure_tensor::{Sharing, receive, send};
