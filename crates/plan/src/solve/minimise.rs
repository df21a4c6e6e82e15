//! The smallest packing that the budget allows: heuristics, then searches at and above the bound.

use super::core::{Core, Members};
use super::options::{Meter, Options};
use super::portfolio;
use super::race::race;
use super::restarts::Restarts;
use super::search::Outcome;
use crate::pack::{height, verified};
use crate::{Packing, Problem, lower_bound};

/// Runs at a capacity before another one gets its turn, at first.
const RUNS: u64 = 7;

/// Capacities that are tried in one round.
const RUNGS: usize = 3;

/// Packs `problem` into as few bytes as the budget allows to find.
///
/// The result is never larger than that of any other packer, but for `greedy-size` where that
/// takes longer than the budget allows: hundreds of thousands of items, many of them alive at
/// once. It is said to be optimal only if every smaller size is refuted.
pub fn minimise(problem: &Problem, options: &Options<'_>) -> Packing {
    let meter = Meter::new(options);
    let core = Core::new(problem);
    let bound = lower_bound(problem);
    let mut offsets = portfolio::best(problem, &core, bound, &meter);
    let bytes = height(problem, &offsets);
    let mut low = bound.div_ceil(core.unit);
    meter.report(bytes, bound.max(low * core.unit).min(bytes));
    // No packing is lower than `low`, and there is one of `high`, in units.
    let mut high = bytes / core.unit;
    let members = if low < high && !meter.is_spent() { Members::new(&core) } else { None };
    let Some(members) = members else {
        // Nothing to search for, no budget left, or too large to search.
        return verified(problem, offsets, if low < high { bound } else { bytes });
    };
    let start = |capacity| Restarts::new(&core, &members, capacity, options.seed);
    let mut tight = start(low);
    let mut runs = RUNS;
    while low < high && !meter.is_spent() {
        if tight.capacity() != low {
            tight = start(low);
        }
        // The smallest that is not refuted, and larger ones, each halfway to what there is.
        let mut searches = vec![tight];
        let mut middle = low + (high - low) / 2;
        while searches.len() < RUNGS && middle > low && middle < high {
            searches.push(start(middle).looking_ahead());
            middle += (high - middle).div_ceil(2);
        }
        let outcomes = race(&mut searches, runs, &meter);
        for (search, outcome) in searches.iter().zip(&outcomes) {
            match outcome {
                Some(Outcome::Found) => (high, offsets) = lowered(problem, &core, search),
                Some(Outcome::Refuted) => low = search.next_capacity().min(high),
                _ => {}
            }
        }
        if !outcomes.contains(&Some(Outcome::Found)) {
            runs = runs.saturating_mul(2);
        }
        tight = searches.swap_remove(0);
        meter.report(high * core.unit, low * core.unit);
    }
    let bound = if low >= high { height(problem, &offsets) } else { bound.max(low * core.unit) };
    verified(problem, offsets, bound)
}

/// The height in units and the offsets in bytes that a search has found.
fn lowered(problem: &Problem, core: &Core, search: &Restarts<'_>) -> (u64, Vec<u64>) {
    let offsets = core.to_bytes(problem.items().len(), search.offsets());
    (height(problem, &offsets) / core.unit, offsets)
}
