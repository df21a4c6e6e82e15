//! One row: the same task for us and for every rival.

use std::fmt;

use crate::Bench;
use crate::table::{Line, Unit};

/// Rounds per row.
const ROUNDS: usize = 41;
const ROUNDS_IF_QUICK: usize = 1;
/// The lower quartile of rounds counts.
const QUARTER: usize = 4;

/// The name among the contestants of what nobody can be faster than.
const LIMIT: &str = "limit";

/// Measures once and returns a number, less being better.
type Contestant<'a> = Box<dyn FnMut() -> f64 + 'a>;

/// A row being put together. Nothing happens before [`measure`](Self::measure).
#[must_use = "a row is not measured unless it is told to be"]
pub struct Row<'b, 'a> {
    bench: &'b mut Bench,
    name: String,
    unit: Unit,
    target: f64,
    rounds: usize,
    warm_up: bool,
    /// One sample of how many is below what counts.
    below: usize,
    /// We come first, then the rivals.
    contestants: Vec<(&'static str, Contestant<'a>)>,
}

impl fmt::Debug for Row<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let contestants: Vec<_> = self.contestants.iter().map(|(name, _)| name).collect();
        f.debug_struct("Row")
            .field("name", &self.name)
            .field("contestants", &contestants)
            .finish_non_exhaustive()
    }
}

impl<'b, 'a> Row<'b, 'a> {
    pub(crate) fn new(bench: &'b mut Bench, name: &str, unit: Unit) -> Self {
        let rounds = if bench.quick() { ROUNDS_IF_QUICK } else { ROUNDS };
        let (name, contestants) = (name.to_owned(), Vec::new());
        Self { bench, name, unit, target: 1.0, rounds, warm_up: true, below: QUARTER, contestants }
    }

    /// The largest ratio of ours to the best rival that passes; 1 unless told.
    pub fn target(mut self, ratio: f64) -> Self {
        self.target = ratio;
        self
    }

    /// What nobody can be faster than: the bare memory traffic, say. Shown beside the rivals.
    pub fn limit(mut self, contestant: impl FnMut() -> f64 + 'a) -> Self {
        self.contestants.push((LIMIT, Box::new(contestant)));
        self
    }

    /// One round without warming up, for what gives the same number every time.
    pub fn once(mut self) -> Self {
        self.rounds = 1;
        self.warm_up = false;
        self
    }

    /// So many rounds, for what takes seconds; one if the run is quick.
    pub fn rounds(mut self, rounds: usize) -> Self {
        self.rounds = if self.bench.quick() { ROUNDS_IF_QUICK } else { rounds };
        self
    }

    /// The fastest round of everyone counts: for what needs all processors at once, which a shared
    /// host gives now and then.
    pub fn fastest(mut self) -> Self {
        self.below = usize::MAX;
        self
    }

    /// How we do it: returns a number every time it is called.
    pub fn ours(mut self, contestant: impl FnMut() -> f64 + 'a) -> Self {
        self.contestants.insert(0, ("ours", Box::new(contestant)));
        self
    }

    /// How a rival does it.
    pub fn rival(mut self, name: &'static str, contestant: impl FnMut() -> f64 + 'a) -> Self {
        self.contestants.push((name, Box::new(contestant)));
        self
    }

    /// Lets all take turns, and adds what each needs to the table.
    pub fn measure(self) {
        let Self { bench, name, unit, target, rounds, warm_up, below, mut contestants } = self;
        if warm_up {
            for (_, contestant) in &mut contestants {
                contestant();
            }
        }
        let mut samples = vec![Vec::with_capacity(rounds); contestants.len()];
        for round in 0..rounds {
            // Everyone comes first now and then, as the first may suffer from what was before.
            for turn in 0..contestants.len() {
                let who = (round + turn) % contestants.len();
                if let (Some((_, contestant)), Some(samples)) =
                    (contestants.get_mut(who), samples.get_mut(who))
                {
                    samples.push(contestant());
                }
            }
        }
        let names = contestants.iter().map(|(name, _)| *name);
        let mut values = names.zip(samples.into_iter().map(|samples| low(samples, below)));
        let ours = values.next().map_or(f64::NAN, |(_, value)| value);
        let (limits, rivals): (Vec<_>, Vec<_>) = values.partition(|(name, _)| *name == LIMIT);
        let limit = limits.first().map(|(_, value)| *value);
        bench.add(Line { row: name, ours, rivals, limit, target, unit });
    }
}

/// The number that one of so many samples is below. What else runs on a machine, or beside it on
/// the same host, only ever adds to the time: at times to more than half of the rounds, as a median
/// would show.
fn low(mut samples: Vec<f64>, below: usize) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples.get(samples.len() / below).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_disturbs_most_rounds_is_not_seen() {
        let samples = vec![3.0, 7.0, 1.0, 2.0, 1e9, 8.0, 9.0, 5.0];
        assert_eq!(low(samples.clone(), QUARTER), 3.0);
        assert_eq!(low(samples, usize::MAX), 1.0);
        assert_eq!(low(vec![4.0], QUARTER), 4.0);
        assert!(low(Vec::new(), QUARTER).is_nan());
    }
}
