//! What came out, for people.

use std::path::Path;

use anstyle::AnsiColor;
use tenure::plan::{Reordered, explain};

use super::Problem;
use super::compare::{Fits, How, Made, Results};
use super::report::{placed, ratio};
use super::source::Source;
use crate::page::{self, BOLD, DIM, Mark, PLAIN};
use crate::{output, units};

/// Everything that is told.
pub(super) struct Page<'a> {
    pub(super) file: &'a Path,
    pub(super) source: &'a Source,
    pub(super) alone: Option<u64>,
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
            self.source.schedule.buffers.len(),
            self.source.schedule.steps.len()
        );
        page.heading(&name, &count);
        if let Some(better) = self.reordered {
            page.row(Mark::Blank, &[], DIM, &reordered_words(better));
        }
        if let Some(words) = self.source.range(self.alone) {
            page.row(Mark::Blank, &[], DIM, &words);
        }
        page.put(PLAIN, "    ");
        for (title, width) in HEAD {
            page.put(DIM, &format!("{title:<width$}"));
        }
        page.end_line();
        for (index, made) in self.results.made.iter().enumerate() {
            row(&mut page, made, index == self.results.winner);
        }
        for made in &self.results.made {
            how(&mut page, made);
        }
        if let Some(fits) = self.fits.filter(|fits| fits.is_certain_to_fit()) {
            page.row(Mark::Yes, &[], PLAIN, &fits.words(&self.source.schedule));
        }
        if self.explain {
            page.heading("Buffers", "");
            let verdicts = explain(&self.source.schedule).map_err(tenure::plan::PlanError::from)?;
            for (spec, verdict) in self.source.schedule.buffers.iter().zip(verdicts) {
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
    let cells = [made.mode(), packer, &bytes, &above, &time];
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

/// What there is to say of a plan beyond its row.
fn how(page: &mut page::Page, made: &Made) {
    match &made.how {
        How::Mode => {}
        How::Kept { anew: true, .. } => {
            let words = "kept: all places are new, since the old ones would take a tenth more";
            page.row(Mark::Blank, &[], DIM, words);
        }
        How::Kept { moved, .. } => {
            let placed = placed(&made.plan);
            let words = format!("kept: {moved} of {placed} buffers are somewhere else now");
            page.row(Mark::Blank, &[], DIM, &words);
        }
        How::Pools(uses) => {
            page.heading("Pools", "the fastest first");
            let all: u64 = uses.iter().fold(0, |sum, used| sum.saturating_add(used.traffic));
            for used in uses {
                let share = used.traffic as f64 / all.max(1) as f64 * 100.0;
                let bytes = units::bytes(used.bytes);
                let taken = match used.size {
                    Some(size) => format!("{bytes} of {}", units::bytes(size)),
                    None => bytes,
                };
                let words = format!("{} buffers, {share:.1} % of the traffic", used.buffers);
                page.row(Mark::Blank, &[(&used.name, 12), (&taken, 24)], PLAIN, &words);
            }
        }
    }
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
