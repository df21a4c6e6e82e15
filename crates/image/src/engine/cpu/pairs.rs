//! Source rows in pairs, with their weights for every output row: what is summed in 32 bits where a
//! row is part of more than two outputs.

use std::ops::Range;

use crate::engine::cpu::kernels::{Pairs, Tap};

/// The pairs of all output rows.
#[derive(Debug)]
pub(crate) struct PairTable {
    /// The first pair of each output: that of source rows `2 n` and `2 n + 1`.
    firsts: Vec<usize>,
    /// Where the weights of each output end.
    ends: Vec<usize>,
    /// The weights of two rows beside each other.
    weights: Vec<u32>,
    /// The most pairs of an output.
    most: usize,
    /// The last source row.
    last: usize,
}

impl PairTable {
    /// The pairs of these taps, whose rows rise, if weights are below 2^15: `tap_ends` is where those
    /// of each output end.
    pub(crate) fn of(taps: &[Tap], tap_ends: impl Iterator<Item = usize>) -> Option<PairTable> {
        if taps.iter().any(|tap| i16::try_from(tap.weight()).is_err()) {
            return None;
        }
        let last = taps.iter().map(|tap| tap.row as usize).max().unwrap_or(0);
        let mut all = PairTable { firsts: vec![], ends: vec![], weights: vec![], most: 0, last };
        let mut start = 0;
        for end in tap_ends {
            let own = &taps[start..end];
            let pair = |tap: &Tap| tap.row as usize / 2;
            let (first, last) = (own.first().map_or(0, pair), own.last().map_or(0, pair));
            let from = all.weights.len();
            all.weights.resize(from + if own.is_empty() { 0 } else { last - first + 1 }, 0);
            for tap in own {
                let weight = u32::from(tap.weight() as u16) << (tap.row % 2 * 16);
                all.weights[from + pair(tap) - first] |= weight;
            }
            all.firsts.push(first);
            all.ends.push(all.weights.len());
            all.most = all.most.max(all.weights.len() - from);
            start = end;
        }
        Some(all)
    }

    /// Those of some output rows.
    pub(crate) fn band(&self, rows: &Range<usize>) -> Pairs<'_> {
        Pairs {
            firsts: &self.firsts[rows.clone()],
            ends: &self.ends[rows.clone()],
            start: rows.start.checked_sub(1).map_or(0, |before| self.ends[before]),
            weights: &self.weights,
            kept: self.most.next_power_of_two(),
            last: self.last,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_with_their_rows() {
        let taps = [(1, 5), (2, -7), (4, 9), (3, 1)].map(|(row, weight)| Tap::new(row, weight));
        let table = PairTable::of(&taps, [3, 3, 4].into_iter()).unwrap();
        let all = table.band(&(0..3));
        assert_eq!((all.kept, all.last), (4, 4));
        assert_eq!(all.of(0), (0, &[5 << 16, 0xfff9, 9][..]));
        assert!(all.of(1).1.is_empty());
        assert_eq!(all.of(2), (1, &[1 << 16][..]));
        assert_eq!(table.band(&(2..3)).of(0), all.of(2));
        assert!(PairTable::of(&[Tap::new(0, 40_000)], [1].into_iter()).is_none());
    }
}
