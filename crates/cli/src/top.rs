//! `tenure top`: streams, their slots and consumers, and memory by kind, over and over.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write, stdout};
use std::time::{Duration, Instant};

use serde::Serialize;
use tenure::stream::{self, StreamReport};

use crate::capture::seconds;
use crate::failure::Failure;
use crate::page::{DIM, Mark, PLAIN, Page};
use crate::stop::Stop;
use crate::stream::{PATIENCE, Problem, ask_all, frame_words, slot_signs};
use crate::{output, units};

/// What `tenure top` is told.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// How often to look
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    every: Duration,

    /// How many times [default: 1, or on and on on a terminal]
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    times: Option<u64>,

    /// Print one JSON object with stable field names each time
    #[arg(long)]
    json: bool,
}

/// What `tenure help top` begins with.
pub(crate) const ABOUT: &str = "\
Watch streams, their slots and consumers, and memory by kind.

Slots are shown as one sign each: a dot is free, w is being filled, a number is
with so many consumers. On a terminal it goes on until Ctrl-C; in a pipe it
looks once.";

/// What `tenure top --json` prints. Sizes are bytes. Fields are added, never renamed or removed.
#[derive(Debug, Serialize)]
struct View {
    directory: String,
    /// Bytes of all slots, by the memory they are in.
    memory: BTreeMap<String, usize>,
    streams: Vec<StreamReport>,
    /// Streams that do not answer, and why.
    silent: BTreeMap<String, String>,
}

/// Looks again and again, and tells.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let stop = Stop::new(None);
    let terminal = !options.json && stdout().is_terminal();
    let times = options.times.or((!terminal).then_some(1));
    let mut next = Instant::now();
    let mut done = 0;
    while times.is_none_or(|times| done < times) && stop.sleep_until(next) {
        let view = look()?;
        if options.json {
            output::json(&view)?;
        } else {
            let mut text = text(&view, output::width());
            if terminal {
                // From the first line on, and nothing below the last one is left.
                text = format!("\x1b[H{}\x1b[J", text.replace('\n', "\x1b[K\n"));
                if done == 0 {
                    text.insert_str(0, "\x1b[2J");
                }
                let mut out = anstream::stdout().lock();
                out.write_all(text.as_bytes())
                    .and_then(|()| out.flush())
                    .map_err(Failure::Output)?;
            } else {
                output::text(&text)?;
            }
        }
        done += 1;
        next += options.every;
    }
    Ok(())
}

fn look() -> Result<View, Failure> {
    let mut view = View {
        directory: stream::directory().display().to_string(),
        memory: BTreeMap::new(),
        streams: vec![],
        silent: BTreeMap::new(),
    };
    for (listed, answer) in ask_all(PATIENCE).map_err(Problem::from)? {
        match answer {
            None => {}
            Some(Ok(report)) => {
                let memory = view.memory.entry(report.memory.clone()).or_default();
                *memory = memory.saturating_add(report.bytes());
                view.streams.push(report);
            }
            // It ended while we looked.
            Some(Err(stream::Error::NoStream { .. } | stream::Error::Ended { .. })) => {}
            Some(Err(error)) => drop(view.silent.insert(listed.name, error.to_string())),
        }
    }
    Ok(view)
}

fn text(view: &View, width: usize) -> String {
    let mut page = Page::new(width);
    page.heading("Memory", &view.directory);
    for (memory, bytes) in &view.memory {
        let slots = view.streams.iter().filter(|stream| stream.memory == *memory);
        let slots: usize =
            slots.map(|stream| stream.slots.iter().filter(|slot| slot.bytes > 0).count()).sum();
        let words = format!("{} in {slots} slots", units::bytes(*bytes as u64));
        page.row(Mark::Blank, &[(memory, 6)], PLAIN, &words);
    }
    page.heading("Streams", "");
    let name = view.streams.iter().map(|stream| stream.name.len() + 2).max().unwrap_or(0);
    for stream in &view.streams {
        let frame = stream.frame.as_ref().map_or_else(|| "no frame yet".to_owned(), frame_words);
        let rate = format!("{:.1} fps", stream.rate);
        let words = format!(
            "{frame}, {} {}, slots {}, {} dropped",
            stream.memory,
            units::bytes(stream.bytes() as u64),
            slot_signs(&stream.slots),
            stream.dropped,
        );
        page.row(
            Mark::of(stream.dropped == 0),
            &[(&stream.name, name), (&rate, 11)],
            PLAIN,
            &words,
        );
        for one in &stream.consumers {
            let words = format!(
                "consumer {} of process {}: {} sent, {} dropped, holds {} of {}",
                one.id, one.pid, one.sent, one.dropped, one.held, one.credits
            );
            page.row(Mark::of(!one.evicted), &[("", name)], DIM, &words);
        }
    }
    for (name, reason) in &view.silent {
        page.row(Mark::No, &[(name, 1)], DIM, reason);
    }
    if view.streams.is_empty() && view.silent.is_empty() {
        page.row(Mark::Blank, &[], DIM, "none; `tenure run` makes some");
    }
    page.into_text()
}
