//! Guards that give the CPU a tensor's elements.
//!
//! Four types for four promises: reading or writing, as a slice or at strides. A slice exists
//! where memory order is index order; the strided guards work for every layout.

use std::ops::Deref;
use std::sync::Arc;

use crate::{Element, ElementKind};
use bytemuck::Pod;
use tenure_layout::{DType, Layout};
use tenure_memory::{ReadGuard, WriteGuard};

use crate::meta::Meta;
use crate::{Error, Result, Tensor};

/// Elements to read, at any strides. Others may read them too; nobody writes them.
#[derive(Debug)]
pub struct StridedRead<E: ElementKind> {
    guard: ReadGuard,
    pub(crate) view: View<E>,
}

/// Elements to read and write, at any strides. Nobody else touches them.
#[derive(Debug)]
pub struct StridedMap<E: ElementKind> {
    guard: WriteGuard,
    pub(crate) view: View<E>,
}

/// Elements to read, in memory order: a slice.
#[derive(Debug)]
pub struct TensorRead<E: ElementKind>(StridedRead<E>);

/// Elements to read and write, in memory order: a slice.
#[derive(Debug)]
pub struct TensorMap<E: ElementKind>(StridedMap<E>);

/// What a guard knows of the elements inside its bytes.
#[derive(Debug)]
pub(crate) struct View<E: ElementKind> {
    pub(crate) meta: Arc<Meta>,
    /// Byte of the tensor's buffer that the guard's first byte is.
    pub(crate) start: usize,
    element: std::marker::PhantomData<fn() -> E>,
}

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
    pub fn map(&self) -> Result<TensorMap<E>> {
        self.check_row_major()?;
        self.hold_to_write().map(TensorMap)
    }

    /// The elements to read, as a slice in memory order; otherwise as [`Tensor::map`].
    ///
    /// # Errors
    /// As [`Tensor::map`]; several readers do not exclude each other.
    pub fn map_read(&self) -> Result<TensorRead<E>> {
        self.check_row_major()?;
        self.hold_to_read().map(TensorRead)
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

    fn hold_to_read(&self) -> Result<StridedRead<E>> {
        self.check_one_buffer()?;
        let span = self.meta.span(true);
        let start = span.start;
        let guard = self.buffer.read_range(span)?;
        check_address::<E::Stored>(guard.as_bytes(), self.dtype())?;
        Ok(StridedRead { guard, view: View::new(&self.meta, start) })
    }

    fn hold_to_write(&self) -> Result<StridedMap<E>> {
        self.check_one_buffer()?;
        let span = self.meta.span(true);
        let start = span.start;
        let guard = self.buffer.write_range(span)?;
        check_address::<E::Stored>(guard.as_bytes(), self.dtype())?;
        Ok(StridedMap { guard, view: View::new(&self.meta, start) })
    }

    fn check_row_major(&self) -> Result<()> {
        let layout = &self.meta.layout;
        if layout.is_row_major() {
            Ok(())
        } else {
            let (shape, strides) = (layout.shape().into(), layout.strides().into());
            Err(Error::NotRowMajor { shape, strides })
        }
    }

    pub(crate) fn check_writable_strides(&self) -> Result<()> {
        let layout = &self.meta.layout;
        if layout.may_self_overlap() {
            let (shape, strides) = (layout.shape().into(), layout.strides().into());
            Err(Error::Overlapping { shape, strides })
        } else {
            Ok(())
        }
    }

    pub(crate) fn check_one_buffer(&self) -> Result<()> {
        match &self.meta.image {
            Some(image) if !self.other_planes.is_empty() => {
                let buffers = 1 + self.other_planes.len();
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

impl<E: ElementKind> View<E> {
    fn new(meta: &Arc<Meta>, start: usize) -> View<E> {
        View { meta: Arc::clone(meta), start, element: std::marker::PhantomData }
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.meta.layout
    }
}

impl<T: Element> View<T> {
    /// Position in the guard's slice of the element at `index`.
    fn position(&self, index: &[usize]) -> Option<usize> {
        let byte = self.layout().element_offset(index).ok()?;
        Some((byte - self.start) / size_of::<T::Stored>())
    }
}

impl<E: ElementKind> StridedRead<E> {
    /// Elements per dimension.
    pub fn shape(&self) -> &[usize] {
        self.view.layout().shape()
    }

    /// Elements between neighbours of each dimension.
    pub fn strides(&self) -> &[isize] {
        self.view.layout().strides()
    }

    /// Everything from the first to the last byte of the tensor, gaps included, in memory order.
    pub fn span(&self) -> &[E::Stored] {
        elements(self.guard.as_bytes())
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
        self.span().get(self.view.position(index)?)
    }
}

impl<E: ElementKind> StridedMap<E> {
    /// Elements per dimension.
    pub fn shape(&self) -> &[usize] {
        self.view.layout().shape()
    }

    /// Elements between neighbours of each dimension.
    pub fn strides(&self) -> &[isize] {
        self.view.layout().strides()
    }

    /// Everything from the first to the last byte of the tensor, gaps included, in memory order.
    pub fn span(&self) -> &[E::Stored] {
        elements(self.guard.as_bytes())
    }

    /// As [`StridedMap::span`], to write.
    pub fn span_mut(&mut self) -> &mut [E::Stored] {
        elements_mut(self.guard.as_bytes_mut())
    }
}

impl<T: Element> StridedMap<T> {
    /// The element at `index`, or `None` if there is none.
    pub fn get(&self, index: &[usize]) -> Option<&T::Stored> {
        self.span().get(self.view.position(index)?)
    }

    /// The element at `index`, to write, or `None` if there is none.
    pub fn get_mut(&mut self, index: &[usize]) -> Option<&mut T::Stored> {
        let position = self.view.position(index)?;
        self.span_mut().get_mut(position)
    }
}

impl<E: ElementKind> TensorRead<E> {
    /// The elements in memory order; bytes for a [`crate::TensorDyn`].
    pub fn as_slice(&self) -> &[E::Stored] {
        self.0.span()
    }
}

impl<E: ElementKind> TensorMap<E> {
    /// The elements in memory order; bytes for a [`crate::TensorDyn`].
    pub fn as_slice(&self) -> &[E::Stored] {
        self.0.span()
    }

    /// The elements in memory order, to write; bytes for a [`crate::TensorDyn`].
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
