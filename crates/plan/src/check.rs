//! An independent verdict on a packing: one sweep over time, sharing nothing with the packers.

use std::collections::BTreeMap;

use crate::{Packing, Problem};

/// What is wrong with a packing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CheckError {
    /// There must be one offset per item.
    #[error("{offsets} offsets for {items} items")]
    Count {
        /// Offsets in the packing.
        offsets: usize,
        /// Items in the problem.
        items: usize,
    },

    /// An offset is not a multiple of the item's alignment.
    #[error("item {item} is at {offset}, which is not a multiple of {align}")]
    Misaligned {
        /// Index of the item.
        item: usize,
        /// Where it was put.
        offset: u64,
        /// What its offset should be a multiple of.
        align: u64,
    },

    /// An item ends above the size of the arena.
    #[error("item {item} of {size} bytes at {offset} ends outside of the {bytes} bytes")]
    Outside {
        /// Index of the item.
        item: usize,
        /// Where it was put.
        offset: u64,
        /// Its size in bytes.
        size: u64,
        /// The size of the arena.
        bytes: u64,
    },

    /// Two items are alive at the same time and share bytes.
    #[error("items {first} and {second} share byte {byte} at time {time}")]
    Overlap {
        /// Index of the item that was there first.
        first: usize,
        /// Index of the other.
        second: usize,
        /// A time at which both are alive.
        time: u64,
        /// An offset that both cover.
        byte: u64,
    },

    /// The packing claims to be smaller than its own lower bound, or optimal at another size.
    #[error("{bytes} bytes, lower bound {lower_bound}, optimal {optimal}: cannot be")]
    Claim {
        /// The size of the arena.
        bytes: u64,
        /// The claimed lower bound.
        lower_bound: u64,
        /// Whether the packing is said to be minimal.
        optimal: bool,
    },
}

/// Checks that `packing` is one of `problem`: every item is aligned and inside of the arena, and
/// no two that are alive at the same time share a byte. Takes O(n log n).
///
/// # Errors
///
/// [`CheckError`], for the first fault found.
pub fn check(problem: &Problem, packing: &Packing) -> Result<(), CheckError> {
    let &Packing { ref offsets, bytes, lower_bound, optimal } = packing;
    check_offsets(problem, offsets, bytes)?;
    if bytes < lower_bound || optimal != (bytes == lower_bound) {
        return Err(CheckError::Claim { bytes, lower_bound, optimal });
    }
    Ok(())
}

/// As [`check`], for bare offsets in an arena of `bytes`.
///
/// # Errors
///
/// [`CheckError`], for the first fault found.
pub fn check_offsets(problem: &Problem, offsets: &[u64], bytes: u64) -> Result<(), CheckError> {
    let items = problem.items();
    if offsets.len() != items.len() {
        return Err(CheckError::Count { offsets: offsets.len(), items: items.len() });
    }
    // (time, 0 for ends and 1 for starts, item): what ends at a time makes room at that time.
    let mut events = Vec::with_capacity(2 * items.len());
    for (index, (item, &offset)) in items.iter().zip(offsets).enumerate() {
        if offset % item.align != 0 {
            return Err(CheckError::Misaligned { item: index, offset, align: item.align });
        }
        if offset.checked_add(item.size).is_none_or(|end| end > bytes) {
            return Err(CheckError::Outside { item: index, offset, size: item.size, bytes });
        }
        if item.size > 0 {
            events.push((item.lower, 1u8, index));
            events.push((item.upper, 0, index));
        }
    }
    events.sort_unstable();
    // What is alive, by offset: its end and its index.
    let mut live: BTreeMap<u64, (u64, usize)> = BTreeMap::new();
    for (time, starts, index) in events {
        let (offset, size) = (offsets[index], items[index].size);
        if starts == 0 {
            live.remove(&offset);
            continue;
        }
        if let Some((_, &(end, first))) = live.range(..=offset).next_back()
            && end > offset
        {
            return Err(CheckError::Overlap { first, second: index, time, byte: offset });
        }
        if let Some((&byte, &(_, first))) = live.range(offset..).next()
            && byte < offset + size
        {
            return Err(CheckError::Overlap { first, second: index, time, byte });
        }
        live.insert(offset, (offset + size, index));
    }
    Ok(())
}

impl CheckError {
    /// What sort of error it is.
    pub fn kind(&self) -> tenure_layout::ErrorKind {
        tenure_layout::ErrorKind::Invalid
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Item;

    fn verdict(items: &[(u64, u64, u64, u64)], offsets: &[u64], bytes: u64) -> Option<CheckError> {
        let item = |&(lower, upper, size, align)| Item { lower, upper, size, align };
        let problem = Problem::new(items.iter().map(item).collect()).unwrap();
        check_offsets(&problem, offsets, bytes).err()
    }

    #[test]
    fn faults_are_named() {
        let two = [(0, 2, 4, 1), (1, 3, 4, 1)];
        let overlap = |byte| Some(CheckError::Overlap { first: 0, second: 1, time: 1, byte });
        assert_eq!(verdict(&two, &[0, 4], 8), None);
        assert_eq!(verdict(&two, &[4, 0], 8), None);
        assert_eq!(verdict(&two, &[0, 3], 8), overlap(3));
        assert_eq!(verdict(&two, &[3, 0], 8), overlap(3));
        assert_eq!(verdict(&two, &[2, 2], 8), overlap(2));
        assert_eq!(
            verdict(&two, &[0, 4], 7),
            Some(CheckError::Outside { item: 1, offset: 4, size: 4, bytes: 7 })
        );
        assert_eq!(
            verdict(&two, &[0, u64::MAX], 7),
            Some(CheckError::Outside { item: 1, offset: u64::MAX, size: 4, bytes: 7 })
        );
        assert_eq!(verdict(&two, &[0], 8), Some(CheckError::Count { offsets: 1, items: 2 }));
        assert_eq!(
            verdict(&[(0, 1, 4, 8)], &[4], 8),
            Some(CheckError::Misaligned { item: 0, offset: 4, align: 8 })
        );
    }

    #[test]
    fn one_may_start_when_another_ends() {
        assert_eq!(verdict(&[(0, 2, 4, 1), (2, 3, 4, 1)], &[0, 0], 4), None);
        assert_eq!(verdict(&[(2, 3, 4, 1), (0, 2, 4, 1)], &[0, 0], 4), None);
    }

    #[test]
    fn nothing_is_in_the_way_of_nothing() {
        assert_eq!(verdict(&[(0, 2, 4, 1), (0, 2, 0, 1)], &[0, 2], 4), None);
        assert_eq!(verdict(&[], &[], 0), None);
    }
}
