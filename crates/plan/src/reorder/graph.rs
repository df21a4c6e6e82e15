//! Who must come after whom, and who keeps what in use.

use crate::Schedule;
use crate::lifetimes::{Lifetimes, Tenant};
use crate::lists::{Chains, Lists};
use crate::schedule::error::ScheduleError;
use crate::schedule::groups::Groups;

/// Of a buffer with more views than this, all are taken as one: that orders more steps than
/// needed, and never too few.
const MAX_VIEWS: usize = 64;

/// Steps and the buffers that they keep in use.
#[derive(Debug)]
pub(crate) struct Graph {
    /// Who must come later than each step.
    pub(crate) after: Lists,
    /// How many must come before each step.
    pub(crate) before: Vec<u32>,
    /// The tenants that each step touches, each once.
    pub(crate) touches: Lists,
    /// How many steps touch each tenant.
    pub(crate) uses: Vec<u32>,
    /// Bytes of each tenant, rounded up to its alignment.
    pub(crate) bytes: Vec<u64>,
}

impl Graph {
    pub(crate) fn new(schedule: &Schedule, keep_lanes: bool) -> Result<Graph, ScheduleError> {
        let groups = schedule.groups()?;
        let mut edges = data(schedule, &groups);
        drop(groups);
        let Lifetimes { tenants, lanes, touches: of_root, .. } = Lifetimes::new(schedule)?;
        if keep_lanes {
            let mut last: Vec<Option<u32>> = vec![None; lanes.keys.len()];
            for (index, &lane) in (0u32..).zip(&lanes.of) {
                let before = last[lane as usize].replace(index);
                edges.extend(before.map(|before| (before, index)));
            }
        }
        drop(lanes);
        let steps = schedule.steps.len();
        let after = Lists::of_pairs(steps, edges);
        let mut before = vec![0; steps];
        after.iter().flatten().for_each(|&step| before[step as usize] += 1);
        let count = |tenant: &Tenant| of_root.of(tenant.buffer).len() as u32;
        let uses = tenants.iter().map(count).collect();
        let touches = Lists::new(steps, |found| {
            for (index, tenant) in (0u32..).zip(&tenants) {
                of_root.of(tenant.buffer).iter().for_each(|&step| found(step as usize, index));
            }
        });
        let rounded = |tenant: &Tenant| tenant.bytes.next_multiple_of(tenant.align);
        let bytes = tenants.iter().map(rounded).collect();
        Ok(Graph { after, before, touches, uses, bytes })
    }

    /// Runs a step: what is in use meanwhile, and afterwards. `left` are the uses to come.
    pub(crate) fn run(&self, step: u32, live: u64, left: &mut [u32]) -> (u64, u64) {
        let (mut during, mut freed) = (live, 0);
        for &tenant in self.touches.of(step as usize) {
            let tenant = tenant as usize;
            if left[tenant] == self.uses[tenant] {
                during += self.bytes[tenant];
            }
            left[tenant] -= 1;
            if left[tenant] == 0 {
                freed += self.bytes[tenant];
            }
        }
        (during, during - freed)
    }

    /// What is in use at once at most.
    pub(crate) fn peak(&self, order: &[u32]) -> u64 {
        let mut left = self.uses.clone();
        let (mut live, mut peak) = (0, 0);
        for &step in order {
            let (during, after) = self.run(step, live, &mut left);
            peak = peak.max(during);
            live = after;
        }
        peak
    }

    /// What one step alone needs at most: no order is lower.
    pub(crate) fn least(&self) -> u64 {
        let alone = |tenants: &[u32]| -> u64 {
            tenants.iter().map(|&tenant| self.bytes[tenant as usize]).sum()
        };
        self.touches.iter().map(alone).max().unwrap_or(0)
    }
}

/// Steps that touch the same bytes, one of them to write.
fn data(schedule: &Schedule, groups: &Groups) -> Vec<(u32, u32)> {
    let buffers = schedule.buffers.len();
    let members = Lists::new(buffers, |found| {
        (0..buffers).for_each(|buffer| found(groups.root(buffer), buffer as u32));
    });
    // Under which name a buffer is looked at, and who is looked at for it.
    let name = |buffer: usize| {
        let root = groups.root(buffer);
        if members.of(root).len() > MAX_VIEWS { root } else { buffer }
    };
    let meeting = |buffer: usize| {
        let root = groups.root(buffer);
        let all = members.of(root);
        let many = all.len() > MAX_VIEWS;
        let range = groups.range(schedule, buffer);
        let shares = move |other: &usize| {
            let other = groups.range(schedule, *other);
            other.start.max(range.start) < other.end.min(range.end)
        };
        let some = if many { &[] } else { all };
        let some = some.iter().map(|&other| other as usize).filter(shares);
        some.chain(many.then_some(root))
    };
    let mut writer: Vec<Option<u32>> = vec![None; buffers];
    let mut readers = Chains::new(buffers);
    let mut edges = Vec::new();
    // Who comes before one step: of many views of one buffer, often the same.
    let mut before: Vec<u32> = Vec::new();
    for (index, step) in (0u32..).zip(&schedule.steps) {
        for (buffer, writes) in step.touches() {
            for other in meeting(buffer) {
                before.extend(writer[other]);
                if writes {
                    before.extend(readers.of(other));
                }
            }
        }
        before.sort_unstable();
        before.dedup();
        edges.extend(before.drain(..).map(|before| (before, index)));
        for &buffer in &step.reads {
            readers.push(name(buffer), index);
        }
        for &buffer in &step.writes {
            let name = name(buffer);
            writer[name] = Some(index);
            readers.clear(name);
        }
    }
    edges
}
