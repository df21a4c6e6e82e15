//! The planes of an image, in one buffer or in several.

use crate::{Dyn, ElementKind};
use std::marker::PhantomData;
use std::sync::Arc;

use smallvec::SmallVec;
use tenure_layout::format::Arrangement;
use tenure_layout::{DType, ImageLayout, PixelFormat, Quantization};
use tenure_memory::Buffer;

use crate::handle::ViewId;
use crate::meta::{Image, Meta, Parts};
use crate::{Error, Result, Tensor};

impl<E: ElementKind> Tensor<E> {
    /// How many planes the image has; 1 for a tensor that is no image.
    pub fn plane_count(&self) -> usize {
        self.parts.meta.image.as_ref().map_or(1, |image| image.layout.planes().len())
    }

    /// Whether the planes are in several buffers.
    pub fn is_multi_buffer(&self) -> bool {
        !self.parts.other_planes.is_empty()
    }

    /// The buffer that a plane is in.
    ///
    /// # Errors
    /// If there is no such plane.
    pub fn plane_buffer(&self, plane: usize) -> Result<&Buffer> {
        if self.parts.other_planes.is_empty() || plane == 0 {
            return Ok(&self.parts.buffer);
        }
        let image = self.one_image()?;
        let (format, expected) = (image.layout.format(), image.layout.planes().len());
        let given = plane.saturating_add(1);
        Ok(self.parts.other_planes.get(plane - 1).ok_or(tenure_layout::Error::PlaneCount {
            format,
            expected,
            given,
        })?)
    }

    /// Whether rows of several planes lie between each other in one buffer, as where both chroma
    /// planes are in the rows of one block. Such planes can only be held together.
    ///
    /// # Errors
    /// [`Error::Overlapping`] if planes share bytes.
    pub(crate) fn planes_interleave(&self) -> Result<bool> {
        let Some(image) = self.parts.meta.image.as_ref().filter(|_| !self.is_multi_buffer()) else {
            return Ok(false);
        };
        let (image, mut interleave) = (&image.layout, false);
        for (a, first) in image.planes().iter().enumerate() {
            for (b, second) in image.planes().iter().enumerate().skip(a + 1) {
                let (one, other) = (first.span(), second.span());
                if one.start.max(other.start) < one.end.min(other.end) {
                    let (one, other) = (image.plane_layout(a)?, image.plane_layout(b)?);
                    if one.shares_bytes(&other) {
                        let (shape, strides) = (one.shape().into(), one.strides().into());
                        let tensor = self.which();
                        return Err(Error::from(crate::detail::Overlapping {
                            tensor,
                            shape,
                            strides,
                        }));
                    }
                    interleave = true;
                }
            }
        }
        Ok(interleave)
    }

    /// One plane as a tensor of its own over the same bytes: \[rows, samples\], or
    /// \[rows, groups, samples of a group\] for interleaved ones.
    ///
    /// ```
    /// use tenure_tensor::{PixelFormat, Tensor};
    /// let frame = Tensor::<u8>::image(640, 480, PixelFormat::Nv12, None, None)?;
    /// let (luma, chroma) = (frame.plane(0)?, frame.plane(1)?);
    /// assert_eq!((luma.shape(), chroma.shape()), (&[480, 640][..], &[240, 320, 2][..]));
    /// // Planes do not overlap, so both may be written at once.
    /// let (_a, _b) = (luma.map()?, chroma.map()?);
    /// # Ok::<(), tenure_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If it is no image or there is no such plane.
    pub fn plane(&self, plane: usize) -> Result<Tensor<E>> {
        let layout = self.one_image()?.layout.plane_layout(plane)?;
        let span = layout.span();
        let buffer = self.plane_buffer(plane)?.slice(span.clone())?;
        let quantization = self.plane_quantization(plane, layout.shape());
        let colour = self.parts.meta.colour;
        let layout = layout.counted_from(span.start)?;
        let pixels = layout.rank() == 3;
        Ok(Tensor::assemble(buffer, Meta { colour, quantization, pixels, ..Meta::new(layout) }))
    }

    /// What of the quantisation holds for one plane of this shape.
    fn plane_quantization(&self, plane: usize, shape: &[usize]) -> Option<Quantization> {
        let (own, quantization) = (self.shape(), self.parts.meta.quantization.as_ref()?);
        let of_plane = match self.format()?.arrangement() {
            Arrangement::Planar if own.len() == 3 => quantization.after_index(0, plane),
            // A grey image's single channel is no dimension of its plane.
            Arrangement::Packed if own.len() > shape.len() => quantization.after_index(2, 0),
            _ if own == shape || quantization.axis().is_none() => quantization.clone(),
            _ => return None,
        };
        Some(of_plane).filter(|quantization| quantization.check_shape(shape).is_ok())
    }
}

impl Tensor<Dyn> {
    /// An image whose planes lie in buffers that exist: one buffer for all planes, or one for
    /// each. `places` has an offset and an optional row stride (bytes) for each plane; if it has
    /// one entry only, the planes follow each other from there.
    ///
    /// # Errors
    /// If the geometry is impossible, or a plane does not fit its buffer.
    pub fn from_plane_buffers(
        buffers: &[Buffer],
        places: &[(usize, Option<usize>)],
        width: usize,
        height: usize,
        format: PixelFormat,
        dtype: DType,
    ) -> Result<Self> {
        let expected = format.planes().len();
        let wrong = |given| tenure_layout::Error::PlaneCount { format, expected, given };
        let image = match *places {
            [(offset, stride)] => ImageLayout::new(width, height, format, dtype, stride)?
                .shifted(isize::try_from(offset).unwrap_or(isize::MAX))?,
            _ => ImageLayout::from_planes(format, dtype, width, height, places)?,
        };
        let (first, others) = buffers.split_first().ok_or_else(|| wrong(0))?;
        if !others.is_empty() && (buffers.len() != expected || places.len() != expected) {
            return Err(wrong(buffers.len()).into());
        }
        for (index, plane) in image.planes().iter().enumerate() {
            let available = buffers.get(index).unwrap_or(first).len();
            let end = plane.span().end;
            if end > available {
                return Err(tenure_layout::Error::OutOfBounds { end, available }.into());
            }
        }
        let layout =
            if others.is_empty() { image.tensor_layout()? } else { image.plane_layout(0)? };
        let meta = Meta { image: Some(Image { layout: image }), ..Meta::new(layout) };
        let parts = Parts {
            buffer: first.clone(),
            other_planes: SmallVec::from(others),
            meta,
            view: ViewId::default(),
        };
        Ok(Tensor { parts: Arc::new(parts), element: PhantomData })
    }
}
