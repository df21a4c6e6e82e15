//! The problem as the search sees it: sizes in units, times as sections, twins side by side.
//!
//! A section is a longest run of time in which nothing starts after something has ended: whatever
//! overlaps at all overlaps in a section. Sizes are divided by what divides all of them, as are
//! alignments; an alignment that every multiple of the unit has is dropped.

use crate::bound::events;
use crate::{Item, Problem};

/// A problem in sections and units. Items without bytes are left out.
#[derive(Debug, Clone)]
pub(crate) struct Core {
    /// Bytes per unit, at least 1.
    pub(crate) unit: u64,
    /// Number of sections.
    pub(crate) sections: usize,
    /// First section of each item; items are sorted by it.
    pub(crate) first: Vec<u32>,
    /// One after the last section of each item.
    pub(crate) last: Vec<u32>,
    /// Size of each item in units, not 0.
    pub(crate) size: Vec<u64>,
    /// Alignment of each item in units, as the logarithm of a power of two.
    align: Vec<u8>,
    /// Whether the item equals the one before.
    pub(crate) twin: Vec<bool>,
    /// Index in the problem of each item.
    pub(crate) origin: Vec<u32>,
    /// The first item that starts in each section or later, and the number of items.
    item_start: Vec<u32>,
}

impl Core {
    /// The problem in sections and units.
    pub(crate) fn new(problem: &Problem) -> Core {
        let items = problem.items();
        let (spans, sections) = sections(items);
        let unit = unit(items);
        let mut order: Vec<u32> =
            (0..items.len() as u32).filter(|&i| items[i as usize].size > 0).collect();
        let key = |&i: &u32| {
            let (item, span) = (&items[i as usize], spans[i as usize]);
            (span, item.size, (item.align / unit).max(1), i)
        };
        order.sort_unstable_by_key(key);
        let alike = |a: &u32, b: &u32| {
            let (a, b) = (key(a), key(b));
            (a.0, a.1, a.2) == (b.0, b.1, b.2)
        };
        let mut twin = vec![false; order.len()];
        for (index, pair) in order.windows(2).enumerate() {
            twin[index + 1] = alike(&pair[0], &pair[1]);
        }
        let pick = |f: &dyn Fn(usize) -> u64| order.iter().map(|&i| f(i as usize)).collect();
        let align = |&i: &u32| (items[i as usize].align / unit).max(1).ilog2() as u8;
        let mut core = Core {
            unit,
            sections,
            first: order.iter().map(|&i| spans[i as usize].0).collect(),
            last: order.iter().map(|&i| spans[i as usize].1).collect(),
            size: pick(&|i| items[i].size / unit),
            align: order.iter().map(align).collect(),
            twin,
            origin: order,
            item_start: vec![0; sections + 1],
        };
        for &first in &core.first {
            core.item_start[first as usize + 1] += 1;
        }
        for section in 0..sections {
            core.item_start[section + 1] += core.item_start[section];
        }
        core
    }

    /// Number of items.
    pub(crate) fn len(&self) -> usize {
        self.size.len()
    }

    /// The items that start in one of the sections `from..to`.
    pub(crate) fn starting(&self, from: usize, to: usize) -> std::ops::Range<usize> {
        self.item_start[from] as usize..self.item_start[to] as usize
    }

    /// The sections of an item.
    pub(crate) fn span(&self, item: usize) -> std::ops::Range<usize> {
        self.first[item] as usize..self.last[item] as usize
    }

    /// The bits that an offset of the item must not have.
    pub(crate) fn mask(&self, item: usize) -> u64 {
        (1 << self.align[item]) - 1
    }

    /// The section with the largest sum of sizes, and the sum.
    pub(crate) fn fullest(&self) -> (usize, u64) {
        let (mut live, mut ending) = (0u64, vec![0u64; self.sections + 1]);
        let mut most = (0, 0);
        for section in 0..self.sections {
            live -= ending[section];
            for item in self.starting(section, section + 1) {
                live += self.size[item];
                ending[self.last[item] as usize] += self.size[item];
            }
            if live > most.1 {
                most = (section, live);
            }
        }
        most
    }

    /// The smallest offset from `offset` on that suits the item's alignment.
    pub(crate) fn align_up(&self, item: usize, offset: u64) -> u64 {
        let mask = self.mask(item);
        (offset + mask) & !mask
    }

    /// Offsets in bytes by the problem's order, from offsets in units by the core's.
    pub(crate) fn to_bytes(&self, items: usize, offsets: &[u64]) -> Vec<u64> {
        let mut bytes = vec![0; items];
        for (&origin, &offset) in self.origin.iter().zip(offsets) {
            bytes[origin as usize] = offset * self.unit;
        }
        bytes
    }
}

/// First and one after the last section of each item, and the number of sections.
fn sections(items: &[Item]) -> (Vec<(u32, u32)>, usize) {
    let mut spans = vec![(0, 0); items.len()];
    let (mut section, mut ended) = (0u32, false);
    let events = events(items);
    for &(_, starts, item) in &events {
        if starts {
            section += u32::from(ended);
            spans[item as usize].0 = section;
        } else {
            spans[item as usize].1 = section + 1;
        }
        ended = !starts;
    }
    (spans, if events.is_empty() { 0 } else { section as usize + 1 })
}

/// What divides all sizes and is divided by or divides all alignments.
///
/// In a packing in which nothing can be lowered, every offset is 0 or the end of another item,
/// rounded up to an alignment: a multiple of this.
fn unit(items: &[Item]) -> u64 {
    let gcd = items.iter().map(|item| item.size).fold(0, gcd).max(1);
    let even = 1 << gcd.trailing_zeros();
    let coarse = items.iter().filter(|item| item.size > 0).any(|item| item.align > even);
    if coarse { even } else { gcd }
}

fn gcd(a: u64, b: u64) -> u64 {
    let (mut a, mut b) = (a, b);
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The longest lists of who is in which section that are made: 4 bytes each.
const MOST_MEMBERS: u64 = 1 << 24;

/// The most items that are searched: with more, a search does not even come to their end.
const MOST_ITEMS: usize = 1 << 18;

/// Who is in which section.
#[derive(Debug)]
pub(crate) struct Members {
    /// Items of all sections, one section after the other.
    items: Vec<u32>,
    /// Where the items of each section start, and the end of all.
    start: Vec<u32>,
}

impl Members {
    /// The lists of all sections; `None` if they would be too long to search anyway.
    pub(crate) fn new(core: &Core) -> Option<Members> {
        let spans = core.first.iter().zip(&core.last);
        let count: u64 = spans.map(|(first, last)| u64::from(last - first)).sum();
        if count > MOST_MEMBERS || core.len() > MOST_ITEMS {
            return None;
        }
        let mut start = vec![0u32; core.sections + 1];
        for item in 0..core.len() {
            for section in core.span(item) {
                start[section + 1] += 1;
            }
        }
        for section in 0..core.sections {
            start[section + 1] += start[section];
        }
        let mut next = start.clone();
        let mut items = vec![0; start[core.sections] as usize];
        for item in 0..core.len() {
            for place in &mut next[core.span(item)] {
                items[*place as usize] = item as u32;
                *place += 1;
            }
        }
        Some(Members { items, start })
    }

    /// The items alive in a section.
    pub(crate) fn of(&self, section: usize) -> &[u32] {
        &self.items[self.start[section] as usize..self.start[section + 1] as usize]
    }
}
