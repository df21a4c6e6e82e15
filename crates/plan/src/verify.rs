//! An independent verdict on a plan: one sweep over addresses in the order of time.
//!
//! Nothing here looks at lifetimes or at how a plan is made. Who follows whom on a byte is found
//! first; that all of one's steps come before the other's is then shown from the order of steps
//! forwards, where the planner goes backwards from the end. Shared with the planner are the
//! resolved views and which step waits for which because of data; tests hold those against
//! brute force.

mod error;
mod order;

use std::collections::BTreeMap;

pub use error::VerifyError;
use order::{Demand, Order};

use crate::plan::{Placement, Plan};
use crate::schedule::groups::Groups;
use crate::{BufferSpec, PlannerMode, Schedule};

/// Checks that running `schedule` with its buffers where `plan` puts them gives what it would
/// give if each had memory of its own, and that no lane has to wait for memory.
///
/// # Errors
///
/// [`VerifyError`], for the first fault found.
pub fn verify(schedule: &Schedule, plan: &Plan) -> Result<(), VerifyError> {
    let groups = schedule.groups()?;
    if plan.placements.len() != schedule.buffers.len() {
        let (placements, buffers) = (plan.placements.len(), schedule.buffers.len());
        return Err(VerifyError::Count { placements, buffers });
    }
    check_claims(plan)?;
    if plan.mode == PlannerMode::Disabled {
        return check_disabled(schedule, plan, &groups);
    }
    check_places(schedule, plan, &groups)?;
    let order = Order::new(schedule, &groups);
    let demands = sweep(schedule, plan, &groups, &order)?;
    order.check(schedule, &groups, &demands)
}

fn check_claims(plan: &Plan) -> Result<(), VerifyError> {
    let arenas = plan.arenas.iter().try_fold(0u64, |sum, arena| sum.checked_add(arena.bytes));
    let sum = if plan.mode == PlannerMode::Disabled { Some(plan.bytes) } else { arenas };
    let claims = plan.arenas.iter().map(|arena| (arena.bytes, arena.lower_bound, arena.optimal));
    let all = (plan.bytes, plan.lower_bound, plan.optimal);
    for (bytes, lower_bound, optimal) in claims.chain([all]) {
        if bytes < lower_bound || optimal != (bytes == lower_bound) || sum != Some(plan.bytes) {
            return Err(VerifyError::Claim { bytes, lower_bound, optimal });
        }
    }
    match plan.arenas.iter().position(|arena| !arena.align.is_power_of_two()) {
        Some(arena) => Err(VerifyError::ArenaAlign { arena, align: plan.arenas[arena].align }),
        None => Ok(()),
    }
}

/// Per root, whether it keeps the memory it has, and whether a step touches it.
fn kept_and_used(schedule: &Schedule, groups: &Groups) -> (Vec<bool>, Vec<bool>) {
    let mut kept = vec![false; schedule.buffers.len()];
    let mut used = vec![false; schedule.buffers.len()];
    for (index, spec) in schedule.buffers.iter().enumerate() {
        kept[groups.root(index)] |=
            spec.input || spec.output || spec.allocated || spec.partial || spec.disk;
    }
    for (buffer, _) in schedule.steps.iter().flat_map(|step| step.touches()) {
        used[groups.root(buffer)] = true;
    }
    (kept, used)
}

/// That nothing is placed, and that the size is enough for all buffers that could be.
fn check_disabled(schedule: &Schedule, plan: &Plan, groups: &Groups) -> Result<(), VerifyError> {
    let (kept, used) = kept_and_used(schedule, groups);
    let mut own = Some(0u64);
    for (index, spec) in schedule.buffers.iter().enumerate() {
        if plan.place(index).is_some() {
            return Err(VerifyError::Placed { buffer: spec.name.clone() });
        }
        if groups.root(index) == index && used[index] && !kept[index] {
            let rounded = spec.bytes.checked_next_multiple_of(spec.align);
            own = own.zip(rounded).and_then(|(sum, bytes)| sum.checked_add(bytes));
        }
    }
    if own.is_some_and(|own| own <= plan.bytes) && plan.arenas.is_empty() {
        return Ok(());
    }
    let &Plan { bytes, lower_bound, optimal, .. } = plan;
    Err(VerifyError::Claim { bytes, lower_bound, optimal })
}

