//! The builder of tensors: every way to say what a new tensor is, and where its bytes are.
//!
//! Constructors with few arguments ([`Tensor::new`], [`Tensor::image`]) are short forms of it.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::{Element, ElementKind};
use tenure_layout::{Colour, DType, ImageLayout, Layout, PixelFormat};
use tenure_memory::{
    ALIGNMENT, Allocator, Buffer, LogicalMemorySpace, Pool, RawBuffer, Request, TensorMemory,
    allocate, allocator_in,
};

use crate::meta::{Image, Meta};
use crate::{Error, Result, Tensor, To};

mod lazy;

/// A tensor to be made: what it is, and where its bytes are.
///
/// From `Tensor::<T>::builder(shape)`, `Tensor::<T>::image_builder(width, height, format)`, and the
/// same two of [`DynTensor`](crate::DynTensor) with an element type at the end. What is not said is
/// chosen: the memory is the first that serves of DMA-BUF, shared memory and heap, and the rows of
/// images follow each other without padding, in every memory.
///
/// **New memory is zero everywhere**, also from a pool, unless
/// [`without_zeroing`](TensorBuilder::without_zeroing) is called.
///
/// ```
/// use tenure_tensor::{DType, DynTensor, PixelFormat, Pool, Tensor, TensorDyn, TensorMemory};
///
/// // A memory by its name, and a name for reports.
/// let weights = Tensor::<f32>::builder(&[64, 3, 7, 7])
///     .memory(TensorMemory::Mem)
///     .name("conv1")
///     .build()?;
///
/// // Frames from a pool, with rows of 2048 bytes.
/// let pool = Pool::new(TensorMemory::Mem);
/// let frame = Tensor::<u8>::image_builder(1920, 1080, PixelFormat::Nv12)
///     .pool(&pool)
///     .row_stride(2048)
///     .build()?;
/// assert_eq!(frame.row_stride(), Some(2048));
///
/// // The element type known at run time, and bytes that do not exist until they are touched.
/// let scratch = TensorDyn::builder(&[1 << 20], DType::U8).pool(&pool).lazy().build()?;
/// assert!(!scratch.buffer().is_placed());
/// # let _ = weights;
/// # Ok::<(), tenure_tensor::Error>(())
/// ```
#[derive(Clone, Copy)]
#[must_use = "a builder makes nothing until build() is called"]
pub struct TensorBuilder<'a, E: ElementKind> {
    what: What<'a>,
    dtype: DType,
    place: To<'a>,
    name: Option<&'a str>,
    format: Option<PixelFormat>,
    colour: Option<Colour>,
    row_stride: Option<usize>,
    align: usize,
    lazy: bool,
    zeroed: Zeroed,
    element: PhantomData<fn() -> E>,
}

#[derive(Debug, Clone, Copy)]
enum What<'a> {
    Shape(&'a [usize]),
    Image { width: usize, height: usize, format: PixelFormat },
}

/// Which bytes have to be zero.
#[derive(Debug, Clone, Copy)]
enum Zeroed {
    All,
    /// All of an image whose rows lie apart, nothing of any other tensor.
    Gaps,
    Nothing,
}

impl<'a, E: ElementKind> TensorBuilder<'a, E> {
    fn new(what: What<'a>, dtype: DType) -> Self {
        TensorBuilder {
            what,
            dtype,
            place: To::Memory(None),
            name: None,
            format: None,
            colour: None,
            row_stride: None,
            align: ALIGNMENT,
            lazy: false,
            zeroed: Zeroed::All,
            element: PhantomData,
        }
    }

    /// Elements of `dtype`, which is the type `E` stands for if it stands for one.
    pub(crate) fn of_shape(shape: &'a [usize], dtype: DType) -> Self {
        TensorBuilder::new(What::Shape(shape), dtype)
    }

    /// The same for an image.
    pub(crate) fn of_image(width: usize, height: usize, format: PixelFormat, dtype: DType) -> Self {
        TensorBuilder::new(What::Image { width, height, format }, dtype)
    }

    /// In this memory; `None` is the first that serves of DMA-BUF, shared memory and heap.
    pub fn memory(self, memory: impl Into<Option<TensorMemory>>) -> Self {
        self.place(memory.into())
    }

    /// From this pool.
    pub fn pool(self, pool: &'a Pool) -> Self {
        self.place(To::Allocator(pool))
    }

