//! Between the shape of a tensor and the size of an image.

use crate::format::Arrangement;
use crate::image::rows_of_all_planes;
use crate::{DType, Error, ImageLayout, Layout, PixelFormat, Result};

impl ImageLayout {
    /// The image that a tensor with this shape is in `format`, rows packed or at `row_stride`.
    ///
    /// # Errors
    /// [`Error::NotThisFormat`] if no image of this format has the shape, and as
    /// [`ImageLayout::new`].
    pub fn from_shape(
        format: PixelFormat,
        dtype: DType,
        shape: &[usize],
        row_stride: Option<usize>,
    ) -> Result<ImageLayout> {
        let refuse = || {
            Error::from(crate::detail::NotThisFormat {
                shape: shape.into(),
                format,
                expected: format.shape_words(),
            })
        };
        let (width, height) = size_of(format, shape).ok_or_else(refuse)?;
        ImageLayout::new(width, height, format, dtype, row_stride)
    }

    /// The layout of a tensor that holds this image in one buffer.
    ///
    /// Luma-chroma formats whose planes do not line up in rows of one width (padded I420 and
    /// NV24) show their padding in the shape. An image whose planes do not follow each other (or,
    /// for planar RGB, are not equally far apart) shows its first plane; the others are reached as
    /// planes.
    ///
    /// # Errors
    /// If the shape does not fit the address space.
    pub fn tensor_layout(&self) -> Result<Layout> {
        let size = self.dtype().size().unwrap_or(1);
        let (offset, stride) = (self.planes()[0].offset, self.row_stride());
        let pitch = (stride / size) as isize;
        let (width, height, format) = (self.width(), self.height(), self.format());
        let strided = |shape: &[usize], strides: &[isize]| {
            Layout::strided(self.dtype(), shape, strides, offset)
        };
        match format.arrangement() {
            Arrangement::Packed if format.is_yuv() => {
                strided(&[height, width.next_multiple_of(2), 2], &[pitch, 2, 1])
            }
            Arrangement::Packed => {
                let channels = format.channels();
                strided(&[height, width, channels], &[pitch, channels as isize, 1])
            }
            Arrangement::Planar => match self.plane_step() {
                Some(step) => {
                    let step = (step / size) as isize;
                    strided(&[format.channels(), height, width], &[step, pitch, 1])
                }
                None => self.plane_layout(0),
            },
            _ if !self.planes_follow() => self.plane_layout(0),
            Arrangement::LumaChroma => {
                let rows = rows_of_all_planes(format, height).unwrap_or(height);
                let minimum = ImageLayout::new(width, height, format, self.dtype(), None)?;
                let lines_up = stride == minimum.row_stride()
                    || self.planes().iter().all(|plane| plane.row_stride == stride);
                let columns = if lines_up { minimum.row_stride() } else { stride } / size;
                strided(&[rows, columns], &[pitch, 1])
            }
        }
    }

    /// Bytes from each plane to the next, if all are alike, in order and equally far apart: a
    /// region of a planar image still has its channels as a dimension.
    fn plane_step(&self) -> Option<usize> {
        let [first, second, ..] = self.planes() else { return None };
        let step = second.offset.checked_sub(first.offset)?;
        let even = self.planes().windows(2).all(|pair| {
            let [one, next] = pair else { return false };
            one.row_stride == next.row_stride && one.offset.checked_add(step) == Some(next.offset)
        });
        (even && step >= first.span().len()).then_some(step)
    }
}

/// Width and height of the image of this format whose tensor has this shape.
fn size_of(format: PixelFormat, shape: &[usize]) -> Option<(usize, usize)> {
    match (format.arrangement(), shape) {
        (Arrangement::Packed, &[height, width, 2]) if format.is_yuv() => {
            (width % 2 == 0).then_some((width, height))
        }
        (Arrangement::Packed, &[height, width, channels]) => {
            (!format.is_yuv() && channels == format.channels()).then_some((width, height))
        }
        (Arrangement::Packed, &[height, width]) => {
            (format == PixelFormat::Grey).then_some((width, height))
        }
        (Arrangement::Planar, &[channels, height, width]) => {
            (channels == format.channels()).then_some((width, height))
        }
        (Arrangement::LumaChroma, &[rows, width]) => {
            let even = format.subsampling().0 == 1 || width % 2 == 0;
            // One in three rows (one in two for 4:2:2) is chroma; odd heights round up.
            let height = match format {
                PixelFormat::Nv16 => rows / 2,
                PixelFormat::Nv24 => rows / 3,
                _ => rows - rows.div_ceil(3),
            };
            (even && rows_of_all_planes(format, height) == Some(rows)).then_some((width, height))
        }
        _ => None,
    }
}
