//! Frames of others as images, where they are: checked, and not copied.

use tenure_layout::ImageLayout;
#[cfg(linux_like)]
use tenure_tensor::{Colour, DType, PixelFormat, PlaneDescriptor, TensorDyn};

#[cfg(linux_like)]
use crate::ImageProcessor;
use crate::{Error, Result};

#[cfg(linux_like)]
impl ImageProcessor {
    /// A frame that somebody else allocated (a camera, a decoder, another process) as an image:
    /// one descriptor for planes that follow each other, or one for each plane, of the same memory
    /// or of several. Nothing is copied, now or when it is converted by an engine that reaches
    /// such memory; `explain` tells which does.
    ///
    /// The memory is held until the last tensor of it is gone, and known again when it comes back,
    /// so the buffers of a camera may be imported anew for every frame.
    ///
    /// ```
    /// use tenure_image::{Convert, ImageProcessor};
    /// use tenure_tensor::{Colour, DType, PixelFormat, PlaneDescriptor, Tensor, TensorMemory};
    /// # let theirs = Tensor::<u8>::new(&[2048 * 1620], Some(TensorMemory::Shm), None)?;
    /// # let (fd, format) = (theirs.clone_fd()?, PixelFormat::Nv12);
    /// let processor = ImageProcessor::new()?;
    /// let luma = PlaneDescriptor::new(&fd)?.with_stride(2048);
    /// let chroma = PlaneDescriptor::new(&fd)?.with_stride(2048).with_offset(2048 * 1080);
    /// let colour = Some(Colour::HD);
    /// let frame =
    ///     processor.import_image(&[luma, chroma], 1920, 1080, format, DType::U8, colour)?;
    /// let mut input = Tensor::<u8>::image(640, 640, PixelFormat::Rgb, None, None)?;
    /// processor.convert(&frame, &input, &Convert::new())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If a descriptor is no memory, or of memory that can be taken away; if there are more or
    /// fewer planes than the format has; if a stride is shorter than a row, a plane leaves its
    /// memory or two planes share bytes.
    pub fn import_image(
        &self,
        planes: &[PlaneDescriptor],
        width: usize,
        height: usize,
        format: PixelFormat,
        dtype: DType,
        colour: Option<Colour>,
    ) -> Result<TensorDyn> {
        let mut image = TensorDyn::from_planes(planes, width, height, format, dtype)?;
        if let Some(layout) = image.image_layout().filter(|_| !image.is_multi_buffer()) {
            no_shared_bytes(layout)?;
        }
        image.set_colour(colour);
        Ok(image)
    }
}

/// Checks that no byte of one buffer belongs to two planes.
///
/// # Errors
/// [`Error::PlanesOverlap`].
pub(crate) fn no_shared_bytes(image: &ImageLayout) -> Result<()> {
    let planes = image.planes();
    for (first, one) in planes.iter().enumerate() {
        for (second, other) in planes.iter().enumerate().skip(first + 1) {
            let (left, right) = (one.span(), other.span());
            // Rows may lie between each other, as where both chroma planes share a block.
            if left.start.max(right.start) < left.end.min(right.end)
                && image.plane_layout(first)?.shares_bytes(&image.plane_layout(second)?)
            {
                let (format, offsets) = (image.format(), (one.offset, other.offset));
                return Err(Error::from(crate::detail::PlanesOverlap {
                    format,
                    first,
                    second,
                    offsets,
                }));
            }
        }
    }
    Ok(())
}