    /// From any allocator: shared memory with options, memory of a device, a pool, an `Arc` of
    /// one of these.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tenure_tensor::{Allocator, Tensor, TensorMemory};
    /// let any: Arc<dyn Allocator> = Arc::new(TensorMemory::Mem);
    /// let tensor = Tensor::<u8>::builder(&[64]).allocator(&any).build()?;
    /// assert_eq!(tensor.memory(), TensorMemory::Mem);
    /// # Ok::<(), tenure_tensor::Error>(())
    /// ```
    pub fn allocator(self, allocator: &'a dyn Allocator) -> Self {
        self.place(To::Allocator(allocator))
    }

    /// In this space: main memory, or that of a device that is open. Where several devices have
    /// it, it is the one that was opened first.
    pub fn space(self, space: LogicalMemorySpace) -> Self {
        self.place(To::Space(space))
    }

    /// In a memory, in a space, or from an allocator: whatever [`Tensor::to`] takes.
    pub fn place(self, place: impl Into<To<'a>>) -> Self {
        TensorBuilder { place: place.into(), ..self }
    }

    /// A name, for reports and error messages.
    pub fn name(self, name: impl Into<Option<&'a str>>) -> Self {
        TensorBuilder { name: name.into(), ..self }
    }

    /// Declares the tensor an image of this format; leading dimensions are a batch. For tensors
    /// that are made by their shape.
    ///
    /// ```
    /// use tenure_tensor::{PixelFormat, Tensor};
    /// let batch = Tensor::<f32>::builder(&[2, 3, 224, 224]).format(PixelFormat::PlanarRgb).build()?;
    /// assert_eq!(batch.batch(1)?.width(), Some(224));
    /// # Ok::<(), tenure_tensor::Error>(())
    /// ```
    pub fn format(self, format: impl Into<Option<PixelFormat>>) -> Self {
        TensorBuilder { format: format.into(), ..self }
    }

    /// A colour description.
    pub fn colour(self, colour: impl Into<Option<Colour>>) -> Self {
        TensorBuilder { colour: colour.into(), ..self }
    }

    /// Rows of the image this many bytes apart; `None` is without padding, in every memory. Where an
    /// importer needs rows further apart (GPUs take multiples of 64 bytes), this is
    /// [`ImageLayout::importable_stride`].
    pub fn row_stride(self, row_stride: impl Into<Option<usize>>) -> Self {
        TensorBuilder { row_stride: row_stride.into(), ..self }
    }

    /// The address of the first byte a multiple of this power of two, if that is more than the
    /// usual 256, and at most 2 MiB.
    pub fn align(self, align: usize) -> Self {
        TensorBuilder { align, ..self }
    }

    /// Allocated when first touched, or placed in an arena before that
    /// ([`Buffer::place_in`](tenure_memory::Buffer::place_in)).
    pub fn lazy(self) -> Self {
        TensorBuilder { lazy: true, ..self }
    }

    /// Memory that a pool has reused may hold what its last user left: for tensors that are
    /// written whole before they are read. It saves writing zeros over every byte.
    ///
    /// ```
    /// use tenure_tensor::{Pool, Tensor, TensorMemory};
    /// let pool = Pool::new(TensorMemory::Mem);
    /// let builder = Tensor::<u8>::builder(&[1000]).pool(&pool);
    /// builder.build()?.fill(99)?;
    /// assert_eq!(builder.without_zeroing().build()?.map_read()?.as_slice()[0], 99);
    /// assert_eq!(builder.build()?.map_read()?.as_slice()[0], 0);
    /// # Ok::<(), tenure_tensor::Error>(())
    /// ```
    pub fn without_zeroing(self) -> Self {
        TensorBuilder { zeroed: Zeroed::Nothing, ..self }
    }

    /// For tensors whose elements are all written before anybody sees them: gaps between them are
    /// zero all the same.
    pub(crate) fn written_whole(self) -> Self {
        TensorBuilder { zeroed: Zeroed::Gaps, ..self }
    }

    /// Makes the tensor.
    ///
    /// # Errors
    /// If the shape does not fit the address space, the format cannot have such elements, the row
    /// stride is shorter than a row or given for what is no image, the alignment is no power of
    /// two, or no memory serves.
    pub fn build(self) -> Result<Tensor<E>> {
        let mut tensor = match self.what {
            What::Shape(shape) if self.row_stride.is_none() => self.build_elements(shape)?,
            What::Shape(shape) => {
                let no_image = || {
                    let (tensor, shape) = (self.name.into(), shape.into());
                    Error::from(crate::detail::NotAnImage { tensor, shape })
                };
                let format = self.format.ok_or_else(no_image)?;
                let stride = self.row_stride;
                let image = ImageLayout::from_shape(format, self.dtype, shape, stride)?;
                self.build_image(image)?
            }
            What::Image { width, height, format } => {
                let image = ImageLayout::new(width, height, format, self.dtype, self.row_stride)?;
                self.build_image(image)?
            }
        };
        if let Some(format) = self.format
            && tensor.format() != Some(format)
        {
            tensor.set_format(format)?;
        }
        if self.colour.is_some() {
            tensor.set_colour(self.colour);
        }
        Ok(tensor)
    }

