//! A run of output rows, from the source's bytes to the destination's.
//!
//! Rows are made in bands of [`LANES`]: summed down row by row, turned into columns, resized and
//! put through the colour matrix as columns, and turned back to be stored. Where nothing is
//! resized along the row, rows stay rows.
#![expect(unsafe_code, reason = "hands addresses of held rows to kernels")]

use std::ops::Range;

use smallvec::SmallVec;

use crate::engine::cpu::feed::{Feed, Shape};
use crate::engine::cpu::fixed::LANES;
use crate::engine::cpu::kernels::{Along, Finished, Kernels, Sum, Tap};
use crate::engine::cpu::prepare::{How, Pass, Store, Tile};
use crate::held::PlaneAddress;

/// What a strip works on.
#[derive(Clone, Copy)]
pub(crate) struct Strip<'a> {
    pub(crate) kernels: &'static Kernels,
    pub(crate) pass: &'a Pass,
    pub(crate) source: &'a [PlaneAddress],
    pub(crate) target: &'a [PlaneAddress],
    pub(crate) transposed: bool,
}

/// A thread's own memory, kept from one picture to the next.
#[derive(Debug, Default)]
pub(crate) struct Workspace {
    numbers: Vec<i16>,
    taps: Vec<Tap>,
    /// Where in `taps` those of each row of each feed are.
    spans: Vec<Range<usize>>,
}

