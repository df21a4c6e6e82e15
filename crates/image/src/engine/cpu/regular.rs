//! Rows that become half as long, or stay as long as they are: outputs have the same weights all
//! along the row, and rows need not become columns.
//!
//! For a quarter of the size, and for pixels whose components lie beside each other, columns are as
//! fast.
#![expect(unsafe_code, reason = "hands addresses of held rows to kernels")]

use std::ops::Range;

use crate::engine::cpu::feed::{Feed, Shape};
use crate::engine::cpu::fixed::Horizontal;
use crate::engine::cpu::kernels::{Sum, Uniform};
use crate::engine::cpu::prepare::Tile;
use crate::engine::cpu::strip::{Strip, parts};

mod sliding;
mod uniform;

use sliding::Sliding;

/// How a component's rows are resized so.
#[derive(Debug, PartialEq)]
pub(crate) enum Regular {
    /// Once they are summed.
    Sliding(Sliding),
    /// With it, and half as long.
    Halved(Uniform<4>),
    /// With it, together with the component beside it.
    Paired(Uniform<2>),
}

/// Outputs at both ends together that are made one by one.
const ENDS: usize = 16;

/// Samples from one output to the next, and the outputs that all have the same weights, if that is
/// all but some at the ends of the row.
fn uniform(table: &Horizontal) -> Option<(usize, Range<usize>)> {
    let outputs = table.first.len();
    let middle = outputs / 2;
    let first = |output: usize| table.first.get(output).copied();
    let step = first(middle + 1)?.checked_sub(first(middle)?)?;
    if table.wide || table.count == 1 {
        return None;
    }
    let weights = |output: usize| &table.weights_from(output)[..2 * table.count];
    let same = |output: &usize| {
        let place = table.first[middle] + *output * step;
        place == table.first[*output] + middle * step && weights(*output) == weights(middle)
    };
    let before = (0..middle).rev().take_while(same).count();
    let after = (middle..outputs).take_while(same).count();
    (outputs - before - after <= ENDS).then_some((step, middle - before..middle + after))
}

/// The samples of an output that count, with their weights.
fn taps(table: &Horizontal, output: usize) -> impl Iterator<Item = (usize, i16)> {
    let weights = table.weights_from(output)[..2 * table.count].iter().step_by(2);
    let first = table.first[output];
    weights.enumerate().filter(|(_, weight)| **weight != 0).map(move |(at, w)| (first + at, *w))
}

/// For each component how its rows are resized, if all of them can be so; `None` among them for
/// rows that have the output's width already. Sums have `fraction` bits after the point.
pub(crate) fn find(
    feeds: &[Feed],
    along: &[Option<Horizontal>],
    tile: &Tile,
    fraction: u32,
) -> Option<Vec<Option<Regular>>> {
    let mut all: Vec<Option<Regular>> = along.iter().map(|_| None).collect();
    for (feed, groups) in feeds.iter().zip(&tile.groups) {
        let down = (&feed.vertical, fraction);
        let alike = |[a, b]: [usize; 2]| along[a] == along[b];
        for &component in feed.shape.components() {
            let Some(table) = along[component].as_ref().filter(|table| !table.is_copy()) else {
                continue;
            };
            let (step, same) = uniform(table)?;
            let found = || (step, same.clone());
            all[component] = Some(match (step, feed.shape) {
                (2, Shape::Bytes(_)) => Regular::Halved(Uniform::of(table, found(), down, groups)?),
                (1, Shape::Bytes(_)) => Regular::Sliding(Sliding::new(same)),
                (1, Shape::Pairs(both)) => {
                    let paired = alike(both).then(|| Uniform::of(table, found(), down, groups));
                    match paired.flatten() {
                        Some(paired) => Regular::Paired(paired),
                        None => Regular::Sliding(Sliding::new(same)),
                    }
                }
                _ => return None,
            });
        }
        if !matches!(feed.shape, Shape::Bytes(_) | Shape::Pairs(_)) {
            return None;
        }
    }
    Some(all)
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
        let resized = &self.pass.scratch.resized;
        for (feed, groups) in self.pass.feeds.iter().zip(&tile.groups) {
            let (taps, begin) = feed.vertical.taps(row);
            let Some(sum) = self.sum(feed, groups) else { continue };
            let sum = Sum { taps, begin, ..sum };
            // SAFETY: the groups, and with them the samples of all outputs, lie inside the rows of a
            // held plane, and the rows of the scratch memory are at least as long.
            unsafe {
                match (feed.shape, &regular[feed.shape.components()[0]]) {
                    (Shape::Bytes(component), Some(Regular::Halved(halves))) => {
                        // By construction; addresses depend on it.
                        assert!(halves.samples <= groups.len());
                        (self.kernels.halved)(
                            sum,
                            halves,
                            &mut numbers[resized[component].clone()],
                        );
                    }
                    (Shape::Pairs([a, b]), Some(Regular::Paired(pairs))) => {
                        assert!(pairs.samples <= groups.len());
                        let [a, b] = parts(numbers, [resized[a].clone(), resized[b].clone()]);
                        (self.kernels.slid_pairs)(sum, pairs, a, b);
                    }
                    _ => {
                        self.sum_row(feed.shape, sum, groups.len(), numbers);
                        for &component in feed.shape.components() {
                            if let Some(Regular::Sliding(sliding)) = &regular[component] {
                                self.slide(sliding, component, numbers);
                            }
                        }
                    }
                }
            }
        }
    }
}
