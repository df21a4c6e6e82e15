//! `tenure bench copy` where no device can be opened.

use crate::failure::Failure;

/// What `tenure bench copy` is told.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {}

/// What `tenure bench copy --help` begins with.
pub(crate) const ABOUT: &str = "Measure copies between spaces: on Linux only.";

pub(super) fn run(_: &Options) -> Result<(), Failure> {
    let reason = "this build opens devices on Linux only".to_owned();
    Err(Failure::NothingToMeasure(vec![(tenure::TensorMemory::Device, reason)]))
}
