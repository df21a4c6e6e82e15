//! Tensors that show the same bytes differently: slices, regions, batch elements, reshapes.
//!
//! A view's buffer is cut to the bytes it shows, so that nothing done with the view reaches the
//! rest. An index or region outside is an error, never a clamp.

use std::ops::{Bound, Range, RangeBounds};

use crate::ElementKind;
use tenure_layout::format::Arrangement;
use tenure_layout::{Layout, Quantization, Region};

use crate::meta::{Image, Meta};
use crate::{Error, Result, Tensor};

impl<E: ElementKind> Tensor<E> {
    /// A view with another layout of the same bytes, no longer an image.
    fn viewed(&self, layout: Layout, quantization: Option<Quantization>) -> Result<Tensor<E>> {
        self.viewed_as(layout, quantization, false)
    }

    /// The same, whose last two dimensions may still be pixels and their samples.
    fn viewed_as(
        &self,
        layout: Layout,
        quantization: Option<Quantization>,
        pixels: bool,
    ) -> Result<Tensor<E>> {
        self.check_one_buffer()?;
        let colour = self.parts.meta.colour;
        self.cut(Meta { colour, quantization, pixels, ..Meta::new(layout) })
    }

    /// A tensor over the part of the buffer that `meta` spans.
    fn cut(&self, mut meta: Meta) -> Result<Tensor<E>> {
        let span = meta.span(true);
        let buffer = self.parts.buffer.slice(span.clone())?;
        meta.layout = meta.layout.counted_from(span.start)?;
        if let Some(image) = &mut meta.image {
            image.layout = image.layout.shifted(-(span.start as isize))?;
        }
        Ok(Tensor::assemble(buffer, meta))
    }

    /// The same tensor with its buffer cut to the bytes that it shows.
    #[cfg(linux_like)]
    pub(crate) fn trim_to_span(&self) -> Result<Tensor<E>> {
        if self.parts.other_planes.is_empty() {
            self.cut(self.parts.meta.clone())
        } else {
            Ok(self.clone())
        }
    }

    fn quantized(
        &self,
        change: impl FnOnce(&Quantization) -> Quantization,
    ) -> Option<Quantization> {
        self.parts.meta.quantization.as_ref().map(change)
    }

    /// The indices `range` of dimension `axis`.
    ///
    /// ```
    /// use tenure_tensor::Tensor;
    /// let t = Tensor::from_slice(&[0u8, 1, 2, 3, 4, 5], &[2, 3])?;
    /// let last = t.slice(1, 2..3)?;
    /// assert_eq!(last.map_strided_read()?.get(&[1, 0]), Some(&5));
    /// assert!(t.slice(1, 2..4).is_err());
    /// # Ok::<(), tenure_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If axis or range do not exist.
    pub fn slice(&self, axis: usize, range: impl RangeBounds<usize>) -> Result<Tensor<E>> {
        self.slice_step(axis, range, 1)
    }

    /// Every `step`th of the indices `range` of dimension `axis`.
    ///
    /// # Errors
    /// If axis or range do not exist, or `step` is zero.
    pub fn slice_step(
        &self,
        axis: usize,
        range: impl RangeBounds<usize>,
        step: usize,
    ) -> Result<Tensor<E>> {
        let range = within(range, self.shape().get(axis).copied().unwrap_or(0));
        let layout = self.parts.meta.layout.slice(axis, range.start, range.end, step)?;
        let count = layout.shape().get(axis).copied().unwrap_or(0);
        let keep = |q: &Quantization| q.after_slice(axis, range.start, count, step);
        // An axis without indices has no scales either.
        let quantization = self.quantized(keep).filter(|q| !q.scales().is_empty());
        let pixels = self.parts.meta.has_pixels();
        self.viewed_as(layout, quantization, pixels)
    }

