//! A run of output rows, from the source's bytes to the destination's.
//!
//! Rows are made in bands of [`LANES`]: summed down row by row, turned into columns, resized and
//! put through the colour matrix as columns, and turned back to be stored. Where nothing is
//! resized along the row, or all of it with the same weights, rows stay rows.
#![expect(unsafe_code, reason = "hands addresses of held rows to kernels")]

use std::ops::Range;

use smallvec::SmallVec;

use crate::engine::cpu::feed::{Feed, Shape};
use crate::engine::cpu::fixed::LANES;
use crate::engine::cpu::kernels::{Along, Kernels, Sum};
use crate::engine::cpu::prepare::{Pass, Tile};
use crate::engine::cpu::workspace::Workspace;
use crate::held::PlaneAddress;

/// What a strip works on.
pub(crate) struct Strip<'a> {
    pub(crate) kernels: &'static Kernels,
    pub(crate) pass: &'a Pass,
    pub(crate) source: &'a [PlaneAddress],
    pub(crate) target: &'a [PlaneAddress],
    pub(crate) transposed: bool,
    /// The output rows that are made.
    pub(crate) rows: Range<usize>,
}

impl Strip<'_> {
    /// Makes its output rows.
    ///
    /// # Safety
    /// The planes must be held, the source's to read and the destination's to write, and be those
    /// of images of the kind that the pass was prepared for. No other thread makes these rows.
    pub(crate) unsafe fn run(&self, workspace: &mut Workspace) {
        // SAFETY: the caller's promise; the kernels are those of this processor.
        unsafe {
            self.make(workspace);
            if self.goes_around() {
                (self.kernels.settle)();
            }
        }
    }

    /// Makes them; what is stored may not be seen by others yet.
    ///
    /// # Safety
    /// As [`Strip::run`].
    unsafe fn make(&self, workspace: &mut Workspace) {
        let (pass, rows) = (self.pass, self.rows.clone());
        let (numbers, picked) = workspace.parts(pass);
        for numbers in numbers.chunks_mut(pass.scratch.len.max(1)) {
            numbers[pass.scratch.opaque.clone()].fill(255 << pass.fraction);
        }
        if let (Some(chroma), Some(tile)) = (pass.direct, pass.tiles.first()) {
            // SAFETY: the caller's promise.
            return unsafe { self.run_direct(rows, tile, chroma, (numbers, picked)) };
        }
        if let (Some(gathered), Some(tile)) = (&pass.gathered, pass.tiles.first()) {
            // SAFETY: the caller's promise.
            return unsafe { self.run_gathered(rows, tile, gathered, (numbers, picked)) };
        }
        if let (true, Some(tile)) = (pass.straight, pass.tiles.first()) {
            let ending = self.ending(tile);
            for row in rows {
                // SAFETY: the caller's promise.
                unsafe {
                    match &pass.regular {
                        Some(regular) => self.resize_row(regular, tile, row, numbers),
                        None => self.sum_rows(tile, 0, row, picked, numbers),
                    }
                    self.finish_row(&ending, tile, row, numbers);
                }
            }
            return;
        }
        let together = pass.scratch.together * LANES;
        for start in rows.clone().step_by(together) {
            let rows = start..(start + together).min(rows.end);
            for tile in &pass.tiles {
                // SAFETY: the caller's promise.
                unsafe {
                    self.resize(tile, &rows, numbers);
                    for (rows, numbers) in bands(&rows).zip(numbers.chunks_mut(pass.scratch.len)) {
                        self.finish_band(tile, &rows, numbers);
                    }
                }
            }
        }
    }

    /// Whether the band after these rows is made next, and not by another thread.
    pub(super) fn goes_on(&self, rows: &Range<usize>) -> bool {
        rows.end < self.rows.end
    }

    /// How source rows of a tile are summed: all but the taps.
    pub(super) fn sum(&self, feed: &Feed, groups: &Range<usize>) -> Option<Sum<'_>> {
        let plane = self.source.get(feed.plane)?;
        let bytes = feed.shape.group_bytes();
        // By construction; addresses depend on it.
        assert!(groups.end * bytes <= plane.row_bytes() && feed.vertical.rows <= plane.rows());
        let first = plane.row(0).wrapping_add(groups.start * bytes);
        Some(Sum { first, stride: plane.stride(), ..self.weights(feed) })
    }

    /// How rows of a feed are summed: all but where they are, and the taps.
    pub(super) fn weights(&self, feed: &Feed) -> Sum<'_> {
        Sum {
            taps: &[],
            bits: feed.vertical.bits,
            fraction: self.pass.sum_fraction,
            wide: feed.vertical.wide,
            finer: feed.vertical.finer,
            signed: feed.vertical.signed,
            begin: 0,
            first: std::ptr::null(),
            stride: 0,
        }
    }

    /// Sums source rows of the feeds from `feeds` on into rows, each component to its own.
    ///
    /// # Safety
    /// As [`Strip::run`].
    pub(super) unsafe fn sum_rows(
        &self,
        tile: &Tile,
        feeds: usize,
        row: usize,
        picked: &mut [u8],
        numbers: &mut [i16],
    ) {
        for (feed, groups) in self.pass.feeds.iter().zip(&tile.groups).skip(feeds) {
            // SAFETY: the groups lie inside the rows of a held plane, and the rows of the scratch
            // memory are at least as long.
            unsafe {
                let Some(sum) = self.picked(feed, groups, row, picked) else { continue };
                self.sum_row(feed.shape, sum, groups.len(), numbers);
            }
        }
    }

    /// Sums source rows of a feed into a band's columns.
    ///
    /// # Safety
    /// As [`Strip::run`].
    unsafe fn sum_band(&self, index: usize, tile: &Tile, rows: &Range<usize>, numbers: &mut [i16]) {
        let (feed, groups) = (&self.pass.feeds[index], &tile.groups[index]);
        let Some(sum) = self.sum(feed, groups) else { return };
        let scratch = &self.pass.scratch;
        let (band, columns) = (scratch.bands[index], scratch.columns[index].clone());
        let [band_rows, columns] = parts(numbers, [band.all(), columns]);
        let n = groups.len() * feed.shape.numbers();
        let columns = &mut columns[..n * LANES];
        let all = feed.vertical.band(sum, rows, self.goes_on(rows));
        // SAFETY: the groups lie inside the rows of a held plane, and the rows of the scratch
        // memory are at least as long.
        unsafe {
            if feed.shape.is_words() {
                for (lane, row) in band_rows.chunks_mut(band.stride).take(LANES).enumerate() {
                    (self.kernels.words)(all.lane(lane), &mut row[..n]);
                }
                (self.kernels.to_columns)(band_rows, band.stride, columns);
            } else {
                (self.kernels.band)(&all, band_rows, band.stride, columns);
            }
        }
    }

    /// One row, each component to a row of its own.
    ///
    /// # Safety
    /// Rows of the plane must hold `n` groups.
    pub(super) unsafe fn sum_row(&self, shape: Shape, sum: Sum<'_>, n: usize, numbers: &mut [i16]) {
        let (kernels, scratch) = (self.kernels, &self.pass.scratch);
        let own = |component: usize, len: usize| scratch.rows[component].row(0, len);
        let mixed = |index: usize, len: usize| scratch.mixed[index]..scratch.mixed[index] + len;
        // SAFETY: the caller's promise.
        unsafe {
            match shape {
                Shape::Bytes(c) => (kernels.bytes)(sum, &mut numbers[own(c, n)]),
                Shape::Words(c) => (kernels.words)(sum, &mut numbers[own(c, n)]),
                Shape::Pairs([a, b]) => {
                    let [a, b] = parts(numbers, [own(a, n), own(b, n)]);
                    (kernels.pairs)(sum, a, b);
                }
                Shape::WordPairs([a, b]) => {
                    let [mixed, a, b] = parts(numbers, [mixed(0, 2 * n), own(a, n), own(b, n)]);
                    (kernels.words)(sum, mixed);
                    (kernels.split_pairs)(mixed, a, b);
                }
                Shape::LumaChroma { luma_first } => {
                    let ranges = [mixed(0, 2 * n), own(0, 2 * n), own(1, n), own(2, n)];
                    let [mixed, luma, u, v] = parts(numbers, ranges);
                    if luma_first {
                        (kernels.pairs)(sum, luma, mixed);
                    } else {
                        (kernels.pairs)(sum, mixed, luma);
                    }
                    (kernels.split_pairs)(mixed, u, v);
                }
                Shape::Triples([a, b, c]) => {
                    let ranges = [mixed(0, 3 * n), own(a, n), own(b, n), own(c, n)];
                    let [mixed, a, b, c] = parts(numbers, ranges);
                    (kernels.bytes)(sum, mixed);
                    (kernels.split_triples)(mixed, [a, b, c]);
                }
                Shape::Quads([a, b, c, d]) => {
                    let [one, two] = [mixed(0, 2 * n), mixed(1, 2 * n)];
                    let ranges = [one, two, own(a, n), own(b, n), own(c, n), own(d, n)];
                    let [one, two, a, b, c, d] = parts(numbers, ranges);
                    (kernels.pairs)(sum, one, two);
                    (kernels.split_pairs)(one, a, c);
                    (kernels.split_pairs)(two, b, d);
                }
            }
        }
    }

    /// Source rows to columns of the output's width.
    ///
    /// # Safety
    /// As [`Strip::run`].
    unsafe fn resize(&self, tile: &Tile, rows: &Range<usize>, numbers: &mut [i16]) {
        let scratch = &self.pass.scratch;
        for (index, (feed, groups)) in self.pass.feeds.iter().zip(&tile.groups).enumerate() {
            for (rows, numbers) in bands(rows).zip(numbers.chunks_mut(scratch.len)) {
                // SAFETY: the caller's promise.
                unsafe { self.sum_band(index, tile, &rows, numbers) };
            }
            let columns = scratch.columns[index].clone();
            for set in &self.pass.alike[index] {
                let Some(table) = &self.pass.along[set[0]] else { continue };
                let along = Along {
                    first: &table.first[tile.outputs.clone()],
                    firsts: tile.firsts[set[0]],
                    start: groups.start * feed.shape.samples(set[0]),
                    step: self.pass.source[set[0]].step,
                    weights: table.weights_from(tile.outputs.start),
                    count: table.count,
                    bits: table.bits,
                    wide: table.wide,
                };
                let mut from: SmallVec<[&[i16]; 8]> = SmallVec::new();
                let mut out: SmallVec<[&mut [i16]; 8]> = SmallVec::new();
                for (_, numbers) in bands(rows).zip(numbers.chunks_mut(scratch.len)) {
                    // Columns lie before all that is made of them.
                    let (before, after) = numbers.split_at_mut(scratch.resized_start);
                    let (mut rest, mut passed) = (after, scratch.resized_start);
                    for &component in set {
                        from.push(
                            &before[columns.clone()][self.pass.source[component].first * LANES..],
                        );
                        let start = scratch.resized[component].start;
                        let (own, others) = std::mem::take(&mut rest)
                            .split_at_mut(start + tile.outputs.len() * LANES - passed);
                        out.push(&mut own[start - passed..]);
                        (rest, passed) = (others, start + tile.outputs.len() * LANES);
                    }
                }
                // SAFETY: the caller's promise.
                unsafe { (self.kernels.horizontal)(along, &from, &mut out) };
            }
        }
    }
}

/// Output rows in bands.
fn bands(rows: &Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let end = rows.end;
    rows.clone().step_by(LANES).map(move |start| start..(start + LANES).min(end))
}

/// Several parts of the scratch memory at once.
pub(super) fn parts<const N: usize>(
    numbers: &mut [i16],
    ranges: [Range<usize>; N],
) -> [&mut [i16]; N] {
    match numbers.get_disjoint_mut(ranges) {
        Ok(parts) => parts,
        Err(_) => unreachable!("parts of the scratch memory do not overlap"),
    }
}
