//! Constructors of tensors whose element type is known at run time.
//!
//! They have the names of the typed ones and one argument more, so they are in a trait: of two
//! inherent functions of one name, `Tensor::new(…)` could not tell which is meant. The compiler
//! tries inherent functions first, and those of typed tensors are not for [`Dyn`].

#[cfg(unix)]
use std::os::fd::AsFd;

use crate::{Dyn, Result, Tensor, TensorBuilder};
#[cfg(unix)]
use tenure_layout::Layout;
use tenure_layout::{DType, PixelFormat};
use tenure_memory::TensorMemory;
#[cfg(unix)]
use tenure_memory::{Protection, import};

mod sealed {
    pub trait Sealed {}
    impl Sealed for crate::TensorDyn {}
}

/// Constructors of [`TensorDyn`](crate::TensorDyn); to be imported where they are called, with
/// `use tenure::prelude::*` say.
///
/// ```
/// use tenure_tensor::{DType, DynTensor, PixelFormat, Tensor, TensorDyn};
///
/// let of_run_time = TensorDyn::new(&[1, 3, 224, 224], DType::F32, None, None)?;
/// let picture = TensorDyn::image(640, 480, PixelFormat::Rgb, DType::U8, None, None)?;
/// let quick = TensorDyn::builder(&[64], DType::U8).without_zeroing().build()?;
///
/// // The typed ones go by the same names.
/// let typed: Tensor<f32> = Tensor::new(&[1, 3, 224, 224], None, None)?;
/// # let _ = (of_run_time, picture, quick, typed);
/// # Ok::<(), tenure_tensor::Error>(())
/// ```
pub trait DynTensor: sealed::Sealed + Sized {
    /// As [`Tensor::new`] of typed tensors, with the element type.
    ///
    /// # Errors
    /// If the shape does not fit the address space, or no memory serves.
    fn new(
        shape: &[usize],
        dtype: DType,
        memory: Option<TensorMemory>,
        name: Option<&str>,
    ) -> Result<Self>;

    /// As [`Tensor::image`] of typed tensors, with the element type.
    ///
    /// # Errors
    /// If the format cannot have such elements, the size is zero or too large, or no memory
    /// serves.
    fn image(
        width: usize,
        height: usize,
        format: PixelFormat,
        dtype: DType,
        memory: Option<TensorMemory>,
        name: Option<&str>,
    ) -> Result<Self>;

    /// As [`Tensor::builder`] of typed tensors, with the element type.
    fn builder(shape: &[usize], dtype: DType) -> TensorBuilder<'_, Dyn>;

    /// As [`Tensor::image_builder`] of typed tensors, with the element type.
    fn image_builder<'a>(
        width: usize,
        height: usize,
        format: PixelFormat,
        dtype: DType,
    ) -> TensorBuilder<'a, Dyn>;

    /// As [`Tensor::from_fd`] of typed tensors, with the element type.
    ///
    /// # Errors
    /// If the descriptor is closed, not memory, too short, or its memory can be taken away.
    #[cfg(unix)]
    fn from_fd(fd: impl AsFd, shape: &[usize], dtype: DType, name: Option<&str>) -> Result<Self>;
}

impl DynTensor for Tensor<Dyn> {
    fn new(
        shape: &[usize],
        dtype: DType,
        memory: Option<TensorMemory>,
        name: Option<&str>,
    ) -> Result<Self> {
        TensorBuilder::of_shape(shape, dtype).memory(memory).name(name).build()
    }

    fn image(
        width: usize,
        height: usize,
        format: PixelFormat,
        dtype: DType,
        memory: Option<TensorMemory>,
        name: Option<&str>,
    ) -> Result<Self> {
        TensorBuilder::of_image(width, height, format, dtype).memory(memory).name(name).build()
    }

    fn builder(shape: &[usize], dtype: DType) -> TensorBuilder<'_, Dyn> {
        TensorBuilder::of_shape(shape, dtype)
    }

    fn image_builder<'a>(
        width: usize,
        height: usize,
        format: PixelFormat,
        dtype: DType,
    ) -> TensorBuilder<'a, Dyn> {
        TensorBuilder::of_image(width, height, format, dtype)
    }

    #[cfg(unix)]
    fn from_fd(fd: impl AsFd, shape: &[usize], dtype: DType, name: Option<&str>) -> Result<Self> {
        let layout = Layout::contiguous(dtype, shape)?;
        let buffer = import(fd, layout.span().end, Protection::AsAllowed, name)?;
        Tensor::from_buffer(buffer, layout)
    }
}
