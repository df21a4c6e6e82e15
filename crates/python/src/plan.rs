//! `plan` and `read_model`: schedules come and go and plans go as JSON; `tenure/_plan.py` makes
//! objects of them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tenure::models;
use tenure::plan::{Options, Packer, PlannerMode, Schedule, plan, verify};

use crate::fail::{Answer, Fail};

fn wrong(error: impl std::fmt::Display) -> Fail {
    PyValueError::new_err(tenure::Language::Python.say(&error)).into()
}

/// The plan of a schedule, both as JSON.
#[pyfunction]
#[pyo3(signature = (schedule, mode, packer, seconds, threads))]
pub(crate) fn plan_json(
    py: Python<'_>,
    schedule: &str,
    mode: &str,
    packer: &str,
    seconds: Option<f64>,
    threads: Option<usize>,
) -> Answer<String> {
    let schedule = Schedule::from_json(schedule).map_err(wrong)?;
    let (mode, packer): (PlannerMode, Packer) =
        (mode.parse().map_err(wrong)?, packer.parse().map_err(wrong)?);
    let mut options = Options::default();
    if let Some(seconds) = seconds {
        // Told to take this long, it is not kept from it by the usual amount of work.
        options.time = Some(Duration::try_from_secs_f64(seconds).map_err(wrong)?);
        options.work = u64::MAX;
    }
    if let Some(threads) = threads {
        options.threads = threads;
    }
    // The options may point to things of one thread, so they are finished there.
    let (time, work, threads) = (options.time, options.work, options.threads);
    py.detach(|| {
        let options = Options { time, work, threads, ..Options::default() };
        let made = plan(&schedule, mode, packer, &options).map_err(|error| error.to_string())?;
        verify(&schedule, &made).map_err(|error| error.to_string())?;
        made.to_json().map_err(|error| error.to_string())
    })
    .map_err(wrong)
}

/// The schedule of a model file, as JSON.
#[pyfunction]
#[pyo3(signature = (path, dims, arena))]
pub(crate) fn schedule_json(
    py: Python<'_>,
    path: PathBuf,
    dims: BTreeMap<String, u64>,
    arena: bool,
) -> Answer<String> {
    // Takes no lock of the library, and may take long.
    py.detach(|| {
        let graph = models::read(&path, &dims)?;
        let schedule = if arena { graph.arena_schedule() } else { graph.schedule() };
        Ok(schedule.to_json()?)
    })
}
