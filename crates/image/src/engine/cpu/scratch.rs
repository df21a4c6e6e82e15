//! Where rows, columns and samples are in a thread's own memory.

use std::ops::Range;

use crate::engine::cpu::direct::{self, MARGIN};
use crate::engine::cpu::fixed::LANES;
use crate::engine::cpu::gathered::Dealt;
use crate::engine::cpu::picked;
use crate::engine::cpu::prepare::Pass;
use crate::engine::cpu::regular::Regular;

/// Numbers of a line of the cache: what begins with one is read in vectors that lie across no two.
const LINE: usize = 32;

/// Bands that are resized together, as they share what is read of the tables: a twentieth less to do.
const BANDS: usize = 2;

/// Numbers of all of them up to which that pays: more than half of a small second cache, beside what
/// passes through it, and what is gained is lost again.
const NEAR: usize = 160 * 1024;

/// Where things are in a thread's scratch memory, in numbers of 16 bits.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// Where nothing is resized: for rows whose components are still in turn.
    pub(crate) mixed: [usize; 2],
    /// The summed row of each component there.
    pub(crate) rows: [Rows; 4],
    /// Summed rows of each feed, components in turn as they are: a band of them.
    pub(crate) bands: [Rows; 4],
    /// Where nothing is resized: samples of each row before the first that is wanted.
    pub(crate) skip: [usize; 4],
    /// Where rows are resized along first: source rows that are kept.
    pub(crate) kept: [Ring; 4],
    /// Bands in columns.
    pub(crate) columns: [Range<usize>; 4],
    /// Columns, or rows, of the output's width, and where the first of them are: after all columns.
    pub(crate) resized: [Range<usize>; 4],
    pub(crate) resized_start: usize,
    /// Columns after the colour matrix; rows where nothing is resized.
    pub(crate) colours: [Range<usize>; 3],
    /// Finished rows of each component.
    pub(crate) finished: [Rows; 4],
    /// Opaque alpha, as long as any row or column.
    pub(crate) opaque: Range<usize>,
    pub(crate) len: usize,
    /// Bands that are resized together: for each of them there is as much.
    pub(crate) together: usize,
    /// Bytes for samples that are picked or dealt out, which lie apart.
    pub(crate) picked: usize,
}

/// Rows in the scratch memory.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Rows {
    pub(crate) start: usize,
    /// Numbers from one row to the next.
    pub(crate) stride: usize,
}

impl Rows {
    pub(crate) fn row(&self, row: usize, len: usize) -> Range<usize> {
        let start = self.start + row * self.stride;
        start..start + len
    }

    /// All rows of a band.
    pub(crate) fn all(&self) -> Range<usize> {
        self.start..self.start + LANES * self.stride
    }
}

/// Source rows that are kept, each until one comes whose number differs by as many as there are.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Ring {
    pub(crate) start: usize,
    pub(crate) stride: usize,
    /// Rows less one: their number is a power of two.
    pub(crate) mask: usize,
}

impl Ring {
    /// Where a source row begins.
    #[inline]
    pub(crate) fn place(&self, row: u32) -> usize {
        self.start + (row as usize & self.mask) * self.stride
    }
}

impl Scratch {
    fn take(&mut self, len: usize) -> Range<usize> {
        let start = self.len;
        self.len += len.next_multiple_of(LINE);
        start..start + len
    }

    fn take_rows(&mut self, len: usize, rows: usize) -> Rows {
        // An odd number of lines, so that rows do not fall on top of each other in the cache.
        let stride = (len.div_ceil(LINE) | 1) * LINE;
        Rows { start: self.take(stride * rows).start, stride }
    }
}

impl Pass {
    /// Numbers of 16 bits that a thread needs.
    pub(super) fn numbers(&self) -> usize {
        self.scratch.len * self.scratch.together
    }

