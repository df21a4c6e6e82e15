//! How long to search, and who listens.

use std::cell::Cell;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The default of [`Options::work`].
const DEFAULT_WORK: u64 = 2_000_000;

/// Steps of an inner loop per unit of work.
const STEPS: u64 = 512;

/// Limits of a search. The result depends on the problem, `seed` and `work` only, unless `time`
/// or `stop` end the search before its work is done.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// Where randomness starts.
    pub seed: u64,
    /// Work to do at most. A unit is very roughly a microsecond; it counts steps, not time, so
    /// the same work gives the same result on every machine.
    pub work: u64,
    /// Time to take at most.
    pub time: Option<Duration>,
    /// Ends the search soon after it becomes true; the best result so far is returned.
    pub stop: Option<&'a AtomicBool>,
    /// Is told of every better packing and every better bound.
    pub progress: Option<&'a dyn Fn(Progress)>,
}

/// How far a search is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Bytes of the best packing so far.
    pub bytes: u64,
    /// What no packing can be smaller than, so far.
    pub lower_bound: u64,
    /// Work done so far.
    pub work: u64,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options { seed: 0, work: DEFAULT_WORK, time: None, stop: None, progress: None }
    }
}

impl fmt::Debug for Options<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("seed", &self.seed)
            .field("work", &self.work)
            .field("time", &self.time)
            .field("stop", &self.stop)
            .field("progress", &self.progress.is_some())
            .finish()
    }
}

/// Counts work against the limits.
#[derive(Debug)]
pub(crate) struct Meter<'a> {
    options: &'a Options<'a>,
    end: Option<Instant>,
    steps: Cell<u64>,
    spent: Cell<bool>,
    last: Cell<(u64, u64)>,
}

impl<'a> Meter<'a> {
    pub(crate) fn new(options: &'a Options<'a>) -> Meter<'a> {
        Meter {
            options,
            end: options.time.and_then(|time| Instant::now().checked_add(time)),
            steps: Cell::new(0),
            spent: Cell::new(options.work == 0),
            last: Cell::new((0, 0)),
        }
    }

    /// Counts steps of an inner loop.
    pub(crate) fn spend(&self, steps: u64) {
        let sum = self.steps.get().saturating_add(steps);
        self.steps.set(sum);
        if self.options.work.checked_mul(STEPS).is_some_and(|limit| sum >= limit) {
            self.spent.set(true);
        }
    }

    /// Whether a limit is reached. Looks at the clock and the flag.
    pub(crate) fn is_spent(&self) -> bool {
        if !self.spent.get() {
            let late = self.end.is_some_and(|end| Instant::now() >= end);
            let stopped = self.options.stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
            self.spent.set(late || stopped);
        }
        self.spent.get()
    }

    /// Tells whoever listens, if something is new.
    pub(crate) fn report(&self, bytes: u64, lower_bound: u64) {
        if let Some(progress) = self.options.progress
            && self.last.replace((bytes, lower_bound)) != (bytes, lower_bound)
        {
            progress(Progress { bytes, lower_bound, work: self.steps.get() / STEPS });
        }
    }
}
