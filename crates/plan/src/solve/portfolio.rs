//! The heuristics one after the other, until one of them is good enough.

use super::core::Core;
use super::options::Meter;
use super::orders::Order;
use super::summit;
use crate::Problem;
use crate::pack::offline::{self, Gap};
use crate::pack::{best_fit, greedy_size, height, tlsf};

/// From how many items on the slower heuristics are left out.
const MANY: usize = 5000;

/// Steps that `greedy-size` may take whatever the budget: about a tenth of a second.
const FREE: u64 = 1 << 26;

/// Offsets of the smallest packing that a heuristic finds, or of the first within `enough`.
pub(super) fn best(problem: &Problem, core: &Core, enough: u64, meter: &Meter<'_>) -> Vec<u64> {
    let mut best: Option<(u64, Vec<u64>)> = None;
    let mut keep = |offsets: Vec<u64>| {
        let bytes = height(problem, &offsets);
        if best.as_ref().is_none_or(|best| bytes < best.0) {
            best = Some((bytes, offsets));
        }
        bytes <= enough
    };
    let to_bytes = |offsets: &[u64]| core.to_bytes(problem.items().len(), offsets);
    // Whatever the budget, the result is no worse than that of the packers that are near-linear;
    // nor than that of the one that is not, unless there is more to do than is free.
    let mut free = FREE;
    let greedy = greedy_size(problem, core, |steps| {
        let paid = steps.saturating_sub(free);
        free = free.saturating_sub(steps);
        free > 0 || meter.goes_on(paid)
    });
    let _ = greedy.is_some_and(&mut keep)
        || summit::pack(core, enough / core.unit, meter)
            .is_some_and(|placement| keep(to_bytes(&placement.offsets)))
        || keep(best_fit::pack(problem))
        || keep(tlsf::pack(problem))
        || (core.len() < MANY
            && Order::ALL.into_iter().any(|order| {
                let order = order.of(core);
                [Gap::First, Gap::Best].into_iter().any(|gap| {
                    let more = |steps| meter.goes_on(steps);
                    if meter.is_spent() {
                        return true;
                    }
                    offline::place(core, &order, gap, more)
                        .is_none_or(|placement| keep(to_bytes(&placement.offsets)))
                })
            }));
    best.map(|(_, offsets)| offsets).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solve::options::Options;
    use crate::solve::orders::Random;
    use crate::{Item, check_offsets, lower_bound};

    /// Very many items, thousands of them alive at once: what is not near-linear never ends.
    fn crowd(items: u64) -> Problem {
        let mut random = Random::new(1);
        let items = (0..items).map(|_| {
            let lower = random.below(200);
            let upper = lower + 1 + random.below(50);
            Item { lower, upper, size: 64 * (1 + random.below(4096)), align: 64 }
        });
        Problem::new(items.collect()).unwrap()
    }

    #[test]
    fn the_budget_is_looked_at_inside_of_a_pass() {
        let problem = crowd(100_000);
        let core = Core::new(&problem);
        let bound = lower_bound(&problem);
        for work in [0, 1000, 50_000] {
            let meter = Meter::new(&Options { work, ..Options::default() });
            let offsets = best(&problem, &core, bound, &meter);
            let bytes = height(&problem, &offsets);
            assert_eq!(check_offsets(&problem, &offsets, bytes), Ok(()));
            assert!(bytes <= height(&problem, &best_fit::pack(&problem)));
            // A pass is billions of steps, which would be millions of units of work.
            let most = 512 * work + (1 << 20);
            assert!(meter.spent() <= most, "{} steps of {most}", meter.spent());
        }
    }
}
