//! `tenure stream tap`: frames of a stream as files.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Serialize;
use tenure::stream::{Frame, Subscriber};

use super::Problem;
use crate::capture::seconds;
use crate::convert::{Ending, write};
use crate::failure::Failure;
use crate::output;
use crate::page::{Mark, PLAIN, Page};
use crate::stop::Stop;

/// How long to wait before looking whether it is over.
const LOOK: Duration = Duration::from_millis(100);

/// What `tenure stream tap` is told.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// The stream (see: tenure stream ls)
    #[arg(value_name = "NAME")]
    name: String,

    /// The file to write: .npy, .png, .jpg or .raw. Several
    /// frames are numbered: out-000000.npy
    #[arg(short, long, value_name = "FILE", verbatim_doc_comment)]
    output: PathBuf,

    /// How many frames
    #[arg(
        short = 'n', long, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000)
    )]
    frames: u32,

    /// How long to wait for stream and frame
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = seconds)]
    timeout: Duration,

    /// Print one JSON object with stable field names
    #[arg(long)]
    json: bool,
}

pub(super) const ABOUT: &str = "\
Write frames of a stream to files.

Arrays (.npy) and .raw files have the frame's own elements, without row padding,
all planes together; .raw files are little-endian on every machine. Pictures
(.png, .jpg) can be had of streams of images. The producer does not wait: frames
that come while one is written may be dropped, which is told.";

const EXAMPLES: &str = "\
\x1b[1m\x1b[4mExamples:\x1b[0m
  tenure stream tap cam0/input -o input.npy
  tenure stream tap cam0/frame -o frame.png --frames 10";

/// What `tenure stream tap --json` prints. Times are seconds. Fields are added, never renamed or
/// removed.
#[derive(Debug, Serialize)]
struct Report {
    stream: String,
    frames: Vec<One>,
    /// Frames that did not come, between the first and the last of these.
    dropped: u64,
}

#[derive(Debug, Serialize)]
struct One {
    file: String,
    bytes: u64,
    sequence: u64,
    /// When it was taken, by `CLOCK_MONOTONIC`; `null` if the producer does not say.
    timestamp: Option<f64>,
    dtype: String,
    shape: Vec<usize>,
    format: Option<String>,
    memory: &'static str,
    /// What keeps others from writing to it: `sealed`, `readonly`, or `open` if nothing does.
    guarded: String,
    /// From publishing to receiving.
    latency: f64,
    /// Bytes of the producer's own, as text if they are.
    blob: Option<String>,
}

/// Takes frames, and tells.
pub(super) fn run(options: &Options) -> Result<(), Failure> {
    let ending = Ending::of(&options.output).map_err(Problem::from)?;
    let stop = Stop::new(None);
    let mut report = Report { stream: options.name.clone(), frames: vec![], dropped: 0 };
    let (name, timeout, waits) = (options.name.clone(), options.timeout, stop.clone());
    let opened = stop.unless_over(move || open(&name, timeout, &waits)).map_err(Problem::Thread)?;
    let mut subscriber = opened.ok_or_else(|| Problem::Unanswered(options.name.clone()))??;
    for index in 0..options.frames {
        let Some(frame) = next(&mut subscriber, options.timeout, &stop)? else { break };
        if index > 0 {
            report.dropped += frame.dropped();
        }
        let path = match options.frames {
            1 => options.output.clone(),
            _ => numbered(&options.output, index),
        };
        report.frames.push(take(&options.name, &frame, &path, ending)?);
    }
    if options.json { output::json(&report) } else { output::text(&text(&report, output::width())) }
}

/// Subscribes, waiting for a producer at most so long or until it is over.
fn open(name: &str, timeout: Duration, stop: &Stop) -> Result<Subscriber, Problem> {
    let began = Instant::now();
    loop {
        let left = timeout.saturating_sub(began.elapsed());
        match Subscriber::builder(name).wait(left.min(LOOK)).answer_within(timeout).open() {
            Err(error) if error.is_over() && !stop.is_over() && began.elapsed() < timeout => {}
            answer => return Ok(answer?),
        }
    }
}

/// The next frame; `None` if it is over.
fn next(
    subscriber: &mut Subscriber,
    timeout: Duration,
    stop: &Stop,
) -> Result<Option<Frame>, Problem> {
    let began = Instant::now();
    while !stop.is_over() {
        let left = timeout.saturating_sub(began.elapsed());
        if let Some(frame) = subscriber.next(left.min(LOOK))? {
            return Ok(Some(frame));
        }
        if began.elapsed() >= timeout {
            return Err(Problem::NoFrame { name: subscriber.name().to_owned(), after: timeout });
        }
    }
    Ok(None)
}

fn take(name: &str, frame: &Frame, path: &Path, ending: Ending) -> Result<One, Problem> {
    let latency = frame.age().as_secs_f64();
    let picture = matches!(ending, Ending::Png | Ending::Jpg);
    if picture && frame.format().is_none() {
        let (dtype, shape) = (frame.dtype(), frame.shape().to_vec());
        return Err(Problem::NoPicture { name: name.to_owned(), dtype, shape });
    }
    ending.check(frame.dtype())?;
    let bytes = write(path, ending, frame.tensor(), 90)?;
    Ok(One {
        file: path.display().to_string(),
        bytes,
        sequence: frame.sequence(),
        timestamp: frame.timestamp().map(|time| time.as_secs_f64()),
        dtype: frame.dtype().to_string(),
        shape: frame.shape().to_vec(),
        format: frame.format().map(|format| format.to_string()),
        memory: frame.memory().name(),
        guarded: format!("{:?}", frame.guarded()).to_lowercase(),
        latency,
        blob: std::str::from_utf8(frame.blob())
            .ok()
            .filter(|text| !text.is_empty())
            .map(Into::into),
    })
}

/// `out.npy` as `out-000007.npy`.
fn numbered(path: &Path, index: u32) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let ending = path.extension().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{stem}-{index:06}.{ending}"))
}

fn text(report: &Report, width: usize) -> String {
    let mut page = Page::new(width);
    for one in &report.frames {
        let format = one.format.as_ref().map_or_else(String::new, |format| format!(" {format}"));
        let words =
            format!("{}: frame {}, {} {:?}{format}", one.file, one.sequence, one.dtype, one.shape);
        page.row(Mark::Yes, &[], PLAIN, &words);
    }
    if report.dropped > 0 {
        let words = format!("{} frames between these were dropped", report.dropped);
        page.row(Mark::No, &[], PLAIN, &words);
    }
    page.into_text()
}
