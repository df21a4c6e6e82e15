//! Why a benchmark could not be run to its end.

use std::io;
use std::path::PathBuf;

/// Why a benchmark could not be run to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An option that does not exist.
    #[error("unknown option {option}; there are --quick, --json FILE, and words to choose rows by")]
    Option {
        /// As it was given.
        option: String,
    },

    /// `--json` was the last argument.
    #[error("--json needs the name of a file after it")]
    NoFile,

    /// The numbers could not be written down.
    #[error("{}: {source}", path.display())]
    Json {
        /// As it was given.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },

    /// The table could not be printed.
    #[error("standard output: {0}")]
    Print(#[source] io::Error),

    /// What a row needs could not be made.
    #[error("{row}: {source}")]
    Setup {
        /// The row, or the subject of several.
        row: &'static str,
        /// What went wrong.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl Error {
    /// For `map_err`: `row` needs something that could not be made.
    pub fn setup<E>(row: &'static str) -> impl FnOnce(E) -> Error
    where
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        move |source| Error::Setup { row, source: source.into() }
    }
}
