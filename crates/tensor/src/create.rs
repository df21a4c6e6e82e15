//! New tensors: empty, from values, over buffers, lazy, pooled, as images.

use std::sync::Arc;

use crate::{Dyn, Element, ElementKind};
use tenure_layout::{DType, ImageLayout, Layout, PixelFormat};
use tenure_memory::{
    Allocator, Buffer, RawBuffer, Request, TensorMemory, allocate, allocate_fitting,
};

use crate::meta::{Image, Meta};
use crate::{Error, Result, Tensor};

impl<T: Element> Tensor<T> {
    /// A tensor of zeros in the memory named, or in the first that serves of DMA-BUF, shared
    /// memory and heap. The name is for reports and error messages.
    ///
    /// ```
    /// use tenure_tensor::{Tensor, TensorMemory};
    /// let t = Tensor::<f32>::new(&[1, 3, 224, 224], None, None)?;
    /// let weak = t.buffer_identity().weak();
    /// println!("buffer {}", t.buffer_identity().id());
    /// drop(t);
    /// assert!(weak.upgrade().is_none());
    /// # Ok::<(), tenure_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the shape does not fit the address space, or no memory serves; the error then has the
    /// reason of each.
    pub fn new(shape: &[usize], memory: Option<TensorMemory>, name: Option<&str>) -> Result<Self> {
        create(T::DTYPE, shape, memory, name)
    }

    /// A tensor from any allocator: a pool, shared memory with options. Bytes from a pool hold
    /// what their last user left.
    ///
    /// # Errors
    /// As [`Tensor::new`].
    pub fn new_in(allocator: &dyn Allocator, shape: &[usize], name: Option<&str>) -> Result<Self> {
        create_in(allocator, T::DTYPE, shape, name)
    }

    /// A tensor whose bytes are allocated when first touched, or placed in an arena before that.
    ///
    /// # Errors
    /// If the shape does not fit the address space.
    pub fn lazy(
        allocator: Arc<dyn Allocator>,
        shape: &[usize],
        name: Option<&str>,
    ) -> Result<Self> {
        create_lazy(allocator, T::DTYPE, shape, name)
    }

    /// A tensor with these values, on the heap.
    ///
    /// ```
    /// let t = tenure_tensor::Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[2, 2])?;
    /// assert_eq!(t.map_read()?.as_slice()[3], 4.0);
    /// # Ok::<(), tenure_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there are not as many values as the shape has elements.
    pub fn from_slice(values: &[T], shape: &[usize]) -> Result<Self> {
        let tensor = Self::new(shape, Some(TensorMemory::Mem), None)?;
        let (given, expected) = (values.len(), tensor.len());
        if given != expected {
            return Err(Error::from(crate::detail::WrongLength {
                what: "elements",
                given,
                expected,
            }));
        }
        for (to, &from) in tensor.map()?.as_mut_slice().iter_mut().zip(values) {
            *to = from.into();
        }
        Ok(tensor)
    }

    /// An image with the smallest row stride.
    ///
    /// ```
    /// use tenure_tensor::{PixelFormat, Tensor};
    /// let frame = Tensor::<u8>::image(1920, 1080, PixelFormat::Nv12, None, None)?;
    /// assert_eq!(frame.shape(), &[1620, 1920]);
    /// # Ok::<(), tenure_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the format cannot have such elements, the size is zero or too large, or no memory
    /// serves.
    pub fn image(
        width: usize,
        height: usize,
        format: PixelFormat,
        memory: Option<TensorMemory>,
        name: Option<&str>,
    ) -> Result<Self> {
        let image = ImageLayout::new(format, T::DTYPE, width, height, None)?;
        create_image(image, None, memory, name)
    }

    /// An image whose rows are `row_stride` bytes apart.
    ///
    /// # Errors
    /// As [`Tensor::image`], and if the stride is shorter than a row.
    pub fn image_with_stride(
        width: usize,
        height: usize,
        format: PixelFormat,
        row_stride: usize,
        memory: Option<TensorMemory>,
        name: Option<&str>,
    ) -> Result<Self> {
        let image = ImageLayout::new(format, T::DTYPE, width, height, Some(row_stride))?;
        create_image(image, Some(row_stride), memory, name)
    }

