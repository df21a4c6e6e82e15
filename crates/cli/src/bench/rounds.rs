//! Rounds: every case is measured once in each, so that what changes over time changes all.
//!
//! A case does its work so many times per sample that the clock is fine enough.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use crate::failure::Failure;

/// The work of a case, so many times; gives the time that counts.
pub(super) type Work = Box<dyn FnMut(u32) -> Result<Duration, Failure>>;

/// Something to measure.
pub(super) struct Case<K> {
    /// What it is.
    pub(super) key: K,
    work: Work,
    /// How often the work is done for one sample.
    batch: u32,
    /// Whether `batch` is to be found out.
    adapts: bool,
    /// Nanoseconds of doing the work once, one for each round.
    samples: Vec<f64>,
    /// Why it cannot be measured, if that came out while trying.
    failure: Option<Failure>,
}

/// How much is measured.
#[derive(Debug, Clone, Copy)]
pub(super) struct Effort {
    /// How many rounds.
    pub(super) rounds: u32,
    /// How long one sample should take at least.
    pub(super) sample: Duration,
}

/// Nanoseconds of doing something once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Times {
    /// Half of the samples are above, half below.
    pub(super) median: f64,
    /// The shortest.
    pub(super) lowest: f64,
    /// The longest.
    pub(super) highest: f64,
}

/// More than this often nothing is done for one sample.
const MOST: u32 = 1 << 20;

impl<K> Case<K> {
    /// Work that is done as often as the clock needs.
    pub(super) fn new(
        key: K,
        work: impl FnMut(u32) -> Result<Duration, Failure> + 'static,
    ) -> Case<K> {
        Case { key, work: Box::new(work), batch: 1, adapts: true, samples: vec![], failure: None }
    }

    /// Work that is done exactly so often for each sample.
    pub(super) fn fixed(
        key: K,
        batch: u32,
        work: impl FnMut(u32) -> Result<Duration, Failure> + 'static,
    ) -> Case<K> {
        Case { key, work: Box::new(work), batch, adapts: false, samples: vec![], failure: None }
    }

    /// Does the work without counting it, and finds out how often it is done for one sample.
    fn prepare(&mut self, sample: Duration) -> Result<(), Failure> {
        let mut took = (self.work)(self.batch)?;
        while self.adapts && took < sample && self.batch < MOST {
            let missing = sample.as_secs_f64() / took.as_secs_f64().max(1e-9);
            // Not all at once: the first times are the slowest.
            let more = f64::from(self.batch) * missing.clamp(1.5, 8.0);
            self.batch = (more as u32).clamp(self.batch + 1, MOST);
            took = (self.work)(self.batch)?;
        }
        Ok(())
    }

    fn measure(&mut self) -> Result<(), Failure> {
        let took = (self.work)(self.batch)?;
        self.samples.push(took.as_secs_f64() * 1e9 / f64::from(self.batch.max(1)));
        Ok(())
    }

    /// Does a part of the measurement, unless one before failed.
    fn attempt(&mut self, part: impl FnOnce(&mut Case<K>) -> Result<(), Failure>) {
        if self.failure.is_none() {
            self.failure = part(self).err();
        }
    }

    /// Why it could not be measured.
    pub(super) fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }

    /// What was measured; `None` before the first round and after a failure.
    pub(super) fn times(&self) -> Option<Times> {
        if self.failure.is_some() {
            return None;
        }
        let mut sorted = self.samples.clone();
        sorted.sort_by(f64::total_cmp);
        let (&lowest, &highest) = (sorted.first()?, sorted.last()?);
        let upper = sorted.get(sorted.len() / 2)?;
        let lower = sorted.get((sorted.len() - 1) / 2)?;
        Some(Times { median: (lower + upper) / 2.0, lowest, highest })
    }
}

/// Measures all cases, in turns; each round begins with another one. A case that fails does not
/// keep the others from being measured.
pub(super) fn run<K>(cases: &mut [Case<K>], effort: Effort) {
    let progress = Progress::new();
    progress.say("warming up");
    for case in cases.iter_mut() {
        case.attempt(|case| case.prepare(effort.sample));
    }
    for round in 0..effort.rounds {
        progress.say(&format!("round {} of {}", round + 1, effort.rounds));
        let first = round as usize % cases.len().max(1);
        let (before, after) = cases.split_at_mut(first);
        for case in after.iter_mut().chain(before) {
            case.attempt(Case::measure);
        }
    }
}

/// Tells a person who waits how far it is; removed when done.
struct Progress {
    wanted: bool,
}

impl Progress {
    fn new() -> Progress {
        Progress { wanted: std::io::stderr().is_terminal() }
    }

    fn say(&self, text: &str) {
        if self.wanted {
            // Nobody is harmed if this does not arrive.
            let _ = write!(anstream::stderr(), "\r{text:<24}\r");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.say("");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::rc::Rc;

    const EFFORT: Effort = Effort { rounds: 3, sample: Duration::from_micros(100) };

    #[test]
    fn medians_are_in_the_middle() {
        let mut case = Case::new((), |_| Ok(Duration::ZERO));
        assert_eq!(case.times(), None);
        case.samples = vec![5.0, 1.0, 3.0];
        assert_eq!(case.times(), Some(Times { median: 3.0, lowest: 1.0, highest: 5.0 }));
        case.samples.push(9.0);
        assert_eq!(case.times().map(|times| times.median), Some(4.0));
    }

    #[test]
    fn quick_work_is_done_often() {
        let step = |batch: u32| Ok(Duration::from_nanos(10) * batch);
        let mut cases = [Case::new("quick", step), Case::fixed("fixed", 4, step)];
        run(&mut cases, EFFORT);
        assert!(cases[0].batch >= 10_000, "{}", cases[0].batch);
        assert_eq!(cases[1].batch, 4);
        for case in &cases {
            assert_eq!(case.samples, [10.0; 3], "{}", case.key);
        }
    }

    #[test]
    fn work_without_time_ends() {
        let mut cases = [Case::new("nothing", |_| Ok(Duration::ZERO))];
        run(&mut cases, EFFORT);
        assert_eq!(cases[0].batch, MOST);
    }

    #[test]
    fn a_case_that_fails_stands_aside() {
        let fails = |_| Err(Failure::NothingToMeasure(vec![]));
        let mut cases =
            [Case::new("bad", fails), Case::fixed("good", 1, |_| Ok(Duration::from_nanos(5)))];
        run(&mut cases, EFFORT);
        assert!(cases[0].failure().is_some() && cases[0].times().is_none());
        assert_eq!(cases[1].times().map(|times| times.median), Some(5.0));
    }

    #[test]
    fn rounds_take_turns() {
        let order = Rc::new(RefCell::new(vec![]));
        let case = |name: char| {
            let order = Rc::clone(&order);
            Case::fixed(name, 1, move |_| {
                order.borrow_mut().push(name);
                Ok(Duration::from_millis(1))
            })
        };
        run(&mut ['a', 'b', 'c'].map(case), EFFORT);
        assert_eq!(order.borrow().iter().collect::<String>(), "abc".to_owned() + "abcbcacab");
    }
}
