//! Who must come after whom, and who keeps what in use.

use std::collections::HashMap;

use crate::Schedule;
use crate::lifetimes::Lifetimes;
use crate::schedule::error::ScheduleError;
use crate::schedule::groups::Groups;

/// Of a buffer with more views than this, all are taken as one: that orders more steps than
/// needed, and never too few.
const MAX_VIEWS: usize = 64;

/// Steps and the buffers that they keep in use.
#[derive(Debug)]
pub(crate) struct Graph {
    /// Who must come later than each step.
    pub(crate) after: Vec<Vec<u32>>,
    /// How many must come before each step.
    pub(crate) before: Vec<u32>,
    /// The tenants that each step touches, each once.
    pub(crate) touches: Vec<Vec<u32>>,
    /// How many steps touch each tenant.
    pub(crate) uses: Vec<u32>,
    /// Bytes of each tenant, rounded up to its alignment.
    pub(crate) bytes: Vec<u64>,
}

impl Graph {
    pub(crate) fn new(schedule: &Schedule, keep_lanes: bool) -> Result<Graph, ScheduleError> {
        let lifetimes = Lifetimes::new(schedule)?;
        let groups = schedule.groups()?;
        let count = schedule.steps.len();
        let mut edges = data(schedule, &groups);
        if keep_lanes {
            let mut last: HashMap<u32, u32> = HashMap::new();
            for (index, &lane) in (0u32..).zip(&lifetimes.lanes.of) {
                edges.extend(last.insert(lane, index).map(|before| (before, index)));
            }
        }
        edges.sort_unstable();
        edges.dedup();
        let mut graph = Graph {
            after: vec![Vec::new(); count],
            before: vec![0; count],
            touches: vec![Vec::new(); count],
            uses: vec![0; lifetimes.tenants.len()],
            bytes: Vec::with_capacity(lifetimes.tenants.len()),
        };
        for (from, to) in edges {
            graph.after[from as usize].push(to);
            graph.before[to as usize] += 1;
        }
        for (index, tenant) in (0u32..).zip(&lifetimes.tenants) {
            graph.bytes.push(tenant.bytes.next_multiple_of(tenant.align));
            for &step in lifetimes.touches.of(tenant.buffer) {
                graph.touches[step as usize].push(index);
                graph.uses[index as usize] += 1;
            }
        }
        Ok(graph)
    }

    /// Runs a step: what is in use meanwhile, and afterwards. `left` are the uses to come.
    pub(crate) fn run(&self, step: u32, live: u64, left: &mut [u32]) -> (u64, u64) {
        let (mut during, mut freed) = (live, 0);
        for &tenant in &self.touches[step as usize] {
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
        let alone = |tenants: &Vec<u32>| -> u64 {
            tenants.iter().map(|&tenant| self.bytes[tenant as usize]).sum()
        };
        self.touches.iter().map(alone).max().unwrap_or(0)
    }
}

/// Steps that touch the same bytes, one of them to write.
fn data(schedule: &Schedule, groups: &Groups) -> Vec<(u32, u32)> {
    let mut members: HashMap<u32, Vec<usize>> = HashMap::new();
    for buffer in 0..schedule.buffers.len() {
        members.entry(groups.root[buffer]).or_default().push(buffer);
    }
    // Who is looked at for whom, and under which name.
    let mut meets: Vec<Vec<usize>> = vec![Vec::new(); schedule.buffers.len()];
    let mut name: Vec<usize> = (0..schedule.buffers.len()).collect();
    for (&root, members) in &members {
        for &one in members {
            if members.len() > MAX_VIEWS {
                name[one] = root as usize;
                meets[one] = vec![root as usize];
                continue;
            }
            let range = groups.range(schedule, one);
            let shares = |&&other: &&usize| {
                let other = groups.range(schedule, other);
                other.start < range.end && range.start < other.end
            };
            meets[one] = members.iter().filter(shares).copied().collect();
        }
    }
    let mut writer: Vec<Option<u32>> = vec![None; schedule.buffers.len()];
    let mut readers: Vec<Vec<u32>> = vec![Vec::new(); schedule.buffers.len()];
    let mut edges = Vec::new();
    for (index, step) in (0u32..).zip(&schedule.steps) {
        for (buffer, writes) in step.touches() {
            for &other in &meets[buffer] {
                edges.extend(writer[other].map(|before| (before, index)));
                if writes {
                    edges.extend(readers[other].iter().map(|&before| (before, index)));
                }
            }
        }
        for &buffer in &step.reads {
            readers[name[buffer]].push(index);
        }
        for &buffer in &step.writes {
            writer[name[buffer]] = Some(index);
            readers[name[buffer]].clear();
        }
    }
    edges.retain(|(before, after)| before != after);
    edges
}
