//! `tenure load`: tensors of a file in memory, and how fast they got there.
//!
//! `compare` measures the ways there are, `report` is the JSON and its text.

mod compare;
mod evict;
mod report;

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;

use clap::ValueEnum;
use tenure::TensorMemory;
use tenure::files::{self, Direct, TensorFile};

use crate::failure::Failure;
use crate::inspect::wanted;
use crate::output;
use crate::progress::Progress;
use report::Loaded;

/// What `tenure load` is told.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// A safetensors, gguf, npy, npz or raw file; a folder
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Only tensors with one of these words in their name
    #[arg(value_name = "WORD")]
    words: Vec<String>,

    /// Compare the ways to get the bytes into memory
    #[arg(long)]
    bench: bool,

    /// Where to [default: the best that the CPU can write]
    #[arg(long, value_name = "MEMORY")]
    memory: Option<TensorMemory>,

    /// Threads that read [default: 4 or more]
    #[arg(
        long, value_name = "N",
        value_parser = clap::value_parser!(u16).range(1..=1024)
    )]
    threads: Option<u16>,

    /// Past the cache: cold, never, always
    #[arg(long, value_name = "WHEN", default_value = "cold", hide_possible_values = true)]
    direct: DirectWord,

    /// With --bench: how often it is measured
    #[arg(
        long, value_name = "N", default_value_t = 5,
        value_parser = clap::value_parser!(u32).range(1..=1000)
    )]
    rounds: u32,

    /// Print one JSON object with stable field names
    #[arg(long)]
    json: bool,
}

/// When reads go past the system's cache.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum DirectWord {
    Cold,
    Never,
    Always,
}

impl From<DirectWord> for Direct {
    fn from(word: DirectWord) -> Direct {
        match word {
            DirectWord::Cold => Direct::WhenCold,
            DirectWord::Never => Direct::Never,
            DirectWord::Always => Direct::Always,
        }
    }
}

/// What `tenure help load` begins with.
pub(crate) const ABOUT: &str = "\
Load the tensors of a file into memory, and say how fast that was.

Pieces of 8 MiB are read by several threads straight to where they stay, those
that are not in the system's cache past it.

With --bench the ways to get at the bytes are compared: touching the mapped
file, reading it into new memory, loading into new and into pooled memory, with
the file in the system's cache and without it, beside memcpy and bare reads of
the disk. Between the rounds the file is put out of the cache.";

const EXAMPLES: &str = "\
\x1b[1m\x1b[4mExamples:\x1b[0m
  tenure load model.safetensors
  tenure load model.gguf blk.0. --memory shm
  tenure load model.safetensors --bench";

/// Loads, and tells.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let file = files::open(&options.file)?;
    if options.bench {
        let report = compare::run(options, file)?;
        return if options.json {
            output::json(&report)
        } else {
            output::text(&report::comparison(&report, output::width()))
        };
    }
    let loaded = load(options, &file)?;
    if options.json {
        output::json(&loaded)
    } else {
        output::text(&report::loaded(&loaded, output::width()))
    }
}

/// The load that was asked for.
fn chosen<'a>(options: &Options, file: &'a TensorFile) -> files::Load<'a> {
    let load = file.load().filter(|entry| wanted(entry.name(), &options.words));
    let load = load.direct(options.direct.into());
    match options.threads {
        Some(threads) => load.threads(threads.into()),
        None => load,
    }
}

fn load(options: &Options, file: &TensorFile) -> Result<Loaded, Failure> {
    let load = chosen(options, file);
    let load = match options.memory {
        Some(memory) => load.memory(memory),
        None => load,
    };
    let progress = Progress::bytes(bytes(options, file));
    let start = Instant::now();
    let loaded = load
        .progress(|now| {
            progress.set(now.done);
            ControlFlow::Continue(())
        })
        .run()?;
    let seconds = start.elapsed().as_secs_f64();
    drop(progress);
    Ok(Loaded::new(file, &loaded, seconds))
}

/// Bytes of the tensors that were asked for.
fn bytes(options: &Options, file: &TensorFile) -> u64 {
    let chosen = file.entries().iter().filter(|entry| wanted(entry.name(), &options.words));
    chosen.map(|entry| entry.bytes() as u64).sum()
}
