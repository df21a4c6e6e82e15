//! Where the planes of an image lie: offsets, row strides, rows, for any size and stride.
//!
//! One stride names all: the strides of chroma planes follow from that of the first plane as
//! cameras and GPUs have it (NV12 the same, I420 half, NV24 twice). Planes at places of their
//! own come from [`ImageLayout::from_planes`].

use std::ops::Range;

use smallvec::SmallVec;

use crate::format::{Arrangement, Plane};
use crate::{DType, Error, Layout, PixelFormat, Region, Result};

mod shape;

#[cfg(test)]
mod tests;

/// What the rows of images are a multiple of that GPUs import.
const IMPORT_PITCH: usize = 64;

/// Where one plane's rows lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlaneLayout {
    /// Bytes from the start of the plane's buffer to its first row.
    pub offset: usize,
    /// Bytes from one row to the next.
    pub row_stride: usize,
    /// Bytes of a row that carry samples.
    pub row_bytes: usize,
    /// Number of rows.
    pub rows: usize,
}

impl PlaneLayout {
    /// The bytes from the first to one past the last sample.
    pub fn span(&self) -> Range<usize> {
        // Construction has checked this sum.
        self.offset..self.offset + self.row_stride * (self.rows - 1) + self.row_bytes
    }
}

/// Format, size and planes of an image.
///
/// ```
/// use tenure_layout::{DType, ImageLayout, PixelFormat};
/// let frame = ImageLayout::new(1921, 1081, PixelFormat::Nv12, DType::U8, None)?;
/// assert_eq!(frame.row_stride(), 1922);
/// assert_eq!(frame.planes()[1].rows, 541);
/// let padded = ImageLayout::new(1920, 1080, PixelFormat::Nv12, DType::U8, Some(2048))?;
/// assert_eq!(padded.planes()[1].offset, 2048 * 1080);
/// # Ok::<(), tenure_layout::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageLayout {
    format: PixelFormat,
    dtype: DType,
    width: usize,
    height: usize,
    planes: SmallVec<[PlaneLayout; 4]>,
}

impl ImageLayout {
    /// An image whose planes follow each other from the start of one buffer, with the smallest
    /// row stride or the one given (bytes, of the first plane).
    ///
    /// # Errors
    /// If the size is zero or does not fit the address space, the element type is not the
    /// format's, or the stride is too short or cuts elements.
    pub fn new(
        width: usize,
        height: usize,
        format: PixelFormat,
        dtype: DType,
        row_stride: Option<usize>,
    ) -> Result<ImageLayout> {
        let geometry = Geometry::new(format, dtype, width, height)?;
        let stride = match row_stride {
            None => geometry.minimum_stride()?,
            Some(stride) => geometry.check_stride(stride)?,
        };
        let mut planes = SmallVec::new();
        let mut offset = 0usize;
        for index in 0..format.planes().len() {
            let plane = geometry.plane(index, offset, geometry.stride_of(index, stride)?)?;
            offset = plane
                .row_stride
                .checked_mul(plane.rows)
                .and_then(|bytes| offset.checked_add(bytes))
                .filter(|&end| isize::try_from(end).is_ok())
                .ok_or_else(|| geometry.too_large())?;
            planes.push(plane);
        }
        geometry.checked(dtype, planes)
    }

    /// An image whose planes lie at given offsets with given strides (bytes; `None` for the
    /// smallest), each counted from the start of the buffer that the plane is in.
    ///
    /// # Errors
    /// As [`ImageLayout::new`], and if the number of planes is not the format's.
    pub fn from_planes(
        format: PixelFormat,
        dtype: DType,
        width: usize,
        height: usize,
        places: &[(usize, Option<usize>)],
    ) -> Result<ImageLayout> {
        let geometry = Geometry::new(format, dtype, width, height)?;
        let expected = format.planes().len();
        if places.len() != expected {
            return Err(Error::PlaneCount { format, expected, given: places.len() });
        }
        let size = dtype.size().unwrap_or(1);
        let mut planes = SmallVec::new();
        for (index, &(offset, stride)) in places.iter().enumerate() {
            if !offset.is_multiple_of(size) {
                return Err(Error::Misaligned { offset, dtype, align: size });
            }
            let row_bytes = geometry.row_bytes(index)?;
            let stride = stride.unwrap_or(row_bytes);
            if !stride.is_multiple_of(size) {
                return Err(Error::StrideNotMultiple { stride, multiple: size, format });
            }
            planes.push(geometry.plane(index, offset, stride)?);
        }
        geometry.checked(dtype, planes)
    }

