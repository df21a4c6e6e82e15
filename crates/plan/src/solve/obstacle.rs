//! Who stands against a capacity: as few items as can be found at little cost.

use std::cmp::Reverse;
use std::ops::Range;
use std::sync::atomic::AtomicBool;

use super::core::{Core, Members};
use super::options::{Allowance, Limits, Meter};
use super::restarts::Restarts;
use super::search::Outcome;
use crate::bound::{events, peak};
use crate::{Item, Problem, lower_bound};

/// How many smaller sets are tried at most.
const TRIES: u32 = 512;

/// Steps that trying smaller sets may take, besides as many as the search itself has taken.
const STEPS: u64 = 1 << 22;

/// What makes a capacity impossible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Obstacle {
    /// Items that do not fit on their own, as indices in ascending order. If it was cheap to find
    /// out, none of them can be left out: the others would fit.
    pub items: Vec<usize>,
    /// The times in which they get into each other's way.
    pub times: Range<u64>,
    /// What they need at least: more than the capacity.
    pub bytes: u64,
    /// What all items of the problem need at least.
    pub least: u64,
    /// Whether they are all alive at one time, so that adding up their sizes (and, if they are
    /// aligned, what that wastes) is proof enough. Otherwise all arrangements were refuted.
    pub at_once: bool,
}

/// Of the items that are alive at the peak, those that are too many already. `bound` is the lower
/// bound of the problem and above the capacity.
pub(super) fn at_once(problem: &Problem, bound: u64, capacity: u64) -> Obstacle {
    let all = problem.items();
    let time = peak(all, &events(all), bound);
    let alive = |item: &Item| item.size > 0 && item.lower <= time && time < item.upper;
    let mut items: Vec<usize> = (0..all.len()).filter(|&index| alive(&all[index])).collect();
    items.sort_by_key(|&index| Reverse(all[index].size));
    let mut bytes = 0u64;
    let sums = items.iter().map(|&index| {
        bytes += all[index].size;
        bytes
    });
    // The largest first until they are too many: without any of them they would not be.
    let enough = sums.take_while(|&sum| sum <= capacity).count();
    if enough < items.len() {
        items.truncate(enough + 1);
        bytes = items.iter().map(|&index| all[index].size).sum();
    } else {
        // Only with what alignment wastes are they too many.
        bytes = bound;
        items.reverse();
        shrink(&mut items, &mut bytes, |some| {
            part(problem, some).map(|part| lower_bound(&part)).filter(|&bytes| bytes > capacity)
        });
    }
    items.sort_unstable();
    Obstacle { items, times: time..time + 1, bytes, least: bound, at_once: true }
}

/// Of the items of the sections that were refuted, some that are refuted on their own.
pub(super) fn refused(
    problem: &Problem,
    core: &Core,
    search: &Restarts<'_>,
    capacity: u64,
    meter: &Meter<'_>,
) -> Obstacle {
    let all = problem.items();
    let least = search.next_capacity().saturating_mul(core.unit);
    let sections = search.refuted();
    let mut items: Vec<usize> = (0..core.len())
        .filter(|&item| {
            let span = core.span(item);
            span.start < sections.end && sections.start < span.end
        })
        .map(|item| core.origin[item] as usize)
        .collect();
    // What is small and short is the likeliest to be of no importance.
    items.sort_by_key(|&index| {
        let item = &all[index];
        (u128::from(item.size) * u128::from(item.upper - item.lower), index)
    });
    let mut limits = meter.left();
    limits.steps = meter.spent().saturating_add(STEPS);
    let mut bytes = least;
    shrink(&mut items, &mut bytes, |some| {
        part(problem, some).and_then(|part| refute(&part, capacity, &mut limits))
    });
    items.sort_unstable();
    let from = items.iter().map(|&index| all[index].lower).min().unwrap_or(0);
    let to = items.iter().map(|&index| all[index].upper).max().unwrap_or(0);
    // Fewer items can be refuted by more: a bound of all as well.
    Obstacle { items, times: from..to, bytes, least: least.max(bytes), at_once: false }
}

/// What a problem needs at least, if that is certain to be more than the capacity.
fn refute(problem: &Problem, capacity: u64, limits: &mut Limits<'_>) -> Option<u64> {
    let bound = lower_bound(problem);
    if bound > capacity {
        return Some(bound);
    }
    let core = Core::new(problem);
    let members = Members::new(&core)?;
    let mut search = Restarts::new(&core, &members, capacity / core.unit, 0);
    let cut = AtomicBool::new(false);
    let mut allowance = Allowance::new(*limits, &cut);
    // A few runs tell: what is refuted at all was refuted with more items in the way.
    let outcome = search.go(8, &mut allowance);
    limits.steps = limits.steps.saturating_sub(allowance.steps);
    let bytes = search.next_capacity().saturating_mul(core.unit);
    (outcome == Outcome::Refuted).then_some(bytes)
}

/// Some of the items as a problem.
fn part(problem: &Problem, items: &[usize]) -> Option<Problem> {
    Problem::new(items.iter().map(|&index| problem.items()[index]).collect()).ok()
}

/// Leaves out what is not needed for `still` to have an answer: first halves, then ever less, in
/// the end single items.
fn shrink(items: &mut Vec<usize>, bytes: &mut u64, mut still: impl FnMut(&[usize]) -> Option<u64>) {
    let mut tries = TRIES;
    let mut some = Vec::with_capacity(items.len());
    let mut count = items.len();
    while count > 1 {
        count = count.div_ceil(2);
        let mut from = 0;
        while from < items.len() {
            if tries == 0 {
                return;
            }
            tries -= 1;
            some.clear();
            some.extend_from_slice(&items[..from]);
            some.extend_from_slice(&items[items.len().min(from + count)..]);
            match still(&some) {
                Some(less) => {
                    std::mem::swap(items, &mut some);
                    *bytes = less;
                }
                None => from += count,
            }
        }
    }
}
