//! Which bytes of which buffers have contents.

use std::collections::BTreeMap;
use std::ops::Range;

/// Ranges of bytes with contents, of every root.
#[derive(Debug, Default)]
pub(crate) struct Coverage {
    /// Starts and ends of ranges that do not touch, by root.
    ranges: BTreeMap<(u32, u64), u64>,
}

impl Coverage {
    /// `range` of `root` has contents from now on. Ranges that it touches become one with it, so
    /// that many calls are cheap together.
    pub(crate) fn add(&mut self, root: usize, range: Range<u64>) {
        let root = root as u32;
        let Range { mut start, mut end } = range;
        if start >= end {
            return;
        }
        if let Some((&(_, before), &last)) =
            self.ranges.range((root, 0)..=(root, start)).next_back()
            && last >= start
        {
            start = before;
            end = end.max(last);
        }
        while let Some((&key, &last)) = self.ranges.range((root, start)..=(root, end)).next() {
            end = end.max(last);
            self.ranges.remove(&key);
        }
        self.ranges.insert((root, start), end);
    }

    /// Whether all of `range` has contents.
    pub(crate) fn has(&self, root: usize, range: Range<u64>) -> bool {
        let root = root as u32;
        range.is_empty()
            || self
                .ranges
                .range((root, 0)..=(root, range.start))
                .next_back()
                .is_some_and(|(_, &last)| last >= range.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn is_a_set_of_bytes(adds in proptest::collection::vec((0usize..2, 0u64..20, 0u64..6), 0..12)) {
            let mut coverage = Coverage::default();
            let mut model = [[false; 32]; 2];
            for (root, start, length) in adds {
                coverage.add(root, start..start + length);
                model[root][start as usize..(start + length) as usize].fill(true);
                for root in 0..2 {
                    for start in 0..32 {
                        for end in start..32 {
                            let all = model[root][start..end].iter().all(|&byte| byte);
                            prop_assert_eq!(coverage.has(root, start as u64..end as u64), all);
                        }
                    }
                }
            }
        }
    }
}
