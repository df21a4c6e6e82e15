//! Guards that give the CPU a tensor's elements, and nothing else.
//!
//! A guard says what it gives: a slice ([`Tensor::map`]) where the elements are one, rows
//! ([`Tensor::map_rows`]) where they have gaps between them, single elements
//! ([`Tensor::map_strided`]) for every layout, and everything between the first and the last byte
//! ([`Tensor::map_span`]) only to a tensor that the gaps belong to.

use std::ops::Range;
use std::ptr::NonNull;
use std::time::Duration;

use crate::ElementKind;
use bytemuck::Pod;
use tenure_layout::Layout;
use tenure_memory::{ReadGuard, ReadRows, WriteGuard, WriteRows};

use crate::detail::Which;
use crate::meta::Placed;
use crate::{Error, Result, Tensor};

mod first;
pub(crate) mod held;
mod positions;
mod slice;
mod span;
mod strided;

pub(crate) use first::First;
pub(crate) use positions::Positions;
pub use slice::{TensorMap, TensorRead};
pub use span::{SpanMap, SpanRead};
pub use strided::{Elements, StridedMap, StridedRead};

impl<E: ElementKind> Tensor<E> {
    /// The elements to read and write, as a slice in index order; the bytes of a
    /// [`crate::TensorDyn`].
    ///
    /// The slice is the elements and nothing else, so the tensor must be
    /// [contiguous](Tensor::is_contiguous). Padded images, regions and slices of inner dimensions
    /// have [`Tensor::map_rows`]; views of every kind have [`Tensor::map_strided`].
    ///
    /// ```
    /// use tenure_tensor::Tensor;
    /// let t = Tensor::from_slice(&[1u8, 2, 3, 4, 5, 6], &[2, 3])?;
    /// let mut map = t.map()?;
    /// map[0] = 10;
    /// map.iter_mut().for_each(|value| *value += 1);
    /// assert_eq!(map[..], [11, 3, 4, 5, 6, 7]);
    /// drop(map);
    /// // The first two columns have a gap after each row.
    /// let left = t.slice(1, ..2)?;
    /// assert!(left.map().is_err());
    /// left.map_rows()?.rows_mut().for_each(|row| row.fill(0));
    /// assert_eq!(t.map_read()?[..], [0, 0, 4, 0, 0, 7]);
    /// # Ok::<(), tenure_tensor::Error>(())
    /// ```
    ///
    /// An image whose planes do not follow each other is its first plane here, as its shape says;
    /// [`Tensor::plane`] gives every plane.
    ///
    /// # Errors
    /// [`tenure_memory::Error::Busy`] while somebody else holds bytes of it,
    /// [`Error::NotContiguous`] where the elements are no slice, and [`Error::SeveralBuffers`] for
    /// an image whose planes are in buffers of their own.
    #[inline]
    pub fn map(&self) -> Result<TensorMap<E>> {
        self.check_contiguous()?;
        self.hold_to_write(self.own_bytes()).map(TensorMap::new)
    }

    /// The elements to read, as a slice in index order; otherwise as [`Tensor::map`].
    ///
    /// # Errors
    /// As [`Tensor::map`]; several readers do not exclude each other.
    #[inline]
    pub fn map_read(&self) -> Result<TensorRead<E>> {
        self.check_contiguous()?;
        self.hold_to_read(self.own_bytes()).map(TensorRead::new)
    }

    /// As [`Tensor::map`], and waits, at most so long (`None`: without end), while somebody else
    /// holds bytes of it: a copy on its way ([`Tensor::copy_from_later`]), or a guard on another
    /// thread. A thread that waits for a guard of its own waits in vain.
    ///
    /// # Errors
    /// As [`Tensor::map`]; [`tenure_memory::Error::Busy`] only after that time.
    pub fn map_wait(&self, timeout: Option<Duration>) -> Result<TensorMap<E>> {
        self.check_contiguous()?;
        let (placed, range) = self.place_now(self.own_bytes())?;
        let guard = WriteGuard::over_wait(placed, range, timeout).map_err(|it| self.named(it))?;
        self.check_address(guard.hold().address())?;
        Ok(TensorMap::new(guard))
    }

    /// As [`Tensor::map_read`], and waits as [`Tensor::map_wait`] does.
    ///
    /// # Errors
    /// As [`Tensor::map_read`]; [`tenure_memory::Error::Busy`] only after that time.
    pub fn map_read_wait(&self, timeout: Option<Duration>) -> Result<TensorRead<E>> {
        self.check_contiguous()?;
        let (placed, range) = self.place_now(self.own_bytes())?;
        let guard = ReadGuard::over_wait(placed, range, timeout).map_err(|it| self.named(it))?;
        self.check_address(guard.hold().address())?;
        Ok(TensorRead::new(guard))
    }

