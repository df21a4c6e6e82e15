//! The report as text: sections of rows with a tick or a cross and the reason.

use crate::page::{DIM, Mark, PLAIN, Page, for_people};
use crate::units;

use super::Report;
use super::devices::{Group, Node, camera_words};
use super::limits::{Limit, Limits};
use super::pages::Pages;

/// Columns of the first cell of rows with a mark.
const NAME: usize = 9;
/// Columns of the title of a memory or the codes of a space.
const TITLE: usize = 25;
/// Columns of the first cell of rows that say what something is.
const WHAT: usize = 16;

/// The report, set for so many columns.
pub(super) fn page(report: &Report, width: usize) -> String {
    let mut page = Page::new(width);
    head(&mut page, report);
    memories(&mut page, report);
    spaces(&mut page, report);
    automatic(&mut page, report);
    environment(&mut page, report);
    pages(&mut page, &report.pages);
    limits(&mut page, &report.limits);
    gpus(&mut page, report);
    devices(&mut page, report);
    page.into_text()
}

fn head(page: &mut Page, report: &Report) {
    let system = &report.system;
    let kernel = system.kernel.as_deref().unwrap_or("");
    let words = [system.name, kernel, system.architecture];
    let words: Vec<_> = words.into_iter().filter(|word| !word.is_empty()).collect();
    page.heading(&format!("Tenure {}", report.version), &words.join(" "));

    let processor = &report.processor;
    let mut words = vec![processor.name.clone().unwrap_or_else(|| system.architecture.to_owned())];
    match processor.threads {
        Some(1) => words.push("1 thread".to_owned()),
        Some(threads) => words.push(format!("{threads} threads")),
        None => {}
    }
    let caches = processor.caches.iter();
    words.extend(caches.map(|cache| format!("L{} {}", cache.level, units::bytes(cache.bytes))));
    page.row(Mark::Blank, &[("processor", WHAT)], PLAIN, &words.join(", "));
    if !processor.features.is_empty() {
        page.row(Mark::Blank, &[("", WHAT)], DIM, &processor.features.join(" "));
    }
}

fn memories(page: &mut Page, report: &Report) {
    page.heading("Memories", "");
    for memory in &report.memories {
        let text = memory.reason.as_deref().or(memory.tried.as_deref()).unwrap_or("");
        let cells = [(memory.name, NAME), (memory.title, TITLE)];
        page.row(Mark::of(memory.works), &cells, DIM, &for_people(text));
    }
}

fn spaces(page: &mut Page, report: &Report) {
    page.heading("Spaces", "with their device types in DLPack");
    for space in &report.spaces {
        let codes = space.dlpack.iter().map(|device| format!("{} {}", device.name, device.code));
        let codes = codes.collect::<Vec<_>>().join(", ");
        let text = space.reason.clone().unwrap_or_else(|| space.memories.join(", "));
        let cells = [(space.name, NAME), (codes.as_str(), TITLE)];
        page.row(Mark::of(space.works), &cells, DIM, &for_people(&text));
    }
}

fn automatic(page: &mut Page, report: &Report) {
    let choice = &report.automatic;
    let order = format!("tried in this order: {}", choice.order.join(", "));
    page.heading("Automatic choice", &order);
    for refused in &choice.refusals {
        page.row(Mark::No, &[(refused.name, NAME)], DIM, &for_people(&refused.reason));
    }
    if let Some(taken) = choice.takes {
        page.row(Mark::Yes, &[(taken, NAME)], DIM, "is taken when no memory is named");
    }
}

fn environment(page: &mut Page, report: &Report) {
    page.heading("Environment", "");
    for variable in &report.environment {
        let (mark, text) = match &variable.value {
            None => (Mark::Blank, "not set".to_owned()),
            Some(value) if variable.on => (Mark::Yes, format!("{value}: {}", variable.meaning)),
            Some(value) => (Mark::Blank, format!("{value:?} counts as off: say 1 or true")),
        };
        page.row(mark, &[(variable.name, NAME + TITLE)], DIM, &text);
    }
}

fn pages(page: &mut Page, pages: &Pages) {
    page.heading("Pages", "");
    let mut what = |name: &str, text: &str| {
        page.row(Mark::Blank, &[(name, WHAT)], PLAIN, text);
    };
    if let Some(size) = pages.size {
        what("usual", &units::bytes(size));
    }
    for huge in &pages.huge {
        let text = match huge.total {
            0 => "none set aside".to_owned(),
            total => format!("{total} set aside, {} free", huge.free),
        };
        what(&format!("huge, {}", units::bytes(huge.size)), &text);
    }
    let shared = pages.transparent_shared.as_deref().map(|when| format!("shared memory: {when}"));
    let words: Vec<_> = pages.transparent.clone().into_iter().chain(shared).collect();
    if !words.is_empty() {
        what("transparent", &words.join("; "));
    }
}

