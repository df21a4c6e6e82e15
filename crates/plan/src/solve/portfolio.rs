//! The heuristics one after the other, until one of them is at the bound.

use super::core::Core;
use super::options::Meter;
use super::orders::Order;
use crate::Problem;
use crate::pack::offline::{self, Gap};
use crate::pack::{Packer, height};

/// Offsets of the smallest packing that a heuristic finds.
pub(crate) fn best(problem: &Problem, core: &Core, bound: u64, meter: &Meter<'_>) -> Vec<u64> {
    let mut best = Packer::GreedySize.offsets(problem);
    let mut bytes = height(problem, &best);
    let mut keep = |offsets: Vec<u64>| {
        let new = height(problem, &offsets);
        if new < bytes {
            (best, bytes) = (offsets, new);
        }
        bytes == bound
    };
    let done = keep(Packer::BestFit.offsets(problem))
        || keep(Packer::Tlsf.offsets(problem))
        || Order::ALL.into_iter().any(|order| {
            let order = order.of(core);
            [Gap::First, Gap::Best].into_iter().any(|gap| {
                if meter.is_spent() {
                    return true;
                }
                let (offsets, _) = offline::place(core, &order, gap);
                meter.spend(core.len() as u64);
                keep(core.to_bytes(problem.items().len(), &offsets))
            })
        });
    let _ = done;
    best
}
