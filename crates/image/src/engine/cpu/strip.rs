//! A run of output rows, from the source's bytes to the destination's.
#![expect(unsafe_code, reason = "hands addresses of held rows to kernels")]

use std::ops::Range;

use smallvec::SmallVec;

use crate::engine::cpu::feed::{Feed, Shape};
use crate::engine::cpu::fixed::LANES;
use crate::engine::cpu::kernels::{Finished, Kernels, Sum, Tap};
use crate::engine::cpu::prepare::{How, Pass, Path, Store};
use crate::held::PlaneAddress;

/// Rows that are turned together when the destination's rows are the source's columns.
pub(crate) const TURNED: usize = LANES;

/// What a strip works on.
#[derive(Clone, Copy)]
pub(crate) struct Strip<'a> {
    pub(crate) kernels: &'static Kernels,
    pub(crate) pass: &'a Pass,
    pub(crate) source: &'a [PlaneAddress],
    pub(crate) target: &'a [PlaneAddress],
    pub(crate) transposed: bool,
}

impl Strip<'_> {
    /// Numbers of scratch memory that a strip needs.
    pub(crate) fn scratch_len(pass: &Pass, transposed: bool) -> usize {
        let turned = if transposed { 4 * TURNED * (pass.across + 1) } else { 0 };
        pass.scratch.len + turned
    }

    /// Makes the output rows `rows`.
    ///
    /// # Safety
    /// The planes must be held, the source's to read and the destination's to write, and be those
    /// of images of the kind that the pass was prepared for. No other thread makes these rows.
    pub(crate) unsafe fn run(&self, rows: Range<usize>, scratch: &mut [i16]) {
        let pass = self.pass;
        if let Some(opaque) = scratch.get_mut(pass.scratch.opaque.clone()) {
            opaque.fill(255 << pass.fraction);
        }
        let mut before = None;
        for row in rows.clone() {
            for feed in &pass.feeds {
                // Several outputs of the same source rows are made once.
                if before.is_none_or(|before| !feed.vertical.alike(before, row)) {
                    // SAFETY: the caller's promise.
                    unsafe { self.feed(feed, row, scratch) };
                }
            }
            self.colour(scratch);
            // SAFETY: the caller's promise.
            unsafe {
                if self.transposed {
                    self.turn(row, &rows, scratch);
                } else {
                    for store in &pass.stores {
                        let rows = store.order.iter().map(|&index| &scratch[self.finished(index)]);
                        let rows: SmallVec<[&[i16]; 4]> = rows.collect();
                        self.store(store, &rows, pass.across, pass.left, pass.top + row);
                    }
                }
            }
            before = Some(row);
        }
    }

    /// Where the finished row of a component is.
    fn finished(&self, component: usize) -> Range<usize> {
        let scratch = &self.pass.scratch;
        match (self.pass.matrix.is_some(), scratch.colours.get(component)) {
            (true, Some(row)) => row.clone(),
            _ => match self.pass.paths.get(component).and_then(Option::as_ref) {
                Some(path) => path.resized.clone(),
                None => scratch.opaque.clone(),
            },
        }
    }

    /// Sums a feed's rows for one output row and resizes what comes out.
    ///
    /// # Safety
    /// As [`Strip::run`].
    unsafe fn feed(&self, feed: &Feed, row: usize, scratch: &mut [i16]) {
        let (kernels, vertical) = (self.kernels, &feed.vertical);
        let Some(plane) = self.source.get(feed.plane) else { return };
        let offset = feed.groups.start * feed.shape.group_bytes();
        debug_assert!(feed.groups.end * feed.shape.group_bytes() <= plane.row_bytes());
        let mut taps: SmallVec<[Tap; 64]> = SmallVec::new();
        taps.extend(
            vertical
                .rows(row)
                .map(|(row, weight)| Tap { row: plane.row(row).wrapping_add(offset), weight }),
        );
        let sum = Sum {
            taps: &taps,
            bits: vertical.bits,
            fraction: self.pass.sum_fraction,
            wide: vertical.wide,
            signed: vertical.signed,
        };
        let n = feed.groups.len();
        let mixed = |index: usize, len: usize| {
            let start = self.pass.scratch.mixed[index].start;
            start..start + len
        };
        let path = |component: usize| self.pass.paths[component].as_ref();
        let summed = |component: usize, len: usize| {
            let start = path(component).map_or(0, |path| path.summed.start);
            start..start + len
        };
        // SAFETY: every feed reads whole groups inside the rows of a held plane (prepared from
        // taps that stay inside the image), and writes to rows of the scratch memory that are at
        // least as long.
        unsafe {
            match feed.shape {
                Shape::Bytes(c) => (kernels.bytes)(sum, &mut scratch[summed(c, n)]),
                Shape::Words(c) => (kernels.words)(sum, &mut scratch[summed(c, n)]),
                Shape::Pairs([a, b]) => {
                    let [a, b] = rows(scratch, [summed(a, n), summed(b, n)]);
                    (kernels.pairs)(sum, a, b);
                }
                Shape::WordPairs([a, b]) => {
                    let ranges = [mixed(0, 2 * n), summed(a, n), summed(b, n)];
                    let [mixed, a, b] = rows(scratch, ranges);
                    (kernels.words)(sum, mixed);
                    (kernels.split_pairs)(mixed, a, b);
                }
                Shape::LumaChroma { luma_first } => {
                    let ranges = [mixed(0, 2 * n), summed(0, 2 * n), summed(1, n), summed(2, n)];
                    let [mixed, luma, u, v] = rows(scratch, ranges);
                    let (even, odd) = if luma_first { (luma, mixed) } else { (mixed, luma) };
                    (kernels.pairs)(sum, even, odd);
                    (kernels.split_pairs)(if luma_first { odd } else { even }, u, v);
                }
                Shape::Triples([a, b, c]) => {
                    let ranges = [mixed(0, 3 * n), summed(a, n), summed(b, n), summed(c, n)];
                    let [mixed, a, b, c] = rows(scratch, ranges);
                    (kernels.bytes)(sum, mixed);
                    (kernels.split_triples)(mixed, [a, b, c]);
                }
                Shape::Quads([a, b, c, d]) => {
                    let ranges = [mixed(0, 2 * n), mixed(1, 2 * n)];
                    let own = [summed(a, n), summed(b, n), summed(c, n), summed(d, n)];
                    let [one, two, a, b, c, d] = rows(
                        scratch,
                        [
                            ranges[0].clone(),
                            ranges[1].clone(),
                            own[0].clone(),
                            own[1].clone(),
                            own[2].clone(),
                            own[3].clone(),
                        ],
                    );
                    (kernels.pairs)(sum, one, two);
                    (kernels.split_pairs)(one, a, c);
                    (kernels.split_pairs)(two, b, d);
                }
            }
            for path in feed.shape.components().iter().filter_map(|&c| path(c)) {
                if let Some(table) = &path.horizontal {
                    let [from, to] = rows(scratch, [path.summed.clone(), path.resized.clone()]);
                    (kernels.horizontal)(table, from, to);
                }
            }
        }
    }

    /// Resized rows through the colour matrix.
    fn colour(&self, scratch: &mut [i16]) {
        let Some(matrix) = &self.pass.matrix else { return };
        let n = self.pass.across;
        let colours = &self.pass.scratch.colours;
        let (before, after) = scratch.split_at_mut(colours[0].start);
        let from = [0, 1, 2].map(|component| {
            let path = self.pass.paths.get(component).and_then(Option::as_ref);
            // A component that the matrix ignores may be any row that is long enough.
            let long = |path: &&Path| path.resized.len() >= n;
            let path = path.filter(long).or(self.pass.paths.iter().flatten().find(long));
            path.map_or(&[][..], |path| &before[path.resized.start..][..n])
        });
        let own = |range: &Range<usize>| {
            let start = range.start - colours[0].start;
            start..start + n
        };
        let to = rows(after, [own(&colours[0]), own(&colours[1]), own(&colours[2])]);
        // SAFETY: the kernels are those of this processor.
        unsafe { (self.kernels.matrix)(matrix, from, to) }
    }

    /// Keeps a finished row until there are enough to turn, and then stores the columns.
    ///
    /// # Safety
    /// As [`Strip::run`].
    unsafe fn turn(&self, row: usize, rows: &Range<usize>, scratch: &mut [i16]) {
        let pass = self.pass;
        let (across, kept) = (pass.across, pass.scratch.len);
        let within = (row - rows.start) % TURNED;
        let components = pass.stores.iter().flat_map(|store| &store.order);
        for &component in components {
            let from = self.finished(component).start;
            let to = kept + (component * TURNED + within) * across;
            scratch.copy_within(from..from + across, to);
        }
        if within + 1 < TURNED && row + 1 < rows.end {
            return;
        }
        let (count, first) = (within + 1, row - within);
        let mut columns = [[0i16; TURNED]; 4];
        for column in 0..across {
            for store in &pass.stores {
                for (&component, column_of) in store.order.iter().zip(&mut columns) {
                    for (index, value) in column_of.iter_mut().enumerate().take(count) {
                        *value = scratch[kept + (component * TURNED + index) * across + column];
                    }
                }
                let rows = columns.iter().take(store.order.len()).map(|column| &column[..]);
                let rows: SmallVec<[&[i16]; 4]> = rows.collect();
                // SAFETY: the caller's promise.
                unsafe { self.store(store, &rows, count, pass.left + first, pass.top + column) };
            }
        }
    }

    /// Stores `pixels` pixels of finished rows at (`x`, `y`) of a plane.
    ///
    /// # Safety
    /// As [`Strip::run`].
    unsafe fn store(&self, store: &Store, rows: &[&[i16]], pixels: usize, x: usize, y: usize) {
        let Some(plane) = self.target.get(store.plane) else { return };
        let out = plane.row(y).wrapping_add(x * rows.len() * store.element);
        let finished = Finished { rows, fraction: self.pass.fraction, pixels };
        // SAFETY: the content rectangle is inside the image, by construction of the geometry, and
        // the plane is held to write.
        unsafe {
            match &store.how {
                How::Bytes(flip) => (self.kernels.store_bytes)(finished, *flip, out),
                How::Scaled(real, scale) => (self.kernels.store_real)(finished, scale, *real, out),
            }
        }
    }
}

/// Several rows of the scratch memory at once.
fn rows<const N: usize>(scratch: &mut [i16], ranges: [Range<usize>; N]) -> [&mut [i16]; N] {
    match scratch.get_disjoint_mut(ranges) {
        Ok(rows) => rows,
        Err(_) => unreachable!("rows of the scratch memory do not overlap"),
    }
}
