//! Whether everything fits into a given capacity, and if not, what stands against it.

use super::core::{Core, Members};
use super::options::{Meter, Options};
use super::portfolio;
use super::race::race;
use super::restarts::Restarts;
use super::search::Outcome;
use crate::bound::{events, peak};
use crate::pack::verified;
use crate::{Packing, Problem, lower_bound};

/// Runs at a capacity before the other one gets its turn, at first.
const RUNS: u64 = 7;

/// Whether a problem fits into a capacity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fit {
    /// It does. The packing may be smaller than the capacity, and its bound is a bound of all.
    Fits(Packing),
    /// There is no such packing.
    Impossible(Obstacle),
    /// The budget ended before one or the other was certain.
    Unknown {
        /// The smallest packing that was found.
        best: Packing,
    },
}

/// What makes a capacity impossible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Obstacle {
    /// Items that do not fit on their own, as indices.
    pub items: Vec<usize>,
    /// The times in which they get into each other's way.
    pub times: std::ops::Range<u64>,
    /// What they need at least: more than the capacity.
    pub bytes: u64,
    /// Whether they are all alive at one time, so that adding up their sizes (and, if they are
    /// aligned, what that wastes) is proof enough. Otherwise all arrangements were refuted.
    pub at_once: bool,
}

/// Looks for a packing of `problem` in at most `capacity` bytes.
pub fn fit(problem: &Problem, capacity: u64, options: &Options<'_>) -> Fit {
    let bound = lower_bound(problem);
    if bound > capacity {
        return Fit::Impossible(at_once(problem, bound));
    }
    let meter = Meter::new(options);
    let core = Core::new(problem);
    let offsets = portfolio::best(problem, &core, capacity, &meter);
    let packing = verified(problem, offsets, bound);
    if packing.bytes <= capacity {
        return Fit::Fits(packing);
    }
    meter.report(packing.bytes, bound);
    // Little room prunes much: at the bound a packing is often found sooner.
    let room = capacity / core.unit;
    let least = bound.div_ceil(core.unit);
    let Some(members) = Members::new(&core) else {
        // Too large to search.
        return Fit::Unknown { best: packing };
    };
    let mut capacities = vec![least, room];
    capacities.dedup();
    let start = |capacity| Restarts::new(&core, &members, capacity, options.seed);
    let mut searches: Vec<Restarts<'_>> = capacities.into_iter().map(start).collect();
    let mut runs = RUNS;
    while !meter.is_spent() {
        let outcomes = race(&mut searches, runs, &meter);
        for (search, outcome) in searches.iter().zip(&outcomes) {
            match outcome {
                Some(Outcome::Found) => {
                    let offsets = core.to_bytes(problem.items().len(), search.offsets());
                    return Fit::Fits(verified(problem, offsets, bound));
                }
                Some(Outcome::Refuted) if search.capacity() == room => {
                    let bytes = search.next_capacity().saturating_mul(core.unit);
                    return Fit::Impossible(refusal(problem, &core, search, bytes));
                }
                _ => {}
            }
        }
        let mut outcomes = outcomes.into_iter();
        searches.retain(|_| outcomes.next() == Some(Some(Outcome::Limit)));
        runs = runs.saturating_mul(2);
    }
    Fit::Unknown { best: packing }
}

/// The items that are alive at the peak.
fn at_once(problem: &Problem, bound: u64) -> Obstacle {
    let items = problem.items();
    let time = peak(items, &events(items), bound);
    let items: Vec<usize> = items
        .iter()
        .enumerate()
        .filter(|(_, item)| item.size > 0 && item.lower <= time && time < item.upper)
        .map(|(index, _)| index)
        .collect();
    Obstacle { items, times: time..time + 1, bytes: bound, at_once: true }
}

/// The items of the sections that were refuted.
fn refusal(problem: &Problem, core: &Core, search: &Restarts<'_>, bytes: u64) -> Obstacle {
    let sections = search.refuted();
    let mut items: Vec<usize> = (0..core.len())
        .filter(|&item| {
            let span = core.span(item);
            span.start < sections.end && sections.start < span.end
        })
        .map(|item| core.origin[item] as usize)
        .collect();
    items.sort_unstable();
    let alive = |index: &usize| &problem.items()[*index];
    let from = items.iter().map(|index| alive(index).lower).min().unwrap_or(0);
    let to = items.iter().map(|index| alive(index).upper).max().unwrap_or(0);
    Obstacle { items, times: from..to, bytes, at_once: false }
}
