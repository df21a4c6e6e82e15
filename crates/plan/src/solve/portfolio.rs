//! The heuristics one after the other, until one of them is good enough.

use super::core::Core;
use super::options::Meter;
use super::orders::Order;
use super::summit;
use crate::Problem;
use crate::pack::offline::{self, Gap};
use crate::pack::{Packer, height};

/// From how many items on the slower heuristics are left out.
const MANY: usize = 5000;

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
    // Whatever the budget, the result is no worse than that of the named packers.
    let _ = keep(Packer::GreedySize.offsets(problem))
        || summit::pack(core, enough / core.unit, meter)
            .is_some_and(|placement| keep(to_bytes(&placement.offsets)))
        || keep(Packer::BestFit.offsets(problem))
        || keep(Packer::Tlsf.offsets(problem))
        || (core.len() < MANY
            && Order::ALL.into_iter().any(|order| {
                let order = order.of(core);
                [Gap::First, Gap::Best].into_iter().any(|gap| {
                    if meter.is_spent() {
                        return true;
                    }
                    let placement = offline::place(core, &order, gap);
                    meter.spend(placement.steps);
                    keep(to_bytes(&placement.offsets))
                })
            }));
    best.map(|(_, offsets)| offsets).unwrap_or_default()
}