    /// The elements to read and write, whatever their strides: by index, one after the other, or as
    /// an `ndarray`.
    ///
    /// Where the elements are rows at one stride (regions of images, columns of matrices) the guard
    /// holds these alone, as [`Tensor::map_rows`] does, and what lies between them may be in use.
    ///
    /// # Errors
    /// As [`Tensor::map`], but for every layout; [`Error::Overlapping`] for views that show one
    /// place as several elements.
    pub fn map_strided(&self) -> Result<StridedMap<E>> {
        self.check_writable_strides()?;
        self.hold_rows_to_write().map(StridedMap::new)
    }

    /// The elements to read, whatever their strides.
    ///
    /// # Errors
    /// [`tenure_memory::Error::Busy`] while somebody writes bytes of it.
    pub fn map_strided_read(&self) -> Result<StridedRead<E>> {
        self.hold_rows_to_read().map(StridedRead::new)
    }

    /// Everything from the first to the last byte of the tensor to read and write, gaps and all
    /// planes included: the memory of an image that was allocated with padded rows.
    ///
    /// Only for a tensor that was allocated as it is, so that the gaps are its own, and for one
    /// without gaps. Bytes between the elements of a view belong to others.
    ///
    /// ```
    /// use tenure_tensor::{PixelFormat, Region, Tensor};
    /// let image = Tensor::<u8>::image_builder(10, 4, PixelFormat::Rgb).row_stride(64).build()?;
    /// assert_eq!(image.map_span()?.len(), 3 * 64 + 30);
    /// let left = image.view(Region::new(0, 0, 5, 4))?;
    /// assert!(left.map_span().is_err());
    /// # Ok::<(), tenure_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NotWhole`] where bytes between the elements are not the tensor's, and as
    /// [`Tensor::map`].
    pub fn map_span(&self) -> Result<SpanMap<E>> {
        let span = self.check_whole()?;
        self.hold_to_write(span).map(SpanMap::new)
    }

    /// Everything from the first to the last byte of the tensor to read; otherwise as
    /// [`Tensor::map_span`].
    ///
    /// # Errors
    /// As [`Tensor::map_span`].
    pub fn map_span_read(&self) -> Result<SpanRead<E>> {
        let span = self.check_whole()?;
        self.hold_to_read(span).map(SpanRead::new)
    }

    /// Bytes of the buffer from the first to the last of the elements that the shape counts.
    #[inline]
    fn own_bytes(&self) -> Range<usize> {
        self.parts.meta.layout.span()
    }

    #[inline]
    fn hold_to_read(&self, bytes: Range<usize>) -> Result<ReadGuard<Placed>> {
        let (placed, range) = self.place_now(bytes)?;
        let guard = ReadGuard::over(placed, range).map_err(|it| self.named(it))?;
        self.check_address(guard.hold().address())?;
        Ok(guard)
    }

    #[inline]
    fn hold_to_write(&self, bytes: Range<usize>) -> Result<WriteGuard<Placed>> {
        let (placed, range) = self.place_now(bytes)?;
        let guard = WriteGuard::over(placed, range).map_err(|it| self.named(it))?;
        self.check_address(guard.hold().address())?;
        Ok(guard)
    }

    /// The bytes of the elements, without gaps where the ledger can tell these apart.
    pub(crate) fn hold_rows_to_read(&self) -> Result<ReadRows<Placed>> {
        self.check_one_buffer()?;
        let rows = self.parts.buffer.rows_in_raw(&held::rows_of(&self.parts.meta.layout))?;
        let guard = ReadRows::over(self.placed(), rows).map_err(|it| self.named(it))?;
        self.check_address(guard.address())?;
        Ok(guard)
    }

    /// The same, to write.
    pub(crate) fn hold_rows_to_write(&self) -> Result<WriteRows<Placed>> {
        self.check_one_buffer()?;
        let rows = self.parts.buffer.rows_in_raw(&held::rows_of(&self.parts.meta.layout))?;
        let guard = WriteRows::over(self.placed(), rows).map_err(|it| self.named(it))?;
        self.check_address(guard.address())?;
        Ok(guard)
    }

