//! What can go wrong with a plan.

use std::io;
use std::path::PathBuf;

use tenure::plan::{CsvError, JsonError, PlanError, UnknownMode};

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Problem {
    #[error("cannot read {}: {cause}", path.display())]
    Read { path: PathBuf, cause: io::Error },
    #[error("cannot write {}: {cause}", path.display())]
    Write { path: PathBuf, cause: io::Error },
    #[error("{}: it has {bytes} bytes; the largest that is read has {most}", path.display())]
    TooLarge { path: PathBuf, bytes: u64, most: u64 },
    #[error(
        "{}: what it is cannot be told from its name; name it .onnx, .tflite, .csv (lifetimes) or \
         .json (a schedule)",
        path.display()
    )]
    Kind { path: PathBuf },
    #[error("{}: not text: byte {at} is not UTF-8", path.display())]
    NotText { path: PathBuf, at: usize },
    #[error("{}: {cause}", path.display())]
    Csv { path: PathBuf, cause: CsvError },
    #[error("{}: {cause}", path.display())]
    Schedule { path: PathBuf, cause: JsonError },
    #[error("{}: {cause}", path.display())]
    Model { path: PathBuf, cause: tenure::models::Error },
    #[error("{}: only a .tflite file can carry an offline plan", path.display())]
    NoOfflinePlan { path: PathBuf },
    #[error("{}: only models in ONNX have dimensions to set with --dim", path.display())]
    NoDims { path: PathBuf },
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error("the plan cannot be written as JSON: {0}")]
    Json(JsonError),
    #[error("TENURE_PLANNER: {0}")]
    Environment(UnknownMode),
    #[error("{0}")]
    DoesNotFit(String),
}