    /// The format.
    pub fn format(&self) -> PixelFormat {
        self.format
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Pixels across.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Pixels down.
    pub fn height(&self) -> usize {
        self.height
    }

    /// The planes.
    pub fn planes(&self) -> &[PlaneLayout] {
        &self.planes
    }

    /// Bytes from one row of the first plane to the next.
    pub fn row_stride(&self) -> usize {
        self.planes[0].row_stride
    }

    /// Whether the rows of the first plane are as close as [`ImageLayout::new`] puts them without
    /// a stride.
    ///
    /// ```
    /// use tenure_layout::{DType, ImageLayout, PixelFormat};
    /// let rgb = |stride| ImageLayout::new(100, 50, PixelFormat::Rgb, DType::U8, stride);
    /// assert!(rgb(None)?.has_tight_rows() && rgb(Some(300))?.has_tight_rows());
    /// assert!(!rgb(Some(320))?.has_tight_rows());
    /// # Ok::<(), tenure_layout::Error>(())
    /// ```
    pub fn has_tight_rows(&self) -> bool {
        let geometry = Geometry::new(self.format, self.dtype, self.width, self.height);
        let minimum = geometry.and_then(|geometry| geometry.minimum_stride());
        minimum.is_ok_and(|minimum| self.row_stride() <= minimum)
    }

    /// The smallest row stride (bytes, of the first plane) with which the rows of every plane are as
    /// far apart as GPUs ask of images that they import: a multiple of 64 bytes.
    ///
    /// ```
    /// use tenure_layout::{DType, ImageLayout, PixelFormat};
    /// let odd = ImageLayout::new(1000, 600, PixelFormat::I420, DType::U8, None)?;
    /// assert_eq!((odd.row_stride(), odd.importable_stride()?), (1000, 1024));
    /// # Ok::<(), tenure_layout::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::ImageTooLarge`] if it does not fit the address space.
    pub fn importable_stride(&self) -> Result<usize> {
        // Chroma planes of I420 have half the stride of luma.
        let smallest = self.planes.iter().map(|plane| plane.row_stride).min().unwrap_or(1);
        let multiple = IMPORT_PITCH * (self.row_stride() / smallest.max(1)).max(1);
        let (format, width, height) = (self.format, self.width, self.height);
        let stride = self.row_stride().checked_next_multiple_of(multiple);
        stride.ok_or(Error::ImageTooLarge { format, width, height })
    }

    /// Whether no row has padding.
    pub fn is_packed(&self) -> bool {
        self.planes_follow() && self.planes.iter().all(|plane| plane.row_bytes == plane.row_stride)
    }

    /// The bytes from the first to one past the last sample, if all planes are in one buffer.
    pub fn span(&self) -> Range<usize> {
        let start = self.planes.iter().map(|plane| plane.offset).min().unwrap_or(0);
        let end = self.planes.iter().map(|plane| plane.span().end).max().unwrap_or(0);
        start..end
    }

    /// The bytes to allocate: every row with its padding.
    pub fn allocation_bytes(&self) -> usize {
        let end = |plane: &PlaneLayout| plane.offset + plane.row_stride * plane.rows;
        self.planes.iter().map(end).max().unwrap_or(0)
    }

    /// The bytes of all rows without padding; at most `isize::MAX`.
    pub fn packed_bytes(&self) -> usize {
        // `checked` proved that this fits.
        self.planes.iter().map(|plane| plane.row_bytes * plane.rows).sum()
    }

    /// Whether each plane starts where the one before it ends, with the strides of
    /// [`ImageLayout::new`].
    pub fn planes_follow(&self) -> bool {
        let at = self.planes[0].offset;
        let stride = Some(self.row_stride());
        ImageLayout::new(self.width, self.height, self.format, self.dtype, stride).is_ok_and(
            |same| {
                same.planes.iter().zip(&self.planes).all(|(want, have)| {
                    want.offset + at == have.offset && want.row_stride == have.row_stride
                })
            },
        )
    }

    /// The same image `bytes` further into (or, if negative, nearer to the start of) its buffer.
    ///
    /// # Errors
    /// If that leaves the address space.
    pub fn shifted(&self, bytes: isize) -> Result<ImageLayout> {
        let mut places: SmallVec<[_; 4]> = SmallVec::new();
        for plane in &self.planes {
            let offset = plane.offset.checked_add_signed(bytes).ok_or(Error::ImageTooLarge {
                format: self.format,
                width: self.width,
                height: self.height,
            })?;
            places.push((offset, Some(plane.row_stride)));
        }
        ImageLayout::from_planes(self.format, self.dtype, self.width, self.height, &places)
    }

    /// The part of the image inside `region`, as a view of the same bytes.
    ///
    /// # Errors
    /// If the region leaves the image or cuts a chroma sample.
    pub fn view(&self, region: Region) -> Result<ImageLayout> {
        region.check_inside(self.width, self.height)?;
        let (horizontal, vertical) = self.format.subsampling();
        let whole = |start: usize, len: usize, limit: usize, step: usize| {
            start.is_multiple_of(step) && (len.is_multiple_of(step) || start + len == limit)
        };
        if !whole(region.x, region.width, self.width, horizontal)
            || !whole(region.y, region.height, self.height, vertical)
        {
            let format = self.format;
            return Err(Error::from(crate::detail::RegionCutsChroma {
                region,
                format,
                horizontal,
                vertical,
            }));
        }
        let size = self.dtype.size().unwrap_or(1);
        let mut places: SmallVec<[_; 4]> = SmallVec::new();
        for (plane, spec) in self.planes.iter().zip(self.format.planes()) {
            // Inside the plane, so inside what construction has checked.
            let offset = plane.offset
                + region.y / spec.vertical * plane.row_stride
                + region.x / spec.horizontal * spec.elements * size;
            places.push((offset, Some(plane.row_stride)));
        }
        ImageLayout::from_planes(self.format, self.dtype, region.width, region.height, &places)
    }

    /// One plane as a layout: \[rows, groups\] or \[rows, groups, elements of a group\].
    ///
    /// # Errors
    /// [`Error::PlaneCount`] if there is no such plane.
    pub fn plane_layout(&self, index: usize) -> Result<Layout> {
        let (Some(plane), Some(spec)) = (self.planes.get(index), self.format.planes().get(index))
        else {
            let (format, expected) = (self.format, self.planes.len());
            return Err(Error::PlaneCount { format, expected, given: index.saturating_add(1) });
        };
        let size = self.dtype.size().unwrap_or(1);
        let groups = plane.row_bytes / size / spec.elements;
        let pitch = (plane.row_stride / size) as isize;
        if spec.elements == 1 {
            Layout::strided(self.dtype, &[plane.rows, groups], &[pitch, 1], plane.offset)
        } else {
            let strides = [pitch, spec.elements as isize, 1];
            let shape = [plane.rows, groups, spec.elements];
            Layout::strided(self.dtype, &shape, &strides, plane.offset)
        }
    }
}

/// Format, element type and size, checked; what plane sizes are computed from.
struct Geometry {
    format: PixelFormat,
    width: usize,
    height: usize,
    /// Bytes of an element.
    size: usize,
}

impl Geometry {
    fn new(format: PixelFormat, dtype: DType, width: usize, height: usize) -> Result<Geometry> {
        if width == 0 || height == 0 {
            return Err(Error::EmptyImage { width, height });
        }
        if !format.accepts(dtype) {
            return Err(Error::FormatElement { format, dtype });
        }
        let size = dtype.size().unwrap_or(1);
        Ok(Geometry { format, width, height, size })
    }

