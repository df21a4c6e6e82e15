//! Tensors between processes: one way of a frame beside what nobody can beat (an eventfd, which
//! carries nothing) and beside what others do.
//!
//! The consumers are processes of their own: this program again, told by its environment what to
//! be. Latency is wall-clock time, so it is measured with real-time priority where that is allowed;
//! messages are far enough apart that every consumer sleeps when one comes.

use std::process::ExitCode;

mod latency;
mod others;
mod part;
mod reading;
mod video;

use tenure_benches::{Bench, Error};

fn main() -> ExitCode {
    match part::play() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => tenure_benches::run(rows),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn rows(bench: &mut Bench) -> Result<(), Error> {
    part::prefer_this_program();
    latency::rows(bench)?;
    others::rows(bench)?;
    reading::rows(bench)?;
    video::rows(bench)
}
