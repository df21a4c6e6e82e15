//! The one clock of streams: `CLOCK_MONOTONIC`, which nobody can set.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds now.
pub(crate) fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

/// A duration in nanoseconds; one that is too long is the longest.
pub(crate) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