    fn too_large(&self) -> Error {
        Error::ImageTooLarge { format: self.format, width: self.width, height: self.height }
    }

    fn spec(&self, index: usize) -> Plane {
        self.format.planes()[index]
    }

    fn row_bytes(&self, index: usize) -> Result<usize> {
        let spec = self.spec(index);
        self.width
            .div_ceil(spec.horizontal)
            .checked_mul(spec.elements * self.size)
            .filter(|&bytes| isize::try_from(bytes).is_ok())
            .ok_or_else(|| self.too_large())
    }

    /// Stride of a plane over stride of the first, as a fraction.
    fn ratio(&self, index: usize) -> (usize, usize) {
        let (first, spec) = (self.spec(0), self.spec(index));
        (spec.elements * first.horizontal, spec.horizontal * first.elements)
    }

    /// What the first plane's stride must be a multiple of, so that all strides are whole
    /// elements.
    fn stride_multiple(&self) -> usize {
        let whole = |index| {
            let (up, down) = self.ratio(index);
            if up % down == 0 { 1 } else { down / up }
        };
        (0..self.format.planes().len()).map(whole).max().unwrap_or(1) * self.size
    }

    fn minimum_stride(&self) -> Result<usize> {
        let mut minimum = 0;
        for index in 0..self.format.planes().len() {
            let (up, down) = self.ratio(index);
            let needed = self
                .row_bytes(index)?
                .checked_mul(down)
                .ok_or_else(|| self.too_large())?
                .div_ceil(up);
            minimum = minimum.max(needed);
        }
        minimum.checked_next_multiple_of(self.stride_multiple()).ok_or_else(|| self.too_large())
    }

