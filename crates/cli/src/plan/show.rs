//! What came out, for people.

use std::path::Path;

use anstyle::AnsiColor;
use tenure::plan::{Reordered, Schedule, explain};

use super::Problem;
use super::compare::{Fits, Made, Results};
use super::report::{placed, ratio};
use crate::page::{self, BOLD, DIM, Mark, PLAIN};
use crate::{output, units};

/// Everything that is told.
pub(super) struct Page<'a> {
    pub(super) file: &'a Path,
    pub(super) schedule: &'a Schedule,
    pub(super) results: &'a Results,
    pub(super) reordered: Option<&'a Reordered>,
    pub(super) fits: Option<&'a Fits>,
    pub(super) explain: bool,
}

const HEAD: [(&str, usize); 5] =
    [("mode", 10), ("packer", 13), ("bytes", 22), ("above the bound", 17), ("time", 9)];

impl Page<'_> {
    pub(super) fn text(&self) -> Result<String, Problem> {
        let mut page = page::Page::new(output::width());
        let name = self.file.file_name().unwrap_or_default().to_string_lossy();
        let buffers = self.results.winner().map_or(0, placed);
        let count = format!(
            "{buffers} of {} buffers planned, {} steps",
            self.schedule.buffers.len(),
            self.schedule.steps.len()
        );
        page.heading(&name, &count);
        if let Some(better) = self.reordered {
            page.row(Mark::Blank, &[], DIM, &reordered_words(better));
        }
        page.put(PLAIN, "    ");
        for (title, width) in HEAD {
            page.put(DIM, &format!("{title:<width$}"));
        }
        page.end_line();
        for (index, made) in self.results.made.iter().enumerate() {
            row(&mut page, made, index == self.results.winner);
        }
        if let Some(fits) = self.fits.filter(|fits| fits.is_certain_to_fit()) {
            page.row(Mark::Yes, &[], PLAIN, &fits.words(self.schedule));
        }
        if self.explain {
            page.heading("Buffers", "");
            let verdicts = explain(self.schedule).map_err(tenure::plan::PlanError::from)?;
            for (spec, verdict) in self.schedule.buffers.iter().zip(verdicts) {
                page.row(Mark::Blank, &[(&spec.name, 24)], DIM, &verdict.to_string());
            }
        }
        Ok(page.into_text())
    }
}

fn row(page: &mut page::Page, made: &Made, winner: bool) {
    let plan = &made.plan;
    let (style, mark) = if winner { (BOLD, "★ ") } else { (PLAIN, "  ") };
    let bytes = format!("{} ({})", plan.bytes, units::bytes(plan.bytes));
    let above = match ratio(plan) {
        1.0 => "at the bound".to_owned(),
        ratio => format!("{:.2} %", (ratio - 1.0) * 100.0),
    };
    let packer = plan.packer.map_or("", |packer| packer.name());
    let time = units::time(made.seconds * 1e9);
    let cells = [plan.mode.name(), packer, &bytes, &above, &time];
    page.put(PLAIN, "  ");
    page.put(AnsiColor::Green.on_default(), mark);
    for (cell, (_, width)) in cells.iter().zip(HEAD) {
        page.put(style, &format!("{cell:<width$}"));
        if cell.chars().count() >= width {
            page.put(PLAIN, " ");
        }
    }
    if plan.optimal {
        page.put(AnsiColor::Green.on_default(), "proven");
    } else if made.stopped {
        page.put(DIM, "stopped");
    }
    page.end_line();
}

fn reordered_words(better: &Reordered) -> String {
    let (before, after) = (units::bytes(better.peak_before), units::bytes(better.peak));
    if better.peak == better.peak_before {
        let why = if better.optimal { "no order has a lower one" } else { "none lower was found" };
        return format!("the order stays: its peak is {before}, {why}");
    }
    let proven = if better.optimal { ", the lowest of all orders" } else { "" };
    format!("reordered: the peak is {after} instead of {before}{proven}")
}
