//! Tensors as images: format, size, row stride, place in the buffer, new geometry.

use crate::ElementKind;
use tenure_layout::format::Arrangement;
use tenure_layout::{ImageLayout, Layout, PixelFormat};

use crate::meta::{Image, Parts};
use crate::{Error, Result, Tensor};

impl<E: ElementKind> Tensor<E> {
    /// The pixel format, if the tensor is an image.
    pub fn format(&self) -> Option<PixelFormat> {
        self.parts.meta.image.as_ref().map(|image| image.layout.format())
    }

    /// Pixels across, if the tensor is an image.
    pub fn width(&self) -> Option<usize> {
        self.parts.meta.image.as_ref().map(|image| image.layout.width())
    }

    /// Pixels down, if the tensor is an image.
    pub fn height(&self) -> Option<usize> {
        self.parts.meta.image.as_ref().map(|image| image.layout.height())
    }

    /// Format, size and planes, if the tensor is an image (of a batch: of its first). Offsets
    /// count from the start of [`Tensor::buffer`], or of the plane's own buffer.
    pub fn image_layout(&self) -> Option<&ImageLayout> {
        self.parts.meta.image.as_ref().map(|image| &image.layout)
    }

    /// Declares the tensor an image of this format. Leading dimensions are a batch.
    ///
    /// Strides that the tensor has before it becomes an image stay. Changing the format of an
    /// image drops the row stride that it has for the old one: the rows of the new format follow
    /// each other without padding, from the same first byte on. A view is not the owner of its
    /// rows, so it keeps their stride. [`Tensor::configure_image`] changes the format and says the
    /// stride.
    ///
    /// ```
    /// use tenure_tensor::{PixelFormat, Tensor};
    /// let mut frame = Tensor::<u8>::image_builder(100, 50, PixelFormat::Rgba).row_stride(512).build()?;
    /// frame.set_format(PixelFormat::Rgba)?;
    /// assert_eq!(frame.row_stride(), Some(512));
    /// frame.set_format(PixelFormat::Bgra)?;
    /// assert_eq!((frame.row_stride(), frame.effective_row_stride()), (None, Some(400)));
    /// # Ok::<(), tenure_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If no image of this format has the tensor's shape, strides or element type.
    pub fn set_format(&mut self, format: PixelFormat) -> Result<()> {
        self.check_one_buffer()?;
        let packed = self.without_row_stride_of_another(format)?;
        let layout = packed.as_ref().unwrap_or(&self.parts.meta.layout);
        let image_rank = match format.arrangement() {
            Arrangement::LumaChroma => 2,
            Arrangement::Packed if format == PixelFormat::Grey && layout.rank() == 2 => 2,
            _ => 3,
        };
        let mut one = layout.clone();
        while one.rank() > image_rank {
            one = one.index(0, 0)?;
        }
        let layout = image_of(&one, format)?;
        let meta = self.meta_mut();
        meta.image = Some(Image { layout });
        if let Some(packed) = packed {
            meta.layout = packed;
        }
        Ok(())
    }

    /// The tensor's layout without the row stride it has as an image of another format than
    /// `format`; `None` if there is nothing to drop.
    fn without_row_stride_of_another(&self, format: PixelFormat) -> Result<Option<Layout>> {
        let Parts { buffer, meta, .. } = &*self.parts;
        let Some(image) = &meta.image else { return Ok(None) };
        if image.layout.format() == format || image.layout.has_tight_rows() || buffer.is_slice() {
            return Ok(None);
        }
        let packed = Layout::contiguous(meta.layout.dtype(), meta.layout.shape())?;
        Ok(Some(packed.shifted(meta.layout.span().start)?))
    }

    /// As [`Tensor::set_format`].
    ///
    /// # Errors
    /// As there.
    pub fn with_format(mut self, format: PixelFormat) -> Result<Self> {
        self.set_format(format)?;
        Ok(self)
    }

