//! `tenure stream ls`: the streams that there are.

use serde::Serialize;
use tenure::stream::{self, StreamReport};

use super::{PATIENCE, Problem, ask_all, frame_words};
use crate::failure::Failure;
use crate::output;
use crate::page::{DIM, Mark, PLAIN, Page};

/// What `tenure stream ls` is told.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Print one JSON object with stable field names
    #[arg(long)]
    json: bool,
}

pub(super) const ABOUT: &str = "\
List the streams of this machine.

A producer that was killed leaves its name behind; nothing has to be cleaned up,
the next producer of that name takes it over.";

/// What `tenure stream ls --json` prints. Fields are added, never renamed or removed.
#[derive(Debug, Serialize)]
struct Report {
    /// Where the sockets are.
    directory: String,
    streams: Vec<One>,
}

#[derive(Debug, Serialize)]
struct One {
    name: String,
    socket: String,
    /// Whether somebody publishes it.
    alive: bool,
    /// Why it does not tell more, if it does not.
    error: Option<String>,
    /// What it tells; see `tenure stream stat`.
    report: Option<StreamReport>,
}

/// Lists them.
pub(super) fn run(options: &Options) -> Result<(), Failure> {
    let mut streams = vec![];
    for (listed, answer) in ask_all(PATIENCE).map_err(Problem::from)? {
        let (report, error) = match answer {
            None => (None, None),
            Some(Ok(report)) => (Some(report), None),
            Some(Err(error)) => (None, Some(error.to_string())),
        };
        let socket = listed.path.display().to_string();
        streams.push(One { name: listed.name, socket, alive: listed.alive, error, report });
    }
    let report = Report { directory: stream::directory().display().to_string(), streams };
    if options.json { output::json(&report) } else { output::text(&text(&report, output::width())) }
}

fn text(report: &Report, width: usize) -> String {
    let mut page = Page::new(width);
    page.heading("Streams", &report.directory);
    let name = report.streams.iter().map(|one| one.name.len() + 2).max().unwrap_or(0);
    for one in &report.streams {
        let (mark, style, words) = match (&one.report, &one.error) {
            (Some(report), _) => (Mark::Yes, PLAIN, words(report)),
            (None, Some(error)) => (Mark::No, DIM, error.clone()),
            (None, None) => (Mark::No, DIM, "nobody publishes it any more".to_owned()),
        };
        page.row(mark, &[(&one.name, name)], style, &words);
    }
    if report.streams.is_empty() {
        page.row(Mark::Blank, &[], DIM, "none; `tenure run` makes some");
    }
    page.into_text()
}

fn words(report: &StreamReport) -> String {
    let frame = report.frame.as_ref().map_or_else(|| "no frame yet".to_owned(), frame_words);
    let consumers = report.consumers.len();
    let origin = report.origin.as_ref().map_or_else(String::new, |origin| {
        format!(", {} {}", if origin.paused { "paused, from" } else { "from" }, origin.from)
    });
    format!(
        "{frame}, {:.1} fps, {}, {consumers} consumer{}{origin}",
        report.rate,
        report.memory,
        if consumers == 1 { "" } else { "s" }
    )
}
