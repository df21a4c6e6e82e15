//! Frames at even times.

use std::time::{Duration, Instant};

use crate::stop::Stop;

/// When frames are due.
#[derive(Debug)]
pub(super) struct Pace {
    interval: Duration,
    due: Option<Instant>,
}

impl Pace {
    /// So many frames a second.
    pub(super) fn new(fps: f64) -> Pace {
        // Rates are checked where they are read; beyond reason there is no waiting.
        let interval = Duration::try_from_secs_f64(1.0 / fps).unwrap_or(Duration::ZERO);
        Pace { interval, due: None }
    }

    /// Waits until the next frame is due. Says how many were due before it and are too late, or
    /// `None` if it is over.
    pub(super) fn wait(&mut self, stop: &Stop) -> Option<u64> {
        let now = Instant::now();
        let due = self.due.unwrap_or(now);
        let (due, late) = settle(due, now, self.interval);
        self.due = due.checked_add(self.interval);
        stop.sleep_until(due).then_some(late)
    }
}

/// The frame to wait for: the one that is due, or the newest of those that are late.
fn settle(due: Instant, now: Instant, interval: Duration) -> (Instant, u64) {
    if interval.is_zero() || now < due + interval {
        return (due, 0);
    }
    let late = (now - due).as_nanos() / interval.as_nanos();
    let late = u64::try_from(late).unwrap_or(u64::MAX);
    let skipped = Duration::try_from_secs_f64(interval.as_secs_f64() * late as f64);
    (due + skipped.unwrap_or(Duration::ZERO), late)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_frames_are_counted_and_not_made_up_for() {
        let (due, interval) = (Instant::now(), Duration::from_millis(10));
        let after = |ms| due + Duration::from_millis(ms);
        assert_eq!(settle(due, due, interval), (due, 0));
        assert_eq!(settle(due, after(9), interval), (due, 0));
        assert_eq!(settle(due, after(10), interval), (after(10), 1));
        assert_eq!(settle(due, after(57), interval), (after(50), 5));
        assert_eq!(settle(due, after(57), Duration::ZERO), (due, 0));
    }
}
