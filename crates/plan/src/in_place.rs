//! Which buffer may take the bytes of one that ends where it begins.

use std::collections::HashMap;

use crate::Schedule;
use crate::lifetimes::{Lifetimes, Tenant};

/// Per step at most this many buffers are matched with what they could take: matching all is
/// more than linear work.
const MAX_PER_STEP: usize = 64;

/// For each tenant the one whose bytes it may take, such that no two take the same, and in every
/// step as many as possible take one.
pub(crate) fn matches(schedule: &Schedule, lifetimes: &Lifetimes) -> Vec<Option<u32>> {
    let mut taken = vec![None; lifetimes.tenants.len()];
    // The candidates of each step: output, inputs.
    let mut steps: HashMap<u32, Vec<(u32, Vec<u32>)>> = HashMap::new();
    for (output, tenant) in lifetimes.tenants.iter().enumerate() {
        let Some(&step) = lifetimes.touches.of(tenant.buffer).first() else { continue };
        if steps.get(&step).is_some_and(|outputs| outputs.len() >= MAX_PER_STEP) {
            continue;
        }
        let mut inputs: Vec<u32> = Vec::new();
        for &buffer in schedule.buffers[tenant.buffer].in_place.iter().take(MAX_PER_STEP) {
            if let Ok((input, 0)) = lifetimes.parts.of(buffer)
                && lifetimes.tenants[input as usize].buffer == buffer
                && !inputs.contains(&input)
                && may_take(schedule, lifetimes, step as usize, tenant, input as usize)
            {
                inputs.push(input);
            }
        }
        if !inputs.is_empty() {
            steps.entry(step).or_default().push((output as u32, inputs));
        }
    }
    for outputs in steps.values() {
        let mut owner: HashMap<u32, usize> = HashMap::new();
        for output in 0..outputs.len() {
            augment(outputs, output, &mut owner, &mut Vec::new());
        }
        for (input, output) in owner {
            taken[outputs[output].0 as usize] = Some(input);
        }
    }
    taken
}

/// Whether `output` may take the bytes of `input` in `step`, the first that touches `output`.
fn may_take(
    schedule: &Schedule,
    lifetimes: &Lifetimes,
    step: usize,
    output: &Tenant,
    input: usize,
) -> bool {
    let input = &lifetimes.tenants[input];
    let lanes = &lifetimes.lanes;
    let (spec, from) = (&schedule.buffers[output.buffer], &schedule.buffers[input.buffer]);
    let this = &schedule.steps[step];
    let time = lanes.time[step];
    // The step writes one and reads the other, neither by way of a view.
    let root = |buffer: usize| lifetimes.parts.of(buffer).ok().map(|(tenant, _)| tenant);
    let (taker, giver) = (root(output.buffer), root(input.buffer));
    let direct = this.touches().all(|(buffer, writes)| {
        if root(buffer) == taker {
            buffer == output.buffer && writes
        } else {
            root(buffer) != giver || (buffer == input.buffer && !writes)
        }
    });
    if !direct
        || taker == giver
        || input.key != output.key
        || spec.rounded() != from.rounded()
        || !this.reads.contains(&input.buffer)
    {
        return false;
    }
    // Nobody else touches either at that time, and all who touched the input before are done.
    let later = |&other: &u32| other as usize == step || lanes.time[other as usize] > time;
    let done = |&other: &u32| {
        let other = other as usize;
        other == step
            || lanes.time[other] < time
                && (lanes.of[other] == lanes.of[step]
                    || lanes.sole[other] && schedule.steps[other].writes.contains(&input.buffer))
    };
    lifetimes.touches.of(output.buffer).iter().all(later)
        && lifetimes.touches.of(input.buffer).iter().all(done)
}

/// Finds an input for `output`, moving others to another of theirs if need be.
fn augment(
    outputs: &[(u32, Vec<u32>)],
    output: usize,
    owner: &mut HashMap<u32, usize>,
    tried: &mut Vec<u32>,
) -> bool {
    for &input in &outputs[output].1 {
        if tried.contains(&input) {
            continue;
        }
        tried.push(input);
        let free = match owner.get(&input) {
            None => true,
            Some(&other) => augment(outputs, other, owner, tried),
        };
        if free {
            owner.insert(input, output);
            return true;
        }
    }
    false
}

/// Several tenants that share by [`matches`], as one. As large as an [`Item`], so that a list of
/// them becomes a list of items in the same memory.
///
/// [`Item`]: crate::Item
#[derive(Debug, Clone, Copy)]
pub(crate) struct Whole {
    /// The tenant that has the bytes first.
    pub(crate) first: u32,
    pub(crate) upper: u64,
    pub(crate) bytes: u64,
    pub(crate) align: u64,
}

/// Of the tenants that are `members`, in ascending order, those that share by [`matches`] as one:
/// for each member which whole it is part of, and the wholes, as large and as aligned as `most`
/// says of two. That is `u64::max` for what they need, and `u64::min` for what they need at any
/// time at least.
pub(crate) fn merge(
    tenants: &[Tenant],
    members: &[u32],
    taken: &[Option<u32>],
    most: fn(u64, u64) -> u64,
    may: impl Fn(&Tenant, &Tenant) -> bool,
) -> (Vec<u32>, Vec<Whole>) {
    let tenant_of = |at: u32| &tenants[members[at as usize] as usize];
    let mut order: Vec<u32> = (0..members.len() as u32).collect();
    // Who gives comes before who takes.
    order.sort_by_key(|&at| tenant_of(at).lower);
    let mut whole_of = vec![0u32; members.len()];
    let mut wholes: Vec<Whole> = Vec::with_capacity(members.len());
    for index in order {
        let tenant = tenant_of(index);
        let member = members[index as usize];
        let giver = taken[member as usize]
            .filter(|&giver| may(&tenants[giver as usize], tenant))
            // Both are always in one arena.
            .and_then(|giver| members.binary_search(&giver).ok());
        if let Some(giver) = giver {
            let whole = whole_of[giver];
            let sum = &mut wholes[whole as usize];
            sum.upper = sum.upper.max(tenant.upper);
            sum.bytes = most(sum.bytes, tenant.bytes);
            sum.align = most(sum.align, tenant.align);
            whole_of[index as usize] = whole;
        } else {
            whole_of[index as usize] = wholes.len() as u32;
            let &Tenant { upper, bytes, align, .. } = tenant;
            wholes.push(Whole { first: member, upper, bytes, align });
        }
    }
    (whole_of, wholes)
}
