//! Files of what is planned: models, lifetimes, schedules.

use std::collections::BTreeMap;
use std::path::Path;

use tenure::models::{Graph, tflite};
use tenure::plan::{Dynamic, Options, Packer, PlannerMode, Schedule, Table, plan};

use super::Problem;
use super::dim::Dim;
use super::progress::Search;
use super::source::Source;
use crate::input;

/// A million buffers take a tenth of this.
const MOST: u64 = 1 << 30;
/// What TFLite can address.
const MOST_MODEL: u64 = 1 << 31;

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

/// Reads what is planned.
pub(super) fn read(path: &Path, dims: &[Dim]) -> Result<Source, Problem> {
    let kind = kind(path)?;
    let no_dims = || Problem::NoDims { path: path.to_owned() };
    let wrong = |cause| Problem::Schedule { path: path.to_owned(), cause };
    match kind {
        Kind::Onnx => Source::ranged(path, dims, |values| graph(path, values)),
        Kind::Json => {
            let text = text(path)?;
            if depends(&text) {
                let dynamic = serde_json::from_str::<Dynamic>(&text);
                return Source::dynamic(dynamic.map_err(|cause| wrong(cause.into()))?, dims);
            }
            let schedule = Schedule::from_json(&text).map_err(wrong)?;
            if dims.is_empty() { Source::fixed(schedule) } else { Err(no_dims()) }
        }
        _ if !dims.is_empty() => Err(no_dims()),
        Kind::Tflite => Source::fixed(graph(path, &BTreeMap::new())?.schedule()),
        Kind::Csv => {
            let table = Table::from_csv(&text(path)?);
            let table = table.map_err(|cause| Problem::Csv { path: path.to_owned(), cause })?;
            Source::fixed(table.to_schedule())
        }
    }
}

/// Whether a JSON file has a schedule whose sizes depend on a number.
fn depends(text: &str) -> bool {
    #[derive(serde::Deserialize)]
    struct Outline {
        schedule: Option<serde::de::IgnoredAny>,
    }
    serde_json::from_str::<Outline>(text).is_ok_and(|outline| outline.schedule.is_some())
}

fn graph(path: &Path, dims: &BTreeMap<String, u64>) -> Result<Graph, Problem> {
    let failed = |cause| Problem::Read { path: path.to_owned(), cause };
    input::check_path(path).map_err(failed)?;
    tenure::models::read(path, dims)
        .map_err(|cause| Problem::Model { path: path.to_owned(), cause })
}

/// The model with the smallest plan of its whole arena, inputs and outputs included, in it.
pub(super) fn with_offline_plan(path: &Path, search: &Search) -> Result<Vec<u8>, Problem> {
    if kind(path)? != Kind::Tflite {
        return Err(Problem::NoOfflinePlan { path: path.to_owned() });
    }
    let wrong = |cause| Problem::Model { path: path.to_owned(), cause };
    let failed = |cause| Problem::Read { path: path.to_owned(), cause };
    let model = input::bytes(path, MOST_MODEL).map_err(failed)?;
    let graph = tflite::read(&model).map_err(wrong)?;
    let schedule = graph.arena_schedule();
    let make = |options: &Options<'_>| plan(&schedule, PlannerMode::Arena, Packer::Best, options);
    let plan = search.run(make)?;
    tflite::write_offline_plan(&model, &tflite::offline_offsets(&graph, &plan)).map_err(wrong)
}

pub(super) fn text(path: &Path) -> Result<String, Problem> {
    let failed = |cause| Problem::Read { path: path.to_owned(), cause };
    let bytes = input::bytes(path, MOST).map_err(failed)?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Problem::NotText { path: path.to_owned(), at }
    })
}
