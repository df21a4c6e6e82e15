//! Guards that give single elements, whatever the strides.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};
#[cfg(feature = "ndarray")]
use std::ptr::NonNull;

use bytemuck::Pod;
use tenure_layout::Layout;
use tenure_memory::{ReadRows, RowIter, Rows, WriteRows};

use crate::map::{First, Positions, element_bytes, elements, elements_mut, held};
use crate::meta::Placed;
use crate::{Element, ElementKind, Result};

/// Elements to read, at any strides. Others may read them too; nobody writes them.
///
/// ```
/// use tenure_tensor::Tensor;
/// let t = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?;
/// let turned = t.permute(&[1, 0])?;
/// let map = turned.map_strided_read()?;
/// assert_eq!((map[[2, 1]], map.get(&[3, 0])), (6.0, None));
/// assert_eq!(map.iter().copied().collect::<Vec<_>>(), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
/// # Ok::<(), tenure_tensor::Error>(())
/// ```
#[must_use = "the elements are held only while the guard lives"]
pub struct StridedRead<E: ElementKind> {
    guard: ReadRows<Placed>,
    element: PhantomData<fn() -> E>,
}

/// Elements to read and write, at any strides. Nobody else touches them.
///
/// ```
/// use tenure_tensor::Tensor;
/// let t = Tensor::from_slice(&[1u8, 2, 3, 4, 5, 6], &[2, 3])?;
/// let mut right = t.slice(1, 1..)?.map_strided()?;
/// right[[1, 0]] = 50;
/// right.for_each_mut(|value| *value += 1);
/// drop(right);
/// assert_eq!(t.map_read()?[..], [1, 3, 4, 4, 51, 7]);
/// # Ok::<(), tenure_tensor::Error>(())
/// ```
#[must_use = "the elements are held only while the guard lives"]
pub struct StridedMap<E: ElementKind> {
    guard: WriteRows<Placed>,
    element: PhantomData<fn() -> E>,
}

/// The elements of a strided guard in the order of their indices, the last dimension fastest.
#[must_use = "an iterator gives nothing until it is asked"]
pub struct Elements<'a, S> {
    held: RowIter<'a>,
    rows: Rows,
    positions: Positions,
    element: PhantomData<fn() -> S>,
}

impl<'a, S> Elements<'a, S> {
    fn new(layout: &Layout, held: RowIter<'a>, rows: Rows) -> Elements<'a, S> {
        let positions = Positions::new(layout, layout.rank());
        Elements { held, rows, positions, element: PhantomData }
    }
}

impl<S> Clone for Elements<'_, S> {
    fn clone(&self) -> Self {
        let Elements { held, rows, positions, element } = self;
        let (held, positions) = (held.clone(), positions.clone());
        Elements { held, rows: *rows, positions, element: *element }
    }
}

impl<'a, S: Pod> Iterator for Elements<'a, S> {
    type Item = &'a S;

    fn next(&mut self) -> Option<&'a S> {
        let start = self.positions.next()? * size_of::<S>();
        let bytes = held::bytes(&self.rows, &self.held, start..start + size_of::<S>())?;
        elements(bytes).first()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.positions.size_hint()
    }
}

impl<S: Pod> ExactSizeIterator for Elements<'_, S> {}

impl<S: Pod> fmt::Debug for Elements<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Elements").field("left", &self.len()).finish()
    }
}

impl<E: ElementKind> StridedRead<E> {
    pub(crate) fn new(guard: ReadRows<Placed>) -> StridedRead<E> {
        StridedRead { guard, element: PhantomData }
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.guard.keep().meta().layout
    }

    /// Elements per dimension.
    pub fn shape(&self) -> &[usize] {
        self.layout().shape()
    }

    /// Elements between neighbours of each dimension.
    pub fn strides(&self) -> &[isize] {
        self.layout().strides()
    }

    /// The address of the lowest element.
    #[cfg(feature = "ndarray")]
    pub(crate) fn address(&self) -> NonNull<u8> {
        self.guard.address()
    }

    /// The address of the element with all indices zero; the others are at the
    /// [strides](StridedRead::strides). Valid, to read, until the guard is dropped.
    pub fn as_ptr(&self) -> *const E::Stored {
        let layout = self.layout();
        let first = layout.offset().saturating_sub(layout.span().start);
        self.guard.address().as_ptr().wrapping_add(first).cast()
    }

    /// Whether the bytes are still what was mapped: a mapped file may have been cut off by
    /// another process, in which case zeros were read.
    ///
    /// # Errors
    /// [`tenure_memory::Error::Truncated`].
    pub fn intact(&self) -> Result<()> {
        Ok(self.guard.raw().intact()?)
    }
}

impl<T: Element> StridedRead<T> {
    /// The element at `index` (one for each dimension), or `None` if there is none.
    pub fn get(&self, index: &[usize]) -> Option<&T::Stored> {
        let bytes = element_bytes::<T::Stored>(self.layout(), index)?;
        elements(held::read(&self.guard, bytes)?).first()
    }

    /// All elements in the order of their indices.
    pub fn iter(&self) -> Elements<'_, T::Stored> {
        Elements::new(self.layout(), self.guard.iter(), self.guard.rows())
    }
}

impl<E: ElementKind> StridedMap<E> {
    pub(crate) fn new(guard: WriteRows<Placed>) -> StridedMap<E> {
        StridedMap { guard, element: PhantomData }
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.guard.keep().meta().layout
    }

