//! What is counted while a camera runs.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tenure::stream::StreamReport;

use super::Camera;

/// The figures of one camera, shared by the thread that runs it and the one that shows it.
#[derive(Debug)]
pub(super) struct Figures {
    pub(super) name: String,
    inner: Mutex<Counted>,
}

/// What was counted so far.
#[derive(Debug, Clone)]
pub(super) struct Counted {
    /// What the source is, once it is known.
    pub(super) source: Option<String>,
    pub(super) began: Instant,
    pub(super) ended: Option<Instant>,
    /// Frames published.
    pub(super) frames: u64,
    /// Frames of which the bytes were copied on the way.
    pub(super) copies: u64,
    /// Frames that the source had and could not give.
    pub(super) missed: u64,
    /// From the moment a frame was taken until its last stream had it, in all.
    pub(super) latency: Latencies,
    /// The same since somebody looked.
    pub(super) recent: Latencies,
    /// Memory of the frames.
    pub(super) memory: Option<&'static str>,
    /// The streams, as they say themselves.
    pub(super) streams: Vec<StreamReport>,
}

/// One frame that went out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Published {
    pub(super) latency: Duration,
    pub(super) copied: bool,
    pub(super) memory: &'static str,
    /// Frames missed before it.
    pub(super) missed: u64,
}

impl Figures {
    pub(super) fn new(camera: &Camera) -> Figures {
        let counted = Counted {
            source: None,
            began: Instant::now(),
            ended: None,
            frames: 0,
            copies: 0,
            missed: 0,
            latency: Latencies::default(),
            recent: Latencies::default(),
            memory: None,
            streams: vec![],
        };
        Figures { name: camera.name.clone(), inner: Mutex::new(counted) }
    }

    fn lock(&self) -> MutexGuard<'_, Counted> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The source is known, and frames begin.
    pub(super) fn begin(&self, source: String) {
        let mut counted = self.lock();
        counted.source = Some(source);
        counted.began = Instant::now();
    }

    pub(super) fn count(&self, published: Published) {
        let mut counted = self.lock();
        counted.frames += 1;
        counted.copies += u64::from(published.copied);
        counted.missed += published.missed;
        counted.latency.add(published.latency);
        counted.recent.add(published.latency);
        counted.memory = Some(published.memory);
    }

    pub(super) fn set_streams(&self, streams: Vec<StreamReport>) {
        self.lock().streams = streams;
    }

    /// No more frames come when this is dropped.
    pub(super) fn ending(&self) -> Ending<'_> {
        Ending(self)
    }

    /// What the source is, once it is known.
    pub(super) fn source(&self) -> Option<String> {
        self.lock().source.clone()
    }

    pub(super) fn has_ended(&self) -> bool {
        self.lock().ended.is_some()
    }

    /// Everything so far, and what is recent begins anew.
    pub(super) fn look(&self) -> Counted {
        let mut counted = self.lock();
        let now = counted.clone();
        counted.recent = Latencies::default();
        now
    }
}

/// See [`Figures::ending`].
pub(super) struct Ending<'a>(&'a Figures);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.lock().ended.get_or_insert(Instant::now());
    }
}

impl Counted {
    /// How long it has run.
    pub(super) fn elapsed(&self) -> Duration {
        self.ended.unwrap_or_else(Instant::now).saturating_duration_since(self.began)
    }

    /// Frames that consumers did not get, all streams together.
    pub(super) fn dropped(&self) -> u64 {
        self.streams.iter().map(|stream| stream.dropped).sum()
    }

    /// Consumers of all streams.
    pub(super) fn consumers(&self) -> usize {
        self.streams.iter().map(|stream| stream.consumers.len()).sum()
    }

    /// Copies for each frame.
    pub(super) fn copies_per_frame(&self) -> f64 {
        if self.frames == 0 { 0.0 } else { self.copies as f64 / self.frames as f64 }
    }
}

/// Steps for each doubling: values are known within five per cent.
const STEPS: usize = 16;
/// From one microsecond to half an hour.
const BUCKETS: usize = 31 * STEPS;

/// Times, counted by their logarithm: as many as there are, in the same memory.
#[derive(Debug, Clone)]
pub(super) struct Latencies {
    buckets: Vec<u32>,
    count: u64,
    most: Duration,
}

impl Default for Latencies {
    fn default() -> Latencies {
        Latencies { buckets: vec![0; BUCKETS], count: 0, most: Duration::ZERO }
    }
}

impl Latencies {
    pub(super) fn add(&mut self, time: Duration) {
        let microseconds = (time.as_secs_f64() * 1e6).max(1.0);
        let bucket = (microseconds.log2() * STEPS as f64) as usize;
        if let Some(count) = self.buckets.get_mut(bucket.min(BUCKETS - 1)) {
            *count = count.saturating_add(1);
        }
        self.count += 1;
        self.most = self.most.max(time);
    }

    /// The time that so many of a hundred do not exceed, within five per cent.
    pub(super) fn percentile(&self, per_cent: f64) -> Option<Duration> {
        if self.count == 0 {
            return None;
        }
        let rank = (self.count as f64 * per_cent / 100.0).ceil().max(1.0) as u64;
        let mut seen = 0;
        let bucket = self.buckets.iter().position(|count| {
            seen += u64::from(*count);
            seen >= rank
        })?;
        let upper = ((bucket + 1) as f64 / STEPS as f64).exp2() / 1e6;
        Some(Duration::from_secs_f64(upper).min(self.most))
    }

    pub(super) fn most(&self) -> Option<Duration> {
        (self.count > 0).then_some(self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_close() {
        let mut times = Latencies::default();
        assert_eq!(times.percentile(50.0), None);
        for microseconds in 1..=1000 {
            times.add(Duration::from_micros(microseconds));
        }
        for (per_cent, expected) in [(50.0, 500.0), (90.0, 900.0), (99.0, 990.0)] {
            let found = times.percentile(per_cent).unwrap().as_secs_f64() * 1e6;
            assert!((found / expected - 1.0).abs() < 0.05, "{per_cent}: {found}");
        }
        assert_eq!(times.percentile(100.0), Some(Duration::from_millis(1)));
        times.add(Duration::from_secs(100_000));
        assert_eq!(times.most(), Some(Duration::from_secs(100_000)));
        assert!(times.percentile(100.0).unwrap() > Duration::from_secs(1000));
    }
}