    /// One index of dimension `axis`, which disappears.
    ///
    /// # Errors
    /// If axis or index do not exist.
    pub fn index(&self, axis: usize, index: usize) -> Result<Tensor<E>> {
        let layout = self.parts.meta.layout.index(axis, index)?;
        let pixels = self.parts.meta.has_pixels() && axis + 2 < self.rank();
        self.viewed_as(layout, self.quantized(|q| q.after_index(axis, index)), pixels)
    }

    /// The same elements in another shape, without a copy.
    ///
    /// # Errors
    /// If the number of elements differs, gaps stand against it, or a quantisation by axis would
    /// lose its axis.
    pub fn reshape(&self, shape: &[usize]) -> Result<Tensor<E>> {
        let layout = self.parts.meta.layout.reshape(shape)?;
        let Some(quantization) = &self.parts.meta.quantization else {
            return self.viewed(layout, None);
        };
        let Some(axis) = quantization.axis() else {
            return self.viewed(layout, Some(quantization.clone()));
        };
        // The axis stays one if as many elements lie before it, and it has as many indices.
        let place = |dims: &[usize], axis: usize| {
            let (before, rest) = dims.split_at_checked(axis)?;
            Some((before.iter().product::<usize>(), rest.first().copied()?))
        };
        let own = place(self.shape(), axis);
        let Some(now) = (0..shape.len()).find(|&now| place(shape, now) == own) else {
            let (from, to) = (self.shape().into(), shape.into());
            return Err(Error::from(crate::detail::QuantizedAxis { axis, from, to }));
        };
        self.viewed(layout, Some(quantization.with_axis_renamed(|_| now)))
    }

    /// The dimensions in another order: dimension `i` of the result is `axes[i]` of this.
    ///
    /// # Errors
    /// If `axes` is not a permutation.
    pub fn permute(&self, axes: &[usize]) -> Result<Tensor<E>> {
        let layout = self.parts.meta.layout.permute(axes)?;
        let renamed = |q: &Quantization| {
            q.with_axis_renamed(|own| axes.iter().position(|&axis| axis == own).unwrap_or(own))
        };
        self.viewed(layout, self.quantized(renamed))
    }

    /// Without dimension `axis`, which must be 1.
    ///
    /// # Errors
    /// If it is not.
    pub fn squeeze(&self, axis: usize) -> Result<Tensor<E>> {
        let layout = self.parts.meta.layout.squeeze(axis)?;
        self.viewed(layout, self.quantized(|q| q.after_index(axis, 0)))
    }

    /// With a new dimension of 1 before `axis`.
    ///
    /// # Errors
    /// If `axis` is beyond the rank.
    pub fn unsqueeze(&self, axis: usize) -> Result<Tensor<E>> {
        let layout = self.parts.meta.layout.unsqueeze(axis)?;
        let moved =
            |q: &Quantization| q.with_axis_renamed(|own| if own >= axis { own + 1 } else { own });
        self.viewed(layout, self.quantized(moved))
    }

    /// Dimensions of 1 repeated (and leading ones added) to reach `shape`; read-only in effect,
    /// because one place then stands for many elements.
    ///
    /// # Errors
    /// If the shapes do not broadcast.
    pub fn broadcast_to(&self, shape: &[usize]) -> Result<Tensor<E>> {
        let layout = self.parts.meta.layout.broadcast_to(shape)?;
        let added = shape.len() - self.rank();
        let moved = |q: &Quantization| {
            let moved = q.with_axis_renamed(|own| own + added);
            match q.axis() {
                // An axis with one index has one scale, which is now that of all.
                Some(axis) if moved.check_shape(shape).is_err() => q.after_index(axis, 0),
                _ => moved,
            }
        };
        let quantization = self.quantized(moved);
        self.viewed(layout, quantization)
    }

