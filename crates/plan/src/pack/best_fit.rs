//! Online best fit: in the order of time, each item takes the smallest gap that holds it.

use std::collections::{BTreeMap, BTreeSet};

use crate::Problem;
use crate::bound::events;

/// Gaps that are looked at before one is taken that is large enough wherever it is.
const LOOKED_AT: usize = 1024;

/// Offsets of all items.
pub(crate) fn pack(problem: &Problem) -> Vec<u64> {
    let items = problem.items();
    let mut offsets = vec![0; items.len()];
    let mut gaps = Gaps::default();
    for (_, starts, index) in events(items) {
        let item = &items[index as usize];
        if starts {
            offsets[index as usize] = gaps.take(item.size, item.align);
        } else {
            gaps.give(offsets[index as usize], item.size);
        }
    }
    offsets
}

/// The gaps below the top, and all that is free above it.
#[derive(Debug, Default)]
struct Gaps {
    /// Size of each gap by its offset. No two of them touch, and none touches the top.
    by_offset: BTreeMap<u64, u64>,
    /// The same as (size, offset).
    by_size: BTreeSet<(u64, u64)>,
    top: u64,
}

impl Gaps {
    fn take(&mut self, size: u64, align: u64) -> u64 {
        let fits = |&&(gap, offset): &&(u64, u64)| {
            let waste = offset.next_multiple_of(align) - offset;
            gap >= waste && gap - waste >= size
        };
        // What a gap can waste is less than the alignment: from there on, the first one fits.
        let found = self.by_size.range((size, 0)..).take(LOOKED_AT).find(fits);
        let found = found.or_else(|| self.by_size.range((size + align - 1, 0)..).next()).copied();
        let (gap, offset) = found.unwrap_or((0, self.top));
        let start = offset.next_multiple_of(align);
        if found.is_some() {
            self.remove(offset, gap);
            self.insert(start + size, offset + gap - start - size);
        } else {
            self.top = start + size;
        }
        self.insert(offset, start - offset);
        start
    }

    fn give(&mut self, offset: u64, size: u64) {
        let (mut offset, mut end) = (offset, offset + size);
        if let Some((&below, &gap)) = self.by_offset.range(..offset).next_back()
            && below + gap == offset
        {
            self.remove(below, gap);
            offset = below;
        }
        if let Some(&gap) = self.by_offset.get(&end) {
            self.remove(end, gap);
            end += gap;
        }
        if end == self.top {
            self.top = offset;
        } else {
            self.insert(offset, end - offset);
        }
    }

    fn insert(&mut self, offset: u64, gap: u64) {
        if gap > 0 {
            self.by_offset.insert(offset, gap);
            self.by_size.insert((gap, offset));
        }
    }

    fn remove(&mut self, offset: u64, gap: u64) {
        self.by_offset.remove(&offset);
        self.by_size.remove(&(gap, offset));
    }
}
