//! `tenure inspect`: what is in a file of tensors.
//!
//! `report` is the JSON and its text, `statistics` what the elements are like.

mod report;
mod statistics;

use std::path::PathBuf;

use tenure::DType;
use tenure::files::{self, Elements, Entry, Format};

use crate::failure::Failure;
use crate::output;
use crate::progress::Progress;

/// What `tenure inspect` is told.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// A safetensors, gguf, npy, npz or raw file; a folder
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Only tensors with one of these words in their name
    #[arg(value_name = "WORD")]
    words: Vec<String>,

    /// Read every element: smallest, largest, mean, NaNs
    #[arg(long)]
    stats: bool,

    /// Show what else the file says
    #[arg(long)]
    metadata: bool,

    /// Read FILE as this, whatever it begins with
    #[arg(long = "as", value_name = "FORMAT", conflicts_with_all = ["dtype", "shape"])]
    format: Option<Format>,

    /// Read FILE as bare elements of this type
    #[arg(long, value_name = "TYPE", requires = "shape")]
    dtype: Option<DType>,

    /// Their shape, like 3x224x224
    #[arg(long, value_name = "AxBxC", requires = "dtype", value_parser = shape)]
    shape: Option<Shape>,

    /// Byte of FILE at which they begin
    #[arg(long, value_name = "BYTE", default_value_t = 0, requires = "dtype")]
    offset: u64,

    /// Print one JSON object with stable field names
    #[arg(long)]
    json: bool,
}

/// Elements per dimension. A type of its own, or it would be an option that is given often.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Shape(Vec<usize>);

/// What `tenure help inspect` begins with.
pub(crate) const ABOUT: &str = "\
List the tensors of a file: names, types, shapes, sizes and where they are.

Only the head of the file is read, however large it is; --stats reads the
tensors too. What a file says is checked against what it is: one that lies about
lengths, offsets or shapes is refused. A folder needs an index
(model.safetensors.index.json), or has one safetensors file.";

const EXAMPLES: &str = "\
\x1b[1m\x1b[4mExamples:\x1b[0m
  tenure inspect model.safetensors
  tenure inspect model.gguf attn_q --metadata
  tenure inspect weights.npz --stats
  tenure inspect frame.yuv --dtype u8 --shape 1620x1920
  tenure inspect model --json | jq '.tensors | map(.bytes) | add'";

/// Opens the file, and tells.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let file = match (&options.format, &options.dtype, &options.shape) {
        (_, Some(dtype), Some(Shape(shape))) => {
            files::open_raw(&options.file, *dtype, shape, options.offset)?
        }
        (Some(format), ..) => files::open_as(&options.file, *format)?,
        _ => files::open(&options.file)?,
    };
    let entries: Vec<&Entry> =
        file.entries().iter().filter(|entry| wanted(entry.name(), &options.words)).collect();
    let mut report = report::Report::new(&file, &entries);
    if options.stats {
        let progress = Progress::bytes(entries.iter().map(|entry| entry.bytes() as u64).sum());
        let mut done = 0;
        for (entry, row) in entries.iter().zip(&mut report.tensors) {
            // The bytes of a block are no elements.
            if let Elements::Plain(_) = entry.elements() {
                row.stats = statistics::of(&file.tensor(entry.name())?)?;
            }
            done += entry.bytes() as u64;
            progress.set(done);
        }
    }
    if options.json {
        output::json(&report)
    } else {
        output::text(&report::page(&report, options.metadata, options.stats, output::width()))
    }
}

/// Whether a name has one of the words in it, or there are none.
pub(crate) fn wanted(name: &str, words: &[String]) -> bool {
    words.is_empty() || words.iter().any(|word| name.contains(word.as_str()))
}

fn shape(text: &str) -> Result<Shape, String> {
    let extent = |word: &str| word.parse().map_err(|_| format!("{word:?} is no number"));
    text.split(['x', ',']).map(extent).collect::<Result<_, _>>().map(Shape)
}
