//! `tenure stream gst`: a stream for GStreamer pipelines.

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;
use tenure::stream;
use tenure::stream::gstreamer::{Figures, Listener};

use super::Problem;
use crate::capture::seconds;
use crate::failure::Failure;
use crate::output;
use crate::page::{Mark, PLAIN, Page};
use crate::stop::Stop;

/// How long nobody looks whether it should end.
const NAP: Duration = Duration::from_millis(100);

/// What `tenure stream gst` is told.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The stream (see: tenure stream ls)
    #[arg(value_name = "NAME")]
    name: String,

    /// Where to listen [default: NAME.gst beside the stream]
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,

    /// Pipelines that may read at once
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=64))]
    clients: u32,

    /// Frames that a pipeline may hold at once
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=64))]
    hold: u32,

    /// Frames per second to tell pipelines: 30, 30000/1001
    #[arg(long, value_name = "RATE", value_parser = rate)]
    fps: Option<(u32, u32)>,

    /// Allow unusual rows, for elements with GstVideoMeta
    #[arg(long)]
    video_meta: bool,

    /// When the stream ends, wait for its next producer
    #[arg(long)]
    follow: bool,

    /// End after so long
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    seconds: Option<Duration>,

    /// Print one JSON object at the end
    #[arg(long)]
    json: bool,
}

pub(super) const ABOUT: &str = "\
Give a stream of images to GStreamer pipelines, without a plug-in and a copy.

It listens at a socket for the element unixfdsrc (GStreamer 1.24 and later):

  gst-launch-1.0 unixfdsrc socket-path=PATH ! videoconvert ! autovideosink

A pipeline that is slow or hangs holds at most --hold frames and misses others;
the stream and other pipelines go on. Frames whose rows do not lie where
GStreamer expects them (widths that are no multiple of 4, padding) are refused
unless --video-meta is given. It ends with Ctrl-C, --seconds, or the stream.";

/// Frames per second as a fraction.
fn rate(text: &str) -> Result<(u32, u32), String> {
    let (frames, second) = text.split_once('/').unwrap_or((text, "1"));
    match (frames.parse(), second.parse()) {
        (Ok(frames), Ok(second)) if frames > 0 && second > 0 => Ok((frames, second)),
        _ => Err("a rate is a number or a fraction, like 30 or 30000/1001".to_owned()),
    }
}

/// What `tenure stream gst --json` prints. Fields are added, never renamed or removed.
#[derive(Debug, Serialize)]
struct Report {
    stream: String,
    socket: String,
    /// Frames that came from the stream.
    frames: u64,
    /// Frames given to pipelines, counted once for each.
    given: u64,
    /// Frames that a pipeline did not get, because it held all that it may.
    dropped: u64,
    /// Pipelines that there have been.
    clients: u64,
    /// Connections that were refused.
    refused: u64,
    /// Pipelines that were cut off.
    put_out: u64,
}

/// Listens until it is over, and tells.
pub(super) fn run(options: &Options) -> Result<(), Failure> {
    let stop = Stop::new(options.seconds);
    let file = || format!("{}.gst", options.name.replace('/', "+"));
    let socket = options.socket.clone().unwrap_or_else(|| stream::directory().join(file()));
    let mut builder = Listener::builder(&options.name)
        .clients(options.clients)
        .frames_each(options.hold)
        .video_meta(options.video_meta)
        .follow(options.follow);
    if let Some((frames, second)) = options.fps {
        builder = builder.framerate(frames, second);
    }
    let path = socket.clone();
    let opened = stop.unless_over(move || builder.open(&path)).map_err(Problem::Thread)?;
    let mut figures = Figures::default();
    if let Some(listener) = opened {
        let mut listener = listener.map_err(Problem::from)?;
        if !options.json {
            output::text(&beginning(options, &listener, output::width()))?;
        }
        while !stop.is_over() && listener.step(NAP).map_err(Problem::from)? {}
        figures = listener.figures();
    }
    let Figures { frames, given, dropped, came, refused, put_out, .. } = figures;
    let report = Report {
        stream: options.name.clone(),
        socket: socket.display().to_string(),
        frames,
        given,
        dropped,
        clients: came,
        refused,
        put_out,
    };
    if options.json { output::json(&report) } else { output::text(&text(&report, output::width())) }
}

fn beginning(options: &Options, listener: &Listener, width: usize) -> String {
    let mut page = Page::new(width);
    let path = listener.path().display();
    let (most, wanted) = (listener.most_clients(), options.clients as usize);
    let few = if most < wanted { ", which is all that there are credits for" } else { "" };
    let words = format!("{} for {most} pipelines at one time{few}:", options.name);
    page.row(Mark::of(most >= wanted), &[], PLAIN, &words);
    // Not broken into lines: it is there to be copied.
    let rest = "! videoconvert ! autovideosink";
    page.into_text() + &format!("  gst-launch-1.0 unixfdsrc socket-path={path} {rest}\n")
}

fn text(report: &Report, width: usize) -> String {
    let mut page = Page::new(width);
    let Report { stream, frames, given, dropped, clients, refused, put_out, .. } = report;
    let words = format!(
        "{stream}: {frames} frames, {given} given to {clients} pipelines, {dropped} dropped"
    );
    page.row(Mark::of(*dropped == 0), &[], PLAIN, &words);
    if refused + put_out > 0 {
        let words = format!("{refused} connections refused, {put_out} cut off");
        page.row(Mark::of(false), &[], PLAIN, &words);
    }
    page.into_text()
}
