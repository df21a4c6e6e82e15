//! The real device that tests use.

use tenure_gpu::{Gpu, open};

/// The device that `TENURE_TEST_DEVICE` names.
pub(crate) fn word() -> String {
    std::env::var("TENURE_TEST_DEVICE").unwrap_or_else(|_| "vulkan:0".to_owned())
}

pub(crate) fn gpu() -> Gpu {
    let gpu = open(&word()).unwrap();
    match std::env::var_os("TENURE_TEST_QUEUED") {
        Some(_) => gpu.queued(),
        None => gpu,
    }
}
