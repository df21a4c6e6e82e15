//! `tenure capture`: frames of a camera as files, a picture and an array for each.
//!
//! `record` is the way from camera to files; `wish` is what can be said on the command line,
//! `folder` where files go, `picture` what a frame looks like, `report` what is told about it.

#[cfg(not(linux_like))]
mod elsewhere;
#[cfg(linux_like)]
mod folder;
#[cfg(linux_like)]
mod frames;
#[cfg(linux_like)]
mod picture;
#[cfg(linux_like)]
mod problem;
#[cfg(linux_like)]
mod progress;
#[cfg(linux_like)]
mod record;
#[cfg(linux_like)]
mod report;
mod wish;

use std::path::PathBuf;
use std::time::Duration;

#[cfg(not(linux_like))]
pub(crate) use elsewhere::{Problem, run};
#[cfg(linux_like)]
pub(crate) use problem::Problem;
#[cfg(linux_like)]
pub(crate) use record::run;
pub(crate) use wish::Format;
use wish::Only;
pub(crate) use wish::Size;
#[cfg(linux_like)]
pub(crate) use wish::{rate, seconds};

/// What `tenure capture` is told.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// The camera, like /dev/video0 (see: tenure info)
    #[arg(value_name = "DEVICE")]
    device: PathBuf,

    /// How many frames
    #[arg(
        short = 'n', long, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000)
    )]
    frames: u32,

    /// Folder for the files
    #[arg(short, long, value_name = "FOLDER", default_value = "frames")]
    output: PathBuf,

    /// Format of the frames [default: the camera's]
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,

    /// Pixels across and down [default: the camera's]
    #[arg(long, value_name = "WxH")]
    size: Option<Size>,

    /// Frames a second, or the nearest there is
    #[arg(long, value_name = "RATE", value_parser = wish::rate)]
    fps: Option<f64>,

    /// Frames to leave out first
    #[arg(long, value_name = "N", default_value_t = 0)]
    skip: u32,

    /// Write only these files
    #[arg(long, value_name = "SORT")]
    only: Option<Only>,

    /// How long to wait for a frame
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = wish::seconds)]
    timeout: Duration,

    /// Replace files that are there
    #[arg(long)]
    force: bool,

    /// Print one JSON object with stable field names
    #[arg(long)]
    json: bool,
}

/// What `tenure help capture` begins with.
pub(crate) const ABOUT: &str = "\
Write frames of a camera to files: pictures and arrays.

Each frame becomes a picture to look at, 000000.png, and an array to compute
with, 000000.npy: the frame's own bytes without row padding, all planes
together. Frames that come as JPEG are written as they are, 000000.jpg, and as
an array of bytes; frames in a format that cannot be shown as an array only.

The folder is made if it is not there. Files that are there are not replaced,
and none is ever seen half written.";

const EXAMPLES: &str = "\
\x1b[1m\x1b[4mFormats:\x1b[0m
  rgb, bgr, rgba, bgra, grey, yuyv, uyvy, nv12, nv21, nv16, nv24, i420, p010,
  mjpg, or a code of the camera's own in capitals, like RGBP (see: tenure info)

\x1b[1m\x1b[4mExamples:\x1b[0m
  tenure capture /dev/video0
  tenure capture /dev/video0 --frames 10 -o frames --format nv12 --size 1280x720
  tenure capture /dev/video2 -n 300 --skip 30 --only npy --json > report.json";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_knows_every_format() {
        let help = EXAMPLES.replace("\n  ", " ");
        assert!(help.contains(&wish::words().join(", ")), "{help}");
    }
}