    /// An image from any allocator, such as a pool of frames.
    ///
    /// ```
    /// use tenure_memory::{Pool, kind};
    /// use tenure_tensor::{PixelFormat, Tensor, TensorMemory};
    /// let pool = Pool::new(kind::allocator(TensorMemory::Mem)?);
    /// for _ in 0..3 {
    ///     let frame = Tensor::<u8>::image_in(&pool, 1920, 1080, PixelFormat::Nv12, None)?;
    ///     frame.fill(16)?;
    /// }
    /// assert_eq!((pool.report().misses, pool.report().hits), (1, 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::image`].
    pub fn image_in(
        allocator: &dyn Allocator,
        width: usize,
        height: usize,
        format: PixelFormat,
        name: Option<&str>,
    ) -> Result<Self> {
        let image = ImageLayout::new(format, T::DTYPE, width, height, None)?;
        create_image_in(allocator, image, None, name)
    }
}

impl Tensor<Dyn> {
    /// As [`Tensor::new`] for typed tensors.
    ///
    /// # Errors
    /// If the shape does not fit the address space, or no memory serves.
    pub fn new(
        shape: &[usize],
        dtype: DType,
        memory: Option<TensorMemory>,
        name: Option<&str>,
    ) -> Result<Self> {
        create(dtype, shape, memory, name)
    }

    /// As [`Tensor::new_in`] for typed tensors.
    ///
    /// # Errors
    /// As [`Tensor::new`].
    pub fn new_in(
        allocator: &dyn Allocator,
        shape: &[usize],
        dtype: DType,
        name: Option<&str>,
    ) -> Result<Self> {
        create_in(allocator, dtype, shape, name)
    }

    /// As [`Tensor::lazy`] for typed tensors.
    ///
    /// # Errors
    /// If the shape does not fit the address space.
    pub fn lazy(
        allocator: Arc<dyn Allocator>,
        shape: &[usize],
        dtype: DType,
        name: Option<&str>,
    ) -> Result<Self> {
        create_lazy(allocator, dtype, shape, name)
    }

    /// As [`Tensor::image`] for typed tensors, with an optional row stride.
    ///
    /// # Errors
    /// As there.
    pub fn image(
        width: usize,
        height: usize,
        format: PixelFormat,
        dtype: DType,
        row_stride: Option<usize>,
        memory: Option<TensorMemory>,
        name: Option<&str>,
    ) -> Result<Self> {
        let image = ImageLayout::new(format, dtype, width, height, row_stride)?;
        create_image(image, row_stride, memory, name)
    }

    /// As [`Tensor::image_in`] for typed tensors, with an optional row stride.
    ///
    /// # Errors
    /// As there.
    pub fn image_in(
        allocator: &dyn Allocator,
        width: usize,
        height: usize,
        format: PixelFormat,
        dtype: DType,
        row_stride: Option<usize>,
        name: Option<&str>,
    ) -> Result<Self> {
        let image = ImageLayout::new(format, dtype, width, height, row_stride)?;
        create_image_in(allocator, image, row_stride, name)
    }
}

impl<E: ElementKind> Tensor<E> {
    /// A tensor over bytes that exist.
    ///
    /// # Errors
    /// If the layout has elements outside the buffer, off their alignment, or of another type
    /// than `E`.
    pub fn from_buffer(buffer: Buffer, layout: Layout) -> Result<Self> {
        if let Some(asked) = E::KNOWN
            && asked != layout.dtype()
        {
            return Err(Error::WrongElement { have: layout.dtype(), asked });
        }
        layout.check_fits(buffer.len())?;
        layout.check_aligned()?;
        Ok(Tensor::assemble(buffer, Meta::new(layout)))
    }
}

fn create<E: ElementKind>(
    dtype: DType,
    shape: &[usize],
    memory: Option<TensorMemory>,
    name: Option<&str>,
) -> Result<Tensor<E>> {
    let layout = Layout::contiguous(dtype, shape)?;
    let raw = allocate(memory, &Request::new(layout.span().end)?.with_name(name))?;
    Ok(Tensor::assemble(Buffer::from_raw(raw), Meta::new(layout)))
}

