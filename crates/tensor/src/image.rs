//! Tensors as images: format, size, row stride, place in the buffer, new geometry.

use crate::ElementKind;
use tenure_layout::format::Arrangement;
use tenure_layout::{ImageLayout, Layout, PixelFormat};

use crate::meta::Image;
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
    /// # Errors
    /// If no image of this format has the tensor's shape, strides or element type.
    pub fn set_format(&mut self, format: PixelFormat) -> Result<()> {
        self.check_one_buffer()?;
        let layout = &self.parts.meta.layout;
        let image_rank = match format.arrangement() {
            Arrangement::LumaChroma => 2,
            Arrangement::Packed if format == PixelFormat::Grey && layout.rank() == 2 => 2,
            _ => 3,
        };
        let mut one = layout.clone();
        while one.rank() > image_rank {
            one = one.index(0, 0)?;
        }
        let image = image_of(&one, format)?;
        let given_stride = if one.is_contiguous() { None } else { Some(image.row_stride()) };
        self.meta_mut().image = Some(Image { layout: image, given_stride });
        Ok(())
    }

    /// As [`Tensor::set_format`].
    ///
    /// # Errors
    /// As there.
    pub fn with_format(mut self, format: PixelFormat) -> Result<Self> {
        self.set_format(format)?;
        Ok(self)
    }

    /// The row stride in bytes that was given or comes with the memory; `None` if rows are as
    /// close as the format allows.
    pub fn row_stride(&self) -> Option<usize> {
        self.parts.meta.image.as_ref().and_then(|image| image.given_stride)
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
        self.point_at(width, height, format, Some(stride), self.parts.meta.given_offset)
    }

    /// As [`Tensor::set_row_stride`].
    ///
    /// # Errors
    /// As there.
    pub fn with_row_stride(mut self, stride: usize) -> Result<Self> {
        self.set_row_stride(stride)?;
        Ok(self)
    }

    /// Where in its buffer the tensor was told to start, in bytes.
    pub fn plane_offset(&self) -> Option<usize> {
        self.parts.meta.given_offset
    }

    /// Lets the tensor start `offset` bytes into its buffer.
    ///
    /// # Errors
    /// If it would leave the buffer, or the offset is not aligned to the element type.
    pub fn set_plane_offset(&mut self, offset: usize) -> Result<()> {
        self.check_one_buffer()?;
        let now = self.parts.meta.span(true).start;
        let mut meta = self.parts.meta.clone();
        meta.layout = meta.layout.counted_from(now)?.shifted(offset)?;
        if let Some(image) = &mut meta.image {
            image.layout = image.layout.shifted(-(now as isize))?;
            image.layout = image.layout.shifted(isize::try_from(offset).unwrap_or(isize::MAX))?;
        }
        meta.given_offset = Some(offset);
        meta.layout.check_aligned()?;
        self.check_end(meta.span(true).end)?;
        *self.meta_mut() = meta;
        Ok(())
    }

    /// As [`Tensor::set_plane_offset`].
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
        self.point_at(width, height, format, row_stride, None)
    }

    fn point_at(
        &mut self,
        width: usize,
        height: usize,
        format: PixelFormat,
        given_stride: Option<usize>,
        given_offset: Option<usize>,
    ) -> Result<()> {
        let offset = isize::try_from(given_offset.unwrap_or(0)).unwrap_or(isize::MAX);
        let image =
            ImageLayout::new(format, self.dtype(), width, height, given_stride)?.shifted(offset)?;
        let layout = image.tensor_layout()?;
        // Shapes that show padding reach further than the last sample.
        self.check_end(image.span().end.max(layout.span().end))?;
        let meta = self.meta_mut();
        meta.layout = layout;
        meta.image = Some(Image { layout: image, given_stride });
        meta.given_offset = given_offset;
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
