//! Orders in which items are placed or tried, and the noise put on them.

use std::cmp::Reverse;

use super::core::Core;

/// What comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// Alive in the most sections, then the largest area.
    Wide,
    /// In the fullest section, then the largest area.
    Crowded,
    /// In the fullest section, then alive in the most sections.
    CrowdedWide,
    /// The largest.
    Large,
    /// The largest size times number of sections.
    Area,
}

impl Order {
    pub(crate) const ALL: [Order; 5] =
        [Order::Wide, Order::Crowded, Order::CrowdedWide, Order::Large, Order::Area];

    /// All items of `core`, first to last.
    pub(crate) fn of(self, core: &Core) -> Vec<u32> {
        let totals = Order::totals(core);
        let key = |item: &u32| {
            let item = *item as usize;
            let size = core.size[item];
            let width = u64::from(core.last[item] - core.first[item]);
            let area = u128::from(width) * u128::from(size);
            let total = u128::from(totals[item]);
            let wide = u128::from(width);
            Reverse(match self {
                Order::Wide => (wide, area, total),
                Order::Crowded => (total, area, wide),
                Order::CrowdedWide => (total, wide, area),
                Order::Large => (u128::from(size), wide, total),
                Order::Area => (area, wide, total),
            })
        };
        let mut order: Vec<u32> = (0..core.len() as u32).collect();
        order.sort_by_cached_key(key);
        order
    }

    /// For each item the sum of sizes in the fullest of its sections.
    fn totals(core: &Core) -> Vec<u64> {
        let mut sums = vec![0; core.sections];
        for item in 0..core.len() {
            for section in core.span(item) {
                sums[section] += core.size[item];
            }
        }
        let fullest = |item| sums[core.span(item)].iter().copied().max().unwrap_or(0);
        (0..core.len()).map(fullest).collect()
    }
}

/// A small generator of random numbers (SplitMix64).
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut x = self.0;
        x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ x >> 31
    }

    /// A number below `end`, or 0.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(end)) >> 64) as u64
    }
}
