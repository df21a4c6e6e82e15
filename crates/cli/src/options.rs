//! The command line: what can be said, and the help that explains it.
//!
//! Help texts are broken by hand to fit 80 columns.

use clap::{Parser, Subcommand};

#[cfg(not(linux_like))]
use crate::elsewhere;
use crate::{bench, capture, convert, info, inspect, load, plan};
#[cfg(linux_like)]
use crate::{bridge, run, stream, top, view};

/// The command and what it was given.
#[derive(Debug, Parser)]
#[command(
    name = "tenure",
    version,
    about = "One memory layer under every tensor: where it lives, and for how long",
    after_help = EXAMPLES
)]
pub(crate) struct Options {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
\x1b[1m\x1b[4mExamples:\x1b[0m
  tenure run               a camera (or a test one) as streams of frames
  tenure stream ls         the streams that there are
  tenure info              what works on this machine, and why the rest does not
  tenure bench mem shm     compare two memories
  tenure capture /dev/video0 --frames 10 -o frames
                           what a camera sees, as PNG and npy files
  tenure convert cat.jpg input.npy --to 640x640 --fit letterbox --scale 1/255
                           what a model wants of a picture
  tenure plan model.onnx --html plan.html
                           how little memory is enough, and a picture of it
  tenure inspect model.safetensors
                           what is in a file
  tenure help bench        all about one command

\x1b[1m\x1b[4mExit codes:\x1b[0m
  0  done      1  it failed, and says why      2  the command line is wrong";

/// The subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Publish a camera for every process that wants its frames
    #[cfg(linux_like)]
    #[command(long_about = run::ABOUT)]
    Run(Box<run::Options>),
    /// Publish a camera for every process that wants its frames
    #[cfg(not(linux_like))]
    Run(elsewhere::Options),
    /// List, look at, record and replay streams
    #[cfg(linux_like)]
    #[command(long_about = stream::ABOUT)]
    Stream(stream::Options),
    /// List, look at, record and replay streams
    #[cfg(not(linux_like))]
    Stream(elsewhere::Options),
    /// Watch streams, their slots and consumers, and memory by kind
    #[cfg(linux_like)]
    #[command(long_about = top::ABOUT)]
    Top(top::Options),
    /// Watch streams, their slots and consumers, and memory by kind
    #[cfg(not(linux_like))]
    Top(elsewhere::Options),
    /// Show all streams on a page for browsers of this machine
    #[cfg(linux_like)]
    #[command(long_about = view::ABOUT)]
    View(view::Options),
    /// Show all streams on a page for browsers of this machine
    #[cfg(not(linux_like))]
    View(elsewhere::Options),
    /// Carry streams to other machines, and repeat theirs here
    #[cfg(linux_like)]
    #[command(long_about = bridge::ABOUT)]
    Bridge(Box<bridge::Options>),
    /// Carry streams to other machines, and repeat theirs here
    #[cfg(not(linux_like))]
    Bridge(elsewhere::Options),
    /// Show which memories work here, and why the others do not
    #[command(long_about = info::ABOUT)]
    Info(info::Options),
    /// Measure memories and image engines against the limits of this machine
    #[command(long_about = bench::ABOUT)]
    Bench(bench::Options),
    /// Write frames of a camera to files: pictures and arrays
    #[command(long_about = capture::ABOUT)]
    Capture(capture::Options),
    /// Convert pictures: size, format, type, as a model wants them
    #[command(long_about = convert::ABOUT)]
    Convert(Box<convert::Options>),
    /// Find out how little memory a model needs
    #[command(long_about = plan::ABOUT)]
    Plan(Box<plan::Options>),
    /// List the tensors of a file
    #[command(long_about = inspect::ABOUT)]
    Inspect(inspect::Options),
    /// Load the tensors of a file into memory, and say how fast that was
    #[command(long_about = load::ABOUT)]
    Load(load::Options),
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Options::command().debug_assert();
    }

    #[test]
    fn help_fits_80_columns() {
        let mut command = Options::command();
        let mut pages = vec![command.render_long_help().to_string()];
        for name in [
            "run", "stream", "top", "view", "bridge", "info", "bench", "capture", "convert",
            "plan", "inspect", "load",
        ] {
            let command = command.find_subcommand_mut(name).unwrap();
            pages.push(command.render_long_help().to_string());
            pages.push(command.render_help().to_string());
            for below in command.get_subcommands_mut() {
                pages.push(below.render_long_help().to_string());
                pages.push(below.render_help().to_string());
            }
        }
        let lines = pages.iter().flat_map(|page| page.lines());
        let long: Vec<&str> = lines.filter(|line| line.chars().count() > 80).collect();
        assert!(long.is_empty(), "{long:#?}");
    }
}
