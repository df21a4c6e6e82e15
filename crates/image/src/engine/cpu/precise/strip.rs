//! A run of output rows in floating point, from the source's bytes to the destination's.
#![expect(unsafe_code, reason = "hands addresses of held rows to kernels")]

use std::ops::Range;

use super::{Feed, Precise, Tile};
use crate::engine::cpu::fixed::LANES;
use crate::engine::cpu::kernels::Kernels;
use crate::engine::cpu::kernels::precise::{Blend, ColumnSums, RowSums};
use crate::engine::cpu::workspace::Workspace;
use crate::held::PlaneAddress;

/// What a strip works on.
pub(crate) struct Planes<'a> {
    pub(crate) kernels: &'static Kernels,
    pub(crate) source: &'a [PlaneAddress],
    pub(crate) target: &'a [PlaneAddress],
    pub(crate) transposed: bool,
}

impl Precise {
    /// Makes output rows.
    ///
    /// # Safety
    /// As [`crate::engine::cpu::strip::Strip::run`].
    pub(crate) unsafe fn run(
        &self,
        planes: &Planes<'_>,
        rows: Range<usize>,
        workspace: &mut Workspace,
    ) {
        let numbers = workspace.reals(self);
        for start in rows.clone().step_by(LANES) {
            let band = start..(start + LANES).min(rows.end);
            for tile in &self.tiles {
                let n = tile.outputs.len();
                // SAFETY: the caller's promise.
                unsafe {
                    for (feed, elements) in self.feeds.iter().zip(&tile.elements) {
                        self.sum(planes, tile, (feed, elements), &band, numbers);
                    }
                    self.blend(planes.kernels, n, numbers);
                    if planes.transposed {
                        self.store_columns(planes, tile, &band, numbers);
                    } else {
                        self.store_rows(planes, tile, &band, numbers);
                    }
                }
            }
        }
    }

    /// Sums rows of a plane, and the columns that they are along them.
    ///
    /// # Safety
    /// As [`Precise::run`].
    unsafe fn sum(
        &self,
        planes: &Planes<'_>,
        tile: &Tile,
        (feed, elements): (&Feed, &Range<usize>),
        band: &Range<usize>,
        numbers: &mut [f32],
    ) {
        let Some(plane) = planes.source.get(feed.plane) else { return };
        let size = if self.words { 2 } else { 1 };
        let read = feed.down.samples(band.clone());
        // By construction; addresses depend on it.
        assert!(elements.end * size <= plane.row_bytes() && read.end <= plane.rows());
        let (columns, rest) = numbers.split_at_mut(self.scratch.parts);
        let (kept, columns) = columns.split_at_mut(self.scratch.columns);
        let columns = &mut columns[..elements.len() * LANES];
        let sums = RowSums {
            first: plane.row(0).wrapping_add(elements.start * size),
            stride: plane.stride(),
            words: self.words,
            down: &feed.down,
            rows: band.clone(),
        };
        // SAFETY: the elements lie inside the rows of a held plane.
        unsafe { (planes.kernels.precise.rows)(&sums, kept, columns) };
        for &index in &feed.components {
            let (component, Some(across)) = (&self.source[index], &self.across[index]) else {
                continue;
            };
            let (outputs, start, step) = (tile.outputs.clone(), tile.starts[index], component.step);
            let own = &mut rest[index * self.scratch.each..][..outputs.len() * LANES];
            // The column of the first sample that is read.
            let first = component.first + start * step - elements.start;
            let sums = ColumnSums { across, outputs, start, step };
            // SAFETY: the kernels are those of this processor.
            unsafe { (planes.kernels.precise.columns)(&sums, &columns[first * LANES..], own) };
        }
    }

    /// Makes what is stored, in columns.
    fn blend(&self, kernels: &Kernels, outputs: usize, numbers: &mut [f32]) {
        let scratch = &self.scratch;
        let (parts, channels) = numbers.split_at_mut(scratch.channels);
        for (channel, out) in self.channels.iter().zip(channels.chunks_mut(scratch.each)) {
            let mut own: [(f32, &[f32]); 3] = [(0.0, &[]); 3];
            for (own, (share, component)) in own.iter_mut().zip(&channel.parts) {
                let start = scratch.parts + component * scratch.each;
                *own = (*share, &parts[start..][..outputs * LANES]);
            }
            let blend = Blend {
                parts: &own[..channel.parts.len().min(3)],
                offset: channel.offset,
                least: channel.least,
                most: channel.most,
            };
            // SAFETY: the kernels are those of this processor.
            unsafe { (kernels.precise.blend)(blend, &mut out[..outputs * LANES]) };
        }
    }

    /// Stores a band, turned back to rows.
    ///
    /// # Safety
    /// As [`Precise::run`].
    unsafe fn store_rows(
        &self,
        planes: &Planes<'_>,
        tile: &Tile,
        band: &Range<usize>,
        numbers: &mut [f32],
    ) {
        let (scratch, n) = (&self.scratch, tile.outputs.len());
        let (parts, channels) = numbers.split_at_mut(scratch.channels);
        let rows = &mut parts[scratch.parts..];
        for (rows, columns) in rows.chunks_mut(scratch.each).zip(channels.chunks(scratch.each)) {
            // SAFETY: the kernels are those of this processor.
            unsafe {
                (planes.kernels.precise.to_rows)(&columns[..n * LANES], scratch.stride, rows);
            }
        }
        for (at, row) in band.clone().enumerate() {
            let place = (self.left + tile.outputs.start, self.top + row);
            let own =
                |at_channel: usize| &rows[at_channel * scratch.each + at * scratch.stride..][..n];
            // SAFETY: the caller's promise.
            unsafe { self.store(planes, own, n, place) };
        }
    }

    /// Stores columns as rows of a turned picture.
    ///
    /// # Safety
    /// As [`Precise::run`].
    unsafe fn store_columns(
        &self,
        planes: &Planes<'_>,
        tile: &Tile,
        band: &Range<usize>,
        numbers: &[f32],
    ) {
        let channels = &numbers[self.scratch.channels..];
        for (at, output) in tile.outputs.clone().enumerate() {
            let own =
                |channel: usize| &channels[channel * self.scratch.each + at * LANES..][..LANES];
            let place = (self.left + band.start, self.top + output);
            // SAFETY: the caller's promise.
            unsafe { self.store(planes, own, band.len(), place) };
        }
    }

    /// Stores `pixels` pixels at (`x`, `y`) of all planes; `own` has those of a component.
    ///
    /// # Safety
    /// As [`Precise::run`].
    unsafe fn store<'n>(
        &self,
        planes: &Planes<'_>,
        own: impl Fn(usize) -> &'n [f32],
        pixels: usize,
        (x, y): (usize, usize),
    ) {
        for store in &self.stores {
            let Some(plane) = planes.target.get(store.plane) else { continue };
            let mut rows: [&[f32]; 4] = [&[]; 4];
            for (row, index) in rows.iter_mut().zip(&store.order) {
                let channel = self.channels.iter().position(|channel| channel.index == *index);
                *row = channel.map_or(&[], &own);
            }
            let rows = &rows[..store.order.len().min(4)];
            let out = plane.row(y).wrapping_add(x * rows.len() * store.element);
            // SAFETY: the content rectangle is inside the image, by construction of the geometry, and
            // the plane is held to write.
            unsafe { (planes.kernels.precise.store)(rows, pixels, self.real, out) };
        }
    }
}
