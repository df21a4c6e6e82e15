//! `tenure info`: which memories work here and why the others do not, and what else the machine
//! says about memory.
//!
//! Each part of the report is one file: it has the types of the part, which are its JSON, and
//! looks at the machine. How the report looks as text is `show`.

mod automatic;
mod devices;
mod environment;
mod gpus;
mod limits;
mod memories;
mod pages;
mod show;
mod spaces;
mod system;

use serde::Serialize;

pub(crate) use memories::reason;

use crate::failure::Failure;
use crate::machine::Tree;
use crate::machine::processor::{Processor, processor};
use crate::output;

/// What `tenure info` is told.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Print one JSON object with stable field names
    #[arg(long)]
    json: bool,
}

/// What `tenure help info` begins with.
pub(crate) const ABOUT: &str = "\
Show which memories work here, and why the others do not.

A memory that works was tried: a page of it was allocated, written and read
back. A memory that does not gives its reason. Below that: what the machine
offers (page sizes, GPUs, devices, cameras) and where it ends (limits).";

const EXAMPLES: &str = "\
\x1b[1m\x1b[4mExamples:\x1b[0m
  tenure info
  tenure info --json | jq '.memories[] | select(.works) | .name'
  TENURE_FORCE_MEM=1 tenure info";

/// What `tenure info --json` prints. Sizes are bytes; `null` means that the system does not tell
/// it. Fields are added, never renamed or removed.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    /// Version of Tenure.
    version: &'static str,
    /// The operating system.
    system: system::System,
    /// The processor.
    processor: Processor,
    /// Every memory, in the order of the codes.
    memories: Vec<memories::Memory>,
    /// Every logical memory space.
    spaces: Vec<spaces::Space>,
    /// What a request takes that names no memory.
    automatic: automatic::Automatic,
    /// Every environment variable that Tenure obeys.
    environment: Vec<environment::Variable>,
    /// Sizes of pages.
    pages: pages::Pages,
    /// Where memory and descriptors end.
    limits: limits::Limits,
    /// Devices with memory of their own, by kind.
    gpus: Vec<gpus::Kind>,
    /// Device nodes that memory can come from.
    devices: devices::Devices,
}

/// Looks at the machine and prints what it found.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let report = look(&Tree::here());
    if options.json {
        output::json(&report)
    } else {
        output::text(&show::page(&report, output::width()))
    }
}

fn look(tree: &Tree) -> Report {
    let gpus = gpus::gpus();
    let memories = memories::memories(&gpus);
    Report {
        version: env!("CARGO_PKG_VERSION"),
        system: system::system(),
        processor: processor(tree),
        spaces: spaces::spaces(&memories),
        memories,
        automatic: automatic::automatic(),
        environment: environment::environment(),
        pages: pages::pages(tree),
        limits: limits::limits(tree),
        gpus,
        devices: devices::devices(tree),
    }
}