    /// For `bytes` of memory, of which `used` are elements.
    fn request(&self, bytes: usize, used: usize) -> Result<Request<'a>> {
        let request = Request::new(bytes)?.with_align(self.align)?.with_name(self.name);
        Ok(match self.zeroed {
            Zeroed::All => request,
            Zeroed::Gaps if used < bytes => request,
            Zeroed::Gaps | Zeroed::Nothing => request.without_zeroing(),
        })
    }

    fn build_elements(&self, shape: &[usize]) -> Result<Tensor<E>> {
        let layout = Layout::contiguous(self.dtype, shape)?;
        let buffer = self.buffer(layout.span().end, layout.packed_bytes())?;
        // Anybody can write an allocator: it is measured, not believed.
        layout.check_fits(buffer.len())?;
        Ok(Tensor::assemble(buffer, Meta::whole(layout)))
    }

    fn build_image(&self, image: ImageLayout) -> Result<Tensor<E>> {
        let buffer = self.buffer(image.allocation_bytes(), image.packed_bytes())?;
        // Anybody can write an allocator: it is measured, not believed.
        let (end, available) = (image.span().end, buffer.len());
        if end > available {
            return Err(tenure_layout::Error::OutOfBounds { end, available }.into());
        }
        let mut meta = Meta::whole(image.tensor_layout()?);
        meta.image = Some(Image { layout: image });
        Ok(Tensor::assemble(buffer, meta))
    }

    /// `bytes` of memory, of which `used` are elements.
    fn buffer(&self, bytes: usize, used: usize) -> Result<Buffer> {
        let request = self.request(bytes, used)?;
        match self.lazy {
            true => lazy::buffer(self.place, &request),
            false => Ok(Buffer::from_raw(made(self.place, &request)?)),
        }
    }
}

impl<T: Element> TensorBuilder<'_, T> {
    /// Makes the tensor with these elements, in the order of its shape; of an image, rows and
    /// planes one after the other without gaps.
    ///
    /// ```
    /// use tenure_tensor::{Tensor, TensorMemory};
    /// let tensor = Tensor::<f32>::builder(&[2, 2])
    ///     .memory(TensorMemory::Shm)
    ///     .build_from(&[1.0, 2.0, 3.0, 4.0])?;
    /// assert_eq!(tensor.map_read()?.as_slice()[3], 4.0);
    /// # Ok::<(), tenure_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`TensorBuilder::build`], and if there are not as many values as the tensor has elements.
    pub fn build_from(self, values: &[T]) -> Result<Tensor<T>> {
        let tensor = self.written_whole().build()?;
        let (given, expected) = (values.len(), tensor.flat_bytes() / size_of::<T>());
        if given != expected {
            return Err(Error::from(crate::detail::WrongLength {
                what: "elements",
                given,
                expected,
            }));
        }
        if tensor.is_contiguous() && tensor.len() == given && tensor.space().cpu_reachable() {
            tensor.map()?.as_mut_slice().copy_from_slice(values);
        } else {
            let plain = TensorBuilder { row_stride: None, lazy: false, ..self };
            let here = plain.memory(TensorMemory::Mem).build_from(values)?;
            tensor.copy_from(&here)?;
        }
        Ok(tensor)
    }
}

/// Bytes that exist, made at this place.
fn made(place: To<'_>, request: &Request<'_>) -> Result<RawBuffer> {
    Ok(match place {
        To::Memory(memory) => allocate(memory, request)?,
        To::Allocator(allocator) => allocator.allocate(request)?,
        To::Space(space) => match allocator_of(space)? {
            Some(allocator) => allocator.allocate(request)?,
            None => allocate(None, request)?,
        },
    })
}

/// The allocator of a space that is a device's; `None` for main memory, where it is chosen.
fn allocator_of(space: LogicalMemorySpace) -> Result<Option<Arc<dyn Allocator>>> {
    match space {
        LogicalMemorySpace::MainMemory => Ok(None),
        space => Ok(Some(allocator_in(space, None)?)),
    }
}

impl<E: ElementKind> fmt::Debug for TensorBuilder<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TensorBuilder")
            .field("what", &self.what)
            .field("dtype", &self.dtype)
            .field("place", &self.place)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
