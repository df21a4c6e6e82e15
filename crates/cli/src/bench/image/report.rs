//! What was measured, in the form of its JSON.

use serde::Serialize;
use tenure::image::EngineKind;

use super::cases::{Key, Refused, Who};
use super::work::Work;
use crate::bench::rounds::{Case, Times};
use crate::failure;

/// What `tenure bench image --json` prints. Times are nanoseconds for one picture. Fields are
/// added, never renamed or removed.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    /// Version of Tenure.
    version: &'static str,
    /// Whether this program was built with optimisation; without, the numbers mean little.
    pub(super) optimised: bool,
    /// How many rounds the medians are of.
    pub(super) rounds: u32,
    /// Every conversion.
    pub(super) conversions: Vec<Conversion>,
}

/// One conversion.
#[derive(Debug, Serialize)]
pub(super) struct Conversion {
    pub(super) name: &'static str,
    pub(super) source: Picture,
    pub(super) output: Picture,
    /// A memcpy that touches as many bytes.
    pub(super) limit: Option<Value>,
    pub(super) results: Vec<EngineResult>,
}

/// One side.
#[derive(Debug, Serialize)]
pub(super) struct Picture {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) format: &'static str,
    pub(super) dtype: &'static str,
}

/// What an engine needs.
#[derive(Debug, Serialize)]
pub(super) struct EngineResult {
    pub(super) engine: &'static str,
    pub(super) threads: usize,
    /// `cpu` (one thread) or `wall` (several).
    pub(super) clock: &'static str,
    #[serde(flatten)]
    pub(super) value: Option<Value>,
    /// The part of the limit that was reached.
    pub(super) of_limit: Option<f64>,
    /// Why it cannot be measured.
    pub(super) reason: Option<String>,
}

/// A time.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Value {
    pub(super) median_ns: f64,
    lowest_ns: f64,
    highest_ns: f64,
}

impl From<Times> for Value {
    fn from(times: Times) -> Value {
        let Times { median, lowest, highest } = times;
        Value { median_ns: median, lowest_ns: lowest, highest_ns: highest }
    }
}

impl Report {
    pub(super) fn new(
        works: &[&Work],
        rounds: u32,
        cases: &[Case<Key>],
        refused: &[Refused],
    ) -> Report {
        Report {
            version: env!("CARGO_PKG_VERSION"),
            optimised: !cfg!(debug_assertions),
            rounds,
            conversions: works.iter().map(|work| conversion(work, cases, refused)).collect(),
        }
    }
}

fn conversion(work: &Work, cases: &[Case<Key>], refused: &[Refused]) -> Conversion {
    let of_it = cases.iter().filter(|case| case.key.0 == work.name);
    let limit = of_it.clone().find(|case| case.key.1 == Who::Limit);
    let limit = limit.and_then(|case| case.times()).map(Value::from);
    let mut results: Vec<_> = of_it.filter_map(|case| measured(case, limit)).collect();
    for ((name, who), reason) in refused {
        if let (true, &Who::Engine(engine, threads)) = (*name == work.name, who) {
            results.push(result(engine, threads, None, limit, Some(reason.clone())));
        }
    }
    let picture = |(width, height), format: tenure::PixelFormat, dtype: tenure::DType| Picture {
        width,
        height,
        format: format.name(),
        dtype: dtype.name(),
    };
    Conversion {
        name: work.name,
        source: picture(work.from, work.source, tenure::DType::U8),
        output: picture(work.to, work.target, work.dtype),
        limit,
        results,
    }
}

fn measured(case: &Case<Key>, limit: Option<Value>) -> Option<EngineResult> {
    let Who::Engine(engine, threads) = case.key.1 else { return None };
    let reason = case.failure().map(|error| failure::chain(error).join(": "));
    Some(result(engine, threads, case.times().map(Value::from), limit, reason))
}

fn result(
    engine: EngineKind,
    threads: usize,
    value: Option<Value>,
    limit: Option<Value>,
    reason: Option<String>,
) -> EngineResult {
    let of_limit =
        limit.zip(value).map(|(limit, value)| limit.median_ns / value.median_ns.max(1.0));
    let clock = if threads == 1 { "cpu" } else { "wall" };
    EngineResult { engine: engine.name(), threads, clock, value, of_limit, reason }
}
