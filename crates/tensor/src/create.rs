//! New tensors with few words: empty, from values, over buffers, as images. Everything else is said
//! to the [builder](TensorBuilder).

use crate::{Element, ElementKind};
use tenure_layout::{DType, Layout, PixelFormat};
use tenure_memory::{Buffer, TensorMemory};

use crate::meta::Meta;
use crate::{Error, Result, Tensor, TensorBuilder, TensorDyn};

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
        Tensor::builder(shape).memory(memory).name(name).build()
    }

    /// A tensor to be made: in a pool, lazy, aligned, from values.
    ///
    /// ```
    /// use tenure_tensor::{Pool, Tensor, TensorMemory};
    /// let pool = Pool::new(TensorMemory::Mem);
    /// let input = Tensor::<f32>::builder(&[1, 3, 224, 224]).pool(&pool).name("input").build()?;
    /// assert_eq!((input.name(), input.memory()), (Some("input"), TensorMemory::Mem));
    /// # Ok::<(), tenure_tensor::Error>(())
    /// ```
    pub fn builder(shape: &[usize]) -> TensorBuilder<'_, T> {
        TensorBuilder::of_shape(shape, T::DTYPE)
    }

    /// An image to be made: in a pool, with a row stride, lazy.
    ///
    /// ```
    /// use tenure_tensor::{PixelFormat, Pool, Tensor, TensorMemory};
    /// let pool = Pool::new(TensorMemory::Mem);
    /// for _ in 0..3 {
    ///     let frame = Tensor::<u8>::image_builder(1920, 1080, PixelFormat::Nv12).pool(&pool).build()?;
    ///     frame.fill(16)?;
    /// }
    /// assert_eq!((pool.report().misses, pool.report().hits), (1, 2));
    /// # Ok::<(), tenure_tensor::Error>(())
    /// ```
    pub fn image_builder<'a>(
        width: usize,
        height: usize,
        format: PixelFormat,
    ) -> TensorBuilder<'a, T> {
        TensorBuilder::of_image(width, height, format, T::DTYPE)
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
        Tensor::builder(shape).memory(TensorMemory::Mem).build_from(values)
    }

    /// An image with the smallest row stride, in every memory. Where an importer needs rows further
    /// apart (GPUs take multiples of 64 bytes), ask the builder for that with
    /// [`TensorBuilder::row_stride`] and
    /// [`ImageLayout::importable_stride`](tenure_layout::ImageLayout::importable_stride).
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
        Tensor::image_builder(width, height, format).memory(memory).name(name).build()
    }
}

impl<E: ElementKind> Tensor<E> {
    /// A tensor over bytes that exist, or that a lazy buffer will have.
    ///
    /// ```
    /// use tenure_tensor::{DType, Error, Layout, Tensor};
    /// let bytes = Tensor::<u8>::new(&[64], None, None)?;
    /// let floats = Layout::contiguous(DType::F32, &[4])?;
    /// let aligned = bytes.buffer().slice(4..20)?;
    /// assert!(Tensor::<f32>::from_buffer(aligned, floats.clone()).is_ok());
    /// let odd = Tensor::<f32>::from_buffer(bytes.buffer().slice(1..17)?, floats);
    /// assert!(matches!(odd, Err(Error::MisalignedAddress { .. })));
    /// # Ok::<(), tenure_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the layout has elements outside the buffer, of another type than `E`, or off their
    /// alignment: in the buffer ([`tenure_layout::Error::Misaligned`]), or in memory
    /// ([`Error::MisalignedAddress`]) because the buffer starts between two multiples of it.
    pub fn from_buffer(buffer: Buffer, layout: Layout) -> Result<Self> {
        let tensor = Tensor::over(buffer, layout)?;
        tensor.check_place()?;
        Ok(tensor)
    }

    fn over(buffer: Buffer, layout: Layout) -> Result<Self> {
        if let Some(asked) = E::KNOWN
            && asked != layout.dtype()
        {
            let (tensor, have) = (buffer.name().into(), layout.dtype());
            return Err(Error::WrongElement { tensor, have, asked });
        }
        layout.check_fits(buffer.len())?;
        layout.check_aligned()?;
        Ok(Tensor::assemble(buffer, Meta::new(layout)))
    }

    /// That the elements are, or will be, at multiples of their alignment.
    fn check_place(&self) -> Result<()> {
        let (dtype, layout) = (self.dtype(), self.layout());
        let align = address_alignment(dtype);
        if layout.elements() == 0 || self.buffer().is_aligned(layout.offset(), align) {
            return Ok(());
        }
        Err(crate::detail::MisalignedAddress { tensor: self.which(), dtype, align }.into())
    }
}

impl TensorDyn {
    /// As [`Tensor::from_buffer`], of elements that may be at any byte of memory: of files whose
    /// format aligns nothing. They can be copied, written elsewhere and mapped as bytes; to map them as
    /// elements is [`Error::MisalignedAddress`] where they are off their alignment.
    ///
    /// ```
    /// use tenure_tensor::{DType, Layout, Tensor, TensorDyn, TensorMemory};
    /// let bytes = Tensor::<u8>::from_slice(&[0, 1, 0, 2, 0], &[5])?;
    /// let layout = Layout::contiguous(DType::U16, &[2])?;
    /// let odd = TensorDyn::from_unaligned_buffer(bytes.buffer().slice(1..5)?, layout)?;
    /// assert!(odd.typed::<u16>()?.map_read().is_err());
    /// let copy = odd.to(Some(TensorMemory::Mem))?.typed::<u16>()?;
    /// assert_eq!(copy.map_read()?[..], [1, 2].map(u16::from_le));
    /// # Ok::<(), tenure_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the layout has elements outside the buffer, or off their alignment in it.
    pub fn from_unaligned_buffer(buffer: Buffer, layout: Layout) -> Result<TensorDyn> {
        Tensor::over(buffer, layout)
    }
}

/// What an address of such elements is a multiple of on this machine: 32-bit x86 aligns eight bytes to
/// four.
pub(crate) fn address_alignment(dtype: DType) -> usize {
    dtype.align().min(align_of::<u64>())
}
