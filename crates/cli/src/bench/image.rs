//! The comparison of image engines: camera frames to model inputs, beside the time that moving as
//! many bytes takes.

mod cases;
mod report;
mod show;
mod work;

use std::time::Duration;

use tenure::image::EngineKind;

use super::rounds::{self, Effort};
use crate::failure::Failure;
use crate::output;
use report::Report;
use work::Work;

/// What `tenure bench image` is told.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Engines to measure [default: all but reference]
    #[arg(value_name = "ENGINE")]
    engines: Vec<EngineKind>,

    /// Only conversions with this in their name, like 4k
    #[arg(long, value_name = "WORD")]
    only: Option<String>,

    /// Threads [default: one, and all there are]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,

    /// How often everything is measured [default: 15, quick: 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rounds: Option<u32>,

    /// Measure less and be done in a few seconds
    #[arg(long)]
    quick: bool,

    /// Print one JSON object with stable field names
    #[arg(long)]
    json: bool,
}

/// What `tenure bench image --help` begins with.
pub(crate) const ABOUT: &str = "\
Measure the image engines against the limit of this machine.

Camera frames become model inputs, in every engine that can do it. The limit is
measured in the same rounds: a memcpy that reads and writes as many bytes as the
frame and the input have together. No engine can be faster than that.

One thread is measured by CPU time, several by the clock on the wall; frames
are used in turn. Medians over rounds in which everything is measured once.";

const EXAMPLES: &str = "\
\x1b[1m\x1b[4mExamples:\x1b[0m
  tenure bench image
  tenure bench image cpu --only nv12-1080p --threads 1
  tenure bench image cpu reference --only 4k --rounds 1 --json > 4k.json";

/// Measures and prints.
pub(super) fn run(options: &Options) -> Result<(), Failure> {
    let named = |work: &&Work| {
        options.only.as_ref().is_none_or(|word| work.name.contains(&word.to_ascii_lowercase()))
    };
    let works: Vec<&'static Work> = work::ALL.iter().filter(named).collect();
    if works.is_empty() {
        let known = work::ALL.iter().map(|work| work.name).collect();
        let word = options.only.clone().unwrap_or_default();
        return Err(Failure::NoSuchConversion { word, known });
    }
    let engines = if options.engines.is_empty() {
        EngineKind::all().filter(|kind| *kind != EngineKind::Reference).collect()
    } else {
        options.engines.clone()
    };
    let (mut cases, refused) = cases::all(&works, &engines, &threads(options))?;
    let (rounds, milliseconds) = if options.quick { (3, 1) } else { (15, 20) };
    let rounds = options.rounds.unwrap_or(rounds);
    rounds::run(&mut cases, Effort { rounds, sample: Duration::from_millis(milliseconds) });
    let report = Report::new(&works, rounds, &cases, &refused);
    if options.json {
        output::json(&report)
    } else {
        output::text(&show::page(&report, output::width()))
    }
}

/// The numbers of threads that are measured.
fn threads(options: &Options) -> Vec<usize> {
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    match options.threads {
        Some(threads) => vec![threads.into()],
        None if all == 1 => vec![1],
        None => vec![1, all],
    }
}
