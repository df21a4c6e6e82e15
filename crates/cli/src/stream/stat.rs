//! `tenure stream stat`: what a stream tells about itself.

use tenure::stream::{self, ConsumerReport, StreamReport};

use super::{Problem, frame_words, slot_signs};
use crate::failure::Failure;
use crate::page::{Mark, PLAIN, Page};
use crate::{output, units};

/// What `tenure stream stat` is told.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The stream (see: tenure stream ls)
    #[arg(value_name = "NAME")]
    name: String,

    /// Print one JSON object with stable field names
    #[arg(long)]
    json: bool,
}

pub(super) const ABOUT: &str = "\
Show slots, consumers and rates of a stream.

Slots are shown as one sign each: a dot is free, w is being filled, a number is
with so many consumers.";

/// Columns of the first word of a row.
const WHAT: usize = 10;

/// Asks, and tells.
pub(super) fn run(options: &Options) -> Result<(), Failure> {
    let report = stream::stat(&options.name).map_err(Problem::from)?;
    if options.json { output::json(&report) } else { output::text(&text(&report, output::width())) }
}

fn text(report: &StreamReport, width: usize) -> String {
    let mut page = Page::new(width);
    page.heading(&report.name, &format!("process {}", report.pid));
    let mut row = |what: &str, text: &str| {
        page.row(Mark::Blank, &[(what, WHAT)], PLAIN, text);
    };
    let frame = report.frame.as_ref().map_or_else(|| "none yet".to_owned(), frame_words);
    row("frame", &frame);
    row(
        "published",
        &format!("{} in {:.1} s, {:.1} fps now", report.published, report.seconds, report.rate),
    );
    if let Some(origin) = &report.origin {
        let paused = if origin.paused { ", paused: it cannot be reached" } else { "" };
        row("from", &format!("{}{paused}", origin.from));
    }
    row("memory", &format!("{}, {}", report.memory, units::bytes(report.bytes() as u64)));
    row("slots", &slot_signs(&report.slots));
    row("credits", &format!("{} of {} granted", report.granted, report.credits));
    row("dropped", &format!("{} frames that consumers did not get", report.dropped));
    for one in &report.consumers {
        page.row(Mark::of(!one.evicted), &[("consumer", WHAT)], PLAIN, &consumer(one));
    }
    page.into_text()
}

fn consumer(one: &ConsumerReport) -> String {
    format!(
        "{} of process {}: {} sent, {} dropped, holds {} of {}{}",
        one.id,
        one.pid,
        one.sent,
        one.dropped,
        one.held,
        one.credits,
        if one.evicted { ", put out" } else { "" }
    )
}
