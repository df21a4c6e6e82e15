//! New tensors: empty, from values, over buffers, lazy, pooled, as images.

use std::sync::Arc;

use crate::{Dyn, Element, ElementKind};
use tenure_layout::{DType, ImageLayout, Layout, PixelFormat};
use tenure_memory::{Allocator, Buffer, RawBuffer, Request, TensorMemory, allocate};

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

    /// An image with the smallest row stride, in every memory. Where an importer needs rows further
    /// apart (GPUs take multiples of 64 bytes), ask for that with [`Tensor::image_with_stride`] and
    /// [`ImageLayout::importable_stride`].
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
        create_image(image, memory, name)
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
        create_image(image, memory, name)
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
        create_image_in(allocator, image, name)
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
        create_image(image, memory, name)
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
        create_image_in(allocator, image, name)
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
    Ok(Tensor::assemble(Buffer::from_raw(raw), Meta::whole(layout)))
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
    Ok(Tensor::assemble(Buffer::from_raw(raw), Meta::whole(layout)))
}

fn create_lazy<E: ElementKind>(
    allocator: Arc<dyn Allocator>,
    dtype: DType,
    shape: &[usize],
    name: Option<&str>,
) -> Result<Tensor<E>> {
    let layout = Layout::contiguous(dtype, shape)?;
    let request = Request::new(layout.span().end)?.with_name(name);
    Ok(Tensor::assemble(Buffer::lazy_in(allocator, &request), Meta::whole(layout)))
}

fn create_image<E: ElementKind>(
    layout: ImageLayout,
    memory: Option<TensorMemory>,
    name: Option<&str>,
) -> Result<Tensor<E>> {
    let raw = allocate(memory, &Request::new(layout.allocation_bytes())?.with_name(name))?;
    image_over(raw, layout)
}

fn create_image_in<E: ElementKind>(
    allocator: &dyn Allocator,
    layout: ImageLayout,
    name: Option<&str>,
) -> Result<Tensor<E>> {
    let raw = allocator.allocate(&Request::new(layout.allocation_bytes())?.with_name(name))?;
    let (end, available) = (layout.span().end, raw.size());
    if end > available {
        return Err(tenure_layout::Error::OutOfBounds { end, available }.into());
    }
    image_over(raw, layout)
}

fn image_over<E: ElementKind>(raw: RawBuffer, layout: ImageLayout) -> Result<Tensor<E>> {
    let mut meta = Meta::whole(layout.tensor_layout()?);
    meta.image = Some(Image { layout });
    Ok(Tensor::assemble(Buffer::from_raw(raw), meta))
}
