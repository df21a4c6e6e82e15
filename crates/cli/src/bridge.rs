//! `tenure bridge`: streams to other machines, and theirs here.
//!
//! Every build knows what can be said, so that help and documentation are the same; the work is in
//! `carry`, which only builds with the feature `bridge` have.

#[cfg(feature = "bridge")]
mod carry;

use std::time::Duration;

use crate::capture::seconds;
use crate::failure::Failure;
use crate::plan::Size;

/// What `tenure bridge` is told.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Let others have these (default: all, unless --import)
    #[arg(long, value_name = "NAME")]
    export: Vec<String>,

    /// Repeat streams of others here: cam0/frame, cam0/**
    #[arg(long, value_name = "NAME")]
    import: Vec<String>,

    /// List the streams that others have, and end
    #[arg(long, conflicts_with_all = ["export", "import"])]
    list: bool,

    /// Wait for others here: tcp/0.0.0.0:7447
    #[arg(long, value_name = "ADDRESS")]
    listen: Vec<String>,

    /// Go to others there: tcp/camera-host:7447
    #[arg(long, value_name = "ADDRESS")]
    connect: Vec<String>,

    /// Make frames smaller: lossless, jpeg, jpeg:QUALITY
    #[arg(long, value_name = "HOW", value_parser = compression)]
    compress: Option<String>,

    /// Put this before the names of repeated streams
    #[arg(long, value_name = "NAME")]
    under: Option<String>,

    /// Memory for streams of others, like 512M [default: a
    /// quarter of what is available]
    #[arg(long, value_name = "BYTES", verbatim_doc_comment)]
    memory: Option<Size>,

    /// Where the bridges meet in Zenoh
    #[arg(long, value_name = "KEY", default_value = "tenure")]
    prefix: String,

    /// End after so long (default: never; a list: 2)
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    seconds: Option<Duration>,

    /// Print one JSON object at the end
    #[arg(long)]
    json: bool,
}

/// What `tenure help bridge` begins with.
pub(crate) const ABOUT: &str = "\
Carry streams to other machines, and repeat theirs here.

A bridge on each machine, over Zenoh: one exports streams as an ordinary
consumer, another publishes them again under the same name, with their numbers,
times and blobs. Frames are dropped rather than queued. When the link is cut,
streams pause, and go on when it is back. What was brought here is not carried
on, so nothing goes in circles. Where several have a stream, the first found is
repeated, and another when that is gone.

Told neither where to listen nor where to connect, it looks for others in the
local network. Whoever reaches the address gets the frames, and can send some:
use networks that you trust. What they send takes at most --memory here, and is
given back when they go.

Builds have it with the feature bridge:
  cargo run --release --features bridge -- bridge --listen tcp/0.0.0.0:7447
  cargo run --release --features bridge -- bridge --connect tcp/camera:7447 \\
      --import 'cam0/**'";

/// Does what is asked for.
#[cfg(feature = "bridge")]
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    carry::run(options)
}

/// Says how to build it.
#[cfg(not(feature = "bridge"))]
pub(crate) fn run(_: &Options) -> Result<(), Failure> {
    Err(Failure::NotBuilt { command: "bridge", feature: "bridge" })
}

#[cfg(feature = "bridge")]
fn compression(word: &str) -> Result<String, tenure::bridge::UnknownCompression> {
    word.parse::<tenure::bridge::Compression>().map(|_| word.to_owned())
}

#[cfg(not(feature = "bridge"))]
fn compression(word: &str) -> Result<String, std::convert::Infallible> {
    Ok(word.to_owned())
}
