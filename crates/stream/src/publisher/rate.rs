//! Frames per second.

/// When the last frames were published, since the stream last paused.
#[derive(Debug, Default)]
pub(super) struct Rate {
    times: [u64; Rate::FRAMES],
    /// All frames counted.
    count: usize,
}

impl Rate {
    /// Half a second of a fast camera.
    const FRAMES: usize = 32;
    /// How long nothing comes before a fast stream counts as paused, in nanoseconds.
    const PAUSE: u64 = 1_000_000_000;

    pub(super) fn count(&mut self, now: u64) {
        if self.paused(now) {
            // So that the pause is not taken for slow frames.
            self.count = 0;
        }
        if let Some(time) = self.times.get_mut(self.count % Rate::FRAMES) {
            *time = now;
        }
        self.count += 1;
    }

    /// The usual time from one frame to the next, and when the last one was.
    fn usual(&self) -> Option<(u64, u64)> {
        let kept = self.count.min(Rate::FRAMES);
        let intervals = u64::try_from(kept).ok()?.checked_sub(1).filter(|count| *count > 0)?;
        let first = *self.times.get((self.count - kept) % Rate::FRAMES)?;
        let last = *self.times.get((self.count - 1) % Rate::FRAMES)?;
        Some(((last.saturating_sub(first) / intervals).max(1), last))
    }

    /// Two frames may be late before it shows; then the rate falls, to nothing at twice that time
    /// or after a second, whichever is later.
    fn window(usual: u64) -> (u64, u64) {
        let late = usual.saturating_mul(2);
        (late, late.saturating_mul(2).max(Rate::PAUSE))
    }

    fn paused(&self, now: u64) -> bool {
        self.usual().is_some_and(|(usual, last)| now.saturating_sub(last) >= Rate::window(usual).1)
    }

    /// Frames per second: nothing for a stream that has paused.
    pub(super) fn per_second(&self, now: u64) -> f64 {
        let Some((usual, last)) = self.usual() else { return 0.0 };
        let (late, over) = Rate::window(usual);
        let fallen = now.saturating_sub(last).saturating_sub(late) as f64;
        let left = 1.0 - fallen / over.saturating_sub(late).max(1) as f64;
        left.max(0.0) * 1e9 / usual as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: u64 = 1_000_000;
    const SECOND: u64 = 1000 * MILLISECOND;

    /// So many frames at this distance, the first at `start`; says when the last one was.
    fn frames(rate: &mut Rate, start: u64, count: u64, distance: u64) -> u64 {
        (0..count).for_each(|frame| rate.count(start + frame * distance));
        start + (count - 1) * distance
    }

    #[test]
    fn a_stream_that_pauses_falls_to_nothing() {
        for (distance, while_away) in [(MILLISECOND, 1), (33 * MILLISECOND, 1), (5 * SECOND, 20)] {
            let mut rate = Rate::default();
            assert_eq!(rate.per_second(0), 0.0);
            let last = frames(&mut rate, SECOND, 100, distance);
            let full = SECOND as f64 / distance as f64;
            let seen = |late: u64| rate.per_second(last + late);
            // The next frame is not late yet.
            for late in [0, distance, 2 * distance] {
                assert!((seen(late) - full).abs() < full / 100.0, "{distance} {late}");
            }
            let over = while_away * SECOND;
            let falling: Vec<f64> = (1..=10).map(|tenths| seen(over * tenths / 10)).collect();
            assert!(falling.is_sorted_by(|one, next| one >= next), "{distance}: {falling:?}");
            assert!(seen(over * 3 / 4) < full * 0.6, "{distance}: {falling:?}");
            assert_eq!(seen(over), 0.0, "{distance}");
            assert_eq!(seen(1000 * over), 0.0, "{distance}");
        }
    }

    #[test]
    fn a_stream_that_goes_on_is_not_measured_with_its_pause() {
        let mut rate = Rate::default();
        let last = frames(&mut rate, 0, 100, 10 * MILLISECOND);
        let last = frames(&mut rate, last + 60 * SECOND, 3, 20 * MILLISECOND);
        assert!((rate.per_second(last) - 50.0).abs() < 1.0, "{}", rate.per_second(last));
    }

    #[test]
    fn one_frame_is_no_rate() {
        let mut rate = Rate::default();
        rate.count(SECOND);
        assert_eq!(rate.per_second(2 * SECOND), 0.0);
        // Nor are two at the same time without an end.
        rate.count(SECOND);
        assert!(rate.per_second(SECOND).is_finite());
    }
}
