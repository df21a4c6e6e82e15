//! The peak first: what is alive at the fullest time is stacked without a gap, then all others
//! go left and right of it, the largest first. What still ends up above the bound is placed
//! sooner in the next pass.
//!
//! This is what packs tens of thousands of items: where most of the time is less full than the
//! peak, only the peak has to be without gaps.

use std::cmp::Reverse;

use super::core::Core;
use super::options::Meter;
use crate::pack::offline::{self, Gap, Placement};

/// From how many items on there are more passes than the first ones: below, the search is better.
const MANY: usize = 2000;

/// Passes with the most promising order.
const PASSES: u32 = 16;

/// In which order the peak is stacked.
#[derive(Debug, Clone, Copy)]
enum Stack {
    Starts,
    Ends,
    Large,
    Wide,
}

/// The best packing of a few passes; stops at the height `target`. A pass that the budget does not
/// allow to end is as if it had not begun.
pub(super) fn pack(core: &Core, target: u64, meter: &Meter<'_>) -> Option<Placement> {
    let (peak, _) = core.fullest();
    let mut best: Option<Placement> = None;
    // The height of a pass; none if that was the last one.
    let mut pass = |order: &mut Vec<u32>| {
        let placement = offline::place(core, order, Gap::First, |steps| meter.goes_on(steps))?;
        let height = placement.height;
        promote(core, order, &placement, target);
        if best.as_ref().is_none_or(|best| height < best.height) {
            best = Some(placement);
        }
        (height > target && !meter.is_spent()).then_some(height)
    };
    let mut promising: Option<(u64, Vec<u32>)> = None;
    let stacks = [Stack::Starts, Stack::Ends, Stack::Large, Stack::Wide];
    // Of many items, the last one was never the best: its passes are better spent below.
    let count = if core.len() < MANY { 4 } else { 3 };
    for stack in stacks.into_iter().take(count) {
        let mut order = stack.order(core, peak);
        // The second pass tells more of what an order can become.
        for _ in 0..2 {
            let Some(height) = pass(&mut order) else { return best };
            if promising.as_ref().is_none_or(|&(least, _)| height < least) {
                promising = Some((height, order.clone()));
            }
        }
    }
    if core.len() >= MANY
        && let Some((_, mut order)) = promising
    {
        for _ in 0..PASSES {
            if pass(&mut order).is_none() {
                break;
            }
        }
    }
    best
}

impl Stack {
    /// The items of the peak, then the others, the largest first.
    fn order(self, core: &Core, peak: usize) -> Vec<u32> {
        let mut order: Vec<u32> = (0..core.len() as u32).collect();
        order.sort_by_cached_key(|&item| {
            let item = item as usize;
            let (first, last) = (u64::from(core.first[item]), u64::from(core.last[item]));
            let (size, width) = (core.size[item], last - first);
            if !core.span(item).contains(&peak) {
                return (1, Reverse(size), first);
            }
            match self {
                Stack::Starts => (0, Reverse(u64::MAX - first), u64::MAX - last),
                Stack::Ends => (0, Reverse(last), first),
                Stack::Large => (0, Reverse(size), u64::MAX - width),
                Stack::Wide => (0, Reverse(width), u64::MAX - size),
            }
        });
        order
    }
}

/// Moves what is above `target` half of the way to the front.
fn promote(core: &Core, order: &mut Vec<u32>, placement: &Placement, target: u64) {
    let mut places: Vec<(usize, u32)> = order
        .iter()
        .enumerate()
        .map(|(place, &item)| {
            let end = placement.offsets[item as usize] + core.size[item as usize];
            (if end > target { place / 2 } else { place }, item)
        })
        .collect();
    places.sort_by_key(|&(place, _)| place);
    order.clear();
    order.extend(places.into_iter().map(|(_, item)| item));
}
