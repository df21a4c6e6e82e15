//! Why a benchmark could not be run to its end.

use std::io;
use std::path::PathBuf;

/// Whatever went wrong. Rows may fail with any error, which ends the benchmark.
pub type Error = Box<dyn std::error::Error>;

/// What goes wrong before and after the rows.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("unknown option {option}; there are --quick, --json FILE, and words to choose rows by")]
    Option { option: String },

    #[error("--json needs the name of a file after it")]
    NoFile,

    #[error("{}: {source}", path.display())]
    Json { path: PathBuf, source: io::Error },

    #[error("standard output: {source}")]
    Print { source: io::Error },
}