    /// Elements per dimension.
    pub fn shape(&self) -> &[usize] {
        self.layout().shape()
    }

    /// Elements between neighbours of each dimension.
    pub fn strides(&self) -> &[isize] {
        self.layout().strides()
    }

    /// The address of the lowest element.
    #[cfg(feature = "ndarray")]
    pub(crate) fn address(&self) -> NonNull<u8> {
        self.guard.address()
    }

    /// The address of the element with all indices zero; the others are at the
    /// [strides](StridedMap::strides). Valid, to read and write, until the guard is dropped or
    /// gives a reference.
    pub fn as_mut_ptr(&mut self) -> *mut E::Stored {
        let layout = self.layout();
        let first = layout.offset().saturating_sub(layout.span().start);
        self.guard.address().as_ptr().wrapping_add(first).cast()
    }
}

impl<T: Element> StridedMap<T> {
    /// The element at `index` (one for each dimension), or `None` if there is none.
    pub fn get(&self, index: &[usize]) -> Option<&T::Stored> {
        let bytes = element_bytes::<T::Stored>(self.layout(), index)?;
        elements(held::written(&self.guard, bytes)?).first()
    }

    /// The element at `index`, to write, or `None` if there is none.
    pub fn get_mut(&mut self, index: &[usize]) -> Option<&mut T::Stored> {
        let bytes = element_bytes::<T::Stored>(self.layout(), index)?;
        elements_mut(held::write(&mut self.guard, bytes)?).first_mut()
    }

    /// All elements in the order of their indices.
    pub fn iter(&self) -> Elements<'_, T::Stored> {
        Elements::new(self.layout(), self.guard.iter(), self.guard.rows())
    }

    /// Calls `change` with every element to write, in the order of the indices.
    pub fn for_each_mut(&mut self, mut change: impl FnMut(&mut T::Stored)) {
        let size = size_of::<T::Stored>();
        for position in Positions::new(self.layout(), self.layout().rank()) {
            let bytes = position * size..(position + 1) * size;
            let element = held::write(&mut self.guard, bytes).map(elements_mut);
            if let Some(element) = element.and_then(|elements| elements.first_mut()) {
                change(element);
            }
        }
    }
}

/// What indexing outside a tensor panics with, as slices do.
#[cold]
#[track_caller]
#[expect(clippy::panic, reason = "indexing panics, as that of slices")]
fn outside(index: &[usize], shape: &[usize]) -> ! {
    panic!("index {index:?} is out of bounds for shape {shape:?}")
}

/// Panics if there is no such element; [`StridedRead::get`] does not.
impl<T: Element, const N: usize> Index<[usize; N]> for StridedRead<T> {
    type Output = T::Stored;

    fn index(&self, index: [usize; N]) -> &T::Stored {
        self.get(&index).unwrap_or_else(|| outside(&index, self.shape()))
    }
}

/// Panics if there is no such element; [`StridedMap::get`] does not.
impl<T: Element, const N: usize> Index<[usize; N]> for StridedMap<T> {
    type Output = T::Stored;

    fn index(&self, index: [usize; N]) -> &T::Stored {
        self.get(&index).unwrap_or_else(|| outside(&index, self.shape()))
    }
}

/// Panics if there is no such element; [`StridedMap::get_mut`] does not.
impl<T: Element, const N: usize> IndexMut<[usize; N]> for StridedMap<T> {
    fn index_mut(&mut self, index: [usize; N]) -> &mut T::Stored {
        if self.get(&index).is_none() {
            outside(&index, self.shape());
        }
        self.get_mut(&index).unwrap_or_else(|| unreachable!("it was there"))
    }
}

impl<'a, T: Element> IntoIterator for &'a StridedRead<T> {
    type Item = &'a T::Stored;
    type IntoIter = Elements<'a, T::Stored>;

    fn into_iter(self) -> Elements<'a, T::Stored> {
        self.iter()
    }
}

impl<'a, T: Element> IntoIterator for &'a StridedMap<T> {
    type Item = &'a T::Stored;
    type IntoIter = Elements<'a, T::Stored>;

    fn into_iter(self) -> Elements<'a, T::Stored> {
        self.iter()
    }
}

fn debug<S: Pod + fmt::Debug>(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    layout: &Layout,
    elements: Option<Elements<'_, S>>,
) -> fmt::Result {
    let mut shown = f.debug_struct(name);
    shown.field("dtype", &layout.dtype());
    shown.field("shape", &layout.shape()).field("strides", &layout.strides());
    match elements {
        Some(elements) => shown.field("elements", &First(elements)).finish(),
        None => shown.finish_non_exhaustive(),
    }
}

impl<E: ElementKind> fmt::Debug for StridedRead<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Where the type is not known, bytes are no elements.
        let elements =
            || Elements::<E::Stored>::new(self.layout(), self.guard.iter(), self.guard.rows());
        let elements = E::KNOWN.map(|_| elements());
        debug(f, "StridedRead", self.layout(), elements)
    }
}

impl<E: ElementKind> fmt::Debug for StridedMap<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let elements =
            || Elements::<E::Stored>::new(self.layout(), self.guard.iter(), self.guard.rows());
        let elements = E::KNOWN.map(|_| elements());
        debug(f, "StridedMap", self.layout(), elements)
    }
}
