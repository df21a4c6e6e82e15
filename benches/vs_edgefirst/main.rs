//! Tenure beside edgefirst-tensor, and beside the best crates for what edgefirst-tensor lacks.

use std::process::ExitCode;

mod tlsf;

fn main() -> ExitCode {
    tenure_benches::run(|bench| {
        tlsf::rows(bench)?;
        Ok(())
    })
}