    /// Finds places in the scratch memory for the largest tile.
    pub(super) fn lay_out(&mut self) {
        let outputs = self.tiles.iter().map(|tile| tile.outputs.len()).max().unwrap_or(0);
        self.scratch.together = 1;
        if self.gathered.is_some() {
            self.lay_out_gathered(outputs);
        } else if self.straight {
            self.lay_out_rows(outputs);
        } else {
            self.lay_out_bands(outputs);
        }
        let scratch = &mut self.scratch;
        if self.matrix.is_some() {
            let band = if self.straight { 1 } else { LANES };
            scratch.colours = [0, 1, 2].map(|_| scratch.take(outputs * band));
        }
        scratch.opaque = scratch.take(outputs.max(LANES));
        let dealt = self.gathered.as_ref().and_then(|gathered| gathered.dealt.as_ref());
        scratch.picked = dealt.map_or(0, Dealt::bytes);
        for (feed, groups) in self.tiles.iter().flat_map(|tile| self.feeds.iter().zip(&tile.groups))
        {
            let dealt = self.direct.is_some() && direct::is_dealt(feed);
            let all = if dealt { feed.shape.group_bytes() * groups.len() } else { 0 };
            scratch.picked = scratch.picked.max(picked::bytes(feed, groups)).max(all);
        }
    }

    /// For rows that stay rows.
    fn lay_out_rows(&mut self, outputs: usize) {
        let (scratch, mut mixed) = (&mut self.scratch, 0);
        let margin = if self.direct.is_some() { MARGIN } else { 0 };
        let Some(tile) = self.tiles.first() else { return };
        for (feed, groups) in self.feeds.iter().zip(&tile.groups) {
            mixed = mixed.max(3 * groups.len());
            for &component in feed.shape.components() {
                let samples = feed.shape.samples(component);
                let mut rows = scratch.take_rows(groups.len() * samples + 2 * margin, 1);
                rows.start += margin;
                scratch.rows[component] = rows;
                if let Some(table) = &self.along[component] {
                    let wanted = table.samples(tile.outputs.clone()).start;
                    scratch.skip[component] = wanted - groups.start * samples;
                }
                let regular = self.regular.as_mut().and_then(|all| all[component].as_mut());
                if let (Some(regular), Some(table)) = (regular, &self.along[component]) {
                    if let Regular::Sliding(sliding) = regular {
                        let (start, all) = (groups.start * samples, groups.len() * samples);
                        sliding.place(table, rows, start, all);
                    }
                    scratch.resized[component] = scratch.take(outputs);
                }
            }
        }
        scratch.mixed = [0, 1].map(|_| scratch.take(mixed).start);
    }

    /// For rows that are resized along first.
    fn lay_out_gathered(&mut self, outputs: usize) {
        let (scratch, sets) =
            (&mut self.scratch, || self.gathered.iter().flat_map(|all| &all.sets));
        for set in sets() {
            for &index in &set.outs {
                let Rows { start, stride } = scratch.take_rows(set.gather.numbers(), set.kept);
                scratch.kept[index] = Ring { start, stride, mask: set.kept - 1 };
            }
        }
        for &index in sets().flat_map(|set| &set.outs) {
            scratch.resized[index] = scratch.take(outputs);
        }
    }

    /// For bands of rows that become columns.
    fn lay_out_bands(&mut self, outputs: usize) {
        let scratch = &mut self.scratch;
        // Feeds follow each other and have the same place, which then is in a near cache.
        let (start, mut end) = (scratch.len, scratch.len);
        for (index, feed) in self.feeds.iter().enumerate() {
            let groups = self.tiles.iter().map(|tile| tile.groups[index].len()).max().unwrap_or(0);
            let tables = || feed.shape.components().iter().filter_map(|&c| self.along[c].as_ref());
            // Runs may reach beyond the last sample, with weights of zero.
            let beyond = tables().map(|table| table.count).max().unwrap_or(0);
            let numbers = feed.shape.numbers();
            scratch.len = start;
            scratch.columns[index] = scratch.take((groups + beyond) * numbers * LANES);
            scratch.bands[index] = scratch.take_rows(groups * numbers, LANES);
            end = end.max(scratch.len);
        }
        scratch.len = end;
        scratch.resized_start = scratch.len;
        for (component, _) in self.along.iter().enumerate().filter(|(_, table)| table.is_some()) {
            scratch.resized[component] = scratch.take(outputs * LANES);
        }
        let columns = scratch.columns.iter().map(Range::len).max().unwrap_or(0);
        let resized: usize = scratch.resized.iter().map(Range::len).sum();
        if BANDS * (columns + resized) <= NEAR {
            scratch.together = BANDS;
        }
        scratch.finished = [0, 1, 2, 3].map(|_| scratch.take_rows(outputs, LANES));
    }
}
