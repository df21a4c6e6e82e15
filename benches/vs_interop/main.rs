//! Tensors to and from other libraries, beside dlpark, the best safe layer over DLPack, and beside
//! what numpy does with its own arrays.

use std::process::ExitCode;

mod dlpack;
mod producer;
mod python;

fn main() -> ExitCode {
    tenure_benches::run(|bench| {
        dlpack::rows(bench)?;
        python::rows(bench);
        Ok(())
    })
}
