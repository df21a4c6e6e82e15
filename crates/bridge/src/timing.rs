//! Times of another machine's clock in ours.
//!
//! `CLOCK_MONOTONIC` counts from another moment on every machine. The distance between two such
//! clocks is at most what a frame shows that was sent by one and arrived by the other; the smallest
//! of the last seconds is the best known, and wrong by the shortest time that a frame was on its way.
//! So intervals between frames stay what they were, whatever the network does to them.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// How long a distance is believed, in nanoseconds: clocks drift apart by some microseconds a second.
const BELIEVED: u64 = 8_000_000_000;

/// The distance from another clock to ours.
#[derive(Debug, Default)]
pub(crate) struct Timing {
    /// The smallest distance of this period and of the one before.
    smallest: Option<(i128, Option<i128>)>,
    began: u64,
}

impl Timing {
    /// Our time for a time of the other clock, with a frame that it sent and that arrived now.
    pub(crate) fn ours(&mut self, time: u64, sent: u64, arrived: u64) -> Duration {
        let distance = i128::from(arrived) - i128::from(sent);
        let (now, before) = match self.smallest {
            Some((now, before)) if arrived.saturating_sub(self.began) < BELIEVED => {
                (now.min(distance), before)
            }
            known => {
                self.began = arrived;
                (distance, known.map(|(now, _)| now))
            }
        };
        self.smallest = Some((now, before));
        let ours = i128::from(time) + before.map_or(now, |before| before.min(now));
        // Nothing was taken before the clock began, or after it came.
        let ours = ours.clamp(0, i128::from(arrived));
        Duration::from_nanos(u64::try_from(ours).unwrap_or(arrived))
    }
}

/// Nanoseconds of `CLOCK_MONOTONIC` now.
pub(crate) fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn intervals_stay_whatever_the_way_does() {
        // Their clock is 5000 ms behind ours; the way takes 2 ms and sometimes 40.
        let mut timing = Timing::default();
        let mut times = vec![];
        for frame in 0..50 {
            let taken = 100_000 * MS + frame * 33 * MS;
            let sent = taken + 3 * MS;
            let way = if frame % 5 == 4 { 40 } else { 2 };
            times.push(timing.ours(taken, sent, sent + (5_000 + way) * MS));
        }
        for (earlier, later) in times.iter().zip(times.iter().skip(1)) {
            assert_eq!(*later - *earlier, Duration::from_millis(33));
        }
        assert_eq!(times.first().copied(), Some(Duration::from_millis(105_002)));
    }

    #[test]
    fn clocks_that_drift_apart_are_followed() {
        let mut timing = Timing::default();
        let mut last = (0, Duration::ZERO);
        for second in 0..60 {
            // Theirs loses a millisecond a second.
            let (theirs, ours) = (1_000 * MS + second * 999 * MS, 1_000 * MS + second * 1_000 * MS);
            last = (ours, timing.ours(theirs, theirs, ours));
        }
        let error = Duration::from_nanos(last.0) - last.1;
        assert!(error < Duration::from_millis(20), "{error:?}");
    }

    #[test]
    fn lies_are_bounded() {
        let mut timing = Timing::default();
        assert_eq!(timing.ours(u64::MAX, 0, 7), Duration::from_nanos(7));
        assert_eq!(timing.ours(0, u64::MAX, 8), Duration::ZERO);
        assert_eq!(timing.ours(u64::MAX, u64::MAX, 0), Duration::ZERO);
    }
}
