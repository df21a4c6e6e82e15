//! Where the samples of outputs are in a row, in tables that kernels read.

use std::ops::Range;

use super::dealt::Dealt;
use crate::component::Component;
use crate::engine::cpu::feed::Feed;
use crate::engine::cpu::fixed::rounded;
use crate::engine::cpu::kernels::{Gather, Samples, Then, Way};
use crate::engine::cpu::loss::uneven;
use crate::held::PlaneAddress;
use crate::taps::Taps;

/// Components that are resized alike, along rows and down.
#[derive(Debug)]
pub(crate) struct Set {
    /// The feed of the first of them: the others are summed like it.
    pub(crate) feed: usize,
    /// Their planes, and the first byte of each in a row.
    parts: Vec<(usize, usize)>,
    /// The kept rows that they become.
    pub(crate) outs: Vec<usize>,
    pub(crate) gather: Gather,
    /// What becomes of sums before they are kept.
    pub(super) then: Then,
    /// Bytes of rows from the first that is read to the last.
    pub(super) read: Range<usize>,
    /// Source rows that are kept, one more than an output row needs: a power of two.
    pub(crate) kept: usize,
}

/// Sets of all components, if rows of each can be resized so, and lose no more of a code than is
/// `allowed`.
pub(crate) fn find(
    feeds: &[Feed],
    taps: &[Option<(Taps, Taps)>],
    source: &[Component],
    width: usize,
    (ways, allowed): (&[Way], Option<f64>),
) -> Option<Vec<Set>> {
    let source = if Dealt::are(feeds) { Dealt::COMPONENTS } else { source };
    let mut groups: Vec<Vec<usize>> = vec![];
    for index in (0..source.len()).filter(|&index| taps[index].is_some()) {
        let same = |group: &&mut Vec<usize>| {
            taps[group[0]] == taps[index] && source[group[0]].step == source[index].step
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(index),
            None => groups.push(vec![index]),
        }
    }
    let set = |group| Set::new(group, feeds, taps, source, width, (ways, allowed));
    groups.into_iter().map(set).collect()
}

impl Set {
    fn new(
        outs: Vec<usize>,
        feeds: &[Feed],
        taps: &[Option<(Taps, Taps)>],
        source: &[Component],
        width: usize,
        (ways, allowed): (&[Way], Option<f64>),
    ) -> Option<Set> {
        let (mut row_bytes, mut rows) = (usize::MAX, 1);
        for &index in &outs {
            let feed = feeds.iter().find(|feed| feed.shape.components().contains(&index))?;
            let (shape, vertical, own) = (feed.shape, &feed.vertical, &source[index]);
            rows = rows.max(vertical.most());
            let narrow = !vertical.wide && !vertical.finer && !vertical.signed;
            if shape.is_words() || feed.places.is_some() || !narrow {
                return None;
            }
            let groups = width.div_ceil(own.across * shape.samples(index));
            row_bytes = row_bytes.min(groups * Dealt::group_bytes(shape) - own.first);
        }
        let feed = feeds.iter().position(|feed| feed.shape.components().contains(&outs[0]))?;
        let (across, down) = taps[outs[0]].as_ref()?;
        let step = source[outs[0]].step;
        let exact = |gather: &Gather| {
            allowed.is_none_or(|allowed| lost(across, down, rows, gather.way) <= allowed)
        };
        let mut ways = ways.iter().filter(|way| rows <= way.rows);
        let tables = |way: &Way| tables(across, step, row_bytes, *way).filter(exact);
        let gather = ways.find_map(tables)?;
        if Dealt::are(feeds) && !Dealt::pays(&gather, across.first.len()) {
            return None;
        }
        let parts = outs.iter().map(|&index| (source[index].plane, source[index].first)).collect();
        let firsts = || outs.iter().map(|&index| source[index].first);
        let read = gather.read();
        let read = read.start + firsts().min()?..read.end + firsts().max()?;
        let then = Then::Nothing;
        Some(Set { feed, parts, outs, gather, then, read, kept: (rows + 1).next_power_of_two() })
    }

