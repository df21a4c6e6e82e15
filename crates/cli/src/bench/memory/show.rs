//! The report as text: a bar for each measurement of each memory.

use super::limit::Limit;
use super::measure::{Measure, Words};
use super::report::{MemoryResult, Report, Value};
use crate::bench::chart;
use crate::page::{DIM, Mark, PLAIN, Page, columns};
use crate::units;

/// Columns of the name of a memory, with the indent before it.
const NAME: usize = 10;
/// Columns of a rate or a time.
const NUMBER: usize = 10;
/// Columns of what the bar says, in words.
const PART: usize = 7;

/// The report, set for so many columns.
pub(super) fn page(report: &Report, width: usize) -> String {
    let mut page = Page::new(width);
    let frame = format!("{} ({})", report.frame, units::bytes(report.frame.bytes as u64));
    page.heading(&format!("Frames of {frame}"), &medians(report));
    limits(&mut page, report);
    for measure in Measure::ALL {
        let words = measure.words();
        let of_it = |result: &&MemoryResult| result.measure == words.name;
        let results: Vec<_> = report.results.iter().filter(of_it).collect();
        if !results.is_empty() {
            section(&mut page, &words, &results);
        }
    }
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
    let set = units::bytes(report.working_set as u64);
    page.heading("Limits of this machine", &format!("buffers of {set}"));
    let rate = |value: &Value| value.gb_per_s.unwrap_or(0.0);
    let best = report.limits.iter().map(|limit| rate(&limit.value)).fold(0.0, f64::max);
    for limit in &report.limits {
        let part = if best > 0.0 { rate(&limit.value) / best } else { 0.0 };
        line(page, limit.name, &limit.value, part, "");
    }
}

fn section(page: &mut Page, words: &Words, results: &[&MemoryResult]) {
    let scale = words.limit.map_or("full bar: the fastest".to_owned(), |limit| {
        format!("full bar: {}", Limit::name(limit))
    });
    page.heading(&format!("{}: {}", words.title, words.what), &scale);
    let times = results.iter().filter_map(|result| Some(result.value?.median_ns));
    let fastest = times.fold(f64::INFINITY, f64::min);
    for result in results {
        match (&result.value, &result.reason) {
            (Some(value), _) => {
                let part = result.of_limit.unwrap_or(fastest / value.median_ns.max(1e-3));
                let said = match result.of_limit {
                    Some(part) => format!("{:.0} %", part * 100.0),
                    None => format!("{}x", factor(value.median_ns / fastest.max(1e-3))),
                };
                line(page, result.memory, value, part, &said);
            }
            (None, Some(reason)) => page.row(Mark::No, &[(result.memory, NAME - 4)], DIM, reason),
            (None, None) => {}
        }
    }
}

/// How many times longer.
fn factor(times: f64) -> String {
    if times < 9.95 { format!("{times:.1}") } else { format!("{times:.0}") }
}

fn line(page: &mut Page, name: &str, value: &Value, part: f64, said: &str) {
    let rate = value.gb_per_s.map_or_else(String::new, units::rate);
    let time = units::time(value.median_ns);
    let numbers = format!("    {name:<6}{rate:>NUMBER$}{time:>NUMBER$}  ");
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
        let cells = [(memory.name, 9), (memory.title, 21)];
        page.row(Mark::No, &cells, DIM, memory.reason.as_deref().unwrap_or(""));
    }
}
