//! Rows that become half as long, or stay as long as they are: outputs have the same weights all
//! along the row, and rows need not become columns.
//!
//! Where they become half as long, samples are dealt out in turn to two rows. All outputs together
//! are then a sum of these rows, each of them from some place on and with one weight. That takes a
//! fifth off pictures in planes of luma and chroma that become half as large. For a quarter of the
//! size, and for pixels whose components lie beside each other, dealing costs what it saves.
#![expect(unsafe_code, reason = "hands addresses of held rows to kernels")]

use std::ops::Range;

use crate::engine::cpu::feed::{Feed, Shape};
use crate::engine::cpu::fixed::Horizontal;
use crate::engine::cpu::kernels::{Place, Sum, portable};
use crate::engine::cpu::prepare::Tile;
use crate::engine::cpu::scratch::Rows;
use crate::engine::cpu::strip::{Strip, parts};

/// How a component's rows are resized so.
#[derive(Debug, PartialEq)]
pub(crate) struct Regular {
    /// Samples from one output to the next.
    pub(crate) step: usize,
    /// The outputs that all have the same weights: not those at the ends of the row.
    same: Range<usize>,
    /// Where the samples of the first of them are in the scratch memory, with their weights.
    taps: Vec<Place>,
    /// The same for each of the others.
    ends: Vec<(usize, Vec<Place>)>,
}

/// Outputs at both ends together that are made one by one.
const ENDS: usize = 16;

impl Regular {
    /// How, if so.
    fn of(table: &Horizontal) -> Option<Regular> {
        let outputs = table.first.len();
        let middle = outputs / 2;
        let first = |output: usize| table.first.get(output).copied();
        let step = first(middle + 1)?.checked_sub(first(middle)?)?;
        if table.wide || table.count == 1 || !matches!(step, 1 | 2) {
            return None;
        }
        let weights = |output: usize| &table.weights_from(output)[..2 * table.count];
        let same = |output: &usize| {
            let place = table.first[middle] + *output * step;
            place == table.first[*output] + middle * step && weights(*output) == weights(middle)
        };
        let before = (0..middle).rev().take_while(same).count();
        let after = (middle..outputs).take_while(same).count();
        (outputs - before - after <= ENDS).then(|| Regular {
            step,
            same: middle - before..middle + after,
            taps: vec![],
            ends: vec![],
        })
    }

    /// Finds where the samples of outputs are, once it is known where the rows are that samples
    /// from `start` on, `samples` of them, are dealt out to.
    pub(crate) fn place(&mut self, table: &Horizontal, rows: Rows, start: usize, samples: usize) {
        let step = self.step;
        let taps = |output: usize| {
            let weights = table.weights_from(output)[..2 * table.count].iter().step_by(2);
            let taps = weights.enumerate().filter(|(_, weight)| **weight != 0);
            taps.map(|(at, weight)| {
                let sample = table.first[output] + at - start;
                // By construction; the ends of rows depend on it.
                assert!(sample < samples);
                (rows.row(sample % step, samples / step).start + sample / step, *weight)
            })
            .collect()
        };
        self.taps = taps(self.same.start);
        let others = (0..self.same.start).chain(self.same.end..table.first.len());
        self.ends = others.map(|output| (output, taps(output))).collect();
    }
}

/// For each component how its rows are resized, if all of them can be so; `None` among them for
/// rows that have the output's width already.
pub(crate) fn find(
    feeds: &[Feed],
    along: &[Option<Horizontal>],
    tile: &Tile,
) -> Option<Vec<Option<Regular>>> {
    let of = |table: &Option<Horizontal>| match table {
        Some(table) if !table.is_copy() => Regular::of(table).map(Some),
        _ => Some(None),
    };
    let all: Vec<Option<Regular>> = along.iter().map(of).collect::<Option<_>>()?;
    let can_be_dealt = |(feed, groups): (&Feed, &Range<usize>)| match feed.shape {
        Shape::Bytes(component) => !is_halved(&all[component]) || groups.len().is_multiple_of(2),
        Shape::Pairs([a, b]) => !is_halved(&all[a]) && !is_halved(&all[b]),
        _ => false,
    };
    feeds.iter().zip(&tile.groups).all(can_be_dealt).then_some(all)
}

fn is_halved(regular: &Option<Regular>) -> bool {
    regular.as_ref().is_some_and(|regular| regular.step == 2)
}

impl Strip<'_> {
    /// Makes a row of every component: summed, and resized as [`find`] found.
    ///
    /// # Safety
    /// As [`Strip::run`].
    pub(super) unsafe fn resize_row(
        &self,
        regular: &[Option<Regular>],
        tile: &Tile,
        row: usize,
        numbers: &mut [i16],
    ) {
        for (feed, groups) in self.pass.feeds.iter().zip(&tile.groups) {
            let (taps, begin) = feed.vertical.taps(row);
            let Some(sum) = self.sum(feed, groups) else { continue };
            let sum = Sum { taps, begin, ..sum };
            // SAFETY: the groups lie inside the rows of a held plane, and the rows of the scratch
            // memory are at least as long.
            unsafe {
                match feed.shape {
                    Shape::Bytes(component) if is_halved(&regular[component]) => {
                        let dealt = self.pass.scratch.dealt[component];
                        let half = |row: usize| dealt.row(row, groups.len() / 2);
                        let [even, odd] = parts(numbers, [half(0), half(1)]);
                        (self.kernels.pairs)(sum, even, odd);
                    }
                    shape => self.sum_row(shape, sum, groups.len(), numbers),
                }
            }
            for &component in feed.shape.components() {
                if let Some(regular) = &regular[component] {
                    self.sum_along(regular, component, numbers);
                }
            }
        }
    }

    /// Sums a component's samples along the row, once they are dealt out.
    fn sum_along(&self, regular: &Regular, component: usize, numbers: &mut [i16]) {
        let (before, after) = numbers.split_at_mut(self.pass.scratch.resized[component].start);
        // SAFETY: the kernels are those of this processor.
        unsafe {
            (self.kernels.weighted)(before, &regular.taps, &mut after[regular.same.clone()]);
        }
        for (output, taps) in &regular.ends {
            after[*output] = portable::sum(taps.iter().map(|(at, weight)| (before[*at], *weight)));
        }
    }
}