    /// The parts with their buffer in its place, and these bytes of it in the allocation.
    #[inline]
    fn place_now(&self, bytes: Range<usize>) -> Result<(Placed, Range<usize>)> {
        self.check_one_buffer()?;
        let range = self.parts.buffer.range_in_raw(bytes)?;
        Ok((self.placed(), range))
    }

    /// The parts, for a guard to keep. The buffer has its place: somebody has asked where.
    #[inline]
    pub(crate) fn placed(&self) -> Placed {
        match Placed::new(&self.parts) {
            Some(placed) => placed,
            None => unreachable!("a range in an allocation is known once it exists"),
        }
    }

    /// Foreign memory may start anywhere; slices of elements may not.
    #[inline]
    fn check_address(&self, lowest: NonNull<u8>) -> Result<()> {
        let align = align_of::<E::Stored>();
        if lowest.addr().get().is_multiple_of(align) || self.is_empty() {
            return Ok(());
        }
        Err(self.misaligned(align))
    }

    #[cold]
    fn misaligned(&self, align: usize) -> Error {
        let (tensor, dtype) = (self.which(), self.dtype());
        crate::detail::MisalignedAddress { tensor, dtype, align }.into()
    }

    /// An error of the memory, which knows the allocation's name, with the tensor's.
    #[cold]
    pub(crate) fn named(&self, error: tenure_memory::Error) -> tenure_memory::Error {
        self.parts.buffer.named_in(error)
    }

    /// The tensor's name, for errors.
    #[cold]
    pub(crate) fn which(&self) -> Which {
        self.name().into()
    }

    #[inline]
    fn check_contiguous(&self) -> Result<()> {
        if self.parts.meta.layout.is_contiguous() { Ok(()) } else { Err(self.not_contiguous()) }
    }

    /// Why there is no slice, with what there is instead.
    #[cold]
    fn not_contiguous(&self) -> Error {
        // Planes in buffers of their own have no rows in common either.
        if let Err(error) = self.check_one_buffer() {
            return error;
        }
        let layout = &self.parts.meta.layout;
        let (shape, strides) = (layout.shape().into(), layout.strides().into());
        let (rows, whole) = (self.rows_shape().is_ok(), self.check_whole().is_ok());
        let tensor = self.which();
        crate::detail::NotContiguous { tensor, shape, strides, rows, whole }.into()
    }

    /// The span of the tensor, if nobody else has bytes in its gaps.
    fn check_whole(&self) -> Result<Range<usize>> {
        let (meta, span) = (&self.parts.meta, self.parts.meta.span(true));
        let layout = &meta.layout;
        let gapless = || {
            span == layout.span()
                && span.len() == layout.packed_bytes()
                && !layout.may_self_overlap()
        };
        if meta.whole || gapless() {
            return Ok(span);
        }
        let (shape, strides) = (layout.shape().into(), layout.strides().into());
        Err(crate::detail::NotWhole { tensor: self.which(), shape, strides }.into())
    }

    pub(crate) fn check_writable_strides(&self) -> Result<()> {
        let layout = &self.parts.meta.layout;
        if layout.may_self_overlap() {
            let (shape, strides) = (layout.shape().into(), layout.strides().into());
            Err(crate::detail::Overlapping { tensor: self.which(), shape, strides }.into())
        } else {
            Ok(())
        }
    }

    #[inline]
    pub(crate) fn check_one_buffer(&self) -> Result<()> {
        match &self.parts.meta.image {
            Some(image) if !self.parts.other_planes.is_empty() => {
                let buffers = 1 + self.parts.other_planes.len();
                let (tensor, format) = (self.which(), image.layout.format());
                Err(Error::SeveralBuffers { tensor, format, buffers })
            }
            _ => Ok(()),
        }
    }
}

/// Bytes as elements. The address was checked when the guard was made; spans are whole elements.
#[inline]
pub(crate) fn elements<S: Pod>(bytes: &[u8]) -> &[S] {
    if bytes.is_empty() { &[] } else { bytemuck::cast_slice(bytes) }
}

#[inline]
pub(crate) fn elements_mut<S: Pod>(bytes: &mut [u8]) -> &mut [S] {
    if bytes.is_empty() { &mut [] } else { bytemuck::cast_slice_mut(bytes) }
}

/// The bytes of the element at `index`, counted from the lowest.
fn element_bytes<S>(layout: &Layout, index: &[usize]) -> Option<Range<usize>> {
    let start = layout.element_offset(index).ok()? - layout.span().start;
    Some(start..start + size_of::<S>())
}
