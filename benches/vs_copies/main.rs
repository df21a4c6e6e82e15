//! Memory of devices beside memcpy and beside the driver itself, on the first Vulkan device.

use std::process::ExitCode;

mod copies;
mod memory;

fn main() -> ExitCode {
    tenure_benches::run(|bench| {
        memory::rows(bench)?;
        copies::rows(bench)
    })
}
