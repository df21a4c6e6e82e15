//! What was measured, in the form of its JSON.

use serde::Serialize;
use tenure::TensorMemory;
use tenure::memory::kind;

use super::arena::Arena;
use super::limit::Limit;
use super::measure::Measure;
use super::{Key, Refused, Size};
use crate::bench::clock;
use crate::bench::frame::Frame;
use crate::bench::rounds::{Case, Effort, Times};

/// What `tenure bench --json` prints. Sizes are bytes, times nanoseconds, rates 10⁹ bytes per
/// second. Fields are added, never renamed or removed.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    /// Version of Tenure.
    pub(super) version: &'static str,
    /// The frame that was used.
    pub(super) frame: Frame,
    /// Whether this program was built with optimisation; without, the numbers mean little.
    pub(super) optimised: bool,
    /// How many rounds the medians are of.
    pub(super) rounds: u32,
    /// `thread_cpu` or `wall`.
    pub(super) clock: &'static str,
    /// Bytes that were used in turn, to be larger than the caches.
    pub(super) working_set: usize,
    /// The limits of the machine.
    pub(super) limits: Vec<LimitResult>,
    /// Every memory that was asked for.
    pub(super) memories: Vec<Memory>,
    /// Every measurement of every memory that was measured.
    pub(super) results: Vec<MemoryResult>,
    /// Freeing one of many blocks and allocating another, in an arena and on the heap.
    pub(super) arenas: Vec<ArenaResult>,
}

/// What divides memory into blocks.
#[derive(Debug, Serialize)]
pub(super) struct ArenaResult {
    /// `tlsf` or `heap`.
    pub(super) name: &'static str,
    #[serde(flatten)]
    pub(super) value: Value,
}

/// A limit of the machine.
#[derive(Debug, Serialize)]
pub(super) struct LimitResult {
    /// `memset` or `memcpy`.
    pub(super) name: &'static str,
    /// Bytes that were moved.
    pub(super) bytes: usize,
    #[serde(flatten)]
    pub(super) value: Value,
}

/// A memory that was asked for.
#[derive(Debug, Serialize)]
pub(super) struct Memory {
    /// Its word.
    pub(super) name: &'static str,
    /// What it is.
    pub(super) title: &'static str,
    /// Whether it was measured.
    pub(super) measured: bool,
    /// Why it was not.
    pub(super) reason: Option<String>,
}

/// One measurement of one memory.
#[derive(Debug, Serialize)]
pub(super) struct MemoryResult {
    /// What was measured: `allocate`, `map`, `first_touch`, `refill`, `new_frame`,
    /// `pooled_frame`, `share`, `copy` or `transpose`.
    pub(super) measure: &'static str,
    /// The memory.
    pub(super) memory: &'static str,
    /// What came out; without these fields if it cannot be measured.
    #[serde(flatten)]
    pub(super) value: Option<Value>,
    /// The part of the limit that was reached; `null` where there is none.
    pub(super) of_limit: Option<f64>,
    /// Why it cannot be measured.
    pub(super) reason: Option<String>,
}

/// A time, and a rate if bytes were moved.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Value {
    /// Median time of doing it once.
    pub(super) median_ns: f64,
    /// Shortest time.
    pub(super) lowest_ns: f64,
    /// Longest time.
    pub(super) highest_ns: f64,
    /// Median rate; `null` if no bytes were moved.
    pub(super) gb_per_s: Option<f64>,
    /// Median time of moving 1 MiB; `null` if no bytes were moved.
    pub(super) ns_per_mib: Option<f64>,
}

impl Value {
    fn new(times: Times, bytes: Option<usize>) -> Value {
        let Times { median, lowest, highest } = times;
        let bytes = bytes.map(|bytes| bytes as f64);
        Value {
            median_ns: median,
            lowest_ns: lowest,
            highest_ns: highest,
            // Bytes per nanosecond are 10⁹ bytes per second.
            gb_per_s: bytes.filter(|_| median > 0.0).map(|bytes| bytes / median),
            ns_per_mib: bytes.map(|bytes| median * f64::from(1 << 20) / bytes),
        }
    }
}

impl Report {
    pub(super) fn new(
        size: Size,
        effort: Effort,
        cases: &[Case<Key>],
        refused: &[Refused],
    ) -> Report {
        let times = |key: Key| cases.iter().find(|case| case.key == key)?.times();
        let limits: Vec<LimitResult> = Limit::ALL
            .into_iter()
            .filter_map(|limit| {
                let value = Value::new(times(Key::Limit(limit))?, Some(size.large));
                Some(LimitResult { name: limit.name(), bytes: size.large, value })
            })
            .collect();
        let memories: Vec<Memory> =
            kind::ALL.iter().filter_map(|kind| memory(kind, cases, refused)).collect();
        let arena = |arena: Arena| {
            let value = Value::new(times(Key::Arena(arena))?, None);
            Some(ArenaResult { name: arena.name(), value })
        };
        let mut results = vec![];
        for measure in Measure::ALL {
            for kind in kind::ALL {
                let value = times(Key::Memory(measure, kind.memory)).map(|times| {
                    Value::new(times, measure.words().limit.map(|_| size.frame.bytes))
                });
                results.extend(result(measure, kind.memory, value, &limits, refused));
            }
        }
        Report {
            version: env!("CARGO_PKG_VERSION"),
            frame: size.frame,
            optimised: !cfg!(debug_assertions),
            rounds: effort.rounds,
            clock: clock::NAME,
            working_set: size.working_set,
            limits,
            memories,
            results,
            arenas: Arena::ALL.into_iter().filter_map(arena).collect(),
        }
    }
}

/// A memory, if it was asked for.
fn memory(kind: &kind::Kind, cases: &[Case<Key>], refused: &[Refused]) -> Option<Memory> {
    let of_it =
        |case: &Case<Key>| matches!(case.key, Key::Memory(_, memory) if memory == kind.memory);
    let reason = refused
        .iter()
        .find(|refused| refused.memory == kind.memory && refused.measure.is_none())
        .map(|refused| refused.reason.clone());
    let measured = cases.iter().any(of_it);
    (measured || reason.is_some()).then_some(Memory {
        name: kind.memory.name(),
        title: kind.title,
        measured,
        reason,
    })
}

/// A measurement of a memory, if there is one or a reason why there is none.
fn result(
    measure: Measure,
    memory: TensorMemory,
    value: Option<Value>,
    limits: &[LimitResult],
    refused: &[Refused],
) -> Option<MemoryResult> {
    let reason = refused
        .iter()
        .find(|refused| refused.memory == memory && refused.measure == Some(measure))
        .map(|refused| refused.reason.clone());
    if value.is_none() && reason.is_none() {
        return None;
    }
    let words = measure.words();
    let limit = words
        .limit
        .and_then(|limit| limits.iter().find(|known| known.name == limit.name())?.value.gb_per_s);
    let reached = value.and_then(|value| value.gb_per_s);
    let of_limit = reached.zip(limit).map(|(reached, limit)| reached / limit);
    Some(MemoryResult { measure: words.name, memory: memory.name(), value, of_limit, reason })
}