fn create_in<E: ElementKind>(
    allocator: &dyn Allocator,
    dtype: DType,
    shape: &[usize],
    name: Option<&str>,
) -> Result<Tensor<E>> {
    let layout = Layout::contiguous(dtype, shape)?;
    let raw = allocator.allocate(&Request::new(layout.span().end)?.with_name(name))?;
    // Anybody can write an allocator: it is measured, not believed.
    layout.check_fits(raw.size())?;
    Ok(Tensor::assemble(Buffer::from_raw(raw), Meta::new(layout)))
}

fn create_lazy<E: ElementKind>(
    allocator: Arc<dyn Allocator>,
    dtype: DType,
    shape: &[usize],
    name: Option<&str>,
) -> Result<Tensor<E>> {
    let layout = Layout::contiguous(dtype, shape)?;
    let request = Request::new(layout.span().end)?.with_name(name);
    Ok(Tensor::assemble(Buffer::lazy_in(allocator, &request), Meta::new(layout)))
}

/// What the rows of images in device memory are a multiple of: GPUs refuse to import others.
const DEVICE_PITCH: usize = 64;

fn create_image<E: ElementKind>(
    image: ImageLayout,
    given_stride: Option<usize>,
    memory: Option<TensorMemory>,
    name: Option<&str>,
) -> Result<Tensor<E>> {
    let padded = match given_stride {
        Some(_) => image.clone(),
        None => padded_for_devices(&image)?,
    };
    let chosen = |memory| if memory == TensorMemory::Dma { &padded } else { &image };
    // Checked before anything is allocated, so that the choice below cannot fail.
    let requests = [&padded, &image].map(|layout| Request::new(layout.allocation_bytes()));
    let [for_devices, for_others] = requests;
    let (for_devices, for_others) = (for_devices?.with_name(name), for_others?.with_name(name));
    let raw = allocate_fitting(memory, |memory| {
        if memory == TensorMemory::Dma { for_devices } else { for_others }
    })?;
    let layout = chosen(raw.memory()).clone();
    let given_stride = (layout != image).then(|| layout.row_stride()).or(given_stride);
    image_over(raw, layout, given_stride)
}

fn create_image_in<E: ElementKind>(
    allocator: &dyn Allocator,
    image: ImageLayout,
    given_stride: Option<usize>,
    name: Option<&str>,
) -> Result<Tensor<E>> {
    let padded = allocator.memory() == TensorMemory::Dma && given_stride.is_none();
    let layout = if padded { padded_for_devices(&image)? } else { image.clone() };
    let given_stride = (layout != image).then(|| layout.row_stride()).or(given_stride);
    let raw = allocator.allocate(&Request::new(layout.allocation_bytes())?.with_name(name))?;
    let (end, available) = (layout.span().end, raw.size());
    if end > available {
        return Err(tenure_layout::Error::OutOfBounds { end, available }.into());
    }
    image_over(raw, layout, given_stride)
}

fn image_over<E: ElementKind>(
    raw: RawBuffer,
    layout: ImageLayout,
    given_stride: Option<usize>,
) -> Result<Tensor<E>> {
    let mut meta = Meta::new(layout.tensor_layout()?);
    meta.image = Some(Image { layout, given_stride });
    Ok(Tensor::assemble(Buffer::from_raw(raw), meta))
}

/// The same image with rows that GPUs can import: every plane's stride is a multiple of
/// [`DEVICE_PITCH`].
fn padded_for_devices(image: &ImageLayout) -> Result<ImageLayout> {
    // Chroma planes of I420 have half the stride of luma.
    let smallest = image.planes().iter().map(|plane| plane.row_stride).min().unwrap_or(1);
    let multiple = DEVICE_PITCH * (image.row_stride() / smallest.max(1)).max(1);
    let stride = image.row_stride().checked_next_multiple_of(multiple);
    let (format, width, height) = (image.format(), image.width(), image.height());
    let too_large = tenure_layout::Error::ImageTooLarge { format, width, height };
    Ok(ImageLayout::new(format, image.dtype(), width, height, Some(stride.ok_or(too_large)?))?)
}
