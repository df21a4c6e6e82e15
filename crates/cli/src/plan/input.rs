//! What is planned: a model, lifetimes or a schedule, from a file.

use std::collections::BTreeMap;
use std::path::Path;

use tenure::models::{Graph, tflite};
use tenure::plan::{Options, Packer, PlanError, PlannerMode, Schedule, Table, plan};

use super::Problem;
use super::progress::Search;

/// A million buffers take a tenth of this.
const MOST: u64 = 1 << 30;

/// What a file is, as its name says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Csv,
    Json,
    Onnx,
    Tflite,
}

fn kind(path: &Path) -> Result<Kind, Problem> {
    let extension = path.extension().map(|extension| extension.to_ascii_lowercase());
    match extension.as_ref().and_then(|extension| extension.to_str()) {
        Some("csv") => Ok(Kind::Csv),
        Some("json") => Ok(Kind::Json),
        Some("onnx") => Ok(Kind::Onnx),
        Some("tflite") => Ok(Kind::Tflite),
        _ => Err(Problem::Kind { path: path.to_owned() }),
    }
}

/// Reads a schedule.
pub(super) fn read(path: &Path, dims: &[(String, u64)]) -> Result<Schedule, Problem> {
    let kind = kind(path)?;
    if !dims.is_empty() && kind != Kind::Onnx {
        return Err(Problem::NoDims { path: path.to_owned() });
    }
    let schedule = match kind {
        Kind::Csv => {
            let table = Table::from_csv(&text(path)?);
            table.map_err(|cause| Problem::Csv { path: path.to_owned(), cause })?.to_schedule()
        }
        Kind::Json => {
            let schedule = Schedule::from_json(&text(path)?);
            schedule.map_err(|cause| Problem::Schedule { path: path.to_owned(), cause })?
        }
        Kind::Onnx | Kind::Tflite => graph(path, dims)?.schedule(),
    };
    schedule.validate().map_err(PlanError::from)?;
    Ok(schedule)
}

fn graph(path: &Path, dims: &[(String, u64)]) -> Result<Graph, Problem> {
    let dims: BTreeMap<String, u64> = dims.iter().cloned().collect();
    tenure::models::read(path, &dims)
        .map_err(|cause| Problem::Model { path: path.to_owned(), cause })
}

/// The model with the smallest plan of its whole arena, inputs and outputs included, in it.
pub(super) fn with_offline_plan(path: &Path, search: &Search) -> Result<Vec<u8>, Problem> {
    if kind(path)? != Kind::Tflite {
        return Err(Problem::NoOfflinePlan { path: path.to_owned() });
    }
    let wrong = |cause| Problem::Model { path: path.to_owned(), cause };
    let failed = |cause| Problem::Read { path: path.to_owned(), cause };
    let model = std::fs::read(path).map_err(failed)?;
    let graph = tflite::read(&model).map_err(wrong)?;
    let schedule = graph.arena_schedule();
    let make = |options: &Options<'_>| plan(&schedule, PlannerMode::Arena, Packer::Best, options);
    let plan = search.run(make)?;
    tflite::write_offline_plan(&model, &tflite::offline_offsets(&graph, &plan)).map_err(wrong)
}

fn text(path: &Path) -> Result<String, Problem> {
    let failed = |cause| Problem::Read { path: path.to_owned(), cause };
    let bytes = std::fs::metadata(path).map_err(failed)?.len();
    if bytes > MOST {
        return Err(Problem::TooLarge { path: path.to_owned(), bytes, most: MOST });
    }
    let bytes = std::fs::read(path).map_err(failed)?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Problem::NotText { path: path.to_owned(), at }
    })
}