    /// One element of the leading dimension; a batch of images gives an image.
    ///
    /// # Errors
    /// If there is no such element, and [`Error::NotABatch`] for a single image, whose leading
    /// dimension counts rows or channels ([`Tensor::index`] gives these).
    pub fn batch(&self, index: usize) -> Result<Tensor<E>> {
        let Some(image) = &self.parts.meta.image else { return self.index(0, index) };
        if !self.parts.meta.batched() {
            return Err(Error::from(crate::detail::NotABatch {
                tensor: self.which(),
                shape: self.shape().into(),
                format: image.layout.format(),
            }));
        }
        let layout = self.parts.meta.layout.index(0, index)?;
        let moved = layout.offset() as isize - self.parts.meta.layout.offset() as isize;
        let image = Image { layout: image.layout.shifted(moved)? };
        let quantization = self.quantized(|q| q.after_index(0, index));
        let colour = self.parts.meta.colour;
        let whole = image.layout.tensor_layout()?;
        // Further leading dimensions remain a batch; the last one is the image itself.
        let layout = if whole.rank() == layout.rank() { whole } else { layout };
        let image = Some(image);
        self.cut(Meta { image, colour, quantization, ..Meta::new(layout) })
    }

    /// The pixels inside `region`, as an image over the same bytes.
    ///
    /// ```
    /// use tenure_tensor::{PixelFormat, Region, Tensor};
    /// let frame = Tensor::<u8>::image(1920, 1080, PixelFormat::Nv12, None, None)?;
    /// let face = frame.view(Region::new(600, 200, 256, 256))?;
    /// assert_eq!((face.width(), face.row_stride()), (Some(256), Some(1920)));
    /// assert_eq!(face.plane_offset(), Some(200 * 1920 + 600));
    /// assert!(frame.view(Region::new(1800, 0, 256, 256)).is_err());
    /// # Ok::<(), tenure_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If it is no image, the region leaves it, or the region cuts a chroma sample.
    pub fn view(&self, region: Region) -> Result<Tensor<E>> {
        let image = self.one_image()?;
        let layout = image.layout.view(region)?;
        let one_buffer = self.parts.other_planes.is_empty();
        let layout_of_all =
            if one_buffer { layout.tensor_layout()? } else { layout.plane_layout(0)? };
        let meta = Meta {
            image: Some(Image { layout }),
            colour: self.parts.meta.colour,
            quantization: self.region_quantization(region),
            ..Meta::new(layout_of_all)
        };
        if one_buffer {
            self.cut(meta)
        } else {
            let mut view = self.clone();
            *view.meta_mut() = meta;
            Ok(view)
        }
    }

    /// What of the quantisation holds for a region of this image.
    fn region_quantization(&self, region: Region) -> Option<Quantization> {
        let (format, quantization) = (self.format()?, self.parts.meta.quantization.as_ref()?);
        let Some(axis) = quantization.axis() else { return Some(quantization.clone()) };
        let rows = match format.arrangement() {
            Arrangement::Packed if !format.is_yuv() => 0,
            Arrangement::Planar if self.rank() == 3 => 1,
            // Rows of several planes, or pairs of pixels: no axis counts rows or columns.
            _ => return None,
        };
        let (start, len) = match axis.checked_sub(rows) {
            Some(0) => (region.y, region.height),
            Some(1) => (region.x, region.width),
            _ => return Some(quantization.clone()),
        };
        Some(quantization.after_slice(axis, start, len, 1))
    }

    /// The image that this tensor is, if it is exactly one.
    pub(crate) fn one_image(&self) -> Result<&Image> {
        let shape = || self.shape().into();
        let Some(image) = &self.parts.meta.image else {
            return Err(crate::detail::NotAnImage { tensor: self.which(), shape: shape() }.into());
        };
        if self.parts.meta.batched() {
            return Err(crate::detail::Batched { tensor: self.which(), shape: shape() }.into());
        }
        Ok(image)
    }
}

/// A range of any kind over `len` indices, not checked against them.
fn within(range: impl RangeBounds<usize>, len: usize) -> Range<usize> {
    let start = match range.start_bound() {
        Bound::Included(&start) => start,
        Bound::Excluded(&before) => before.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(&last) => last.saturating_add(1),
        Bound::Excluded(&end) => end,
        Bound::Unbounded => len,
    };
    start..end
}