impl Strip<'_> {
    /// Makes the output rows `rows`.
    ///
    /// # Safety
    /// The planes must be held, the source's to read and the destination's to write, and be those
    /// of images of the kind that the pass was prepared for. No other thread makes these rows.
    pub(crate) unsafe fn run(&self, rows: Range<usize>, workspace: &mut Workspace) {
        let pass = self.pass;
        let Workspace { numbers, taps, spans } = workspace;
        if numbers.len() < pass.scratch.len {
            numbers.resize(pass.scratch.len, 0);
        }
        numbers[pass.scratch.opaque.clone()].fill(255 << pass.fraction);
        let (band, first) = (if pass.straight { 1 } else { LANES }, rows.start);
        for start in rows.clone().step_by(band) {
            let rows = start..(start + band).min(rows.end);
            taps.clear();
            spans.clear();
            for feed in &pass.feeds {
                for row in rows.clone() {
                    let from = taps.len();
                    self.add_taps(feed, row, taps);
                    spans.push(from..taps.len());
                }
            }
            for tile in &pass.tiles {
                let sums = spans.iter().map(|span| &taps[span.clone()]);
                // SAFETY: the caller's promise.
                unsafe {
                    if let Some(chroma) = pass.direct {
                        let known = rows.start > first
                            && pass.feeds[1..]
                                .iter()
                                .all(|feed| feed.vertical.alike(rows.start - 1, rows.start));
                        if !known {
                            let skip = rows.len();
                            self.sum(tile, 1, rows.len(), sums.skip(skip), numbers);
                        }
                        self.store_direct(rows.start, chroma, numbers);
                        continue;
                    }
                    self.sum(tile, 0, rows.len(), sums, numbers);
                    if pass.straight {
                        self.colour(tile.outputs.len(), numbers);
                        self.store_row(tile, rows.start, numbers);
                    } else {
                        self.resize(tile, numbers);
                        self.colour(tile.outputs.len() * LANES, numbers);
                        self.store_band(tile, &rows, numbers);
                    }
                }
            }
        }
    }

    /// The source rows of an output row.
    fn add_taps(&self, feed: &Feed, row: usize, taps: &mut Vec<Tap>) {
        let Some(plane) = self.source.get(feed.plane) else { return };
        let rows = feed.vertical.rows(row);
        taps.extend(rows.map(|(row, weight)| Tap::new(plane.row_offset(row), weight)));
    }

    /// Sums source rows of the feeds from `feeds` on into the band's rows, for one tile.
    ///
    /// # Safety
    /// As [`Strip::run`].
    unsafe fn sum<'t>(
        &self,
        tile: &Tile,
        feeds: usize,
        rows: usize,
        mut taps: impl Iterator<Item = &'t [Tap]>,
        numbers: &mut [i16],
    ) {
        let all = self.pass.feeds.iter().zip(&tile.groups).enumerate().skip(feeds);
        for (index, (feed, groups)) in all {
            let Some(plane) = self.source.get(feed.plane) else { continue };
            let bytes = feed.shape.group_bytes();
            debug_assert!(groups.end * bytes <= plane.row_bytes());
            let sum = Sum {
                taps: &[],
                bits: feed.vertical.bits,
                fraction: self.pass.sum_fraction,
                wide: feed.vertical.wide,
                begin: 0,
                first: plane.row(0).wrapping_add(groups.start * bytes),
            };
            for row in 0..rows {
                let taps = taps.next().unwrap_or(&[]);
                let sum = Sum { taps, begin: Tap::lost(taps), ..sum };
                // SAFETY: the groups lie inside the rows of a held plane, since taps stay inside
                // the image, and the rows of the scratch memory are at least as long.
                unsafe {
                    if self.pass.straight {
                        self.sum_row(feed.shape, sum, groups.len(), numbers);
                    } else {
                        let len = groups.len() * feed.shape.numbers();
                        let out = &mut numbers[self.pass.scratch.bands[index].row(row, len)];
                        let words = feed.shape.is_words();
                        (if words { self.kernels.words } else { self.kernels.bytes })(sum, out);
                    }
                }
            }
        }
    }

    /// One row, each component to a row of its own.
    ///
    /// # Safety
    /// Rows of the plane must hold `n` groups.
    unsafe fn sum_row(&self, shape: Shape, sum: Sum<'_>, n: usize, numbers: &mut [i16]) {
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

    /// Summed rows to columns of the output's width.
    ///
    /// # Safety
    /// The kernels must be those of this processor.
    unsafe fn resize(&self, tile: &Tile, numbers: &mut [i16]) {
        let scratch = &self.pass.scratch;
        for (index, (feed, groups)) in self.pass.feeds.iter().zip(&tile.groups).enumerate() {
            let (band, columns) = (scratch.bands[index], scratch.columns[index].clone());
            let [rows, turned] = parts(numbers, [band.all(), columns.clone()]);
            let turned = &mut turned[..groups.len() * feed.shape.numbers() * LANES];
            // SAFETY: the caller's promise.
            unsafe { (self.kernels.to_columns)(rows, band.stride, turned) };
            for &component in feed.shape.components() {
                let Some(table) = &self.pass.along[component] else { continue };
                let place = self.pass.source[component];
                let start = scratch.resized[component].start;
                let outputs = start..start + tile.outputs.len() * LANES;
                let [columns, resized] = parts(numbers, [columns.clone(), outputs]);
                let along = Along {
                    first: &table.first[tile.outputs.clone()],
                    start: groups.start * feed.shape.samples(component),
                    step: place.step,
                    weights: &table.weights[tile.outputs.start * table.count..],
                    count: table.count,
                    bits: table.bits,
                    wide: table.wide,
                };
                // SAFETY: the caller's promise.
                unsafe {
                    (self.kernels.horizontal)(along, &columns[place.first * LANES..], resized)
                };
            }
        }
    }

    /// Where the numbers of a component are before the colour matrix.
    fn plain(&self, component: usize) -> usize {
        let scratch = &self.pass.scratch;
        match (self.pass.along.get(component), self.pass.straight) {
            (Some(Some(_)), true) => scratch.rows[component].start + scratch.skip[component],
            (Some(Some(_)), false) => scratch.resized[component].start,
            _ => scratch.opaque.start,
        }
    }

    /// `n` numbers of each component through the colour matrix.
    fn colour(&self, n: usize, numbers: &mut [i16]) {
        let Some(matrix) = &self.pass.matrix else { return };
        let colours = &self.pass.scratch.colours;
        let (before, after) = numbers.split_at_mut(colours[0].start);
        let used = |component: usize| matches!(self.pass.along.get(component), Some(Some(_)));
        let any = (0..3).find(|&component| used(component)).unwrap_or(0);
        let from = [0, 1, 2].map(|component| {
            // A component that the matrix ignores may be any other.
            let component = if used(component) { component } else { any };
            &before[self.plain(component)..][..n]
        });
        let own = |range: &Range<usize>| {
            let start = range.start - colours[0].start;
            start..start + n
        };
        let to = parts(after, [own(&colours[0]), own(&colours[1]), own(&colours[2])]);
        // SAFETY: the kernels are those of this processor.
        unsafe { (self.kernels.matrix)(matrix, from, to) }
    }

    /// Where the finished numbers of a component are.
    fn finished(&self, component: usize) -> usize {
        let colours = &self.pass.scratch.colours;
        match (&self.pass.matrix, colours.get(component)) {
            (Some(_), Some(range)) => range.start,
            _ => self.plain(component),
        }
    }

    /// Whether a component is the same everywhere: alpha that the source does not have.
    fn is_opaque(&self, component: usize) -> bool {
        self.finished(component) == self.pass.scratch.opaque.start
    }

    /// # Safety
    /// As [`Strip::run`].
    unsafe fn store_row(&self, tile: &Tile, row: usize, numbers: &[i16]) {
        for store in &self.pass.stores {
            let n = tile.outputs.len();
            let rows = store.order.iter().map(|&index| &numbers[self.finished(index)..][..n]);
            let rows: SmallVec<[&[i16]; 4]> = rows.collect();
            let at = (self.pass.left + tile.outputs.start, self.pass.top + row);
            // SAFETY: the caller's promise.
            unsafe { self.store(store, &rows, n, at) };
        }
    }

    /// Stores a band: turned back to rows, or its columns as rows of a turned picture.
    ///
    /// # Safety
    /// As [`Strip::run`].
    unsafe fn store_band(&self, tile: &Tile, rows: &Range<usize>, numbers: &mut [i16]) {
        let (pass, n) = (self.pass, tile.outputs.len());
        if self.transposed {
            for (at, output) in tile.outputs.clone().enumerate() {
                for store in &pass.stores {
                    let column = |&index: &usize| {
                        let at = if self.is_opaque(index) { 0 } else { at * LANES };
                        &numbers[self.finished(index) + at..][..LANES]
                    };
                    let columns: SmallVec<[&[i16]; 4]> = store.order.iter().map(column).collect();
                    let at = (pass.left + rows.start, pass.top + output);
                    // SAFETY: the caller's promise.
                    unsafe { self.store(store, &columns, rows.len(), at) };
                }
            }
            return;
        }
        for &component in pass.stores.iter().flat_map(|store| &store.order) {
            if self.is_opaque(component) {
                continue;
            }
            let start = self.finished(component);
            let back = pass.scratch.finished[component];
            let [columns, back_of] = parts(numbers, [start..start + n * LANES, back.all()]);
            // SAFETY: the kernels are those of this processor.
            unsafe { (self.kernels.to_rows)(columns, back.stride, back_of) };
        }
        for row in 0..rows.len() {
            for store in &pass.stores {
                let row_of = |&index: &usize| match self.is_opaque(index) {
                    true => &numbers[pass.scratch.opaque.start..][..n],
                    false => &numbers[pass.scratch.finished[index].row(row, n)],
                };
                let finished: SmallVec<[&[i16]; 4]> = store.order.iter().map(row_of).collect();
                let at = (pass.left + tile.outputs.start, pass.top + rows.start + row);
                // SAFETY: the caller's promise.
                unsafe { self.store(store, &finished, n, at) };
            }
        }
    }

    /// Stores `pixels` pixels of finished rows at (`x`, `y`) of a plane.
    ///
    /// # Safety
    /// As [`Strip::run`].
    unsafe fn store(&self, store: &Store, rows: &[&[i16]], pixels: usize, (x, y): (usize, usize)) {
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

/// Several parts of the scratch memory at once.
fn parts<const N: usize>(numbers: &mut [i16], ranges: [Range<usize>; N]) -> [&mut [i16]; N] {
    match numbers.get_disjoint_mut(ranges) {
        Ok(parts) => parts,
        Err(_) => unreachable!("parts of the scratch memory do not overlap"),
    }
}
