//! The comparison of copies: every pair of spaces that there are here, beside memcpy.

use std::rc::Rc;
use std::time::Duration;

use serde::Serialize;
use tenure::gpu::{Gpu, backends};
use tenure::{Tensor, TensorDyn, TensorMemory};

use super::clock;
use super::frame::Frame;
use super::rounds::{self, Case, Effort};
use crate::failure::Failure;
use crate::output;
use crate::page::{DIM, Mark, PLAIN, Page, for_people};
use crate::units;

/// What `tenure bench copy` is told.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Devices to measure, like vulkan:0 [default: all that work here]
    #[arg(value_name = "DEVICE")]
    devices: Vec<String>,

    /// Shape of what is copied, in bytes
    #[arg(long, value_name = "WxHxC", default_value = "2048x1024x4")]
    size: Frame,

    /// How often everything is measured [default: 15, quick: 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rounds: Option<u32>,

    /// Measure less and be done in a few seconds
    #[arg(long)]
    quick: bool,

    /// Print one JSON object with stable field names
    #[arg(long)]
    json: bool,
}

/// What `tenure bench copy --help` begins with.
pub(crate) const ABOUT: &str = "\
Measure copies between every pair of spaces of this machine.

Main, pinned, managed and device memory of every device that works here, in both
directions, and from each device to each other, beside a copy from main memory
to main memory, which is a memcpy. A copy is measured by the clock on the wall,
from its call until the bytes are there: devices work on their own.

Medians over rounds in which everything is measured once.";

const EXAMPLES: &str = "\
\x1b[1m\x1b[4mExamples:\x1b[0m
  tenure bench copy
  tenure bench copy vulkan:0 --size 3840x2160x3
  tenure bench copy --quick --json > copies.json";

/// One pair of spaces.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Pair {
    device: Option<String>,
    from: String,
    to: String,
}

/// What `tenure bench copy --json` prints. Fields are added, never renamed or removed.
#[derive(Debug, Serialize)]
struct Report {
    /// Bytes of each copy.
    bytes: u64,
    /// How many rounds.
    rounds: u32,
    /// Every pair that was measured.
    copies: Vec<Copied>,
    /// Devices that were not.
    refused: Vec<Refused>,
}

#[derive(Debug, Serialize)]
struct Copied {
    /// The device, or one and another; `null` for the copy inside main memory.
    device: Option<String>,
    /// The space it is copied from.
    from: String,
    /// The space it is copied to.
    to: String,
    /// Nanoseconds of a copy.
    median_ns: f64,
    /// 10⁹ bytes per second.
    gigabytes_per_second: f64,
    /// Times as long as inside main memory.
    relative: f64,
}

#[derive(Debug, Serialize)]
struct Refused {
    /// The device, or the kind of device.
    device: String,
    /// Why it was not measured.
    reason: String,
}

/// Measures and prints.
pub(super) fn run(options: &Options) -> Result<(), Failure> {
    let mut refused = vec![];
    let mut cases = vec![case(main_pair(), tensor(options.size)?, tensor(options.size)?)];
    let mut open: Vec<(String, Gpu)> = vec![];
    for word in words(options, &mut refused) {
        match tenure::gpu::open(&word) {
            Ok(gpu) => open.push((word, gpu)),
            Err(error) => refused.push(Refused { device: word, reason: error.to_string() }),
        }
    }
    // A device that fails, because it has no room say, is no reason to measure no other.
    let mut add = |device: &str, made: Result<Vec<Case<Pair>>, Failure>| match made {
        Ok(made) => cases.extend(made),
        Err(failure) => {
            refused.push(Refused { device: device.to_owned(), reason: failure.to_string() });
        }
    };
    for (word, gpu) in &open {
        add(word, pairs(word, gpu, options.size));
    }
    for (index, from) in open.iter().enumerate() {
        for (_, to) in open.iter().enumerate().filter(|(other, _)| *other != index) {
            let words = format!("{} to {}", from.0, to.0);
            add(&words, between(from, to, options.size).map(|case| vec![case]));
        }
    }
    let (rounds, milliseconds) = if options.quick { (3, 1) } else { (15, 20) };
    let rounds = options.rounds.unwrap_or(rounds);
    rounds::run(&mut cases, Effort { rounds, sample: Duration::from_millis(milliseconds) });
    let report = report(options.size, rounds, &cases, refused);
    if options.json { output::json(&report) } else { output::text(&show(&report, output::width())) }
}

