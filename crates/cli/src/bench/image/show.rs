//! The report as text: a bar for each engine, full at the limit.

use super::report::{Conversion, EngineResult, Picture, Report};
use crate::bench::chart;
use crate::page::{DIM, Mark, PLAIN, Page, columns};
use crate::units;

/// Columns of the name of an engine.
const NAME: usize = 12;
/// Columns of what is said about threads.
const THREADS: usize = 11;
/// Columns of a time.
const NUMBER: usize = 10;
/// Columns of the part of the limit.
const PART: usize = 7;

/// The report, set for so many columns.
pub(super) fn page(report: &Report, width: usize) -> String {
    let mut page = Page::new(width);
    let rounds = match report.rounds {
        1 => "1 round".to_owned(),
        rounds => format!("medians of {rounds} rounds"),
    };
    page.heading("Pictures for models", &format!("full bar: memcpy; {rounds}"));
    if !report.optimised {
        let warning = "built without optimisation: these numbers mean little (use --release)";
        page.row(Mark::No, &[], PLAIN, warning);
    }
    for conversion in &report.conversions {
        section(&mut page, conversion);
    }
    page.into_text()
}

fn section(page: &mut Page, conversion: &Conversion) {
    let words =
        |side: &Picture| format!("{} {} {}x{}", side.format, side.dtype, side.width, side.height);
    let title = format!("{} to {}", words(&conversion.source), words(&conversion.output));
    page.heading(&title, "");
    if let Some(limit) = conversion.limit {
        line(page, "memcpy", "", limit.median_ns, 1.0);
    }
    for result in &conversion.results {
        one(page, result);
    }
}

fn one(page: &mut Page, result: &EngineResult) {
    let threads = match result.threads {
        1 => "1 thread".to_owned(),
        threads => format!("{threads} threads"),
    };
    match (result.value, result.of_limit, &result.reason) {
        (Some(value), Some(part), _) => {
            line(page, result.engine, &threads, value.median_ns, part);
        }
        (_, _, Some(reason)) => page.row(Mark::No, &[(result.engine, NAME)], DIM, reason),
        _ => {}
    }
}

fn line(page: &mut Page, name: &str, threads: &str, time: f64, part: f64) {
    let time = units::time(time);
    let numbers = format!("    {name:<NAME$}{threads:<THREADS$}{time:>NUMBER$}  ");
    page.put(PLAIN, &numbers);
    let bar = page.width().saturating_sub(columns(&numbers) + PART).max(8);
    chart::bar(page, part, bar);
    let said = format!("{:.0} %", part * 100.0);
    page.put(PLAIN, &format!("{said:>PART$}"));
    page.end_line();
}
