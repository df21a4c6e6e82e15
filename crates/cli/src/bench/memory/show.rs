//! The report as text: a bar for each measurement of each memory.

use super::arena;
use super::measure::{Measure, Words};
use super::report::{MemoryResult, Report, Value};
use crate::bench::chart;
use crate::page::{DIM, Mark, PLAIN, Page, columns, for_people};
use crate::units;

/// What the bar says where there is no limit.
const FASTEST: &str = "full bar: the fastest";
/// Columns of the name of a memory.
const NAME: usize = 9;
/// Columns of the title of a memory.
const TITLE: usize = 21;
/// Columns of a rate or a time.
const NUMBER: usize = 10;
/// Columns of what the bar says, in words.
const PART: usize = 7;

/// The report, set for so many columns.
pub(super) fn page(report: &Report, width: usize) -> String {
    let mut page = Page::new(width);
    let frame = format!("{} ({})", report.frame, units::bytes(report.frame.bytes as u64));
    page.heading(&format!("Frames of {frame}"), &medians(report));
    if !report.optimised {
        let warning = "built without optimisation: these numbers mean little (use --release)";
        page.row(Mark::No, &[], PLAIN, warning);
    }
    limits(&mut page, report);
    for measure in Measure::ALL {
        let words = measure.words();
        let of_it = |result: &&MemoryResult| result.measure == words.name;
        let results: Vec<_> = report.results.iter().filter(of_it).collect();
        if !results.is_empty() {
            section(&mut page, &words, &results);
        }
    }
    arenas(&mut page, report);
    not_measured(&mut page, report);
    page.into_text()
}

fn medians(report: &Report) -> String {
    let clock = if report.clock == "wall" { "wall time" } else { "CPU time" };
    match report.rounds {
        1 => format!("{clock} of 1 round"),
        rounds => format!("{clock}, medians of {rounds} rounds"),
    }
}

fn limits(page: &mut Page, report: &Report) {
    let sizes = report.limits.iter().map(|limit| limit.bytes as u64);
    let size = units::bytes(sizes.max().unwrap_or(0));
    page.heading("Limits of this machine", &format!("buffers of {size}"));
    let rate = |value: &Value| value.gb_per_s.unwrap_or(0.0);
    let best = report.limits.iter().map(|limit| rate(&limit.value)).fold(0.0, f64::max);
    for limit in &report.limits {
        let part = if best > 0.0 { rate(&limit.value) / best } else { 0.0 };
        line(page, limit.name, &limit.value, part, "");
    }
}

fn section(page: &mut Page, words: &Words, results: &[&MemoryResult]) {
    let scale =
        words.limit.map_or(FASTEST.to_owned(), |limit| format!("full bar: {}", limit.name()));
    page.heading(&format!("{}: {}", words.title, words.what), &scale);
    let fastest = fastest(results.iter().filter_map(|result| result.value.as_ref()));
    for result in results {
        match (&result.value, result.of_limit, &result.reason) {
            (Some(value), Some(part), _) => {
                line(page, result.memory, value, part, &format!("{:.0} %", part * 100.0));
            }
            (Some(value), None, _) => compared(page, result.memory, value, fastest),
            (None, _, Some(reason)) => {
                page.row(Mark::No, &[(result.memory, NAME)], DIM, &for_people(reason));
            }
            (None, _, None) => {}
        }
    }
}

fn arenas(page: &mut Page, report: &Report) {
    let largest = units::bytes(arena::LARGEST.into());
    let what = format!("Arena: replace one of {} blocks up to {largest}", arena::BLOCKS);
    page.heading(&what, FASTEST);
    let fastest = fastest(report.arenas.iter().map(|arena| &arena.value));
    for arena in &report.arenas {
        compared(page, arena.name, &arena.value, fastest);
    }
}

fn fastest<'a>(values: impl Iterator<Item = &'a Value>) -> f64 {
    values.map(|value| value.median_ns).fold(f64::INFINITY, f64::min)
}

/// A line whose bar is full for the fastest.
fn compared(page: &mut Page, name: &str, value: &Value, fastest: f64) {
    // What the clock cannot see takes no time, but is not infinitely fast.
    let times = value.median_ns.max(1e-3) / fastest.max(1e-3);
    line(page, name, value, times.recip(), &format!("{}x", factor(times)));
}

/// How many times longer.
fn factor(times: f64) -> String {
    if times < 9.95 { format!("{times:.1}") } else { format!("{times:.0}") }
}

fn line(page: &mut Page, name: &str, value: &Value, part: f64, said: &str) {
    let rate = value.gb_per_s.map_or_else(String::new, units::rate);
    let time = units::time(value.median_ns);
    let numbers = format!("    {name:<7}{rate:>NUMBER$}{time:>NUMBER$}  ");
    page.put(PLAIN, &numbers);
    let bar = page.width().saturating_sub(columns(&numbers) + PART).max(8);
    chart::bar(page, part, bar);
    page.put(PLAIN, &format!("{said:>PART$}"));
    page.end_line();
}

fn not_measured(page: &mut Page, report: &Report) {
    let left: Vec<_> = report.memories.iter().filter(|memory| !memory.measured).collect();
    if left.is_empty() {
        return;
    }
    page.heading("Not measured", "");
    for memory in left {
        let cells = [(memory.name, NAME), (memory.title, TITLE)];
        page.row(Mark::No, &cells, DIM, &for_people(memory.reason.as_deref().unwrap_or("")));
    }
}