    /// Bytes from one row of the first plane to the next where there is padding between them;
    /// `None` if the rows are tightly packed, however they came to be so, and if the tensor is no
    /// image.
    ///
    /// ```
    /// use tenure_tensor::{PixelFormat, Tensor};
    /// let frame = Tensor::<u8>::image_builder(100, 50, PixelFormat::Rgb).row_stride(320).build()?;
    /// assert_eq!((frame.row_stride(), frame.effective_row_stride()), (Some(320), Some(320)));
    /// let frame = frame.with_row_stride(300)?;
    /// assert_eq!((frame.row_stride(), frame.effective_row_stride()), (None, Some(300)));
    /// # Ok::<(), tenure_tensor::Error>(())
    /// ```
    pub fn row_stride(&self) -> Option<usize> {
        let image = &self.parts.meta.image.as_ref()?.layout;
        (!image.has_tight_rows()).then(|| image.row_stride())
    }

    /// Bytes from one row of the first plane to the next; `None` if the tensor is no image.
    pub fn effective_row_stride(&self) -> Option<usize> {
        self.parts.meta.image.as_ref().map(|image| image.layout.row_stride())
    }

    /// Puts the rows `stride` bytes apart; the planes follow each other, also where they had
    /// offsets of their own.
    ///
    /// # Errors
    /// If the tensor is no image, the stride is shorter than a row or cuts elements, or the rows
    /// would leave the buffer.
    pub fn set_row_stride(&mut self, stride: usize) -> Result<()> {
        let image = &self.one_image()?.layout;
        let (format, width, height) = (image.format(), image.width(), image.height());
        self.check_one_buffer()?;
        self.point_at(width, height, format, Some(stride), self.parts.meta.first_byte())
    }

    /// As [`Tensor::set_row_stride`].
    ///
    /// # Errors
    /// As there.
    pub fn with_row_stride(mut self, stride: usize) -> Result<Self> {
        self.set_row_stride(stride)?;
        Ok(self)
    }

    /// Bytes before the (first) plane in the buffer that [`Tensor::buffer_identity`] names, `None`
    /// for zero. A view tells its own: where it starts in what it is a view of.
    ///
    /// ```
    /// use tenure_tensor::{PixelFormat, Region, Tensor};
    /// let frame = Tensor::<u8>::image(64, 64, PixelFormat::Grey, None, None)?;
    /// let tile = frame.view(Region::new(16, 2, 8, 8))?;
    /// assert_eq!((frame.plane_offset(), tile.plane_offset()), (None, Some(2 * 64 + 16)));
    /// # Ok::<(), tenure_tensor::Error>(())
    /// ```
    pub fn plane_offset(&self) -> Option<usize> {
        let offset = self.parts.buffer.offset() + self.parts.meta.first_byte();
        (offset != 0).then_some(offset)
    }

    /// Lets the tensor start at byte `offset` of the buffer that [`Tensor::buffer_identity`]
    /// names; the other planes move along. A view can only move inside the bytes it was cut to.
    ///
    /// The setters of this name that other libraries have take any number: the offset is
    /// remembered, a map or an import further on fails or reads other bytes, and changing the
    /// format forgets it. Here the bytes are moved over at once or the answer is an error that
    /// leaves the tensor as it was; what is set holds for maps, copies, exports and descriptors
    /// alike, and the format does not change it. So memory must be large enough first: allocate
    /// it with room, and [`Tensor::configure_image`] the picture in it.
    ///
    /// ```
    /// use tenure_tensor::{PixelFormat, Tensor};
    /// let mut frame = Tensor::<u8>::image(100, 100, PixelFormat::Rgba, None, None)?;
    /// assert!(frame.set_plane_offset(4096).is_err(), "it fills its memory");
    /// let mut frame = Tensor::<u8>::new(&[4096 + 100 * 400], None, None)?;
    /// frame.configure_image(100, 100, PixelFormat::Rgba, None)?;
    /// frame.set_plane_offset(4096)?;
    /// assert_eq!(frame.plane_offset(), Some(4096));
    /// # Ok::<(), tenure_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If it would leave the buffer, or the offset is not aligned to the element type.
    pub fn set_plane_offset(&mut self, offset: usize) -> Result<()> {
        self.check_one_buffer()?;
        let start = self.parts.buffer.offset();
        let inside = offset.checked_sub(start).ok_or(Error::BeforeStart { offset, start })?;
        let now = self.parts.meta.first_byte();
        let mut meta = self.parts.meta.clone();
        meta.layout = meta.layout.counted_from(now)?.shifted(inside)?;
        if let Some(image) = &mut meta.image {
            // Neither is negative, so the difference fits.
            let further = isize::try_from(inside).unwrap_or(isize::MAX) - now as isize;
            image.layout = image.layout.shifted(further)?;
        }
        meta.layout.check_aligned()?;
        self.check_end(meta.span(true).end)?;
        *self.meta_mut() = meta;
        Ok(())
    }

