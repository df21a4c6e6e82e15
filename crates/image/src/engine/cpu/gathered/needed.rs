//! Which source rows output rows need, one after the other, and when each is resized.

use std::ops::Range;

use crate::engine::cpu::fixed::Vertical;

/// Rows that are resized together at least, as they share what is read of the tables, if the second is
/// not needed yet: there is room for one more than an output row needs.
const TOGETHER: u32 = 2;

/// Output rows from the one that is made to the one whose source rows are fetched meanwhile.
const LEAD: usize = 3;

/// The source rows of some output rows.
#[derive(Debug)]
pub(super) struct Needed<'a> {
    vertical: &'a Vertical,
    /// The output row that is next, and where they end.
    row: usize,
    end: usize,
    /// All source rows of these.
    all: Range<u32>,
    /// Whether they rise from output to output, or fall.
    rise: bool,
    /// Those that are resized.
    kept: Range<u32>,
    /// Those that are resized or fetched.
    fetched: Range<u32>,
}

impl<'a> Needed<'a> {
    pub(super) fn new(vertical: &'a Vertical, rows: &Range<usize>) -> Needed<'a> {
        let (first, last) = (of(vertical, rows.start), of(vertical, rows.end.saturating_sub(1)));
        let rise = first.start <= last.start;
        let all = first.start.min(last.start)..first.end.max(last.end);
        let none = if rise { all.start..all.start } else { all.end..all.end };
        let (kept, fetched) = (none.clone(), none);
        Needed { vertical, row: rows.start, end: rows.end, all, rise, kept, fetched }
    }

    /// The source rows that are to be resized for the next output row, and perhaps one more.
    #[inline]
    pub(super) fn next(&mut self) -> Range<u32> {
        let needed = of(self.vertical, self.row);
        self.row += 1;
        let missing = if self.rise {
            needed.start.max(self.kept.end)..needed.end
        } else {
            needed.start..needed.end.min(self.kept.start)
        };
        if missing.is_empty() {
            return missing;
        }
        let missing = self.with_others(missing);
        self.kept = needed.start.min(missing.start)..needed.end.max(missing.end);
        missing
    }

    /// Rows, and others after them if they are fewer than are resized together.
    #[inline]
    fn with_others(&self, rows: Range<u32>) -> Range<u32> {
        if self.rise {
            rows.start..rows.end.max((rows.start + TOGETHER).min(self.all.end))
        } else {
            rows.start.min(rows.end.saturating_sub(TOGETHER).max(self.all.start))..rows.end
        }
    }

    /// Source rows that are wanted soon and that nobody has asked for.
    #[inline]
    pub(super) fn soon(&mut self) -> Range<u32> {
        let later = (self.row + LEAD).min(self.end).saturating_sub(1);
        let wanted = of(self.vertical, later);
        let soon = if self.rise {
            wanted.start.max(self.fetched.end).max(self.kept.end)..wanted.end
        } else {
            wanted.start..wanted.end.min(self.fetched.start).min(self.kept.start)
        };
        if soon.is_empty() {
            return soon;
        }
        self.fetched = self.with_others(soon.clone());
        self.fetched.clone()
    }
}

/// The source rows of an output row, from the first to the last.
#[inline]
fn of(vertical: &Vertical, row: usize) -> Range<u32> {
    match vertical.taps(row).0 {
        [first, .., last] => first.row..last.row + 1,
        [one] => one.row..one.row + 1,
        [] => 0..0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convert::Filter;
    use crate::engine::cpu::fixed::Down;
    use crate::geometry::Axis;
    use crate::taps::{Samples, Taps};

    fn vertical(from: usize, to: usize, falls: bool, filter: Filter) -> Vertical {
        let axis = Axis { start: 0.0, length: from as f64, outputs: to, mirrored: falls };
        let (all, out) = (Samples::new(0, from, 1, None), Samples::new(0, to, 1, None));
        Vertical::new(&Taps::new(filter, &axis, &all, &out), 7, Down::Narrow, 22)
    }

    #[test]
    fn every_row_is_resized_once_and_in_time() {
        for (from, to, filter) in [
            (9, 30, Filter::Antialiased),
            (40, 41, Filter::Antialiased),
            (41, 40, Filter::Antialiased),
            (60, 33, Filter::Antialiased),
            (90, 20, Filter::Bilinear),
            (2, 7, Filter::Bilinear),
            (1, 5, Filter::Bilinear),
        ] {
            for falls in [false, true] {
                let vertical = vertical(from, to, falls, filter);
                let most = vertical.most() as u32;
                for rows in [0..to, 0..1, 3.min(to - 1)..to, to / 2..to / 2 + 2] {
                    let mut needed = Needed::new(&vertical, &rows);
                    // What is in the places of a ring with room for one more than a row needs.
                    let ring = (most + 1).next_power_of_two();
                    let mut places = vec![None; ring as usize];
                    let mut resized = 0..0;
                    for row in rows.clone() {
                        let missing = needed.next();
                        assert!(missing.end <= from as u32);
                        for source in missing.clone() {
                            assert!(
                                resized.is_empty() || !resized.contains(&source),
                                "{source} again"
                            );
                            places[(source % ring) as usize] = Some(source);
                        }
                        if !missing.is_empty() {
                            let before = if resized.is_empty() { missing.clone() } else { resized };
                            resized = before.start.min(missing.start)..before.end.max(missing.end);
                        }
                        for tap in vertical.taps(row).0 {
                            assert_eq!(places[(tap.row % ring) as usize], Some(tap.row), "{row}");
                        }
                        assert!(needed.soon().all(|soon| soon < from as u32));
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_fetched_is_resized_later() {
        for falls in [false, true] {
            let vertical = vertical(40, 90, falls, Filter::Antialiased);
            let mut needed = Needed::new(&vertical, &(0..90));
            let (mut fetched, mut late) = (vec![], 0);
            for _ in 0..90 {
                late += needed.next().filter(|row| !fetched.contains(row)).count();
                for soon in needed.soon() {
                    assert!(!fetched.contains(&soon), "{soon} again");
                    fetched.push(soon);
                }
            }
            // Those of the first output row, and the one beyond them.
            assert!(late <= 3, "{late}");
            assert!(fetched.len() >= 37);
        }
    }
}
