//! Placements against the obvious way to find them, and how much work they are.

use super::{Gap, place};
use crate::solve::core::Core;
use crate::solve::orders::Random;
use crate::{Item, Problem};

/// The placement by looking at everything, one item after the other.
fn plain(core: &Core, order: &[u32], gap: Gap) -> Vec<u64> {
    let mut offsets = vec![0; core.len()];
    for (place, &item) in order.iter().enumerate() {
        let item = item as usize;
        let (span, size) = (core.span(item), core.size[item]);
        let mut others: Vec<(u64, u64)> = (order[..place].iter().map(|&other| other as usize))
            .filter(|&other| core.first[other] < core.last[item])
            .filter(|&other| span.start < core.span(other).end)
            .map(|other| (offsets[other], offsets[other] + core.size[other]))
            .collect();
        others.sort_unstable();
        let (mut top, mut best) = (0, None);
        for (offset, end) in others {
            let start = core.align_up(item, top);
            if start + size <= offset {
                let key = if gap == Gap::Best { offset - top } else { 0 };
                best = Some(best.map_or((key, start), |best| (key, start).min(best)));
            }
            top = top.max(end);
        }
        offsets[item] = best.map_or(core.align_up(item, top), |(_, start)| start);
    }
    offsets
}

/// Random items: most live shortly, some very long, in every size and alignment.
fn random(seed: u64, count: u64, times: u64) -> Core {
    let mut random = Random::new(seed);
    let items = (0..count).map(|_| {
        let lower = random.below(times);
        let most = if random.below(4) == 0 { times } else { 8 };
        let upper = lower + 1 + random.below(most);
        let bits = random.below(8);
        let size = 1 + random.below(1 << bits);
        Item { lower, upper, size, align: 1 << random.below(4) }
    });
    Core::new(&Problem::new(items.collect()).unwrap())
}

/// The items in the order of their sizes, the largest first.
fn by_size(core: &Core) -> Vec<u32> {
    let mut order: Vec<u32> = (0..core.len() as u32).collect();
    order.sort_by_key(|&item| std::cmp::Reverse(core.size[item as usize]));
    order
}

#[test]
fn skipping_changes_nothing() {
    for (seed, (count, times)) in (0..).zip([(300, 1), (300, 20), (600, 300), (1500, 100_000)]) {
        for seed in 0..8 + seed {
            let core = random(seed, count, times);
            let plain_order: Vec<u32> = (0..core.len() as u32).collect();
            for order in [plain_order, by_size(&core)] {
                for gap in [Gap::First, Gap::Best] {
                    let placement = place(&core, &order, gap, |_| true).unwrap();
                    assert_eq!(placement.offsets, plain(&core, &order, gap), "{seed} {gap:?}");
                }
            }
        }
    }
}

#[test]
fn whoever_says_stop_is_heard_soon() {
    let core = random(1, 20_000, 500);
    let order = by_size(&core);
    let mut all = 0;
    place(&core, &order, Gap::Best, |steps| {
        all += steps;
        true
    });
    for limit in [0, all / 8, all / 2] {
        let mut spent = 0;
        let placement = place(&core, &order, Gap::Best, |steps| {
            spent += steps;
            spent < limit
        });
        assert!(placement.is_none());
        assert!(spent <= limit + 2 * super::LOOK, "{spent} of {limit}, and {all} in all");
    }
}

#[test]
fn what_is_alive_at_once_is_near_linear() {
    let items = (0..100_000).map(|index| Item { lower: 0, upper: 1, size: 1 + index, align: 1 });
    let core = Core::new(&Problem::new(items.collect()).unwrap());
    let mut spent = 0;
    let placement = place(&core, &by_size(&core), Gap::Best, |steps| {
        spent += steps;
        true
    });
    assert_eq!(placement.unwrap().height, 100_000 * 100_001 / 2);
    // Looking at all that is placed would be 50,000 steps for each.
    assert!(spent < 128 * 100_000, "{spent} steps");
}
