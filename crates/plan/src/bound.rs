//! A size below which nothing can be packed: what is alive at one time has to fit.

use std::collections::BTreeMap;

use crate::{Item, Problem};

/// The most bytes alive at one time: no packing of `problem` is smaller.
///
/// Items that are all aligned to `a` or more start at multiples of `a`, so each but the topmost
/// takes its size rounded up to `a`; the bound counts that as well.
///
/// ```
/// use tenure_plan::{Item, Problem, lower_bound};
/// let item = Item { lower: 0, upper: 2, size: 65, align: 64 };
/// let problem = Problem::new(vec![item, item])?;
/// assert_eq!(lower_bound(&problem), 128 + 65);
/// # Ok::<(), tenure_plan::ProblemError>(())
/// ```
pub fn lower_bound(problem: &Problem) -> u64 {
    let items = problem.items();
    let mut aligns: Vec<u64> = items.iter().map(|item| item.align).filter(|&a| a > 1).collect();
    aligns.sort_unstable();
    aligns.dedup();
    let events = events(items);
    let mut bound = live_peak(items, &events).0;
    for align in aligns {
        bound = bound.max(aligned_peak(items, &events, align).0);
    }
    bound
}

/// A time at which `bytes` are needed; `bytes` is the lower bound of the items.
pub(crate) fn peak(items: &[Item], events: &[(u64, bool, u32)], bytes: u64) -> u64 {
    let (live, time) = live_peak(items, events);
    if live >= bytes {
        return time;
    }
    let mut aligns: Vec<u64> = items.iter().map(|item| item.align).collect();
    aligns.sort_unstable();
    aligns.dedup();
    let mut peaks = aligns.into_iter().map(|align| aligned_peak(items, events, align));
    peaks.find(|&(live, _)| live >= bytes).map_or(time, |(_, time)| time)
}

/// Starts and ends in the order of time, ends first: time, whether it is a start, index.
pub(crate) fn events(items: &[Item]) -> Vec<(u64, bool, u32)> {
    let mut events = Vec::with_capacity(2 * items.len());
    for (index, item) in (0u32..).zip(items) {
        if item.size > 0 {
            events.push((item.lower, true, index));
            events.push((item.upper, false, index));
        }
    }
    events.sort_unstable();
    events
}

/// The largest sum of sizes alive at one time, and the time.
fn live_peak(items: &[Item], events: &[(u64, bool, u32)]) -> (u64, u64) {
    let (mut live, mut peak) = (0, (0, 0));
    for &(time, starts, index) in events {
        let size = items[index as usize].size;
        live = if starts { live + size } else { live - size };
        if live > peak.0 {
            peak = (live, time);
        }
    }
    peak
}

/// The same among the items aligned to at least `align`, each but one with what it wastes.
fn aligned_peak(items: &[Item], events: &[(u64, bool, u32)], align: u64) -> (u64, u64) {
    let (mut live, mut peak) = (0, (0, 0));
    let mut wastes: BTreeMap<u64, u32> = BTreeMap::new();
    for &(time, starts, index) in events {
        let item = &items[index as usize];
        if item.align < align {
            continue;
        }
        // No overflow: a problem's sizes sum to less than i64::MAX with their alignments.
        let rounded = item.size.next_multiple_of(align);
        let waste = rounded - item.size;
        if starts {
            live += rounded;
            *wastes.entry(waste).or_insert(0) += 1;
            let most = wastes.last_key_value().map_or(0, |(&waste, _)| waste);
            if live - most > peak.0 {
                peak = (live - most, time);
            }
        } else {
            live -= rounded;
            if let Some(count) = wastes.get_mut(&waste) {
                *count -= 1;
                if *count == 0 {
                    wastes.remove(&waste);
                }
            }
        }
    }
    peak
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(items: &[(u64, u64, u64, u64)]) -> u64 {
        let item = |&(lower, upper, size, align)| Item { lower, upper, size, align };
        lower_bound(&Problem::new(items.iter().map(item).collect()).unwrap())
    }

    #[test]
    fn the_peak_counts_what_is_alive_together() {
        assert_eq!(bound(&[]), 0);
        assert_eq!(bound(&[(0, 2, 5, 1), (2, 4, 6, 1)]), 6);
        assert_eq!(bound(&[(0, 3, 5, 1), (2, 4, 6, 1), (3, 9, 4, 1)]), 11);
    }

    #[test]
    fn alignment_counts_but_for_the_topmost() {
        assert_eq!(bound(&[(0, 2, 1, 16), (0, 2, 9, 16)]), 17);
        // The small ones may fill what the others waste.
        assert_eq!(bound(&[(0, 2, 1, 16), (0, 2, 9, 16), (0, 2, 7, 1)]), 17);
        assert_eq!(bound(&[(0, 2, 1, 16), (0, 2, 9, 32), (0, 2, 8, 8)]), 25);
    }
}
