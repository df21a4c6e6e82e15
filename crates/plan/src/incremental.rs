//! A new plan that differs from the old one as little as possible.

use crate::in_place::{matches, merge};
use crate::lifetimes::Lifetimes;
use crate::make::{by_key, finish, least, problem, smallest};
use crate::plan::{Arena, Plan, PlanError};
use crate::{MAX_TOTAL, Options, Packer, PlannerMode, Problem, Schedule, plan};

/// Pairs of buffers to look at; beyond that, a new plan is the cheaper answer.
const MAX_PAIRS: u64 = 50_000_000;

/// A plan, and how much of the old one it has kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replanned {
    /// The new plan.
    pub plan: Plan,
    /// How many buffers were placed before and are somewhere else now.
    pub moved: usize,
    /// Whether the old plan was given up for a much smaller one.
    pub anew: bool,
}

/// Plans `schedule` anew after some sizes or steps have changed, keeping buffers where `old` has
/// put them. Of buffers that get into each other's way as few as possible are moved.
///
/// The old places are given up if a plan without regard to them is smaller by more than
/// `tolerance`: with 0.1, if it takes less than 1/1.1 of the bytes.
///
/// # Errors
///
/// [`PlanError`], if the schedule makes no sense.
pub fn replan(
    schedule: &Schedule,
    old: &Plan,
    tolerance: f64,
    options: &Options<'_>,
) -> Result<Replanned, PlanError> {
    let stable = keep(schedule, old)?;
    let answer = |plan: Plan, anew| {
        let differs = |&buffer: &usize| {
            let before = old.place(buffer);
            schedule.buffers[buffer].view_of.is_none()
                && before.is_some()
                && plan.place(buffer) != before
        };
        let moved = (0..schedule.buffers.len()).filter(differs).count();
        Replanned { plan, moved, anew }
    };
    if let Some(stable) = stable {
        if stable.optimal || tolerance == f64::INFINITY {
            return Ok(answer(stable, false));
        }
        let packer = old.packer.unwrap_or_default();
        let best = plan(schedule, PlannerMode::Arena, packer, options)?;
        return Ok(if (best.bytes as f64) * (1.0 + tolerance) < stable.bytes as f64 {
            answer(best, true)
        } else {
            answer(Plan { lower_bound: best.lower_bound, ..stable }.judged(), false)
        });
    }
    let packer = old.packer.unwrap_or_default();
    Ok(answer(plan(schedule, old.mode, packer, options)?, true))
}

impl Plan {
    /// The plan, called optimal if it is as small as its bound.
    fn judged(mut self) -> Plan {
        self.optimal = self.bytes == self.lower_bound;
        self
    }
}

/// A plan with most buffers where they were; `None` if that would be too much work or the old
/// plan has no arenas of that kind.
fn keep(schedule: &Schedule, old: &Plan) -> Result<Option<Plan>, PlanError> {
    if old.mode != PlannerMode::Arena {
        return Ok(None);
    }
    let lifetimes = Lifetimes::new(schedule)?;
    let all = matches(schedule, &lifetimes);
    let bound = least(&lifetimes.tenants, &all)?;
    let mut taken = all.clone();
    let tenants = &lifetimes.tenants;
    let place = |tenant: usize| old.place(tenants[tenant].buffer);
    for (taker, taken) in taken.iter_mut().enumerate() {
        // What shares goes on to share, and what did not is left as it was.
        *taken = taken.filter(|&giver| place(giver as usize) == place(taker));
    }
    let mut places = vec![(0, 0); tenants.len()];
    let mut arenas = Vec::new();
    for (index, (key, members)) in by_key(tenants).into_iter().enumerate() {
        let (whole_of, wholes) = merge(tenants, &members, &taken, u64::max, |_, _| true);
        let problem = problem(tenants, wholes)?;
        let mut wanted = vec![None; problem.items().len()];
        for (&member, &whole) in members.iter().zip(&whole_of) {
            let there = place(member as usize).filter(|&(arena, offset)| {
                let home = old.arenas.get(arena);
                home.is_some_and(|home| (home.device, home.lane) == (key.device, key.lane))
                    && offset % problem.items()[whole as usize].align == 0
            });
            wanted[whole as usize] = wanted[whole as usize].or(there.map(|(_, offset)| offset));
        }
        let Some(offsets) = settle(&problem, &wanted) else { return Ok(None) };
        let bytes = crate::pack::height(&problem, &offsets);
        for (&member, &whole) in members.iter().zip(&whole_of) {
            places[member as usize] = (index, offsets[whole as usize]);
        }
        let lower_bound = smallest(tenants, &members, &all)?;
        let aligns = members.iter().map(|&member| tenants[member as usize].align);
        let align = aligns.max().unwrap_or(1);
        let (device, lane, optimal) = (key.device, key.lane, bytes == lower_bound);
        arenas.push(Arena { device, lane, bytes, align, lower_bound, optimal });
    }
    let packer = Some(old.packer.unwrap_or(Packer::Best));
    Ok(Some(finish(&lifetimes.parts, PlannerMode::Arena, packer, arenas, &places, bound)))
}

