//! What came out, for other programs.

use serde::Serialize;
use tenure::plan::{Placement, Plan, Schedule, Table};

use super::Problem;
use super::compare::{How, Made, Results};
use super::pools::Use;

/// One plan. The names of the fields stay.
#[derive(Debug, Serialize)]
pub(super) struct Row<'a> {
    mode: &'static str,
    /// `None` in modes that do not pack.
    packer: Option<&'static str>,
    bytes: u64,
    lower_bound: u64,
    ratio: f64,
    optimal: bool,
    seconds: f64,
    /// How many buffers have a place.
    buffers: usize,
    /// How many pieces of memory they are in.
    allocations: usize,
    winner: bool,
    /// The memories of --pool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pools: Option<&'a [Use]>,
    /// How many buffers are not where they were before --resize, or in the plan of --keep.
    #[serde(skip_serializing_if = "Option::is_none")]
    moved: Option<usize>,
}

/// One row for each plan.
pub(super) fn rows(results: &Results) -> Vec<Row<'_>> {
    results
        .made
        .iter()
        .enumerate()
        .map(|(index, made)| row(made, index == results.winner))
        .collect()
}

fn row(made: &Made, winner: bool) -> Row<'_> {
    Row {
        mode: made.mode(),
        packer: made.plan.packer.map(|packer| packer.name()),
        bytes: made.plan.bytes,
        lower_bound: made.plan.lower_bound,
        ratio: ratio(&made.plan),
        optimal: made.plan.optimal,
        seconds: made.seconds,
        buffers: placed(&made.plan),
        allocations: made.plan.arenas.len(),
        winner,
        pools: match &made.how {
            How::Pools(uses) => Some(uses),
            _ => None,
        },
        moved: match made.how {
            How::Kept { moved, .. } => Some(moved),
            _ => None,
        },
    }
}

/// How far above the bound.
pub(super) fn ratio(plan: &Plan) -> f64 {
    if plan.lower_bound == 0 { 1.0 } else { plan.bytes as f64 / plan.lower_bound as f64 }
}

/// How many buffers have a place.
pub(super) fn placed(plan: &Plan) -> usize {
    plan.placements.iter().filter(|place| matches!(place, Placement::At { .. })).count()
}

/// Lifetimes and offsets of all arenas, one after the other, each from its own offset zero.
pub(super) fn csv(schedule: &Schedule, plan: &Plan) -> Result<String, Problem> {
    let mut text = String::new();
    for arena in 0..plan.arenas.len() {
        let table = Table::of_arena(schedule, plan, arena)?.to_csv();
        let rows = if arena == 0 { &table[..] } else { table.split_once('\n').map_or("", |t| t.1) };
        text.push_str(rows);
    }
    Ok(text)
}