    /// The planes that are read.
    #[inline]
    pub(super) fn planes(&self) -> impl Iterator<Item = usize> {
        let all = self.parts.iter().map(|(plane, _)| *plane).enumerate();
        let first = |plane: usize| self.parts.iter().position(|(own, _)| *own == plane);
        all.filter(move |(at, plane)| first(*plane) == Some(*at)).map(|(_, plane)| plane)
    }

    /// Bytes from a row of the first component to the next.
    pub(super) fn stride(&self, planes: &[PlaneAddress]) -> usize {
        self.parts.first().map_or(0, |(plane, _)| planes[*plane].stride())
    }

    /// Where a row of each component begins: how many of them there are.
    pub(super) fn rows(
        &self,
        planes: &[PlaneAddress],
        row: usize,
        from: &mut [*const u8],
    ) -> usize {
        for (from, (plane, first)) in from.iter_mut().zip(&self.parts) {
            let plane = &planes[*plane];
            // By construction; addresses depend on it.
            assert!(self.read.end <= plane.row_bytes() && row < plane.rows());
            *from = plane.row(row).wrapping_add(*first).cast_const();
        }
        self.parts.len().min(from.len())
    }
}

/// How much of a code is lost at most.
fn lost(across: &Taps, down: &Taps, rows: usize, way: Way) -> f64 {
    let unit = 1.0 / 128.0;
    let bits = way.weight_bits();
    let along = match way.samples {
        // What smaller parts of weights leave is cut off.
        Samples::Together | Samples::Apart => unit,
        Samples::Words => unit / 2.0,
    };
    let along =
        along + 255.0 * uneven(across, &rounded(across, across.count, bits), across.count, bits);
    // Weights of rows, where one itself is a little less; products are rounded one by one.
    let mut weights = rounded(down, down.count, 15);
    weights.iter_mut().for_each(|weight| *weight = (*weight).min(i16::MAX.into()));
    along + rows as f64 / 2.0 * unit + 255.0 * uneven(down, &weights, down.count, 15)
}

/// The tables for these taps, of samples `step` bytes apart in rows of as many bytes, if outputs
/// are made of few samples that are near enough to each other.
fn tables(taps: &Taps, step: usize, row_bytes: usize, way: Way) -> Option<Gather> {
    let weights = rounded(taps, taps.count, way.weight_bits());
    if weights.iter().any(|weight| *weight < 0) {
        return None;
    }
    // The first sample of an output, and the weights of that and those after it.
    let output = |output: usize| {
        let weights = &weights[output * taps.count..][..taps.count];
        let end = weights.iter().rposition(|weight| *weight != 0).map_or(0, |last| last + 1);
        let skipped = weights[..end].iter().take_while(|weight| **weight == 0).count();
        (taps.first[output] + skipped, &weights[skipped..end])
    };
    let outputs = taps.first.len();
    let most = (0..outputs).map(|index| output(index).1.len()).max()?;
    let pairs = most.div_ceil(2);
    if pairs > way.pairs || outputs < way.outputs {
        return None;
    }
    // Outputs have all their samples inside the row, some of them without weight, and so do windows.
    let last_first = row_bytes.div_ceil(step).checked_sub(2 * pairs)?;
    let last_start = row_bytes.checked_sub(way.reach(pairs, step))?;
    let (mut windows, mut tables) = (vec![], vec![]);
    for block in (0..outputs).step_by(way.block) {
        let mut table = vec![0; way.table_bytes(pairs)];
        for run in (0..way.block).step_by(way.run) {
            // What fills the last run is the last output again.
            let own = |at: usize| output((block + at).min(outputs - 1));
            let first = |at: usize| own(at).0.min(last_first);
            let all = run..run + way.run;
            let start = (all.clone().map(first).min()? * step).min(last_start);
            let last = all.clone().map(first).max()? * step + way.spread(pairs, step);
            if last >= start + way.window {
                return None;
            }
            windows.push(u32::try_from(start).ok()?);
            for at in all {
                way.put_place(&mut table, at, first(at) * step - start, step);
                let (from, weights) = own(at);
                for (index, weight) in (from - first(at)..).zip(weights) {
                    way.put_weight(&mut table, at, index, *weight);
                }
            }
        }
        tables.extend(table);
    }
    Some(Gather::new(way, windows, &tables, pairs, step))
}
