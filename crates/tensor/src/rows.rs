//! Guards that give the rows of a tensor, without the gaps between them.

use tenure_layout::format::Arrangement;

#[cfg(doc)]
use crate::Error;
use crate::meta::Meta;
use crate::{ElementKind, Result, Tensor};

mod guard;
mod iter;

pub use guard::{RowsMap, RowsRead};

/// How the rows of a tensor lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RowsShape {
    /// How many there are.
    count: usize,
    /// How many dimensions, of the outer ones, count them.
    axes: usize,
    /// Stored elements of a row: bytes where the element type is not known.
    row_len: usize,
}

impl Meta {
    /// Whether the last two dimensions are pixels and their samples.
    pub(crate) fn has_pixels(&self) -> bool {
        let packed = self.image.as_ref().is_some_and(|image| {
            // A grey image may have its single channel as a dimension or not.
            image.layout.format().arrangement() == Arrangement::Packed && self.layout.rank() > 2
        });
        self.pixels || packed
    }

    /// How many of the last dimensions are a row together: two for pixels that lie together.
    fn row_axes(&self) -> usize {
        let layout = &self.layout;
        match (layout.shape(), layout.strides()) {
            // Where they do not lie together, the last dimension is a row.
            ([.., _, samples], [.., to_pixel, to_sample])
                if self.has_pixels()
                    && (*samples == 1 || *to_sample == 1)
                    && usize::try_from(*to_pixel) == Ok(*samples) =>
            {
                2
            }
            _ => 1,
        }
    }
}

impl<E: ElementKind> Tensor<E> {
    /// The rows to read and write, without what lies between them: the way to padded images, to
    /// regions of images, and to slices of the inner dimensions of any tensor.
    ///
    /// What lies between the rows is not held: two threads may write the left and the right half of
    /// an image. (That holds for rows at one distance. Those of a region of a batch, or of a region
    /// of a planar image, are held with everything in between.)
    ///
    /// A row is the last dimension of the tensor. Of an image, of a plane, and of slices of them, it
    /// is the samples of one row of pixels: `[height, width, 3]` has `height` rows of `width * 3`.
    /// Rows are counted in the order of the indices of the other dimensions; a tensor without
    /// elements has none. An image whose planes
    /// do not follow each other has the rows of its first plane; [`Tensor::plane`] gives the others.
    ///
    /// ```
    /// use tenure_tensor::{PixelFormat, Region, Tensor};
    /// let image = Tensor::<u8>::image(8, 4, PixelFormat::Rgb, None, None)?;
    /// let mut rows = image.view(Region::new(2, 1, 3, 2))?.map_rows()?;
    /// assert_eq!((rows.len(), rows.row_len()), (2, 9));
    /// rows[0].fill(1);
    /// for row in rows.rows_mut() {
    ///     row[0] = 7;
    /// }
    /// drop(rows);
    /// assert_eq!(image.map_read()?.iter().filter(|value| **value > 0).count(), 8 + 2);
    /// # Ok::<(), tenure_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NotContiguous`] if the elements of a row do not follow each other (a permuted
    /// tensor, say), [`Error::Overlapping`] for views that show one place as several elements, and as
    /// [`Tensor::map`].
    pub fn map_rows(&self) -> Result<RowsMap<E>> {
        let shape = self.rows_shape()?;
        self.check_writable_strides()?;
        let guard = self.hold_rows_to_write()?;
        Ok(RowsMap::new(guard, shape))
    }

    /// The rows to read; otherwise as [`Tensor::map_rows`].
    ///
    /// # Errors
    /// As [`Tensor::map_rows`], but several readers do not exclude each other, and places may be
    /// shown several times.
    pub fn map_rows_read(&self) -> Result<RowsRead<E>> {
        let shape = self.rows_shape()?;
        let guard = self.hold_rows_to_read()?;
        Ok(RowsRead::new(guard, shape))
    }

    /// How the rows lie.
    pub(crate) fn rows_shape(&self) -> Result<RowsShape> {
        let (meta, layout) = (&self.parts.meta, &self.parts.meta.layout);
        let (shape, strides) = (layout.shape(), layout.strides());
        let axes = layout.rank().saturating_sub(meta.row_axes());
        let (outer, row) = shape.split_at_checked(axes).unwrap_or((shape, &[]));
        // Products of parts of the shape: those of the whole fit, or the tensor is empty.
        let product = |dims: &[usize]| {
            dims.iter().try_fold(1usize, |all, dim| all.checked_mul(*dim)).unwrap_or(0)
        };
        let (count, elements) = (product(outer), product(row));
        if layout.elements() == 0 {
            return Ok(RowsShape { count: 0, axes, row_len: 0 });
        }
        if elements > 1 && shape.last() != Some(&1) && strides.last() != Some(&1) {
            let (shape, strides) = (shape.into(), strides.into());
            let (tensor, rows, whole) = (self.which(), false, false);
            let strided = crate::detail::NotContiguous { tensor, shape, strides, rows, whole };
            return Err(strided.into());
        }
        let dtype = layout.dtype();
        let row_len = match dtype.size() {
            Some(size) => elements * (size / size_of::<E::Stored>()).max(1),
            // Rows of half bytes would end inside one.
            None if count > 1 && !elements.is_multiple_of(2) => {
                let (element, strides) = (elements, strides.into());
                let cut = tenure_layout::detail::SubByte { dtype, element, strides };
                return Err(tenure_layout::Error::from(cut).into());
            }
            None => elements.div_ceil(2),
        };
        Ok(RowsShape { count, axes, row_len })
    }
}
