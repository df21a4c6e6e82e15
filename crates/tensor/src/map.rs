//! Guards that give the CPU a tensor's elements.
//!
//! Four types for four promises: reading or writing, as a slice or at strides. A slice exists
//! where memory order is index order; the strided guards work for every layout.

use std::marker::PhantomData;
use std::ops::{Deref, Range};
use std::time::Duration;

use crate::{Element, ElementKind};
use bytemuck::Pod;
use tenure_layout::{DType, Layout};
use tenure_memory::{ReadGuard, WriteGuard};

use crate::meta::{Meta, Placed};
use crate::{Error, Result, Tensor};

/// Elements to read, at any strides. Others may read them too; nobody writes them.
#[derive(Debug)]
pub struct StridedRead<E: ElementKind> {
    guard: ReadGuard<Placed>,
    element: PhantomData<fn() -> E>,
}

/// Elements to read and write, at any strides. Nobody else touches them.
#[derive(Debug)]
pub struct StridedMap<E: ElementKind> {
    guard: WriteGuard<Placed>,
    element: PhantomData<fn() -> E>,
}

/// Elements to read, in memory order: a slice.
#[derive(Debug)]
pub struct TensorRead<E: ElementKind>(StridedRead<E>);

/// Elements to read and write, in memory order: a slice.
#[derive(Debug)]
pub struct TensorMap<E: ElementKind>(StridedMap<E>);

impl<E: ElementKind> Tensor<E> {
    /// The elements to read and write, as a slice in memory order.
    ///
    /// For a tensor that [is contiguous](Tensor::is_contiguous) the slice is its elements. Rows
    /// of a padded image or of a region lie apart; the slice then covers everything from the
    /// first to the last element, and [`TensorMap::rows_mut`] gives the rows without gaps.
    ///
    /// # Errors
    /// [`tenure_memory::Error::Busy`] while somebody else holds bytes of it, and
    /// [`Error::NotRowMajor`] for permuted, reversed and broadcast views.
    #[inline]
    pub fn map(&self) -> Result<TensorMap<E>> {
        self.check_row_major()?;
        self.hold_to_write().map(TensorMap)
    }

    /// The elements to read, as a slice in memory order; otherwise as [`Tensor::map`].
    ///
    /// # Errors
    /// As [`Tensor::map`]; several readers do not exclude each other.
    #[inline]
    pub fn map_read(&self) -> Result<TensorRead<E>> {
        self.check_row_major()?;
        self.hold_to_read().map(TensorRead)
    }

    /// As [`Tensor::map`], and waits, at most so long (`None`: without end), while somebody else
    /// holds bytes of it: a copy on its way ([`Tensor::copy_from_later`]), or a guard on another
    /// thread. A thread that waits for a guard of its own waits in vain.
    ///
    /// # Errors
    /// As [`Tensor::map`]; [`tenure_memory::Error::Busy`] only after that time.
    pub fn map_wait(&self, timeout: Option<Duration>) -> Result<TensorMap<E>> {
        self.check_row_major()?;
        let (placed, range) = self.place_now()?;
        let guard = WriteGuard::over_wait(placed, range, timeout)?;
        check_address::<E::Stored>(guard.as_bytes(), self.dtype())?;
        Ok(TensorMap(StridedMap { guard, element: PhantomData }))
    }

    /// As [`Tensor::map_read`], and waits as [`Tensor::map_wait`] does.
    ///
    /// # Errors
    /// As [`Tensor::map_read`]; [`tenure_memory::Error::Busy`] only after that time.
    pub fn map_read_wait(&self, timeout: Option<Duration>) -> Result<TensorRead<E>> {
        self.check_row_major()?;
        let (placed, range) = self.place_now()?;
        let guard = ReadGuard::over_wait(placed, range, timeout)?;
        check_address::<E::Stored>(guard.as_bytes(), self.dtype())?;
        Ok(TensorRead(StridedRead { guard, element: PhantomData }))
    }

    /// The elements to read and write, whatever their strides.
    ///
    /// # Errors
    /// As [`Tensor::map`], and [`Error::Overlapping`] for views that show one place as several
    /// elements.
    pub fn map_strided(&self) -> Result<StridedMap<E>> {
        self.check_writable_strides()?;
        self.hold_to_write()
    }

