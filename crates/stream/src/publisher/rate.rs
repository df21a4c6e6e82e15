//! Frames per second.

/// When the last frames were published.
#[derive(Debug, Default)]
pub(super) struct Rate {
    times: [u64; Rate::FRAMES],
    /// All frames counted.
    count: usize,
}

impl Rate {
    /// Half a second of a fast camera.
    const FRAMES: usize = 32;

    pub(super) fn count(&mut self, now: u64) {
        if let Some(time) = self.times.get_mut(self.count % Rate::FRAMES) {
            *time = now;
        }
        self.count += 1;
    }

    /// Frames per second, falling while none come.
    pub(super) fn per_second(&self, now: u64) -> f64 {
        let kept = self.count.min(Rate::FRAMES);
        let first = self.times.get((self.count - kept) % Rate::FRAMES).copied().unwrap_or(now);
        let last = self.times.get(self.count.wrapping_sub(1) % Rate::FRAMES).copied();
        let last = last.unwrap_or(now);
        if kept < 2 {
            return 0.0;
        }
        let intervals = (kept - 1) as f64;
        let usual = last.saturating_sub(first) as f64 / intervals;
        // The next one is late: as if it came now.
        let late = now.saturating_sub(last) as f64;
        if late > 2.0 * usual {
            return intervals * 1e9 / (now.saturating_sub(first) as f64).max(1.0);
        }
        1e9 / usual.max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_falls() {
        let mut rate = Rate::default();
        assert_eq!(rate.per_second(0), 0.0);
        for frame in 0..100 {
            rate.count(frame * 10_000_000);
        }
        assert!((rate.per_second(991_000_000) - 100.0).abs() < 1.0);
        assert!(rate.per_second(10_000_000_000) < 4.0);
    }
}
