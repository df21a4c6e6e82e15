//! The guards that give rows.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut, Range};

use bytemuck::Pod;
use tenure_layout::Layout;
use tenure_memory::{ReadRows, RowIter, Rows, WriteRows};

use super::RowsShape;
use super::iter::RowsMut;
use crate::map::{First, Positions, elements, elements_mut, held};
use crate::meta::Placed;
use crate::{ElementKind, Result};

/// Rows of a tensor to read. Others may read them too; nobody writes them.
#[must_use = "the rows are held only while the guard lives"]
pub struct RowsRead<E: ElementKind> {
    guard: ReadRows<Placed>,
    shape: RowsShape,
    element: PhantomData<fn() -> E>,
}

/// Rows of a tensor to read and write. Nobody else touches them.
#[must_use = "the rows are held only while the guard lives"]
pub struct RowsMap<E: ElementKind> {
    guard: WriteRows<Placed>,
    shape: RowsShape,
    element: PhantomData<fn() -> E>,
}

impl RowsShape {
    /// Where each row starts, in bytes from the lowest.
    fn starts(&self, layout: &Layout) -> impl ExactSizeIterator<Item = usize> + Clone + use<> {
        let size = layout.dtype().size();
        Positions::new(layout, self.axes).map(move |at| byte(size, at))
    }

    /// Which bytes row `row` is, counted from the lowest.
    fn bytes<S>(&self, layout: &Layout, row: usize) -> Option<Range<usize>> {
        if row >= self.count {
            return None;
        }
        let start = byte(layout.dtype().size(), Positions::of(layout, self.axes, row));
        Some(start..start + self.row_len * size_of::<S>())
    }

    /// All rows of what is held.
    fn rows<'a, S: Pod>(
        &self,
        layout: &Layout,
        held: RowIter<'a>,
        rows: Rows,
    ) -> impl ExactSizeIterator<Item = &'a [S]> + Clone + use<'a, S> {
        let len = self.row_len * size_of::<S>();
        self.starts(layout).map(move |start| {
            held::bytes(&rows, &held, start..start + len).map_or(&[][..], elements)
        })
    }
}

/// Which byte an element is at. Rows of half bytes start at whole ones.
fn byte(size: Option<usize>, at: usize) -> usize {
    size.map_or(at / 2, |size| at * size)
}

impl<E: ElementKind> RowsRead<E> {
    pub(super) fn new(guard: ReadRows<Placed>, shape: RowsShape) -> RowsRead<E> {
        RowsRead { guard, shape, element: PhantomData }
    }

    fn layout(&self) -> &Layout {
        &self.guard.keep().meta().layout
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.shape.count
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Elements of a row; bytes for a [`crate::TensorDyn`].
    pub fn row_len(&self) -> usize {
        self.shape.row_len
    }

    /// One row, or `None` if there are not so many.
    pub fn row(&self, row: usize) -> Option<&[E::Stored]> {
        let bytes = self.shape.bytes::<E::Stored>(self.layout(), row)?;
        held::read(&self.guard, bytes).map(elements)
    }

    /// All rows, in order.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[E::Stored]> + Clone {
        self.shape.rows(self.layout(), self.guard.iter(), self.guard.rows())
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

impl<E: ElementKind> RowsMap<E> {
    pub(super) fn new(guard: WriteRows<Placed>, shape: RowsShape) -> RowsMap<E> {
        RowsMap { guard, shape, element: PhantomData }
    }

    fn layout(&self) -> &Layout {
        &self.guard.keep().meta().layout
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.shape.count
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Elements of a row; bytes for a [`crate::TensorDyn`].
    pub fn row_len(&self) -> usize {
        self.shape.row_len
    }

    /// One row, or `None` if there are not so many.
    pub fn row(&self, row: usize) -> Option<&[E::Stored]> {
        let bytes = self.shape.bytes::<E::Stored>(self.layout(), row)?;
        held::written(&self.guard, bytes).map(elements)
    }

    /// One row to write, or `None` if there are not so many.
    pub fn row_mut(&mut self, row: usize) -> Option<&mut [E::Stored]> {
        let bytes = self.shape.bytes::<E::Stored>(self.layout(), row)?;
        held::write(&mut self.guard, bytes).map(elements_mut)
    }

    /// All rows, in order.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[E::Stored]> + Clone {
        self.shape.rows(self.layout(), self.guard.iter(), self.guard.rows())
    }

    /// All rows to write, in order.
    pub fn rows_mut(&mut self) -> impl ExactSizeIterator<Item = &mut [E::Stored]> {
        let size = size_of::<E::Stored>();
        let starts = self.shape.starts(self.layout()).map(move |start| start / size);
        let (rows, rising) = (self.guard.rows(), self.layout().is_row_major());
        RowsMut::new(self.guard.iter_mut(), &rows, starts, self.shape.row_len, rising)
    }
}

/// What indexing outside panics with, as slices do.
#[cold]
#[track_caller]
#[expect(clippy::panic, reason = "indexing panics, as that of slices")]
fn outside(row: usize, rows: usize) -> ! {
    panic!("row {row} is out of range for {rows} rows")
}

/// Panics if there are not so many rows; [`RowsRead::row`] does not.
impl<E: ElementKind> Index<usize> for RowsRead<E> {
    type Output = [E::Stored];

    fn index(&self, row: usize) -> &[E::Stored] {
        self.row(row).unwrap_or_else(|| outside(row, self.len()))
    }
}

/// Panics if there are not so many rows; [`RowsMap::row`] does not.
impl<E: ElementKind> Index<usize> for RowsMap<E> {
    type Output = [E::Stored];

    fn index(&self, row: usize) -> &[E::Stored] {
        self.row(row).unwrap_or_else(|| outside(row, self.len()))
    }
}

/// Panics if there are not so many rows; [`RowsMap::row_mut`] does not.
impl<E: ElementKind> IndexMut<usize> for RowsMap<E> {
    fn index_mut(&mut self, row: usize) -> &mut [E::Stored] {
        let rows = self.len();
        self.row_mut(row).unwrap_or_else(|| outside(row, rows))
    }
}

impl<E: ElementKind> fmt::Debug for RowsRead<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let layout = self.layout();
        f.debug_struct("RowsRead")
            .field("dtype", &layout.dtype())
            .field("shape", &layout.shape())
            .field("rows", &self.len())
            .field("elements", &First(self.rows().flatten()))
            .finish()
    }
}

impl<E: ElementKind> fmt::Debug for RowsMap<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let layout = self.layout();
        f.debug_struct("RowsMap")
            .field("dtype", &layout.dtype())
            .field("shape", &layout.shape())
            .field("rows", &self.len())
            .field("elements", &First(self.rows().flatten()))
            .finish()
    }
}
