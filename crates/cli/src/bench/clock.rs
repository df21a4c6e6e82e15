//! The clock: time that this thread spent on a processor, system calls included, so that other
//! programs do not count. Wall time where there is no such clock, and for several threads.

use std::time::{Duration, Instant};

use crate::failure::Failure;

/// What the clock measures, in reports.
#[cfg(unix)]
pub(super) const NAME: &str = "thread_cpu";
/// What the clock measures, in reports.
#[cfg(not(unix))]
pub(super) const NAME: &str = "wall";

/// How long `work` takes.
pub(super) fn time(work: impl FnOnce() -> Result<(), Failure>) -> Result<Duration, Failure> {
    let start = now();
    work()?;
    Ok(now().saturating_sub(start))
}

/// How long `work` takes on processors, whichever thread of this program does it.
pub(super) fn program(work: impl FnOnce() -> Result<(), Failure>) -> Result<Duration, Failure> {
    let start = spent();
    work()?;
    Ok(spent().saturating_sub(start))
}

/// How long `work` takes by the clock on the wall: for what several threads do.
pub(super) fn wall(work: impl FnOnce() -> Result<(), Failure>) -> Result<Duration, Failure> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed())
}

#[cfg(unix)]
fn now() -> Duration {
    use rustix::time::{ClockId, clock_gettime};
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

#[cfg(unix)]
fn spent() -> Duration {
    use rustix::time::{ClockId, clock_gettime};
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

#[cfg(not(unix))]
fn spent() -> Duration {
    now()
}

#[cfg(not(unix))]
fn now() -> Duration {
    use std::sync::LazyLock;
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_takes_time() {
        let spin = || {
            let sum = (0..1_000_000u64).fold(0, |sum, n| std::hint::black_box(sum ^ n));
            if sum == 1 { Err(Failure::NothingToMeasure(vec![])) } else { Ok(()) }
        };
        assert!(time(spin).unwrap() > Duration::ZERO);
        assert!(wall(spin).unwrap() > Duration::ZERO);
        assert!(program(spin).unwrap() > Duration::ZERO);
    }
}