    /// As [`Tensor::set_plane_offset`], with the same checks; hence the `Result`.
    ///
    /// # Errors
    /// As there.
    pub fn with_plane_offset(mut self, offset: usize) -> Result<Self> {
        self.set_plane_offset(offset)?;
        Ok(self)
    }

    /// Points the tensor at another image geometry inside the same allocation, without moving or
    /// clearing bytes: one allocation serves frames of changing size.
    ///
    /// ```
    /// use tenure_tensor::{PixelFormat, Tensor};
    /// let mut frame = Tensor::<u8>::image(1920, 1080, PixelFormat::Rgba, None, None)?;
    /// let id = frame.buffer_identity().id();
    /// frame.configure_image(640, 480, PixelFormat::Nv12, None)?;
    /// assert_eq!((frame.shape(), frame.buffer_identity().id()), (&[720, 640][..], id));
    /// assert!(frame.configure_image(4096, 2160, PixelFormat::Rgba, None).is_err());
    /// # Ok::<(), tenure_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If it does not fit the allocation or the element type; the tensor is then unchanged.
    pub fn configure_image(
        &mut self,
        width: usize,
        height: usize,
        format: PixelFormat,
        row_stride: Option<usize>,
    ) -> Result<()> {
        self.check_one_buffer()?;
        self.point_at(width, height, format, row_stride, 0)
    }

    fn point_at(
        &mut self,
        width: usize,
        height: usize,
        format: PixelFormat,
        row_stride: Option<usize>,
        first_byte: usize,
    ) -> Result<()> {
        let offset = isize::try_from(first_byte).unwrap_or(isize::MAX);
        let image =
            ImageLayout::new(width, height, format, self.dtype(), row_stride)?.shifted(offset)?;
        let layout = image.tensor_layout()?;
        // Shapes that show padding reach further than the last sample.
        self.check_end(image.span().end.max(layout.span().end))?;
        let meta = self.meta_mut();
        meta.layout = layout;
        meta.image = Some(Image { layout: image });
        let keeps = |q: &tenure_layout::Quantization| q.check_shape(meta.layout.shape()).is_ok();
        meta.quantization = meta.quantization.take().filter(keeps);
        Ok(())
    }

    fn check_end(&self, end: usize) -> Result<()> {
        let available = self.parts.buffer.len();
        if end <= available {
            Ok(())
        } else {
            Err(tenure_layout::Error::OutOfBounds { end, available }.into())
        }
    }
}

/// The image of `format` whose tensor layout is `layout`.
fn image_of(layout: &Layout, format: PixelFormat) -> Result<ImageLayout> {
    let shape = layout.shape();
    let row_axis = match format.arrangement() {
        Arrangement::Planar => 1,
        Arrangement::Packed | Arrangement::LumaChroma => 0,
    };
    let size = layout.dtype().size().unwrap_or(1);
    let stride = match layout.strides().get(row_axis) {
        Some(&stride) if !layout.is_contiguous() => usize::try_from(stride).ok().map(|s| s * size),
        _ => None,
    };
    let image = ImageLayout::from_shape(format, layout.dtype(), shape, stride)?
        .shifted(layout.offset() as isize)?;
    let same = image.tensor_layout()?;
    let alike = (shape.iter().zip(same.shape())).zip(layout.strides().iter().zip(same.strides()));
    // A grey image may have its single channel as a dimension or not.
    let rank_differs = shape.len() != same.rank();
    if layout.is_contiguous()
        || alike.clone().all(|((a, b), (s, t))| a == b && (s == t || *a == 1)) && !rank_differs
        || rank_differs && alike.take(2).all(|((a, b), (s, t))| a == b && (s == t || *a == 1))
    {
        Ok(image)
    } else {
        let (shape, strides) = (shape.into(), layout.strides().into());
        Err(Error::from(crate::detail::NotImageStrides { shape, strides, format }))
    }
}
