//! `tenure stream`: the streams of this machine, one file for each thing to do with them.
//!
//! `ask` asks all streams about themselves, `words` says what frames look like.

mod ask;
mod gst;
mod ls;
mod problem;
mod record;
mod replay;
mod stat;
mod tap;
mod words;

use std::time::Duration;

use crate::failure::Failure;
pub(crate) use ask::ask_all;
pub(crate) use problem::Problem;
pub(crate) use words::{frame_words, slot_signs};

/// How long producers have to tell about themselves.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);

/// What `tenure stream` is told.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    command: Command,
}

/// What can be done.
#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List the streams of this machine
    #[command(long_about = ls::ABOUT)]
    Ls(ls::Options),
    /// Show slots, consumers and rates of a stream
    #[command(long_about = stat::ABOUT)]
    Stat(stat::Options),
    /// Write frames of a stream to files
    #[command(long_about = tap::ABOUT)]
    Tap(tap::Options),
    /// Keep all frames of a stream in a folder
    #[command(long_about = record::ABOUT)]
    Record(record::Options),
    /// Publish what was recorded, at the times it was
    #[command(long_about = replay::ABOUT)]
    Replay(replay::Options),
    /// Give a stream to GStreamer pipelines
    #[command(long_about = gst::ABOUT)]
    Gst(gst::Options),
}

/// What `tenure help stream` begins with.
pub(crate) const ABOUT: &str = "\
List, look at, record and replay streams.

A stream is published by one process under a name, and read by any number of
others without a copy. Its socket is in the directory $TENURE_STREAM_DIR,
$XDG_RUNTIME_DIR/tenure, /run/tenure, or /tmp/tenure-UID without any of them.";

/// Does what is asked for.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    match &options.command {
        Command::Ls(options) => ls::run(options),
        Command::Stat(options) => stat::run(options),
        Command::Tap(options) => tap::run(options),
        Command::Record(options) => record::run(options),
        Command::Replay(options) => replay::run(options),
        Command::Gst(options) => gst::run(options),
    }
}
