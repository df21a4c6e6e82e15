//! Good orders of large graphs: several at a time, the lowest peaks survive.

use std::collections::HashSet;

use super::graph::Graph;

/// Steps of all orders times steps: what a search may cost.
const MAX_WORK: u64 = 400_000_000;

/// The beginning of an order.
#[derive(Clone)]
struct Start {
    peak: u64,
    live: u64,
    /// A number that depends on which steps have run, not on their order.
    mark: u64,
    order: Vec<u32>,
    ready: Vec<u32>,
    /// How many must still come before each step.
    before: Vec<u32>,
    /// Uses of each tenant that are still to come.
    left: Vec<u32>,
}

/// An order whose peak is below `limit`, if one is found.
pub(super) fn search(graph: &Graph, width: usize, limit: u64) -> Option<Vec<u32>> {
    let count = graph.before.len();
    let cost = (count + graph.bytes.len()) as u64;
    let affordable = MAX_WORK / (cost * cost).max(1);
    let width = (width as u64).min(affordable) as usize;
    if width == 0 {
        return None;
    }
    let ready = (0..count as u32).filter(|&step| graph.before[step as usize] == 0).collect();
    let mut starts = vec![Start {
        peak: 0,
        live: 0,
        mark: 0,
        order: Vec::with_capacity(count),
        ready,
        before: graph.before.clone(),
        left: graph.uses.clone(),
    }];
    for _ in 0..count {
        // Peak and use afterwards of every next step of every order.
        let mut next: Vec<(u64, u64, u32, usize, u64)> = Vec::new();
        for (index, start) in starts.iter().enumerate() {
            for &step in &start.ready {
                let (peak, live) = look(graph, start, step);
                if peak < limit {
                    next.push((peak, live, step, index, start.mark ^ mix(step)));
                }
            }
        }
        next.sort_unstable();
        let mut seen = HashSet::new();
        next.retain(|entry| seen.len() < width && seen.insert(entry.4));
        starts = next
            .into_iter()
            .map(|(peak, live, step, index, mark)| {
                let mut start = starts[index].clone();
                graph.run(step, start.live, &mut start.left);
                (start.peak, start.live, start.mark) = (peak, live, mark);
                start.order.push(step);
                start.ready.retain(|&other| other != step);
                for &later in graph.after.of(step as usize) {
                    start.before[later as usize] -= 1;
                    if start.before[later as usize] == 0 {
                        start.ready.push(later);
                    }
                }
                start
            })
            .collect();
    }
    starts.into_iter().next().map(|start| start.order).filter(|order| order.len() == count)
}

/// The peak up to and the use after a step, without running it.
fn look(graph: &Graph, start: &Start, step: u32) -> (u64, u64) {
    let (mut during, mut freed) = (start.live, 0);
    for &tenant in graph.touches.of(step as usize) {
        let tenant = tenant as usize;
        if start.left[tenant] == graph.uses[tenant] {
            during += graph.bytes[tenant];
        }
        if start.left[tenant] == 1 {
            freed += graph.bytes[tenant];
        }
    }
    (start.peak.max(during), during - freed)
}

/// A number for each step that looks random.
fn mix(step: u32) -> u64 {
    let mut z = (u64::from(step) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z ^ (z >> 27)
}
