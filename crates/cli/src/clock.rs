//! The clock that cameras and streams go by.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The time of `CLOCK_MONOTONIC`.
pub(crate) fn now() -> Duration {
    let time = clock_gettime(ClockId::Monotonic);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}
