//! `tenure stream record`: all frames of a stream, in a folder.

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;
use tenure::stream::recording::Recorder;
use tenure::stream::{Error, Subscriber};

use super::Problem;
use crate::capture::seconds;
use crate::failure::Failure;
use crate::page::{Mark, PLAIN, Page};
use crate::stop::Stop;
use crate::{copied, output, units};

/// Frames that may wait for the disk.
const CREDITS: u32 = 16;

/// What `tenure stream record` is told.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The stream (see: tenure stream ls)
    #[arg(value_name = "NAME")]
    name: String,

    /// The folder to make
    #[arg(short, long, value_name = "FOLDER", default_value = "recording")]
    output: PathBuf,

    /// End after so many frames
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    frames: Option<u64>,

    /// End after so long
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    seconds: Option<Duration>,

    /// Print one JSON object at the end
    #[arg(long)]
    json: bool,
}

pub(super) const ABOUT: &str = "\
Keep all frames of a stream in a folder.

frames.bin has the elements of all frames, one frame after the other without
gaps; index.jsonl has a line of JSON for each frame: where it is, its times,
type, shape and format. It ends with Ctrl-C, --frames, --seconds, or the stream.
What was recorded until then is there, whatever ended it.";

/// What `tenure stream record --json` prints. Fields are added, never renamed or removed.
#[derive(Debug, Serialize)]
struct Report {
    stream: String,
    folder: String,
    frames: u64,
    bytes: u64,
    /// Frames that did not come, because the disk was too slow.
    dropped: u64,
}

/// Records, and tells.
pub(super) fn run(options: &Options) -> Result<(), Failure> {
    let stop = Stop::new(options.seconds);
    let folder = options.output.display().to_string();
    let mut report =
        Report { stream: options.name.clone(), folder, frames: 0, bytes: 0, dropped: 0 };
    let builder = Subscriber::builder(&options.name).credits(CREDITS);
    // Nothing is made for a producer that has not answered.
    if let Some(opened) = stop.unless_over(|| builder.open()).map_err(Problem::Thread)? {
        record(options, &stop, opened.map_err(Problem::from)?, &mut report)?;
    }
    if options.json { output::json(&report) } else { output::text(&text(&report, output::width())) }
}

/// Records until it is over.
fn record(
    options: &Options,
    stop: &Stop,
    mut subscriber: Subscriber,
    report: &mut Report,
) -> Result<(), Problem> {
    let mut recorder = Recorder::create(&options.output)?;
    while options.frames.is_none_or(|most| report.frames < most) && !stop.is_over() {
        match subscriber.next(Duration::from_millis(100)) {
            Ok(None) => {}
            Err(Error::Ended { .. }) => break,
            Err(error) => return Err(error.into()),
            Ok(Some(frame)) => {
                if report.frames > 0 {
                    report.dropped += frame.dropped();
                }
                copied::check(frame.tensor())?;
                report.bytes += recorder.add(&frame)?;
                report.frames += 1;
            }
        }
    }
    Ok(())
}

fn text(report: &Report, width: usize) -> String {
    let mut page = Page::new(width);
    let Report { stream, folder, frames, bytes, dropped } = report;
    let words = format!(
        "{folder}: {frames} frames of {stream}, {}, {dropped} dropped",
        units::bytes(*bytes)
    );
    page.row(Mark::of(*dropped == 0), &[], PLAIN, &words);
    page.into_text()
}
