//! Other orders of independent steps, for a lower peak.
//!
//! What counts is the sum of what is in use at once. After a set of steps has run, that depends
//! on the set alone, not on the order within: so small graphs are solved exactly, by a search
//! over sets that takes the set with the lowest peak next. Large ones get a beam.

mod beam;
mod exact;
mod graph;

use graph::Graph;

use crate::plan::PlanError;
use crate::{Options, Packer, PlannerMode, Schedule, plan};

/// How to look for another order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reorder {
    /// Steps of one lane stay in their order; only lanes are shifted against each other.
    pub keep_lanes: bool,
    /// Sets of steps to look at before the exact search gives up.
    pub states: usize,
    /// Orders to follow at once where the exact search gives up.
    pub beam: usize,
}

/// A schedule in another order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reordered {
    /// The steps of the given schedule, by index, in the new order.
    pub order: Vec<usize>,
    /// The schedule in that order.
    pub schedule: Schedule,
    /// What was in use at once at most, in bytes rounded up to alignments.
    pub peak_before: u64,
    /// The same in the new order.
    pub peak: u64,
    /// No order has a lower peak.
    pub optimal: bool,
}

impl Default for Reorder {
    fn default() -> Reorder {
        Reorder { keep_lanes: false, states: 100_000, beam: 32 }
    }
}

/// Reorders independent steps of `schedule` so that less is in use at once.
///
/// A step stays after those whose data it needs or overwrites. The order is changed only if both
/// the peak and the plan by [`Packer::Best`] within `options` are not larger, and one is smaller.
/// Steps with levels have their order already, and keep it.
///
/// ```
/// use tenure_plan::{BufferSpec, Options, Reorder, Schedule, Step, reorder};
/// // Two large buffers, each made small at once: better one after the other.
/// let buffers = [("a", 4096), ("b", 4096), ("x", 256), ("y", 256), ("z", 256)];
/// let schedule = Schedule {
///     buffers: buffers.map(|(name, bytes)| BufferSpec::new(name, bytes)).to_vec(),
///     steps: vec![
///         Step::new("make a", [], [0]),
///         Step::new("make b", [], [1]),
///         Step::new("reduce a", [0], [2]),
///         Step::new("reduce b", [1], [3]),
///         Step::new("add", [2, 3], [4]),
///     ],
/// };
/// let better = reorder(&schedule, Reorder::default(), &Options::default())?;
/// assert_eq!(better.order, [0, 2, 1, 3, 4]);
/// assert_eq!((better.peak_before, better.peak, better.optimal), (8448, 4608, true));
/// # Ok::<(), tenure_plan::PlanError>(())
/// ```
///
/// # Errors
///
/// [`PlanError`], if the schedule makes no sense.
pub fn reorder(
    schedule: &Schedule,
    how: Reorder,
    options: &Options<'_>,
) -> Result<Reordered, PlanError> {
    let graph = Graph::new(schedule, how.keep_lanes)?;
    let given: Vec<u32> = (0..schedule.steps.len() as u32).collect();
    let peak_before = graph.peak(&given);
    drop(given);
    let same = |optimal| Reordered {
        order: (0..schedule.steps.len()).collect(),
        schedule: schedule.clone(),
        peak_before,
        peak: peak_before,
        optimal,
    };
    let levels = schedule.steps.first().is_some_and(|step| step.level.is_some());
    let found = if levels { Err(false) } else { search(&graph, how, peak_before) };
    let (order, optimal) = match found {
        Ok(found) => found,
        Err(optimal) => {
            // Its memory is for the copy of the schedule.
            drop(graph);
            return Ok(same(optimal));
        }
    };
    let peak = graph.peak(&order);
    let order: Vec<usize> = order.into_iter().map(|step| step as usize).collect();
    let steps = order.iter().map(|&step| schedule.steps[step].clone()).collect();
    let new = Schedule { buffers: schedule.buffers.clone(), steps };
    let bytes = |schedule: &Schedule| {
        plan(schedule, PlannerMode::Arena, Packer::Best, options).map(|plan| plan.bytes)
    };
    if peak >= peak_before || bytes(&new)? > bytes(schedule)? {
        return Ok(same(false));
    }
    let optimal = optimal || peak == graph.least();
    Ok(Reordered { order, schedule: new, peak_before, peak, optimal })
}

/// An order with a lower peak, and whether none is lower; or whether the given one is the best.
fn search(graph: &Graph, how: Reorder, peak: u64) -> Result<(Vec<u32>, bool), bool> {
    if peak == graph.least() {
        return Err(true);
    }
    match exact::search(graph, how.states, peak) {
        Some(None) => Err(true),
        Some(Some(order)) => Ok((order, true)),
        None => beam::search(graph, how.beam, peak).map(|order| (order, false)).ok_or(false),
    }
}
