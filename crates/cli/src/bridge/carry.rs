//! The bridge at work, and what it says meanwhile.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::Serialize;
use tenure::bridge::{
    Bridge, BridgeReport, ExportReport, ExportState, ImportReport, ImportState, Remote,
};

use super::Options;
use crate::failure::Failure;
use crate::page::{DIM, Mark, PLAIN, Page};
use crate::plan::Size;
use crate::stop::Stop;
use crate::{output, units};

/// How long others have to say what they have.
const GATHER: Duration = Duration::from_secs(2);
/// How often to look whether something has changed.
const LOOK: Duration = Duration::from_millis(100);

/// What `tenure bridge --list --json` prints. Fields are added, never renamed or removed.
#[derive(Debug, Serialize)]
struct Listed {
    streams: Vec<Remote>,
}

pub(super) fn run(options: &Options) -> Result<(), Failure> {
    let bridge = open(options)?;
    if options.list {
        let stop = Stop::new(None);
        stop.sleep_until(Instant::now() + options.seconds.unwrap_or(GATHER));
        let listed = Listed { streams: bridge.report().remote };
        return if options.json {
            output::json(&listed)
        } else {
            output::text(&list(&listed, output::width()))
        };
    }
    let stop = Stop::new(options.seconds);
    let mut said = BTreeMap::new();
    while stop.sleep_until(Instant::now() + LOOK) {
        if !options.json {
            say(&bridge.report(), &mut said)?;
        }
    }
    let report = bridge.report();
    if options.json { output::json(&report) } else { output::text(&end(&report, output::width())) }
}

fn open(options: &Options) -> Result<Bridge, Failure> {
    let mut builder = Bridge::builder().prefix(&options.prefix);
    for endpoint in &options.listen {
        builder = builder.listen(endpoint);
    }
    for endpoint in &options.connect {
        builder = builder.connect(endpoint);
    }
    for pattern in &options.import {
        builder = builder.import(pattern);
    }
    let all = options.export.is_empty() && options.import.is_empty() && !options.list;
    for pattern in options.export.iter().map(String::as_str).chain(all.then_some("**")) {
        builder = builder.export(pattern);
    }
    if let Some(under) = &options.under {
        builder = builder.under(under);
    }
    if let Some(Ok(compression)) = options.compress.as_ref().map(|word| word.parse()) {
        builder = builder.compress(compression);
    }
    if let Some(Size(bytes)) = options.memory {
        builder = builder.memory(bytes);
    }
    Ok(builder.open()?)
}

/// Says what has changed: a line for each stream.
fn say(report: &BridgeReport, said: &mut BTreeMap<String, String>) -> Result<(), Failure> {
    let exports = report.exports.iter().map(|it| (format!("export {}", it.name), export_state(it)));
    let imports = report
        .imports
        .iter()
        .map(|it| (format!("import {} from {}", it.name, it.from), import_state(it)));
    for (what, state) in exports.chain(imports) {
        if said.get(&what) != Some(&state) {
            let mut page = Page::new(output::width());
            page.row(Mark::Blank, &[], PLAIN, &format!("{what}: {state}"));
            output::text(&page.into_text())?;
            said.insert(what, state);
        }
    }
    Ok(())
}

fn export_state(export: &ExportReport) -> String {
    let problem = || export.problem.clone().unwrap_or_default();
    match export.state {
        ExportState::Idle => "nobody wants it".to_owned(),
        ExportState::Sending => "sending".to_owned(),
        ExportState::Refused => format!("not sent: {}", problem()),
        ExportState::Ended => "ended by its producer".to_owned(),
        _ => "in a state that this build does not know".to_owned(),
    }
}

fn import_state(import: &ImportReport) -> String {
    let problem = || import.problem.clone().unwrap_or_default();
    match import.state {
        ImportState::Waiting => "no frame yet".to_owned(),
        ImportState::Live => "live".to_owned(),
        ImportState::Paused => "paused: the other side cannot be reached".to_owned(),
        ImportState::Ended => "ended by its producer".to_owned(),
        ImportState::Refused => format!("not repeated: {}", problem()),
        _ => "in a state that this build does not know".to_owned(),
    }
}

/// What came of it.
fn end(report: &BridgeReport, width: usize) -> String {
    let mut page = Page::new(width);
    page.heading("Bridge", "");
    for one in &report.exports {
        let ExportReport { name, sent, bytes, missed, .. } = one;
        let words = format!(
            "{name}: {sent} frames sent ({}), {missed} left out, {}",
            units::bytes(*bytes),
            export_state(one)
        );
        page.row(Mark::of(one.state != ExportState::Refused), &[("export", 8)], PLAIN, &words);
    }
    for one in &report.imports {
        let ImportReport { name, from, received, bytes, lost, refused, .. } = one;
        let words = format!(
            "{name} from {from}: {received} frames ({}), {lost} lost, {refused} packets refused, {}",
            units::bytes(*bytes),
            import_state(one)
        );
        let good = one.state != ImportState::Refused && *refused == 0;
        page.row(Mark::of(good), &[("import", 8)], PLAIN, &words);
    }
    if !report.imports.is_empty() {
        let BridgeReport { memory, memory_limit, .. } = report;
        let words = format!("{} of {} used", units::bytes(*memory), units::bytes(*memory_limit));
        page.row(Mark::Blank, &[("memory", 8)], PLAIN, &words);
    }
    if report.exports.is_empty() && report.imports.is_empty() {
        page.row(Mark::Blank, &[], DIM, "there was no stream to carry");
    }
    page.into_text()
}

fn list(listed: &Listed, width: usize) -> String {
    let mut page = Page::new(width);
    page.heading("Streams of other machines", "");
    let column = listed.streams.iter().map(|one| one.name.len() + 2).max().unwrap_or(0);
    for one in &listed.streams {
        page.row(Mark::Yes, &[(&one.name, column)], PLAIN, &one.host);
    }
    if listed.streams.is_empty() {
        page.row(Mark::Blank, &[], DIM, "none; is a bridge there that exports some?");
    }
    page.into_text()
}
