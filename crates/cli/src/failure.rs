//! What can go wrong in a command, how it is told, and the exit code.

use std::error::Error;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};

use crate::page::for_people;
use crate::units;

/// Exit code of a command line that makes no sense.
pub(crate) const USAGE: u8 = 2;
/// Exit code of a command that Ctrl-C ended, as shells have it.
const STOPPED: u8 = 130;

const ERROR: Style = AnsiColor::Red.on_default().bold();
const CAUSE: Style = Style::new().dimmed();

/// Why a command did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The output takes no more.
    #[error("the output cannot be written")]
    Output(#[source] io::Error),
    /// A report that has no JSON.
    #[error("the report cannot be written as JSON")]
    Json(#[from] serde_json::Error),
    /// A tensor was refused.
    #[error(transparent)]
    Tensor(#[from] tenure::tensor::Error),
    /// Memory was refused.
    #[error(transparent)]
    Memory(#[from] tenure::memory::Error),
    /// An arena said no.
    #[error(transparent)]
    Arena(#[from] tenure::memory::tlsf::Error),
    /// A file of tensors was refused.
    #[error("{}", for_people(&.0.to_string()))]
    Files(#[from] tenure::files::Error),
    /// Too little memory for what is in a file.
    #[error(
        "comparing ways to load {} needs {}, and {} are available: name some tensors, or measure \
         a smaller file", units::bytes(*bytes), units::bytes(*needed), units::bytes(*available)
    )]
    NoRoom {
        /// Bytes to be loaded.
        bytes: u64,
        /// Bytes that the measurement holds at one time.
        needed: u64,
        /// Bytes that there are.
        available: u64,
    },
    /// No frames, or no files.
    #[error(transparent)]
    Capture(#[from] crate::capture::Problem),
    /// No converted picture.
    #[error(transparent)]
    Convert(#[from] crate::convert::Problem),
    /// A camera was not published.
    #[cfg(linux_like)]
    #[error(transparent)]
    Run(#[from] crate::run::Problem),
    /// Nothing came of a stream.
    #[cfg(linux_like)]
    #[error(transparent)]
    Stream(#[from] crate::stream::Problem),
    /// There is no page of streams.
    #[cfg(linux_like)]
    #[error(transparent)]
    View(#[from] crate::view::Problem),
    /// Streams were not carried.
    #[cfg(all(linux_like, feature = "bridge"))]
    #[error("{}", for_people(&.0.to_string()))]
    Bridge(#[from] tenure::bridge::Error),
    /// A command that this build does not have.
    #[cfg(all(linux_like, not(feature = "bridge")))]
    #[error(
        "this build has no tenure {command}, because it takes minutes to build: \
         cargo run --release --features {feature} -- {command} ..."
    )]
    NotBuilt {
        /// The command.
        command: &'static str,
        /// The feature that brings it.
        feature: &'static str,
    },
    /// A system without streams.
    #[cfg(not(linux_like))]
    #[error(
        "tenure {command} does not work on {}: streams are sealed memory files, which Linux has",
        std::env::consts::OS
    )]
    NotHere {
        /// The command.
        command: &'static str,
    },
    /// No plan.
    #[error(transparent)]
    Plan(#[from] crate::plan::Problem),
    /// Nothing was left to measure.
    #[error("none of the memories asked for can be measured here: {}", reasons(.0))]
    NothingToMeasure(Vec<(tenure::TensorMemory, String)>),
    /// No conversion has such a name.
    #[error("no conversion has `{word}` in its name: there are {}", known.join(", "))]
    NoSuchConversion {
        /// What was asked for.
        word: String,
        /// The names.
        known: Vec<&'static str>,
    },
    /// Frames so large that measuring them would drive other programs out of memory.
    #[error(
        "measuring frames of {} needs {}, and {} are available: use a smaller --size, or name \
         fewer memories", units::bytes(*frame), units::bytes(*needed), units::bytes(*available)
    )]
    TooLarge {
        /// Bytes of one frame.
        frame: u64,
        /// Bytes that the measurement holds at one time.
        needed: u64,
        /// Bytes that there are.
        available: u64,
    },
}

fn reasons(refused: &[(tenure::TensorMemory, String)]) -> String {
    let words = |(memory, reason): &(tenure::TensorMemory, String)| format!("{memory}: {reason}");
    refused.iter().map(words).collect::<Vec<_>>().join("; ")
}

/// The exit code of a command; a failure is told on the way. A reader that went away is none:
/// `tenure info | head -1` has what it wanted.
pub(crate) fn exit_code(outcome: Result<(), Failure>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Output(error)) if error.kind() == ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(failure) => {
            // If nobody listens here either, the exit code has to do.
            let _ = tell(&failure, &mut anstream::stderr().lock());
            match failure {
                Failure::Plan(crate::plan::Problem::Stopped(_)) => ExitCode::from(STOPPED),
                _ => ExitCode::FAILURE,
            }
        }
    }
}

fn tell(failure: &Failure, out: &mut impl Write) -> io::Result<()> {
    let [first, causes @ ..] = &chain(failure)[..] else { return Ok(()) };
    writeln!(out, "{ERROR}error:{ERROR:#} {first}")?;
    for cause in causes {
        writeln!(out, "  {CAUSE}cause:{CAUSE:#} {cause}")?;
    }
    Ok(())
}

/// An error and its causes in words. A cause that the words before it contain is left out: many
/// errors quote theirs.
pub(crate) fn chain(error: &dyn Error) -> Vec<String> {
    let mut words: Vec<String> = vec![];
    let mut next = Some(error);
    while let Some(error) = next {
        let text = error.to_string();
        if !words.last().is_some_and(|before| before.contains(&text)) {
            words.push(text);
        }
        next = error.source();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_told_once() {
        let full = io::Error::other("no space left");
        assert_eq!(
            chain(&Failure::Output(full)),
            ["the output cannot be written", "no space left"]
        );
        let quoting = tenure::memory::Error::from(tenure::memory::detail::Open {
            path: "x".into(),
            cause: io::Error::other("gone"),
        });
        assert_eq!(chain(&Failure::Memory(quoting)), ["cannot open x: gone"]);
    }

    #[test]
    fn a_failure_reads_well() {
        let mut text = vec![];
        tell(&Failure::Output(io::Error::other("full")), &mut text).unwrap();
        let text = anstream::adapter::strip_bytes(&text).into_vec();
        assert_eq!(
            String::from_utf8(text).unwrap(),
            "error: the output cannot be written\n  cause: full\n"
        );
    }
}
