//! Guards of contiguous tensors, which are slices.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::slice::{Iter, IterMut};

use tenure_layout::Layout;
use tenure_memory::{ReadGuard, WriteGuard};

use crate::map::{First, element_bytes, elements, elements_mut};
use crate::meta::Placed;
use crate::{Element, ElementKind, Result};

/// The elements of a contiguous tensor to read: a slice. Others may read them too; nobody writes
/// them.
///
/// ```
/// use tenure_tensor::Tensor;
/// let t = Tensor::from_slice(&[1u16, 2, 3, 4], &[2, 2])?;
/// let read = t.map_read()?;
/// assert_eq!((read.len(), read[2], read.iter().sum::<u16>()), (4, 3, 10));
/// assert_eq!(read.at(&[1, 0]), Some(&3));
/// for value in &read {
///     assert!(*value > 0);
/// }
/// # Ok::<(), tenure_tensor::Error>(())
/// ```
#[must_use = "the elements are held only while the guard lives"]
pub struct TensorRead<E: ElementKind> {
    guard: ReadGuard<Placed>,
    element: PhantomData<fn() -> E>,
}

/// The elements of a contiguous tensor to read and write: a slice. Nobody else touches them.
#[must_use = "the elements are held only while the guard lives"]
pub struct TensorMap<E: ElementKind> {
    guard: WriteGuard<Placed>,
    element: PhantomData<fn() -> E>,
}

/// Which element of the slice is at `index`.
fn number<S>(layout: &Layout, index: &[usize]) -> Option<usize> {
    element_bytes::<S>(layout, index).map(|bytes| bytes.start / size_of::<S>())
}

impl<E: ElementKind> TensorRead<E> {
    /// Over the bytes of a contiguous layout.
    #[inline]
    pub(crate) fn new(guard: ReadGuard<Placed>) -> TensorRead<E> {
        TensorRead { guard, element: PhantomData }
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.guard.hold().keep().meta().layout
    }

    /// The elements in index order; bytes for a [`crate::TensorDyn`].
    #[inline]
    pub fn as_slice(&self) -> &[E::Stored] {
        elements(self.guard.as_bytes())
    }

    /// Elements per dimension.
    pub fn shape(&self) -> &[usize] {
        self.layout().shape()
    }

    /// Elements between neighbours of each dimension.
    pub fn strides(&self) -> &[isize] {
        self.layout().strides()
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

impl<T: Element> TensorRead<T> {
    /// The element at `index` (one for each dimension), or `None` if there is none.
    pub fn at(&self, index: &[usize]) -> Option<&T::Stored> {
        self.as_slice().get(number::<T::Stored>(self.layout(), index)?)
    }
}

impl<E: ElementKind> TensorMap<E> {
    /// Over the bytes of a contiguous layout.
    #[inline]
    pub(crate) fn new(guard: WriteGuard<Placed>) -> TensorMap<E> {
        TensorMap { guard, element: PhantomData }
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.guard.hold().keep().meta().layout
    }

    /// The elements in index order; bytes for a [`crate::TensorDyn`].
    #[inline]
    pub fn as_slice(&self) -> &[E::Stored] {
        elements(self.guard.as_bytes())
    }

    /// The elements in index order, to write; bytes for a [`crate::TensorDyn`].
    #[inline]
    pub fn as_mut_slice(&mut self) -> &mut [E::Stored] {
        elements_mut(self.guard.as_bytes_mut())
    }

    /// Elements per dimension.
    pub fn shape(&self) -> &[usize] {
        self.layout().shape()
    }

    /// Elements between neighbours of each dimension.
    pub fn strides(&self) -> &[isize] {
        self.layout().strides()
    }
}

impl<T: Element> TensorMap<T> {
    /// The element at `index` (one for each dimension), or `None` if there is none.
    pub fn at(&self, index: &[usize]) -> Option<&T::Stored> {
        self.as_slice().get(number::<T::Stored>(self.layout(), index)?)
    }

    /// The element at `index`, to write, or `None` if there is none.
    pub fn at_mut(&mut self, index: &[usize]) -> Option<&mut T::Stored> {
        let number = number::<T::Stored>(self.layout(), index)?;
        self.as_mut_slice().get_mut(number)
    }
}

impl<E: ElementKind> Deref for TensorRead<E> {
    type Target = [E::Stored];

    #[inline]
    fn deref(&self) -> &[E::Stored] {
        self.as_slice()
    }
}

impl<E: ElementKind> Deref for TensorMap<E> {
    type Target = [E::Stored];

    #[inline]
    fn deref(&self) -> &[E::Stored] {
        self.as_slice()
    }
}

impl<E: ElementKind> DerefMut for TensorMap<E> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [E::Stored] {
        self.as_mut_slice()
    }
}

impl<'a, E: ElementKind> IntoIterator for &'a TensorRead<E> {
    type Item = &'a E::Stored;
    type IntoIter = Iter<'a, E::Stored>;

    fn into_iter(self) -> Iter<'a, E::Stored> {
        self.as_slice().iter()
    }
}

impl<'a, E: ElementKind> IntoIterator for &'a TensorMap<E> {
    type Item = &'a E::Stored;
    type IntoIter = Iter<'a, E::Stored>;

    fn into_iter(self) -> Iter<'a, E::Stored> {
        self.as_slice().iter()
    }
}

impl<'a, E: ElementKind> IntoIterator for &'a mut TensorMap<E> {
    type Item = &'a mut E::Stored;
    type IntoIter = IterMut<'a, E::Stored>;

    fn into_iter(self) -> IterMut<'a, E::Stored> {
        self.as_mut_slice().iter_mut()
    }
}

impl<E: ElementKind> fmt::Debug for TensorRead<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TensorRead")
            .field("dtype", &self.layout().dtype())
            .field("shape", &self.shape())
            .field("elements", &First(self.iter()))
            .finish()
    }
}

impl<E: ElementKind> fmt::Debug for TensorMap<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TensorMap")
            .field("dtype", &self.layout().dtype())
            .field("shape", &self.shape())
            .field("elements", &First(self.iter()))
            .finish()
    }
}
