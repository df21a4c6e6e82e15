//! Time of the processor on this thread.

use std::hint::black_box;

use rustix::time::{ClockId, Timespec, clock_gettime};

/// How long one measurement should take at least, in nanoseconds: long beside the cost of asking
/// for the time and of caches that another contestant has filled, short beside what usually
/// disturbs a machine.
const ENOUGH: f64 = 5_000_000.0;

/// Measures processor time on this thread. Sleeping and being interrupted do not count, faults
/// and system calls do.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch {
    start: Timespec,
}

impl Stopwatch {
    /// Starts to measure.
    #[must_use]
    pub fn start() -> Self {
        Self { start: clock_gettime(ClockId::ThreadCPUTime) }
    }

    /// Nanoseconds since the start.
    #[must_use]
    pub fn nanoseconds(&self) -> f64 {
        let now = clock_gettime(ClockId::ThreadCPUTime);
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
pub fn per_call<R>(mut work: impl FnMut() -> R) -> impl FnMut() -> f64 {
    let mut calls: u32 = 1;
    move || loop {
        let stopwatch = Stopwatch::start();
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
