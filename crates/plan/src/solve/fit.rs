//! Whether everything fits into a given capacity, and if not, what stands against it.

use super::core::{Core, Members};
use super::obstacle::{self, Obstacle};
use super::options::{Meter, Options};
use super::portfolio;
use super::race::race;
use super::restarts::Restarts;
use super::search::Outcome;
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

/// Looks for a packing of `problem` in at most `capacity` bytes.
///
/// ```
/// use tenure_plan::{Fit, Item, Options, Problem, fit};
/// let item = |lower, upper, size| Item { lower, upper, size, align: 1 };
/// let problem = Problem::new(vec![item(0, 2, 64), item(1, 3, 32), item(1, 2, 8)])?;
/// let Fit::Impossible(why) = fit(&problem, 90, &Options::default()) else { panic!() };
/// assert_eq!((why.items, why.bytes, why.least), (vec![0, 1], 96, 104));
/// # Ok::<(), tenure_plan::ProblemError>(())
/// ```
pub fn fit(problem: &Problem, capacity: u64, options: &Options<'_>) -> Fit {
    let bound = lower_bound(problem);
    if bound > capacity {
        return Fit::Impossible(obstacle::at_once(problem, bound, capacity));
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
    let members = if meter.is_spent() { None } else { Members::new(&core) };
    let Some(members) = members else {
        // No budget left, or too large to search.
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
                    let why = obstacle::refused(problem, &core, search, capacity, &meter);
                    return Fit::Impossible(why);
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
