//! What is told when cameras have run: the JSON, and the text that says the same.

use std::sync::Arc;

use serde::Serialize;

use super::Problem;
use super::figures::{Counted, Figures};
use super::status::number;
use crate::page::{Mark, PLAIN, Page};
use crate::stream::frame_words;
use crate::units;

/// Columns of the first word of a row, at least.
const WHAT: usize = 10;

/// What `tenure run --json` prints. Times are seconds; `null` means that there was no frame. Fields
/// are added, never renamed or removed.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    cameras: Vec<One>,
}

/// One camera.
#[derive(Debug, Serialize)]
struct One {
    name: String,
    /// What it was; `null` if it could not be opened.
    source: Option<String>,
    /// Why it ended, if not as it should.
    error: Option<String>,
    seconds: f64,
    frames: u64,
    fps: f64,
    /// From the moment a frame was taken until its last stream had it.
    latency: Latency,
    /// The memory that frames were in.
    memory: Option<&'static str>,
    copies_per_frame: f64,
    /// Frames that the source had and could not give.
    missed: u64,
    /// Frames that consumers did not get.
    dropped: u64,
    /// Its streams, as `tenure stream stat --json` tells of them.
    streams: Vec<tenure::stream::StreamReport>,
}

/// Percentiles, known within five per cent.
#[derive(Debug, Serialize)]
struct Latency {
    p50: Option<f64>,
    p90: Option<f64>,
    p99: Option<f64>,
    max: Option<f64>,
}

impl Report {
    pub(super) fn new(cameras: &[Arc<Figures>], results: &[Result<(), Problem>]) -> Report {
        let one = |(figures, result): (&Arc<Figures>, &Result<(), Problem>)| {
            One::new(&figures.name, figures.look(), result.as_ref().err())
        };
        Report { cameras: cameras.iter().zip(results).map(one).collect() }
    }

    /// Whether there was any frame.
    pub(super) fn any(&self) -> bool {
        self.cameras.iter().any(|camera| camera.frames > 0)
    }

    pub(super) fn text(&self, width: usize) -> String {
        let mut page = Page::new(width);
        for camera in self.cameras.iter().filter(|camera| camera.frames > 0) {
            page.heading(&camera.name, &format!("{:.1} s", camera.seconds));
            camera.rows(&mut page);
        }
        page.into_text()
    }
}

impl One {
    fn new(name: &str, counted: Counted, error: Option<&Problem>) -> One {
        let seconds = counted.elapsed().as_secs_f64();
        let at = |per_cent| counted.latency.percentile(per_cent).map(|time| time.as_secs_f64());
        let latency = Latency {
            p50: at(50.0),
            p90: at(90.0),
            p99: at(99.0),
            max: counted.latency.most().map(|time| time.as_secs_f64()),
        };
        One {
            name: name.to_owned(),
            error: error.map(ToString::to_string),
            seconds,
            frames: counted.frames,
            fps: if seconds > 0.0 { counted.frames as f64 / seconds } else { 0.0 },
            latency,
            memory: counted.memory,
            copies_per_frame: counted.copies_per_frame(),
            missed: counted.missed,
            dropped: counted.dropped(),
            source: counted.source,
            streams: counted.streams,
        }
    }

    fn rows(&self, page: &mut Page) {
        let time = |seconds: Option<f64>| match seconds {
            Some(seconds) => units::time(seconds * 1e9),
            None => "-".to_owned(),
        };
        let names = self.streams.iter().map(|stream| stream.name.len() + 2);
        let width = names.max().unwrap_or(0).max(WHAT);
        let mut row = |ok: bool, what: &str, text: &str| {
            page.row(Mark::of(ok), &[(what, width)], PLAIN, text);
        };
        let missed = match self.missed {
            0 => String::new(),
            missed => format!(", {missed} missed by the source"),
        };
        let frames =
            format!("{} in {:.1} s, {:.1} fps{missed}", self.frames, self.seconds, self.fps);
        row(self.missed == 0, "frames", &frames);
        let Latency { p50, p90, p99, max } = self.latency;
        let (half, ninety, most, max) = (time(p50), time(p90), time(p99), time(max));
        let text = format!("half within {half}, 90% {ninety}, 99% {most}, all within {max}");
        row(true, "latency", &text);
        let memory = self.memory.unwrap_or("-");
        let copies = number(self.copies_per_frame);
        let text = format!("{memory}, {copies} copies per frame");
        row(self.copies_per_frame == 0.0, "memory", &text);
        for stream in &self.streams {
            let frame = stream.frame.as_ref();
            let look = frame.map_or_else(String::new, frame_words);
            let text = format!(
                "{look}, {}, {} consumers at the end, {} dropped",
                units::bytes(stream.bytes() as u64),
                stream.consumers.len(),
                stream.dropped
            );
            row(stream.dropped == 0, &stream.name, &text);
        }
    }
}
