//! Source rows in their order, each with its weights for the two output rows that it is part of.
//!
//! Where a picture is reduced with a triangle, every source row lies between the middles of two
//! output rows and is part of both. Walking along the source reads each row once and not twice.

use std::ops::Range;

use crate::engine::cpu::kernels::{Share, Steps, Tap};

/// The walk over all source rows.
#[derive(Debug, PartialEq)]
pub(crate) struct Walk {
    /// The first source row.
    first: usize,
    /// Weights of this row and of all that follow it.
    shares: Vec<Share>,
    /// For each output row how many shares there are until its second half begins, and their number
    /// in the end: rows between two of these are part of the output before and of the one after.
    ends: Vec<usize>,
}

impl Walk {
    /// The walk that sums these taps, where there is one: `ends` is where those of each output end.
    pub(crate) fn of(taps: &[Tap], ends: impl Iterator<Item = usize>) -> Option<Walk> {
        let first = taps.first()?.row as usize;
        // For each source row the later of its outputs.
        let mut outputs: Vec<usize> = vec![];
        let mut shares: Vec<Share> = vec![];
        let (mut start, mut count) = (0, 0);
        for (output, end) in ends.enumerate() {
            for tap in taps.get(start..end)? {
                let at = (tap.row as usize).checked_sub(first)?;
                if tap.negative || at > shares.len() {
                    return None;
                }
                match shares.get_mut(at) {
                    None => {
                        outputs.push(output);
                        shares.push(Share { before: 0, after: tap.twice });
                    }
                    // Of the output before it is not part, or already of two.
                    Some(share) if share.before != 0 || outputs[at] + 1 != output => return None,
                    Some(share) => {
                        outputs[at] = output;
                        *share = Share { before: share.after, after: tap.twice };
                    }
                }
            }
            (start, count) = (end, output + 1);
        }
        if !outputs.is_sorted() {
            return None;
        }
        let ends = (0..count).map(|output| outputs.partition_point(|later| *later <= output));
        let ends = ends.chain([shares.len()]).collect();
        Some(Walk { first, shares, ends })
    }

    /// The steps of some output rows, of which there is at least one.
    pub(crate) fn steps(&self, rows: &Range<usize>) -> Option<Steps<'_>> {
        let ends = self.ends.get(rows.start..=rows.end).filter(|ends| ends.len() > 1)?;
        let start = rows.start.checked_sub(1).map_or(0, |before| self.ends[before]);
        Some(Steps { first: self.first, shares: &self.shares, start, ends })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(outputs: &[&[(usize, i32)]]) -> Option<Walk> {
        let mut taps = vec![];
        let mut ends = vec![];
        for output in outputs {
            taps.extend(output.iter().map(|(row, weight)| Tap::new(*row, *weight)));
            ends.push(taps.len());
        }
        Walk::of(&taps, ends.into_iter())
    }

    /// What a walk gives each output: rows and weights.
    fn sums(walk: &Walk, rows: Range<usize>) -> Vec<Vec<(usize, u32)>> {
        let steps = walk.steps(&rows).unwrap();
        let mut sums = vec![vec![]; rows.len()];
        let mut add = |lane: usize, at: usize, weight: u32| {
            if weight != 0 {
                sums[lane].push((steps.first + at, weight & 0xffff));
            }
        };
        let mut start = steps.start;
        for (lane, end) in steps.ends.iter().enumerate() {
            for at in start..*end {
                if lane > 0 {
                    add(lane - 1, at, steps.shares[at].before);
                }
                if lane < rows.len() {
                    add(lane, at, steps.shares[at].after);
                }
            }
            start = *end;
        }
        sums
    }

    #[test]
    fn every_output_gets_its_taps() {
        let outputs: [&[(usize, i32)]; 4] = [
            &[(5, 10), (6, 7), (7, 3)],
            &[(6, 3), (7, 7), (8, 9), (9, 2)],
            &[(9, 8), (10, 9)],
            &[(10, 1), (11, 9), (12, 9)],
        ];
        let walk = of(&outputs).unwrap();
        for start in 0..4 {
            for end in start + 1..=4 {
                let expected: Vec<Vec<(usize, u32)>> = outputs[start..end]
                    .iter()
                    .map(|taps| taps.iter().map(|(row, weight)| (*row, *weight as u32)).collect())
                    .collect();
                assert_eq!(sums(&walk, start..end), expected, "{start}..{end}");
            }
        }
        assert_eq!(walk.steps(&(2..2)), None);
        assert_eq!(walk.steps(&(3..5)), None);
    }

    #[test]
    fn what_is_no_walk() {
        assert_eq!(of(&[]), None);
        // A row of three outputs, a row that nobody wants, rows that fall, a weight below zero.
        assert_eq!(of(&[&[(0, 1), (1, 1)], &[(1, 1)], &[(1, 1), (2, 1)]]), None);
        assert_eq!(of(&[&[(0, 1)], &[(2, 1)]]), None);
        assert_eq!(of(&[&[(3, 1), (4, 1)], &[(2, 1), (3, 1)]]), None);
        assert_eq!(of(&[&[(0, 2), (1, -1)], &[(1, 1)]]), None);
        // Rows of outputs that are no neighbours.
        assert_eq!(of(&[&[(0, 1), (1, 1)], &[(2, 1)], &[(1, 1), (3, 1)]]), None);
    }
}
