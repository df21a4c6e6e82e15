//! The lowest peak of all orders: sets of steps, the one with the lowest peak first.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use super::graph::Graph;

/// The most steps; a set of them is a number.
const MAX_STEPS: usize = 64;

/// How a set was reached.
struct Way {
    peak: u64,
    step: u32,
    done: bool,
}

/// An order with the lowest peak, `Some(None)` if none is below `limit`, and `None` if there are
/// more sets than `states`.
pub(super) fn search(graph: &Graph, states: usize, limit: u64) -> Option<Option<Vec<u32>>> {
    let count = graph.before.len();
    if count > MAX_STEPS {
        return None;
    }
    let full = if count == 64 { u64::MAX } else { (1 << count) - 1 };
    let mut needs = vec![0u64; count];
    for (step, after) in graph.after.iter().enumerate() {
        for &later in after {
            needs[later as usize] |= 1 << step;
        }
    }
    let mut users = vec![0u64; graph.bytes.len()];
    for (step, tenants) in graph.touches.iter().enumerate() {
        for &tenant in tenants {
            users[tenant as usize] |= 1 << step;
        }
    }
    let mut ways: HashMap<u64, Way> = HashMap::new();
    ways.insert(0, Way { peak: 0, step: 0, done: false });
    // The lowest peak first, then the most steps, so that ties are followed to their end, then
    // the steps that come first in the given order.
    let mut queue = BinaryHeap::from([(Reverse(0u64), 0u32, Reverse(0u64))]);
    while let Some((Reverse(peak), _, Reverse(set))) = queue.pop() {
        match ways.get_mut(&set) {
            Some(way) if !way.done && way.peak == peak => way.done = true,
            _ => continue,
        }
        if set == full {
            return Some(Some(walk(&ways, full, count)));
        }
        let live: u64 = (0..users.len())
            .filter(|&tenant| users[tenant] & set != 0 && users[tenant] & !set != 0)
            .map(|tenant| graph.bytes[tenant])
            .sum();
        for step in (0..count).filter(|&step| set >> step & 1 == 0 && needs[step] & !set == 0) {
            let new = graph.touches.of(step).iter().filter(|&&t| users[t as usize] & set == 0);
            let during = live + new.map(|&tenant| graph.bytes[tenant as usize]).sum::<u64>();
            let (next, peak) = (set | 1 << step, peak.max(during));
            if peak >= limit || ways.get(&next).is_some_and(|way| way.peak <= peak) {
                continue;
            }
            if ways.len() >= states {
                return None;
            }
            ways.insert(next, Way { peak, step: step as u32, done: false });
            queue.push((Reverse(peak), next.count_ones(), Reverse(next)));
        }
    }
    Some(None)
}

fn walk(ways: &HashMap<u64, Way>, full: u64, count: usize) -> Vec<u32> {
    let mut order = Vec::with_capacity(count);
    let mut set = full;
    while set != 0 {
        let Some(way) = ways.get(&set) else { break };
        order.push(way.step);
        set &= !(1 << way.step);
    }
    order.reverse();
    order
}
