//! The command `tenure`: cameras to every process that wants them, what this machine offers to
//! tensors and how fast it is, pictures as models want them, and what is in files of tensors.
//!
//! One file for each subcommand, with a folder of the same name for its parts. A subcommand
//! gathers a report first and shows it afterwards, as text or as JSON, so that both say the same.
#![forbid(unsafe_code)]
#![warn(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used
)]

mod bench;
#[cfg(linux_like)]
mod bridge;
mod capture;
#[cfg(linux_like)]
mod clock;
mod convert;
mod copied;
#[cfg(not(linux_like))]
mod elsewhere;
mod failure;
mod info;
mod input;
mod inspect;
mod load;
mod machine;
mod options;
mod output;
mod page;
mod plan;
mod progress;
#[cfg(linux_like)]
mod run;
#[cfg(linux_like)]
mod stop;
#[cfg(linux_like)]
mod stream;
#[cfg(linux_like)]
mod top;
mod units;
#[cfg(linux_like)]
mod view;

use std::process::ExitCode;

use clap::Parser;

use failure::Failure;
use options::{Command, Options};
use tenure::Language;

fn main() -> ExitCode {
    // The parent process may have blocked signals, and threads inherit that.
    tenure::memory::prepare_thread();
    match Options::try_parse() {
        Ok(options) => Language::Command.during(|| failure::exit_code(run(&options.command))),
        Err(answer) => {
            // Help and version go to the output, errors to the other; if nobody listens to
            // either, there is nobody to tell.
            let _ = answer.print();
            ExitCode::from(u8::try_from(answer.exit_code()).unwrap_or(failure::USAGE))
        }
    }
}

fn run(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Info(options) => info::run(options),
        Command::Bench(options) => bench::run(options),
        #[cfg(linux_like)]
        Command::Bridge(options) => bridge::run(options),
        #[cfg(not(linux_like))]
        Command::Bridge(_) => elsewhere::run("bridge"),
        Command::Capture(options) => capture::run(options),
        Command::Convert(options) => convert::run(options),
        Command::Plan(options) => plan::run(options),
        Command::Inspect(options) => inspect::run(options),
        Command::Load(options) => load::run(options),
        #[cfg(linux_like)]
        Command::Run(options) => run::run(options),
        #[cfg(not(linux_like))]
        Command::Run(_) => elsewhere::run("run"),
        #[cfg(linux_like)]
        Command::Stream(options) => stream::run(options),
        #[cfg(not(linux_like))]
        Command::Stream(_) => elsewhere::run("stream"),
        #[cfg(linux_like)]
        Command::Top(options) => top::run(options),
        #[cfg(not(linux_like))]
        Command::Top(_) => elsewhere::run("top"),
        #[cfg(linux_like)]
        Command::View(options) => view::run(options),
        #[cfg(not(linux_like))]
        Command::View(_) => elsewhere::run("view"),
    }
}