/// The devices asked for, or all; and why kinds of devices have none.
fn words(options: &Options, refused: &mut Vec<Refused>) -> Vec<String> {
    if !options.devices.is_empty() {
        return options.devices.clone();
    }
    let mut all = vec![];
    for backend in backends() {
        match backend.devices() {
            Ok(devices) => {
                all.extend(devices.iter().map(|one| format!("{}:{}", backend.name, one.number)));
            }
            Err(why) => {
                refused.push(Refused { device: backend.name.to_owned(), reason: why.to_string() })
            }
        }
    }
    all
}

fn main_pair() -> Pair {
    let main = TensorMemory::Mem.name().to_owned();
    Pair { device: None, from: main.clone(), to: main }
}

fn tensor(size: Frame) -> Result<TensorDyn, Failure> {
    let tensor = Tensor::<u8>::new(&size.shape(), Some(TensorMemory::Mem), None)?;
    // Touched, so that no page is made while the clock runs.
    tensor.fill(7)?;
    Ok(tensor.to_dyn())
}

/// Every pair with at least one side on the device.
fn pairs(word: &str, gpu: &Gpu, size: Frame) -> Result<Vec<Case<Pair>>, Failure> {
    let own = gpu.properties().memories.iter().copied();
    let memories: Vec<TensorMemory> = std::iter::once(TensorMemory::Mem).chain(own).collect();
    let mut cases = vec![];
    for &from in &memories {
        for &to in
            memories.iter().filter(|to| (**to, from) != (TensorMemory::Mem, TensorMemory::Mem))
        {
            let source = gpu.to(&tensor(size)?, from)?;
            let target = gpu.to(&tensor(size)?, to)?;
            let device = Some(word.to_owned());
            let (from, to) = (from.name().to_owned(), to.name().to_owned());
            cases.push(case(Pair { device, from, to }, target, source));
        }
    }
    Ok(cases)
}

/// Device memory of one device to that of another.
fn between(
    (from, source): &(String, Gpu),
    (to, target): &(String, Gpu),
    size: Frame,
) -> Result<Case<Pair>, Failure> {
    let frame = tensor(size)?;
    let (source, target) =
        (source.to(&frame, TensorMemory::Device)?, target.to(&frame, TensorMemory::Device)?);
    let (device, name) = (Some(format!("{from} to {to}")), TensorMemory::Device.name());
    Ok(case(Pair { device, from: name.to_owned(), to: name.to_owned() }, target, source))
}

fn case(pair: Pair, to: TensorDyn, from: TensorDyn) -> Case<Pair> {
    let sides = Rc::new((to, from));
    Case::new(pair, move |batch| {
        clock::wall(|| (0..batch).try_for_each(|_| Ok(sides.0.copy_from(&sides.1)?)))
    })
}

fn report(size: Frame, rounds: u32, cases: &[Case<Pair>], mut refused: Vec<Refused>) -> Report {
    let bytes = size.bytes as u64;
    let inside = cases.first().and_then(Case::times).map_or(f64::NAN, |times| times.median);
    let mut copies = vec![];
    for case in cases {
        let Pair { device, from, to } = case.key.clone();
        match (case.times(), case.failure()) {
            (Some(times), _) => copies.push(Copied {
                device,
                from,
                to,
                median_ns: times.median,
                gigabytes_per_second: bytes as f64 / times.median,
                relative: times.median / inside,
            }),
            (None, failure) => {
                let reason = failure.map_or_else(String::new, ToString::to_string);
                let device = format!("{} {from} to {to}", device.unwrap_or_default());
                refused.push(Refused { device, reason });
            }
        }
    }
    Report { bytes, rounds, copies, refused }
}

fn show(report: &Report, width: usize) -> String {
    let mut page = Page::new(width);
    let remark = format!("{} at a time, {} rounds", units::bytes(report.bytes), report.rounds);
    page.heading("Copies", &remark);
    let mut last = None;
    for copy in &report.copies {
        if copy.device != last {
            page.heading(copy.device.as_deref().unwrap_or(""), "");
            last.clone_from(&copy.device);
        }
        let words = format!("{} → {}", copy.from, copy.to);
        let (time, rate) = (units::time(copy.median_ns), units::rate(copy.gigabytes_per_second));
        let cells = [(words.as_str(), 20), (time.as_str(), 12), (rate.as_str(), 13)];
        let relative = format!("{} × memcpy", units::three_digits(copy.relative));
        page.row(Mark::Blank, &cells, PLAIN, &relative);
    }
    if !report.refused.is_empty() {
        page.heading("Not measured", "");
    }
    for refused in &report.refused {
        let cells = [(refused.device.as_str(), 10)];
        page.row(Mark::No, &cells, DIM, &for_people(&refused.reason));
    }
    page.into_text()
}
