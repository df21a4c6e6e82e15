//! `tenure stream replay`: a recording as a stream.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde::Serialize;
use tenure::stream::recording::Recording;
use tenure::stream::{Meta, Publisher};

use super::Problem;
use crate::capture::rate;
use crate::failure::Failure;
use crate::page::{Mark, PLAIN, Page};
use crate::stop::Stop;
use crate::{clock, copied, output};

/// What `tenure stream replay` is told.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The folder that tenure stream record made
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,

    /// What the stream is called
    #[arg(long, value_name = "NAME", default_value = "replay")]
    name: String,

    /// So many frames a second, instead of the times recorded
    #[arg(long, value_name = "RATE", value_parser = rate)]
    fps: Option<f64>,

    /// Wait for so many consumers before it begins
    #[arg(long, value_name = "N", default_value_t = 0)]
    wait_for: usize,

    /// Begin anew after the last frame
    #[arg(long = "loop")]
    again: bool,

    /// Print one JSON object at the end
    #[arg(long)]
    json: bool,
}

pub(super) const ABOUT: &str = "\
Publish what was recorded, at the times it was.

Every frame is read from the disk straight into its slot. Times between frames
are those of the recording; the time at which a frame was taken is now.";

/// What `tenure stream replay --json` prints. Fields are added, never renamed or removed.
#[derive(Debug, Serialize)]
struct Report {
    stream: String,
    folder: String,
    frames: u64,
    /// Frames that consumers did not get.
    dropped: u64,
}

/// Replays, and tells.
pub(super) fn run(options: &Options) -> Result<(), Failure> {
    let stop = Stop::new(None);
    let mut recording = Recording::open(&options.folder).map_err(Problem::from)?;
    // All of it before anything is published: a damaged recording is refused as a whole.
    recording.check(|| stop.is_over()).map_err(Problem::from)?;
    let mut publisher = Publisher::builder(&options.name).open().map_err(Problem::from)?;
    while publisher.consumers() < options.wait_for {
        if !stop.sleep_until(Instant::now() + Duration::from_millis(5)) {
            break;
        }
    }
    let mut frames = 0;
    'playing: while !stop.is_over() {
        let began = Instant::now();
        let (mut index, mut first) = (0u64, None);
        while let Some(entry) = recording.next().map_err(Problem::from)? {
            let first = *first.get_or_insert(entry.published());
            let after = match options.fps {
                Some(fps) => Duration::try_from_secs_f64(index as f64 / fps).unwrap_or_default(),
                None => entry.published().saturating_sub(first),
            };
            index += 1;
            let due = began.checked_add(after).unwrap_or(began);
            if !stop.sleep_until(due) {
                break 'playing;
            }
            copied::check_bytes(entry.spec().bytes()).map_err(Problem::from)?;
            let slot = publisher.claim_as(entry.spec()).map_err(Problem::from)?;
            recording.read(&entry, slot.tensor()).map_err(Problem::from)?;
            let meta = Meta::new().timestamp(clock::now()).blob(entry.blob());
            slot.publish(meta).map_err(Problem::from)?;
            frames += 1;
        }
        // Nothing is left of it: somebody has cut the index meanwhile.
        if !options.again || index == 0 {
            break;
        }
        recording.rewind().map_err(Problem::from)?;
    }
    let dropped = publisher.stats().dropped;
    let folder = options.folder.display().to_string();
    let report = Report { stream: options.name.clone(), folder, frames, dropped };
    if options.json { output::json(&report) } else { output::text(&text(&report, output::width())) }
}

fn text(report: &Report, width: usize) -> String {
    let mut page = Page::new(width);
    let Report { stream, folder, frames, dropped } = report;
    let words = format!("{folder}: {frames} frames published as {stream}, {dropped} dropped");
    page.row(Mark::of(*dropped == 0), &[], PLAIN, &words);
    page.into_text()
}
