//! What `tenure plan` is told, and the help that explains it.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use tenure::plan::{Packer, PlannerMode};

use super::dim::Dim;
use super::pools::Pool;
use super::resize::Resize;
use super::size::Size;

/// The longest search if nothing is said.
const SECONDS: f64 = 10.0;

/// What `tenure plan` is told.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// .onnx, .tflite, .csv (lifetimes) or .json (schedule)
    #[arg(value_name = "FILE")]
    pub(super) file: PathBuf,

    /// Modes to compare [default: all]
    #[arg(
        long,
        value_name = "MODE",
        value_delimiter = ',',
        hide_possible_values = true,
        value_parser = mode_parser()
    )]
    pub(super) mode: Vec<PlannerMode>,

    /// Packers to compare [default: all]
    #[arg(
        long,
        value_name = "PACKER",
        value_delimiter = ',',
        hide_possible_values = true,
        value_parser = packer_parser()
    )]
    pub(super) packer: Vec<Packer>,

    /// A dimension's value or range (1..8)
    #[arg(long, value_name = "NAME=VALUE")]
    pub(super) dim: Vec<Dim>,

    /// Longest search for the minimum [default: 10]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    time: Option<f64>,

    /// Most work of a search, instead of time
    #[arg(long, value_name = "UNITS", value_parser = number)]
    pub(super) work: Option<u64>,

    /// Where randomness starts
    #[arg(long, value_name = "NUMBER", default_value_t = 0, value_parser = number)]
    pub(super) seed: u64,

    /// Threads of a search [default: processors]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,

    /// Does it fit into so many bytes (512K, 2M)?
    #[arg(long, value_name = "BYTES")]
    pub(super) capacity: Option<Size>,

    /// A memory, the fastest first: who goes where?
    #[arg(long, value_name = "NAME=SIZE")]
    pub(super) pool: Vec<Pool>,

    /// Reorder independent steps to lower the peak
    #[arg(long)]
    pub(super) reorder: bool,

    /// Keep buffers where a saved plan has them
    #[arg(long, value_name = "PLAN")]
    pub(super) keep: Option<PathBuf>,

    /// Another size for a buffer; others stay
    #[arg(long, value_name = "NAME=BYTES")]
    pub(super) resize: Vec<Resize>,

    /// Say of every buffer why it is planned or not
    #[arg(long)]
    pub(super) explain: bool,

    /// Write the smallest plan as JSON
    #[arg(long, value_name = "FILE")]
    pub(super) save: Option<PathBuf>,

    /// Write lifetimes and offsets as CSV
    #[arg(long, value_name = "FILE")]
    pub(super) csv: Option<PathBuf>,

    /// Write the TFLite model with its plan in it
    #[arg(long, value_name = "FILE")]
    pub(super) write_offline_plan: Option<PathBuf>,

    /// Write a page with the memory over time
    #[arg(long, value_name = "FILE")]
    pub(super) html: Option<PathBuf>,

    /// Write a picture of the smallest plan
    #[arg(long, value_name = "FILE")]
    pub(super) svg: Option<PathBuf>,

    /// Print a JSON array, an object for each row
    #[arg(long)]
    pub(super) json: bool,
}

/// What `tenure help plan` begins with.
pub(crate) const ABOUT: &str = "\
Find out how little memory a model needs.

The file is a model (ONNX, TensorFlow Lite), CSV as minimalloc's
(id,lower,upper,size) or a schedule as JSON: steps in order, and the buffers
that they read and write. It is planned in every mode and by every packer; the
smallest is marked. The packer `best` searches for the minimum until it is
proven or its time ends; Ctrl-C takes the best so far. With --work instead of
--time, the result is the same on every machine.

--dim sets a dimension that an ONNX model leaves open. A range is planned for
its largest value; the plan is good for all. A JSON file whose sizes depend on
a number (schedule, variable, min, max, bytes) is planned for its range.

--pool names memories with sizes, as SRAM=512K and then DRAM, which without a
size has as much as is needed; SRAM@1=512K is for buffers of device 1. What is
used most goes to the first. --keep and --resize plan anew after a change and
move as few buffers as they can.

--write-offline-plan puts the offsets into a TensorFlow Lite model, where
TensorFlow Lite Micro finds them; everything else in the file stays.";

const EXAMPLES: &str = "\
\x1b[1m\x1b[4mModes:\x1b[0m
  disabled  nothing is placed: each buffer has its own memory (also off, none)
  remap     buffers of one type and size that are never in use together share
            (also pool)
  arena     everything is packed into one arena for each device and lane
            (also tlsf)
  TENURE_PLANNER names one for when --mode does not.

\x1b[1m\x1b[4mPackers of arena:\x1b[0m
  tlsf, best-fit, greedy-size, best

\x1b[1m\x1b[4mExamples:\x1b[0m
  tenure plan model.onnx --dim batch=1..8 --html plan.html
  tenure plan model.tflite --write-offline-plan planned.tflite
  tenure plan lifetimes.csv --capacity 1M --csv offsets.csv
  tenure plan model.onnx --pool SRAM=512K --pool DRAM

\x1b[1m\x1b[4mExit codes:\x1b[0m
  0    done, and what was asked for is so
  1    it failed or does not fit, and says why
  2    the command line is wrong
  130  ended by Ctrl-C: the best so far, not proven to be the minimum";

impl Options {
    /// Threads to search with; they change how long it takes, not what is found.
    pub(super) fn threads(&self) -> usize {
        let here = || std::thread::available_parallelism().map_or(1, usize::from);
        self.threads.map_or_else(here, usize::from)
    }

    /// The longest search: what was said, else the default, unless work is the limit.
    pub(super) fn time(&self) -> Option<Duration> {
        let seconds = self.time.or(self.work.is_none().then_some(SECONDS));
        seconds.map(Duration::from_secs_f64)
    }
}

fn mode_parser() -> impl TypedValueParser<Value = PlannerMode> {
    let known = |mode: PlannerMode| PossibleValue::new(mode.name()).aliases(mode.other_words());
    PossibleValuesParser::new(PlannerMode::ALL.map(known))
        .try_map(|word| word.parse::<PlannerMode>())
}

fn packer_parser() -> impl TypedValueParser<Value = Packer> {
    PossibleValuesParser::new(Packer::ALL.map(Packer::name)).try_map(|word| word.parse::<Packer>())
}

fn seconds(word: &str) -> Result<f64, String> {
    match word.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && Duration::try_from_secs_f64(seconds).is_ok() => Ok(seconds),
        _ => Err("seconds are a number above zero, like 0.5".to_owned()),
    }
}

fn number(word: &str) -> Result<u64, String> {
    word.parse().map_err(|_| format!("a whole number from 0 to {} is needed", u64::MAX))
}