/// Offsets with most items where they are wanted, and the others in the lowest gaps.
fn settle(problem: &Problem, wanted: &[Option<u64>]) -> Option<Vec<u64>> {
    let items = problem.items();
    let sized = |&index: &usize| items[index].size > 0;
    // Old plans come from outside: what is far out is not taken up.
    let near = |end: &u64| *end <= MAX_TOTAL / 2;
    let end =
        |index: usize| wanted[index].and_then(|at| at.checked_add(items[index].size)).filter(near);
    let mut placed: Vec<usize> =
        (0..items.len()).filter(sized).filter(|&index| end(index).is_some()).collect();
    placed.sort_by_key(|&index| (wanted[index], index));
    let mut rivals: Vec<Vec<usize>> = vec![Vec::new(); items.len()];
    let mut looked = 0u64;
    for (rank, &low) in placed.iter().enumerate() {
        for &high in &placed[rank + 1..] {
            looked += 1;
            if wanted[high] >= end(low) {
                break;
            }
            if items[low].meets(&items[high]) {
                rivals[low].push(high);
                rivals[high].push(low);
            }
        }
        if looked > MAX_PAIRS {
            return None;
        }
    }
    // Whoever is in the way of most others goes first; of two equals the smaller.
    let mut count: Vec<usize> = rivals.iter().map(Vec::len).collect();
    let mut queue: std::collections::BTreeSet<_> = placed
        .iter()
        .filter(|&&index| count[index] > 0)
        .map(|&index| (count[index], std::cmp::Reverse(items[index].size), index))
        .collect();
    let mut evicted = vec![false; items.len()];
    while let Some((_, _, index)) = queue.pop_last() {
        evicted[index] = true;
        for &rival in &rivals[index] {
            let size = std::cmp::Reverse(items[rival].size);
            if queue.remove(&(count[rival], size, rival)) {
                count[rival] -= 1;
                if count[rival] > 0 {
                    queue.insert((count[rival], size, rival));
                }
            }
        }
    }
    let mut offsets: Vec<u64> = wanted.iter().map(|at| at.unwrap_or(0)).collect();
    let mut fixed: Vec<usize> = placed.into_iter().filter(|&index| !evicted[index]).collect();
    let mut rest: Vec<usize> = (0..items.len())
        .filter(sized)
        .filter(|&index| evicted[index] || end(index).is_none())
        .collect();
    rest.sort_by_key(|&index| (std::cmp::Reverse(items[index].size), index));
    for index in (0..items.len()).filter(|index| items[*index].size == 0) {
        offsets[index] = 0;
    }
    for index in rest {
        looked += fixed.len() as u64;
        if looked > MAX_PAIRS {
            return None;
        }
        // `fixed` is in the order of offsets: the first gap that is large enough is the lowest.
        let item = &items[index];
        // Nothing below can pass the largest number: what stayed ends at half of `MAX_TOTAL`, and all
        // items and what aligns them together have no more than all of it.
        let mut at = 0u64;
        for &other in fixed.iter().filter(|&&other| items[other].meets(item)) {
            if offsets[other] >= at + item.size {
                break;
            }
            at = at.max(offsets[other] + items[other].size).next_multiple_of(item.align);
        }
        offsets[index] = at;
        let rank = fixed.partition_point(|&other| offsets[other] <= at);
        fixed.insert(rank, index);
    }
    Some(offsets)
}
