//! Rows to write, one after the other: parts of what a guard holds that do not overlap.

use std::mem;
use std::vec;

use bytemuck::Pod;
use tenure_memory::{RowIterMut, Rows};

use crate::map::elements_mut;

/// The rows of a tensor, in the order that was asked for.
pub(crate) enum RowsMut<'a, S, I> {
    /// In memory order: cut off from the front, one by one.
    Rising(Rising<'a, S, I>),
    /// In another order.
    Listed(vec::IntoIter<&'a mut [S]>),
}

/// Rows that follow each other in memory, cut off from what is held.
pub(crate) struct Rising<'a, S, I> {
    /// What is held and was not reached yet.
    held: RowIterMut<'a>,
    /// Stored elements from one held row to the next.
    stride: usize,
    /// Where the next held row starts.
    next: usize,
    /// What is left of the one reached.
    rest: &'a mut [S],
    /// Where `rest` starts.
    at: usize,
    starts: I,
    len: usize,
}

impl<'a, S, I> Rising<'a, S, I> {
    fn new(held: RowIterMut<'a>, rows: &Rows, starts: I, len: usize) -> Self {
        let stride = rows.stride() / size_of::<S>();
        Rising { held, stride, next: 0, rest: &mut [], at: 0, starts, len }
    }
}

impl<'a, S: Pod, I: ExactSizeIterator<Item = usize>> RowsMut<'a, S, I> {
    /// The rows of `len` elements at `starts`, which do not overlap and lie in the rows held;
    /// `rising` says that they come in memory order.
    pub(crate) fn new(
        held: RowIterMut<'a>,
        rows: &Rows,
        starts: I,
        len: usize,
        rising: bool,
    ) -> Self {
        if rising {
            return RowsMut::Rising(Rising::new(held, rows, starts, len));
        }
        let mut order: Vec<(usize, usize)> = starts.enumerate().map(|(i, at)| (at, i)).collect();
        order.sort_unstable();
        let cut = Rising::new(held, rows, order.iter().map(|&(at, _)| at), len);
        let mut rows: Vec<(usize, &mut [S])> =
            order.iter().map(|&(_, index)| index).zip(cut).collect();
        rows.sort_unstable_by_key(|(index, _)| *index);
        RowsMut::Listed(rows.into_iter().map(|(_, row)| row).collect::<Vec<_>>().into_iter())
    }
}

impl<'a, S: Pod, I: Iterator<Item = usize>> Iterator for Rising<'a, S, I> {
    type Item = &'a mut [S];

    fn next(&mut self) -> Option<&'a mut [S]> {
        let start = self.starts.next()?;
        while start >= self.at + self.rest.len() {
            self.rest = elements_mut(self.held.next()?);
            self.at = self.next;
            self.next += self.stride;
        }
        let (_, rest) = mem::take(&mut self.rest).split_at_mut_checked(start - self.at)?;
        let (row, rest) = rest.split_at_mut_checked(self.len)?;
        (self.rest, self.at) = (rest, start + self.len);
        Some(row)
    }
}

impl<'a, S: Pod, I: ExactSizeIterator<Item = usize>> Iterator for RowsMut<'a, S, I> {
    type Item = &'a mut [S];

    fn next(&mut self) -> Option<&'a mut [S]> {
        match self {
            RowsMut::Rising(rows) => rows.next(),
            RowsMut::Listed(rows) => rows.next(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match self {
            RowsMut::Rising(rows) => rows.starts.size_hint(),
            RowsMut::Listed(rows) => rows.size_hint(),
        }
    }
}

impl<S: Pod, I: ExactSizeIterator<Item = usize>> ExactSizeIterator for RowsMut<'_, S, I> {}