    fn check_stride(&self, stride: usize) -> Result<usize> {
        let minimum = self.minimum_stride()?;
        if stride < minimum {
            return Err(Error::StrideTooShort { stride, minimum });
        }
        let multiple = self.stride_multiple();
        if !stride.is_multiple_of(multiple) {
            return Err(Error::StrideNotMultiple { stride, multiple, format: self.format });
        }
        Ok(stride)
    }

    fn stride_of(&self, index: usize, first: usize) -> Result<usize> {
        let (up, down) = self.ratio(index);
        first.checked_mul(up).map(|bytes| bytes / down).ok_or_else(|| self.too_large())
    }

    /// The image, if its rows without padding can be counted: planes may lie on top of each other,
    /// and then be more than can be addressed together.
    fn checked(&self, dtype: DType, planes: SmallVec<[PlaneLayout; 4]>) -> Result<ImageLayout> {
        planes
            .iter()
            .try_fold(0usize, |all, plane| {
                all.checked_add(plane.row_bytes.checked_mul(plane.rows)?)
            })
            .filter(|&bytes| isize::try_from(bytes).is_ok())
            .ok_or_else(|| self.too_large())?;
        let Geometry { format, width, height, .. } = *self;
        Ok(ImageLayout { format, dtype, width, height, planes })
    }

    fn plane(&self, index: usize, offset: usize, row_stride: usize) -> Result<PlaneLayout> {
        let row_bytes = self.row_bytes(index)?;
        if row_stride < row_bytes {
            return Err(Error::StrideTooShort { stride: row_stride, minimum: row_bytes });
        }
        let rows = self.height.div_ceil(self.spec(index).vertical);
        row_stride
            .checked_mul(rows)
            .and_then(|bytes| offset.checked_add(bytes))
            .filter(|&end| isize::try_from(end).is_ok())
            .ok_or_else(|| self.too_large())?;
        Ok(PlaneLayout { offset, row_stride, row_bytes, rows })
    }
}

/// The shape a tensor of this arrangement has: see [`Arrangement`].
pub(crate) fn rows_of_all_planes(format: PixelFormat, height: usize) -> Option<usize> {
    match format {
        PixelFormat::Nv16 => height.checked_mul(2),
        PixelFormat::Nv24 => height.checked_mul(3),
        _ if format.arrangement() == Arrangement::LumaChroma => {
            height.checked_add(height.div_ceil(2))
        }
        _ => None,
    }
}
