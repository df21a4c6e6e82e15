//! `tenure bench`: how fast memories and image engines are, beside the limits of the machine.
//!
//! `memory` is the comparison of memories, `image` that of engines, `copy` that of copies between
//! spaces; the other files are what any measurement needs: a clock, rounds, the shape of a frame,
//! bars.

mod chart;
mod clock;
#[cfg(linux_like)]
mod copy;
#[cfg(not(linux_like))]
#[path = "bench/copy_elsewhere.rs"]
mod copy;
mod frame;
mod image;
mod memory;
mod rounds;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use tenure::TensorMemory;

use crate::failure::Failure;
use frame::Frame;

/// What `tenure bench` is told.
#[derive(Debug, clap::Args)]
#[command(
    after_help = EXAMPLES,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true
)]
pub(crate) struct Options {
    /// What else can be measured.
    #[command(subcommand)]
    other: Option<Other>,

    /// Memories to measure [default: all that work here]
    #[arg(
        value_name = "MEMORY",
        ignore_case = true,
        hide_possible_values = true,
        value_parser = memory_parser()
    )]
    memories: Vec<TensorMemory>,

    /// Shape of a frame of bytes
    #[arg(long, value_name = "WxHxC", default_value = "1920x1080x4")]
    size: Frame,

    /// How often everything is measured [default: 15, quick: 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rounds: Option<u32>,

    /// Measure less and be done in a second or two
    #[arg(long)]
    quick: bool,

    /// Print one JSON object with stable field names
    #[arg(long)]
    json: bool,
}

/// What is measured instead of memories.
#[derive(Debug, clap::Subcommand)]
enum Other {
    /// Measure the image engines against the limit of this machine
    #[command(long_about = image::ABOUT)]
    Image(image::Options),
    /// Measure copies between the spaces of this machine
    #[command(long_about = copy::ABOUT)]
    Copy(copy::Options),
}

/// What `tenure help bench` begins with.
pub(crate) const ABOUT: &str = "\
Measure the memories against the limits of this machine.

Frames of one size are allocated, mapped, filled, pooled, shared and copied in
every memory that works here; memories that do not are listed with the reason.
Filling and copying are shown beside memset and memcpy of buffers larger than
the caches, measured in the same run: no memory can be faster than that.

All times are CPU time of the thread, system calls included, as medians over
rounds in which everything is measured once.";

const EXAMPLES: &str = "\
\x1b[1m\x1b[4mMemories:\x1b[0m
  mem, dma, shm, pbo, file, pinned, device, managed (see: tenure info)

\x1b[1m\x1b[4mExamples:\x1b[0m
  tenure bench
  tenure bench mem shm --size 3840x2160x3
  tenure bench shm --rounds 50 --json > shm.json
  tenure bench image --quick
  tenure bench copy vulkan:0";

/// Takes the words for memories, and lists them if another is given.
fn memory_parser() -> impl TypedValueParser<Value = TensorMemory> {
    PossibleValuesParser::new(TensorMemory::all().map(TensorMemory::name))
        .try_map(|word| TensorMemory::try_from(word.as_str()))
}

/// Measures and prints.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    match &options.other {
        Some(Other::Image(options)) => image::run(options),
        Some(Other::Copy(options)) => copy::run(options),
        None => memory::run(options),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_knows_every_memory() {
        let words: Vec<_> = TensorMemory::all().map(TensorMemory::name).collect();
        assert!(EXAMPLES.contains(&words.join(", ")));
    }
}
