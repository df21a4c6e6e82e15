//! Capture on systems that have no cameras we can use.

use super::Options;
use crate::failure::Failure;

/// Why there are no frames.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Problem {
    /// No V4L2.
    #[error(
        "{} cannot be captured from on {}: cameras are used through V4L2, which Linux has",
        .0.display(), std::env::consts::OS
    )]
    NotHere(std::path::PathBuf),
}

/// Says so.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    Err(Problem::NotHere(options.device.clone()).into())
}