/// Each buffer alone: that it is placed if it can be and not if it must not, and where.
fn check_places(schedule: &Schedule, plan: &Plan, groups: &Groups) -> Result<(), VerifyError> {
    let (kept, used) = kept_and_used(schedule, groups);
    for (index, spec) in schedule.buffers.iter().enumerate() {
        let root = groups.root(index);
        let buffer = || spec.name.clone();
        let Placement::At { arena, offset } = plan.placements[index] else {
            if used[root] && !kept[root] {
                return Err(VerifyError::NotPlaced { buffer: buffer() });
            }
            continue;
        };
        if !used[root] || kept[root] {
            return Err(VerifyError::Placed { buffer: buffer() });
        }
        let Some(home) = plan.arenas.get(arena) else {
            let arenas = plan.arenas.len();
            return Err(VerifyError::NoSuchArena { buffer: buffer(), arena, arenas });
        };
        let &BufferSpec { bytes, align, device, .. } = spec;
        if offset.checked_add(bytes).is_none_or(|end| end > home.bytes) {
            let arena_bytes = home.bytes;
            return Err(VerifyError::Outside { buffer: buffer(), bytes, offset, arena_bytes });
        }
        if device != home.device {
            let arena_device = home.device;
            return Err(VerifyError::Device { buffer: buffer(), device, arena_device });
        }
        if index != root {
            let Placement::At { arena: there, offset: start } = plan.placements[root] else {
                return Err(VerifyError::NotPlaced { buffer: schedule.buffers[root].name.clone() });
            };
            if there != arena || start.checked_add(groups.offset[index]) != Some(offset) {
                let base = schedule.buffers[root].name.clone();
                return Err(VerifyError::ViewApart { view: buffer(), base });
            }
        } else if offset % align != 0 || home.align < align {
            return Err(VerifyError::Misaligned { buffer: buffer(), offset, align });
        }
    }
    Ok(())
}

/// Who follows whom on which bytes, and in what order that has to be.
fn sweep(
    schedule: &Schedule,
    plan: &Plan,
    groups: &Groups,
    order: &Order,
) -> Result<Vec<Demand>, VerifyError> {
    // Arena, first time, buffer.
    let mut tenants: Vec<(usize, u32, usize)> = Vec::new();
    for (index, spec) in schedule.buffers.iter().enumerate() {
        if let (Some((arena, _)), None) = (plan.place(index), spec.view_of)
            && let Some(&first) = order.steps(index).first()
            && spec.bytes > 0
        {
            tenants.push((arena, order.time(first), index));
        }
    }
    tenants.sort_unstable();
    let mut demands = Vec::new();
    // The last tenant of each byte: end and buffer by arena and start.
    let mut map: BTreeMap<(usize, u64), (u64, usize)> = BTreeMap::new();
    for (arena, _, second) in tenants {
        let Some((_, start)) = plan.place(second) else { continue };
        let end = start + schedule.buffers[second].bytes;
        let before = map.range((arena, 0)..(arena, start)).next_back();
        let mut from =
            before.filter(|&(_, &(last, _))| last > start).map_or((arena, start), |(&key, _)| key);
        while let Some((&key, &(last, first))) =
            map.range(from.min((arena, end))..(arena, end)).next()
        {
            map.remove(&key);
            if key.1 < start {
                map.insert(key, (start, first));
            }
            if last > end {
                map.insert((arena, end), (last, first));
            }
            from = (arena, last.max(start));
            demands.push(relate(schedule, plan, groups, order, first, second)?);
        }
        map.insert((arena, start), (end, second));
    }
    demands.sort_unstable();
    demands.dedup();
    Ok(demands)
}

/// What has to hold for `second` to follow `first` on a byte.
fn relate(
    schedule: &Schedule,
    plan: &Plan,
    groups: &Groups,
    order: &Order,
    first: usize,
    second: usize,
) -> Result<Demand, VerifyError> {
    let overlap = |step: u32| VerifyError::Overlap {
        first: schedule.buffers[first].name.clone(),
        second: schedule.buffers[second].name.clone(),
        step: schedule.steps[step as usize].name.clone(),
    };
    let (givers, takers) = (order.steps(first), order.steps(second));
    let (Some(&last), Some(&step)) = (givers.last(), takers.first()) else {
        return Ok(Demand { first, second, step: None });
    };
    let mut latest = givers.iter().map(|&step| order.time(step)).max().unwrap_or(0);
    if latest < order.time(step) {
        return Ok(Demand { first, second, step: None });
    }
    // Only in place: this step and no other reads the one for the last time and writes the other.
    // Neither by way of a view: a view of the one that is written, or of the other that is read,
    // would be in the way of what the step does to the whole.
    let this = &schedule.steps[step as usize];
    let whole = this.touches().all(|(buffer, writes)| {
        let root = groups.root(buffer);
        (root != first || buffer == first && !writes)
            && (root != second || buffer == second && writes)
    });
    let sharing = last == step
        && plan.place(first) == plan.place(second)
        && schedule.buffers[second].in_place.contains(&first)
        && this.reads.contains(&first)
        && this.writes.contains(&second)
        && whole;
    let others = &givers[..givers.len() - 1];
    latest = others.iter().map(|&step| order.time(step) + 1).max().unwrap_or(0);
    let earliest = takers[1..].iter().map(|&step| order.time(step)).min().unwrap_or(u32::MAX);
    if sharing && latest <= order.time(step) && earliest > order.time(step) {
        Ok(Demand { first, second, step: Some(step) })
    } else {
        Err(overlap(step))
    }
}
