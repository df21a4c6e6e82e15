//! What is told about loading: the JSON, and the text that says the same.

use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use tenure::files::{self, TensorFile};

use crate::page::{DIM, Mark, PLAIN, Page, columns};
use crate::units;

/// Columns of the name of a way, of a time and of a rate.
const NAME: usize = 10;
const NUMBER: usize = 12;

/// What `tenure load --json` prints. Fields are added, never renamed or removed.
#[derive(Debug, Serialize)]
pub(super) struct Loaded {
    path: String,
    tensors: usize,
    bytes: u64,
    /// Bytes that were read past the system's cache.
    direct_bytes: u64,
    /// Members of the file that cannot be tensors, with the reason.
    pub(super) left_out: Vec<LeftOut>,
    memory: Option<&'static str>,
    seconds: f64,
    gb_per_s: f64,
}

/// A member of the file that cannot be a tensor.
#[derive(Debug, Serialize)]
pub(super) struct LeftOut {
    pub(super) name: String,
    pub(super) why: String,
}

impl Loaded {
    pub(super) fn new(file: &TensorFile, loaded: &files::Loaded, seconds: f64) -> Loaded {
        let first = loaded.tensors().first();
        Loaded {
            path: file.path().display().to_string(),
            tensors: loaded.tensors().len(),
            bytes: loaded.bytes(),
            direct_bytes: loaded.direct_bytes(),
            left_out: file
                .refused()
                .iter()
                .map(|one| LeftOut { name: one.name.clone(), why: one.why.clone() })
                .collect(),
            memory: first.map(|(_, tensor)| tensor.memory().name()),
            seconds,
            gb_per_s: rate(loaded.bytes(), seconds),
        }
    }
}

/// What `tenure load --bench --json` prints. Fields are added, never renamed or removed.
#[derive(Debug, Serialize)]
pub(super) struct Comparison {
    path: String,
    /// Bytes of the tensors.
    bytes: u64,
    rounds: u32,
    /// Whether the command was built with optimisation.
    optimised: bool,
    ways: Vec<Way>,
}

/// One way to get at the bytes.
#[derive(Debug, Serialize)]
pub(super) struct Way {
    pub(super) name: &'static str,
    title: &'static str,
    /// Whether the file was not in the system's cache.
    pub(super) cold: bool,
    /// Whether nothing can be faster.
    limit: bool,
    bytes: u64,
    /// The median of all rounds.
    seconds: Option<f64>,
    gb_per_s: Option<f64>,
    /// Why it was not measured, if it was not.
    pub(super) left_out: Option<String>,
    #[serde(skip)]
    times: Vec<Duration>,
}

impl Way {
    /// All ways, the limits first.
    pub(super) fn all() -> Vec<Way> {
        let way = |name, title, cold, limit| Way {
            name,
            title,
            cold,
            limit,
            bytes: 0,
            seconds: None,
            gb_per_s: None,
            left_out: None,
            times: vec![],
        };
        vec![
            way("memcpy", "memory to memory, nothing is read", false, true),
            way("mmap", "the mapped file, every page touched", false, false),
            way("read", "into new memory, by one thread", false, false),
            way("load-new", "load() into new memory", false, false),
            way("load", "load() into pooled memory", false, false),
            way("disk", "past the cache, nothing is kept", true, true),
            way("mmap", "the mapped file, every page touched", true, false),
            way("read", "into new memory, by one thread", true, false),
            way("load-new", "load() into new memory", true, false),
            way("load", "load() into pooled memory", true, false),
        ]
    }

    pub(super) fn add(&mut self, bytes: u64, time: Duration) {
        self.bytes = bytes;
        self.times.push(time);
    }

    /// With the median of the times.
    fn measured(mut self) -> Way {
        self.times.sort_unstable();
        let median = self.times.get(self.times.len() / 2).map(Duration::as_secs_f64);
        self.seconds = median;
        self.gb_per_s = median.map(|seconds| rate(self.bytes, seconds));
        self
    }
}

impl Comparison {
    pub(super) fn new(path: &Path, bytes: u64, rounds: u32, ways: Vec<Way>) -> Comparison {
        Comparison {
            path: path.display().to_string(),
            bytes,
            rounds,
            optimised: !cfg!(debug_assertions),
            ways: ways.into_iter().map(Way::measured).collect(),
        }
    }
}

fn rate(bytes: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { bytes as f64 / seconds / 1e9 } else { 0.0 }
}

/// What was loaded, as text.
pub(super) fn loaded(report: &Loaded, width: usize) -> String {
    let mut page = Page::new(width);
    let Loaded { tensors, bytes, direct_bytes, seconds, gb_per_s, .. } = report;
    let memory = report.memory.unwrap_or("none");
    page.heading(&report.path, &format!("{tensors} tensors, {}", units::bytes(*bytes)));
    let mut row = |what, text: &str| page.row(Mark::Blank, &[(what, NAME)], PLAIN, text);
    row("memory", memory);
    row("time", &format!("{}, {gb_per_s:.2} GB/s", units::time(seconds * 1e9)));
    let past = units::bytes(*direct_bytes);
    row("cache", &format!("{past} were read past the system's cache"));
    if !report.left_out.is_empty() {
        page.heading("Left out: no tensors", "");
        for LeftOut { name, why } in &report.left_out {
            page.row(Mark::No, &[(name, columns(name) + 2)], DIM, why);
        }
    }
    page.into_text()
}

/// The ways beside each other, as text.
pub(super) fn comparison(report: &Comparison, width: usize) -> String {
    let mut page = Page::new(width);
    let rounds = format!("{}, medians of {} rounds", units::bytes(report.bytes), report.rounds);
    page.heading(&report.path, &rounds);
    if !report.optimised {
        let warning = "built without optimisation: these numbers mean little (use --release)";
        page.row(Mark::No, &[], PLAIN, warning);
    }
    for (cold, title) in [(false, "In the system's cache"), (true, "Not in the system's cache")] {
        page.heading(title, "wall time");
        for way in report.ways.iter().filter(|way| way.cold == cold) {
            let (time, rate) = match (way.seconds, way.gb_per_s, &way.left_out) {
                (Some(seconds), Some(rate), None) => {
                    (units::time(seconds * 1e9), format!("{rate:.2} GB/s"))
                }
                (.., why) => {
                    let why = why.as_deref().unwrap_or("not measured");
                    page.row(Mark::No, &[(way.name, NAME)], DIM, why);
                    continue;
                }
            };
            let cells = [(way.name, NAME), (time.as_str(), NUMBER), (rate.as_str(), NUMBER)];
            let limit = if way.limit { "limit: " } else { "" };
            page.row(Mark::Blank, &cells, DIM, &format!("{limit}{}", way.title));
        }
    }
    page.into_text()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_that_are_left_out_are_listed() {
        let report = |left_out| Loaded {
            path: "a.npz".to_owned(),
            tensors: 1,
            bytes: 8,
            direct_bytes: 0,
            left_out,
            memory: Some("mem"),
            seconds: 1e-3,
            gb_per_s: 0.01,
        };
        assert!(!loaded(&report(vec![]), 80).contains("Left out"));
        let objects = LeftOut { name: "objects.npy".to_owned(), why: "elements `|O`".to_owned() };
        let text = loaded(&report(vec![objects]), 80);
        assert!(text.contains("objects.npy") && text.contains("elements `|O`"), "{text}");
    }
}
