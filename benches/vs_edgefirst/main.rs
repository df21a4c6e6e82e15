//! Tenure beside edgefirst-tensor, and beside the best crates for what edgefirst-tensor lacks.

use std::process::ExitCode;

mod copies;
mod frames;
mod map;
mod tlsf;

fn main() -> ExitCode {
    tenure_benches::run(|bench| {
        map::rows(bench)?;
        frames::rows(bench)?;
        tlsf::rows(bench)?;
        copies::rows(bench)?;
        Ok(())
    })
}