fn limits(page: &mut Page, limits: &Limits) {
    page.heading("Limits", "");
    let mut what = |name: &str, text: &str| {
        page.row(Mark::Blank, &[(name, WHAT)], PLAIN, text);
    };
    if let Some(memory) = limits.memory {
        let (available, total) = (units::bytes(memory.available), units::bytes(memory.total));
        what("memory", &format!("{available} available of {total}"));
    }
    if let Some(limit) = limits.control_group {
        what("control group", &format!("{} of memory", units::bytes(limit)));
    }
    if let Some(shared) = &limits.shared_memory {
        let (free, size) = (units::bytes(shared.free), units::bytes(shared.size));
        what(shared.path, &format!("{free} free of {size}"));
    }
    if let Some(overcommit) = &limits.overcommit {
        what("overcommit", &format!("mode {}: {}", overcommit.mode, overcommit.meaning));
    }
    if let Some(limit) = limits.open_files {
        what("open files", &limit_words(limit, |number| number.to_string()));
    }
    if let Some(number) = limits.mappings {
        what("mappings", &number.to_string());
    }
    if let Some(limit) = limits.locked_memory {
        what("locked memory", &limit_words(limit, units::bytes));
    }
    if let Some(limit) = limits.address_space {
        what("address space", &limit_words(limit, units::bytes));
    }
}

fn limit_words(limit: Limit, words: impl Fn(u64) -> String) -> String {
    let words = |limit: Option<u64>| limit.map_or_else(|| "unlimited".to_owned(), &words);
    if limit.soft == limit.hard {
        words(limit.soft)
    } else {
        format!("{}, can be raised to {}", words(limit.soft), words(limit.hard))
    }
}

fn gpus(page: &mut Page, report: &Report) {
    page.heading("GPUs", "");
    for kind in &report.gpus {
        none(page, kind.title, kind.reason.as_deref());
        for gpu in &kind.devices {
            let text = match &gpu.reason {
                Some(reason) => format!("{}; {reason}", gpu.name),
                None => format!("{} ({})", gpu.name, gpu.class),
            };
            let cells = [(kind.title, WHAT), (gpu.word.as_str(), NAME + 2)];
            page.row(Mark::of(gpu.works), &cells, PLAIN, &for_people(&text));
            page.row(Mark::Blank, &[("", WHAT)], DIM, &for_people(&gpu.driver));
            for heap in &gpu.heaps {
                let whose = if heap.local { "its own memory" } else { "main memory" };
                let reach = if heap.mappable { ", mapped by the CPU" } else { "" };
                let words = format!("{} of {whose}{reach}", units::bytes(heap.bytes));
                page.row(Mark::Blank, &[("", WHAT)], DIM, &words);
            }
            if !gpu.abilities.is_empty() {
                page.row(Mark::Blank, &[("", WHAT)], DIM, &gpu.abilities.join(", "));
            }
        }
    }
}

fn devices(page: &mut Page, report: &Report) {
    page.heading("Devices", "");
    let devices = &report.devices;
    let groups: [(&str, &Group); 3] = [
        ("DMA heaps", &devices.dma_heaps),
        ("udmabuf", &devices.udmabuf),
        ("graphics", &devices.graphics),
    ];
    for (title, group) in groups {
        none(page, title, group.reason.as_deref());
        for node in &group.nodes {
            device(page, title, node);
        }
    }
    none(page, "cameras", devices.cameras.reason.as_deref());
    for camera in &devices.cameras.nodes {
        let cells = [("cameras", WHAT), (camera.path.as_str(), TITLE)];
        page.row(Mark::of(camera.captures), &cells, DIM, &for_people(&camera.words()));
        for words in camera_words(&camera.formats) {
            page.row(Mark::Blank, &[("", WHAT)], DIM, &words);
        }
    }
}

/// Why there are no nodes of a sort.
fn none(page: &mut Page, title: &str, reason: Option<&str>) {
    if let Some(reason) = reason {
        page.row(Mark::No, &[(title, WHAT)], DIM, &for_people(reason));
    }
}

fn device(page: &mut Page, title: &str, node: &Node) {
    let name = node.name.as_deref().unwrap_or("");
    let cells = [(title, WHAT), (node.path.as_str(), TITLE)];
    let text = match &node.reason {
        None => name.to_owned(),
        Some(reason) if name.is_empty() => reason.clone(),
        Some(reason) => format!("{name}; {reason}"),
    };
    page.row(Mark::of(node.accessible), &cells, DIM, &for_people(&text));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Tree;

    #[test]
    fn every_line_fits_the_width() {
        let report = super::super::look(&Tree::here());
        for width in [60, 80, 120] {
            let text = anstream::adapter::strip_str(&page(&report, width)).to_string();
            for line in text.lines() {
                assert!(line.chars().count() <= width, "{width}: {line}");
                assert_eq!(line, line.trim_end());
            }
        }
    }

    #[test]
    fn limits_are_told_once_if_they_cannot_be_raised() {
        let same = Limit { soft: Some(1024), hard: Some(1024) };
        assert_eq!(limit_words(same, units::bytes), "1 KiB");
        let other = Limit { soft: Some(1024), hard: None };
        assert_eq!(limit_words(other, units::bytes), "1 KiB, can be raised to unlimited");
    }

    #[test]
    fn a_device_out_of_reach_says_why() {
        let mut page = Page::new(80);
        let reason = Some("permission denied: it belongs to group render".to_owned());
        let (path, name) = ("/dev/dri/card0".to_owned(), Some("etnaviv".to_owned()));
        device(&mut page, "graphics", &Node { path, name, accessible: false, reason });
        let text = anstream::adapter::strip_str(&page.into_text()).to_string();
        assert!(
            text.contains("✗ graphics        /dev/dri/card0           etnaviv; permission"),
            "{text}"
        );
    }
}
