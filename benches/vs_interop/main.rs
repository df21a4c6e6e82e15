//! Tensors to and from other libraries, beside dlpark, the best safe layer over DLPack.

use std::process::ExitCode;

mod dlpack;
mod producer;

fn main() -> ExitCode {
    tenure_benches::run(dlpack::rows)
}
