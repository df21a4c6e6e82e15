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
///
/// ```
/// use std::time::Duration;
/// use tenure_plan::{Item, Options, Problem, minimise};
/// let item = |lower, upper, size| Item { lower, upper, size, align: 1 };
/// let problem = Problem::new(vec![item(0, 2, 64), item(1, 3, 32), item(2, 4, 64)])?;
/// let best_in_a_second = Options {
///     work: u64::MAX,
///     time: Some(Duration::from_secs(1)),
///     threads: 4,
///     ..Options::default()
/// };
/// assert_eq!(minimise(&problem, &best_in_a_second).bytes, 96);
/// # Ok::<(), tenure_plan::ProblemError>(())
/// ```
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// Where randomness starts.
    pub seed: u64,
    /// Work to do at most. A unit is very roughly a microsecond; it counts steps, not time, so
    /// the same work gives the same result on every machine.
    pub work: u64,
    /// Threads to search with at most, the caller's among them; 0 is taken for 1. They change how
    /// long a search takes, not what it finds.
    pub threads: usize,
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
        Options { seed: 0, work: DEFAULT_WORK, threads: 1, time: None, stop: None, progress: None }
    }
}

impl fmt::Debug for Options<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("seed", &self.seed)
            .field("work", &self.work)
            .field("threads", &self.threads)
            .field("time", &self.time)
            .field("stop", &self.stop)
            .field("progress", &self.progress.is_some())
            .finish()
    }
}

/// Counts work against the limits. One thread has it, and tells whoever listens.
#[derive(Debug)]
pub(crate) struct Meter<'a> {
    limits: Limits<'a>,
    pub(crate) threads: usize,
    progress: Listener<'a>,
    steps: Cell<u64>,
    spent: Cell<bool>,
}

/// What ends a search, for any thread to look at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits<'a> {
    /// Steps of the inner loop.
    pub(crate) steps: u64,
    end: Option<Instant>,
    stop: Option<&'a AtomicBool>,
}

/// The part of the limits that one of several searches has, and what it has spent of it.
#[derive(Debug)]
pub(crate) struct Allowance<'a> {
    limits: Limits<'a>,
    /// Becomes true if the search is not of interest any more.
    cut: &'a AtomicBool,
    pub(crate) steps: u64,
    over: bool,
}

/// Who listens, and what was said last.
struct Listener<'a> {
    progress: Option<&'a dyn Fn(Progress)>,
    last: Cell<(u64, u64)>,
}

impl fmt::Debug for Listener<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listener").field("last", &self.last).finish_non_exhaustive()
    }
}

impl<'a> Meter<'a> {
    pub(crate) fn new(options: &Options<'a>) -> Meter<'a> {
        let limits = Limits {
            steps: options.work.saturating_mul(STEPS),
            end: options.time.and_then(|time| Instant::now().checked_add(time)),
            stop: options.stop,
        };
        let progress = Listener { progress: options.progress, last: Cell::new((0, 0)) };
        let spent = Cell::new(limits.steps == 0);
        let threads = options.threads.max(1);
        Meter { limits, threads, progress, steps: Cell::new(0), spent }
    }

    /// What is left, for someone else to count against.
    pub(crate) fn left(&self) -> Limits<'a> {
        Limits { steps: self.limits.steps.saturating_sub(self.steps.get()), ..self.limits }
    }

    /// Steps counted so far.
    pub(crate) fn spent(&self) -> u64 {
        self.steps.get()
    }

    /// Counts steps of an inner loop.
    pub(crate) fn spend(&self, steps: u64) {
        let sum = self.steps.get().saturating_add(steps);
        self.steps.set(sum);
        if sum >= self.limits.steps {
            self.spent.set(true);
        }
    }

    /// Whether a limit is reached. Looks at the clock and the flag.
    pub(crate) fn is_spent(&self) -> bool {
        if !self.spent.get() {
            self.spent.set(self.limits.is_over());
        }
        self.spent.get()
    }

    /// Counts steps of an inner loop; whether more are allowed.
    pub(crate) fn goes_on(&self, steps: u64) -> bool {
        self.spend(steps);
        !self.is_spent()
    }

    /// Tells whoever listens, if something is new.
    pub(crate) fn report(&self, bytes: u64, lower_bound: u64) {
        let Listener { progress: Some(progress), last } = &self.progress else { return };
        if last.replace((bytes, lower_bound)) != (bytes, lower_bound) {
            progress(Progress { bytes, lower_bound, work: self.steps.get() / STEPS });
        }
    }
}

impl<'a> Allowance<'a> {
    pub(crate) fn new(limits: Limits<'a>, cut: &'a AtomicBool) -> Allowance<'a> {
        Allowance { limits, cut, steps: 0, over: limits.steps == 0 }
    }

    /// Counts steps of the inner loop. Looks at the clock and the flags.
    pub(crate) fn spend(&mut self, steps: u64) {
        self.steps = self.steps.saturating_add(steps);
        self.over = self.over
            || self.steps >= self.limits.steps
            || self.cut.load(Ordering::Relaxed)
            || self.limits.is_over();
    }

    /// Whether a limit is reached.
    pub(crate) fn is_spent(&self) -> bool {
        self.over
    }
}

impl Limits<'_> {
    /// Whether time is up or someone wants it to end.
    pub(crate) fn is_over(&self) -> bool {
        self.end.is_some_and(|end| Instant::now() >= end)
            || self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }
}