    /// The elements to read, whatever their strides.
    ///
    /// # Errors
    /// [`tenure_memory::Error::Busy`] while somebody writes bytes of it.
    pub fn map_strided_read(&self) -> Result<StridedRead<E>> {
        self.hold_to_read()
    }

    #[inline]
    fn hold_to_read(&self) -> Result<StridedRead<E>> {
        let (placed, range) = self.place_now()?;
        let guard = ReadGuard::over(placed, range)?;
        check_address::<E::Stored>(guard.as_bytes(), self.dtype())?;
        Ok(StridedRead { guard, element: PhantomData })
    }

    #[inline]
    fn hold_to_write(&self) -> Result<StridedMap<E>> {
        let (placed, range) = self.place_now()?;
        let guard = WriteGuard::over(placed, range)?;
        check_address::<E::Stored>(guard.as_bytes(), self.dtype())?;
        Ok(StridedMap { guard, element: PhantomData })
    }

    /// The parts with their buffer in its place, and the tensor's bytes in the allocation.
    #[inline]
    fn place_now(&self) -> Result<(Placed, Range<usize>)> {
        self.check_one_buffer()?;
        let parts = &self.parts;
        let range = parts.buffer.range_in_raw(parts.meta.span(true))?;
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

    #[inline]
    fn check_row_major(&self) -> Result<()> {
        let layout = &self.parts.meta.layout;
        if layout.is_row_major() {
            Ok(())
        } else {
            let (shape, strides) = (layout.shape().into(), layout.strides().into());
            Err(Error::from(crate::detail::NotRowMajor { shape, strides }))
        }
    }

    pub(crate) fn check_writable_strides(&self) -> Result<()> {
        let layout = &self.parts.meta.layout;
        if layout.may_self_overlap() {
            let (shape, strides) = (layout.shape().into(), layout.strides().into());
            Err(Error::from(crate::detail::Overlapping { shape, strides }))
        } else {
            Ok(())
        }
    }

    #[inline]
    pub(crate) fn check_one_buffer(&self) -> Result<()> {
        match &self.parts.meta.image {
            Some(image) if !self.parts.other_planes.is_empty() => {
                let buffers = 1 + self.parts.other_planes.len();
                Err(Error::SeveralBuffers { format: image.layout.format(), buffers })
            }
            _ => Ok(()),
        }
    }
}

/// Foreign memory may start anywhere; slices of elements may not.
fn check_address<S>(bytes: &[u8], dtype: DType) -> Result<()> {
    let align = align_of::<S>();
    if bytes.is_empty() || bytes.as_ptr().addr().is_multiple_of(align) {
        Ok(())
    } else {
        Err(Error::MisalignedAddress { dtype, align })
    }
}

/// Bytes as elements. The address was checked when the guard was made; spans are whole elements.
fn elements<S: Pod>(bytes: &[u8]) -> &[S] {
    if bytes.is_empty() { &[] } else { bytemuck::cast_slice(bytes) }
}

fn elements_mut<S: Pod>(bytes: &mut [u8]) -> &mut [S] {
    if bytes.is_empty() { &mut [] } else { bytemuck::cast_slice_mut(bytes) }
}

/// Which part of a guard's slice the tensor's own elements are: of an image whose planes do not
/// follow each other, the first plane.
fn own_part<E: ElementKind>(meta: &Meta) -> Range<usize> {
    let (own, start) = (meta.layout.span(), meta.span(true).start);
    let size = size_of::<E::Stored>();
    (own.start - start) / size..(own.end - start) / size
}

/// Position in a guard's slice of the element at `index`.
fn position<T: Element>(meta: &Meta, index: &[usize]) -> Option<usize> {
    let byte = meta.layout.element_offset(index).ok()?;
    Some((byte - meta.span(true).start) / size_of::<T::Stored>())
}

impl<E: ElementKind> StridedRead<E> {
    pub(crate) fn layout(&self) -> &Layout {
        &self.guard.hold().keep().meta().layout
    }

    /// Elements per dimension.
    pub fn shape(&self) -> &[usize] {
        self.layout().shape()
    }

    /// Elements between neighbours of each dimension.
    pub fn strides(&self) -> &[isize] {
        self.layout().strides()
    }

