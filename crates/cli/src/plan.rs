//! `tenure plan`: which buffers of a model can share memory, and how little is enough.
//!
//! `input` reads what is planned, `compare` plans it in every mode, `show` and `report` tell what
//! came out, `drawing` makes the picture.

mod compare;
mod drawing;
mod input;
mod problem;
mod progress;
mod report;
mod show;
mod size;

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use tenure::plan::{Packer, PlannerMode};

use crate::failure::Failure;
use crate::output;
pub(crate) use problem::Problem;
use size::Size;

/// What `tenure plan` is told.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// .onnx, .tflite, .csv (lifetimes) or .json (schedule)
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Modes to compare [default: all]
    #[arg(
        long,
        value_name = "MODE",
        value_delimiter = ',',
        hide_possible_values = true,
        value_parser = mode_parser()
    )]
    mode: Vec<PlannerMode>,

    /// Packers to compare [default: all]
    #[arg(
        long,
        value_name = "PACKER",
        value_delimiter = ',',
        hide_possible_values = true,
        value_parser = packer_parser()
    )]
    packer: Vec<Packer>,

    /// Value of a symbolic dimension (ONNX)
    #[arg(long, value_name = "NAME=VALUE", value_parser = dim)]
    dim: Vec<(String, u64)>,

    /// Longest search for the minimum
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, value_parser = seconds)]
    time: f64,

    /// Does it fit into so many bytes (512K, 2M)?
    #[arg(long, value_name = "BYTES")]
    capacity: Option<Size>,

    /// Reorder independent steps to lower the peak
    #[arg(long)]
    reorder: bool,

    /// Say of every buffer why it is planned or not
    #[arg(long)]
    explain: bool,

    /// Write the smallest plan as JSON
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,

    /// Write lifetimes and offsets as CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,

    /// Write the TFLite model with its plan in it
    #[arg(long, value_name = "FILE")]
    write_offline_plan: Option<PathBuf>,

    /// Write a page with the memory over time
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Write a picture of the smallest plan
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,

    /// Print a JSON array, an object for each row
    #[arg(long)]
    json: bool,
}

/// What `tenure help plan` begins with.
pub(crate) const ABOUT: &str = "\
Find out how little memory a model needs.

The file is a model (ONNX, TensorFlow Lite), CSV as minimalloc's
(id,lower,upper,size) or a schedule as JSON: steps in order, and the buffers
that they read and write. It is planned in every mode and by every packer; the
smallest is marked. The packer `best` searches for the minimum until it is
proven or its time ends; Ctrl-C takes the best so far.

--write-offline-plan puts the offsets into a TensorFlow Lite model, where
TensorFlow Lite Micro finds them; everything else in the file stays.";

const EXAMPLES: &str = "\
\x1b[1m\x1b[4mModes:\x1b[0m
  disabled  every buffer has memory of its own
  remap     buffers of one type and size that are never in use together share
  arena     everything is packed into one arena for each device and lane
  TENURE_PLANNER names one for when --mode does not.

\x1b[1m\x1b[4mPackers of arena:\x1b[0m
  tlsf, best-fit, greedy-size, best

\x1b[1m\x1b[4mExamples:\x1b[0m
  tenure plan model.onnx --dim batch=1 --html plan.html
  tenure plan model.tflite --write-offline-plan planned.tflite
  tenure plan lifetimes.csv --capacity 1M --csv offsets.csv";

fn mode_parser() -> impl TypedValueParser<Value = PlannerMode> {
    PossibleValuesParser::new(PlannerMode::ALL.map(PlannerMode::name))
        .try_map(|word| word.parse::<PlannerMode>())
}

fn packer_parser() -> impl TypedValueParser<Value = Packer> {
    PossibleValuesParser::new(Packer::ALL.map(Packer::name)).try_map(|word| word.parse::<Packer>())
}

fn dim(word: &str) -> Result<(String, u64), String> {
    match word.split_once('=').map(|(name, value)| (name, value.parse())) {
        Some((name, Ok(value))) if !name.is_empty() => Ok((name.to_owned(), value)),
        _ => Err("a dimension is NAME=VALUE, like batch=1".to_owned()),
    }
}

fn seconds(word: &str) -> Result<f64, String> {
    match word.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && Duration::try_from_secs_f64(seconds).is_ok() => Ok(seconds),
        _ => Err("seconds are a number above zero, like 0.5".to_owned()),
    }
}

/// Plans, writes what was asked for, and prints.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let mut schedule = input::read(&options.file, &options.dim)?;
    let search = progress::Search::new(Duration::from_secs_f64(options.time));
    let reordered = if options.reorder {
        let better = compare::reordered(&schedule, &search)?;
        schedule = better.schedule.clone();
        Some(better)
    } else {
        None
    };
    let modes = compare::Wanted::new(&options.mode, &options.packer)?;
    let results = compare::compare(&schedule, &modes, &search)?;
    let fits = match options.capacity {
        Some(Size(bytes)) => Some(compare::fits(&schedule, bytes, &search)?),
        None => None,
    };
    if let Some(path) = &options.write_offline_plan {
        write(path, input::with_offline_plan(&options.file, &search)?)?;
    }
    search.done();
    let best = fits.as_ref().and_then(compare::Fits::plan).or(results.winner());
    if let (Some(path), Some(plan)) = (&options.save, best) {
        write(path, plan.to_json().map_err(Problem::Json)?)?;
    }
    if let (Some(path), Some(plan)) = (&options.csv, best) {
        write(path, report::csv(&schedule, plan)?)?;
    }
    if options.html.is_some() || options.svg.is_some() {
        let drawing = drawing::drawing(&options.file, &schedule, &results)?;
        if let Some(path) = &options.html {
            write(path, drawing.html())?;
        }
        if let Some(path) = &options.svg {
            write(path, drawing.svg())?;
        }
    }
    if options.json {
        output::json(&report::rows(&results))?;
    } else {
        let page = show::Page {
            file: &options.file,
            schedule: &schedule,
            results: &results,
            reordered: reordered.as_ref(),
            fits: fits.as_ref(),
            explain: options.explain,
        };
        output::text(&page.text()?)?;
    }
    match fits {
        Some(fits) if !fits.is_certain_to_fit() => {
            Err(Problem::DoesNotFit(fits.words(&schedule)).into())
        }
        _ => Ok(()),
    }
}

/// Writes a file whole or not at all.
fn write(path: &Path, bytes: impl AsRef<[u8]>) -> Result<(), Failure> {
    let failed = |cause| Problem::Write { path: path.to_owned(), cause };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let part = folder.join(format!(".{name}.{}.part", std::process::id()));
    let written = std::fs::write(&part, bytes).and_then(|()| std::fs::rename(&part, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&part);
    }
    Ok(written.map_err(failed)?)
}
