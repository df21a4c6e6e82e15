//! Time of the processor on this thread.

use std::cell::RefCell;
use std::hint::black_box;

use rustix::time::{ClockId, Timespec, clock_gettime};

use crate::touch::touch_lines;

/// How long one measurement should take at least, in nanoseconds: long beside the cost of asking
/// for the time and of caches that another contestant has filled, short beside what usually
/// disturbs a machine.
const ENOUGH: f64 = 5_000_000.0;

/// Measures processor time on this thread. Sleeping and being interrupted do not count, faults
/// and system calls do.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch {
    clock: ClockId,
    start: Timespec,
}

impl Stopwatch {
    /// Starts to measure.
    #[must_use]
    pub fn start() -> Self {
        Self::start_by(ClockId::ThreadCPUTime)
    }

    fn start_by(clock: ClockId) -> Self {
        Self { clock, start: clock_gettime(clock) }
    }

    /// Nanoseconds since the start.
    #[must_use]
    pub fn nanoseconds(&self) -> f64 {
        let now = clock_gettime(self.clock);
        (now.tv_sec - self.start.tv_sec) as f64 * 1e9 + (now.tv_nsec - self.start.tv_nsec) as f64
    }
}

/// Nanoseconds of processor time of all threads of this program: for work that several do.
#[must_use]
pub fn program_nanoseconds() -> f64 {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    now.tv_sec as f64 * 1e9 + now.tv_nsec as f64
}

/// A contestant for a [`Row`](crate::Row) that calls `work` often enough to be measured and tells
/// the nanoseconds of one call.
pub fn per_call<R>(work: impl FnMut() -> R) -> impl FnMut() -> f64 {
    per_call_by(ClockId::ThreadCPUTime, work)
}

/// As [`per_call`], by the clock on the wall: for work that several threads share.
pub fn per_call_on_the_wall<R>(work: impl FnMut() -> R) -> impl FnMut() -> f64 {
    per_call_by(ClockId::Monotonic, work)
}

/// As [`per_call`] for one call whose data is in no cache, as a camera's frame is: all of `trash`, which
/// should be larger than the caches, is written before.
pub fn per_cold_call<'a, R: 'a>(
    trash: &'a RefCell<Vec<u8>>,
    mut work: impl FnMut() -> R + 'a,
) -> impl FnMut() -> f64 + 'a {
    move || {
        touch_lines(&mut trash.borrow_mut());
        let stopwatch = Stopwatch::start();
        black_box(work());
        stopwatch.nanoseconds()
    }
}

fn per_call_by<R>(clock: ClockId, mut work: impl FnMut() -> R) -> impl FnMut() -> f64 {
    let mut calls: u32 = 1;
    move || loop {
        let stopwatch = Stopwatch::start_by(clock);
        for _ in 0..calls {
            black_box(work());
        }
        let taken = stopwatch.nanoseconds();
        if taken >= ENOUGH || calls >= 1 << 24 {
            return taken / f64::from(calls);
        }
        calls *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longer_work_takes_longer() {
        let spin = |times: u64| move || (0..times).fold(0u64, |sum, n| black_box(sum ^ n));
        let (short, long) = (per_call(spin(100))(), per_call(spin(10_000))());
        assert!(short > 0.0 && long > 10.0 * short, "{short} {long}");
    }
}