    /// Everything from the first to the last byte of the tensor, gaps included, in memory order.
    #[inline]
    pub fn span(&self) -> &[E::Stored] {
        elements(self.guard.as_bytes())
    }

    /// The part of the span from the first to the last of the tensor's own elements.
    pub(crate) fn own_span(&self) -> &[E::Stored] {
        self.span().get(own_part::<E>(self.guard.hold().keep().meta())).unwrap_or_default()
    }

    /// Whether the bytes are still what was mapped: a mapped file may have been cut off by
    /// another process, in which case zeros were read.
    ///
    /// # Errors
    /// [`tenure_memory::Error::Truncated`].
    pub fn intact(&self) -> Result<()> {
        Ok(self.guard.hold().raw().intact()?)
    }
}

impl<T: Element> StridedRead<T> {
    /// The element at `index`, or `None` if there is none.
    pub fn get(&self, index: &[usize]) -> Option<&T::Stored> {
        self.span().get(position::<T>(self.guard.hold().keep().meta(), index)?)
    }
}

impl<E: ElementKind> StridedMap<E> {
    pub(crate) fn layout(&self) -> &Layout {
        &self.guard.hold().keep().meta().layout
    }

    /// Elements per dimension.
    pub fn shape(&self) -> &[usize] {
        self.layout().shape()
    }

    /// Elements between neighbours of each dimension.
    pub fn strides(&self) -> &[isize] {
        self.layout().strides()
    }

    /// Everything from the first to the last byte of the tensor, gaps included, in memory order.
    #[inline]
    pub fn span(&self) -> &[E::Stored] {
        elements(self.guard.as_bytes())
    }

    /// The part of the span from the first to the last of the tensor's own elements.
    #[cfg(feature = "ndarray")]
    pub(crate) fn own_span(&self) -> &[E::Stored] {
        self.span().get(own_part::<E>(self.guard.hold().keep().meta())).unwrap_or_default()
    }

    /// The same, to write.
    pub(crate) fn own_span_mut(&mut self) -> &mut [E::Stored] {
        let own = own_part::<E>(self.guard.hold().keep().meta());
        self.span_mut().get_mut(own).unwrap_or_default()
    }

    /// As [`StridedMap::span`], to write.
    #[inline]
    pub fn span_mut(&mut self) -> &mut [E::Stored] {
        elements_mut(self.guard.as_bytes_mut())
    }
}

impl<T: Element> StridedMap<T> {
    /// The element at `index`, or `None` if there is none.
    pub fn get(&self, index: &[usize]) -> Option<&T::Stored> {
        self.span().get(position::<T>(self.guard.hold().keep().meta(), index)?)
    }

    /// The element at `index`, to write, or `None` if there is none.
    pub fn get_mut(&mut self, index: &[usize]) -> Option<&mut T::Stored> {
        let position = position::<T>(self.guard.hold().keep().meta(), index)?;
        self.span_mut().get_mut(position)
    }
}

impl<E: ElementKind> TensorRead<E> {
    /// The elements in memory order; bytes for a [`crate::TensorDyn`].
    #[inline]
    pub fn as_slice(&self) -> &[E::Stored] {
        self.0.span()
    }
}

impl<E: ElementKind> TensorMap<E> {
    /// The elements in memory order; bytes for a [`crate::TensorDyn`].
    #[inline]
    pub fn as_slice(&self) -> &[E::Stored] {
        self.0.span()
    }

    /// The elements in memory order, to write; bytes for a [`crate::TensorDyn`].
    #[inline]
    pub fn as_mut_slice(&mut self) -> &mut [E::Stored] {
        self.0.span_mut()
    }

    pub(crate) fn strided_mut(&mut self) -> &mut StridedMap<E> {
        &mut self.0
    }
}

impl<T: Element> TensorMap<T> {
    /// The element at `index`, to write, or `None` if there is none.
    pub fn get_mut(&mut self, index: &[usize]) -> Option<&mut T::Stored> {
        self.0.get_mut(index)
    }
}

impl<E: ElementKind> Deref for TensorRead<E> {
    type Target = StridedRead<E>;

    fn deref(&self) -> &StridedRead<E> {
        &self.0
    }
}

impl<E: ElementKind> Deref for TensorMap<E> {
    type Target = StridedMap<E>;

    fn deref(&self) -> &StridedMap<E> {
        &self.0
    }
}
