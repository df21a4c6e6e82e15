//! What can go wrong with a plan.

use std::io;
use std::path::PathBuf;

use tenure::plan::{CsvError, JsonError, PlanError, PoolsError, SizeError, UnknownMode};

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Problem {
    #[error("cannot read {}: {cause}", path.display())]
    Read { path: PathBuf, cause: io::Error },
    #[error("cannot write {}: {cause}", path.display())]
    Write { path: PathBuf, cause: io::Error },
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
    #[error(
        "{}: it has no dimensions to set with --dim; models in ONNX have, and JSON files whose \
         sizes depend on a number",
        path.display()
    )]
    NoDims { path: PathBuf },
    #[error("--dim {name}: the sizes depend on {has}")]
    OtherVariable { name: String, has: String },
    #[error(
        "{}: the smallest values of --dim make other steps than the largest; plan every value \
         alone",
        path.display()
    )]
    OtherGraph { path: PathBuf },
    #[error(
        "{}: tensor {tensor:?} has {small} bytes for a smaller value of --dim, and {large} for \
         the largest; plan every value alone",
        path.display()
    )]
    Shrinks { path: PathBuf, tensor: String, small: u64, large: u64 },
    #[error(
        "{option} knows one lane only where sizes depend on a number; give the number with --dim"
    )]
    SeveralLanes { option: &'static str },
    #[error("--resize {name}: there is no such buffer; there are {}{}", has.join(", "), more_of(*more))]
    NoBuffer { name: String, has: Vec<String>, more: usize },
    #[error(
        "{}: a plan of {has} buffers, and there are {wants}; give the plan that was saved for \
         this file",
        path.display()
    )]
    OtherPlan { path: PathBuf, has: usize, wants: usize },
    #[error(transparent)]
    Sizes(#[from] SizeError),
    #[error("--pool {name}: there are two of this name; give each its own")]
    TwoPools { name: String },
    #[error("--pool: {0}")]
    Pools(#[from] PoolsError),
    #[error("stopped by Ctrl-C: {0}")]
    Stopped(String),
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error("the plan cannot be written as JSON: {0}")]
    Json(JsonError),
    #[error("TENURE_PLANNER: {0}")]
    Environment(UnknownMode),
    #[error("{0}")]
    DoesNotFit(String),
}

fn more_of(count: usize) -> String {
    if count == 0 { String::new() } else { format!(" and {count} more") }
}
