//! Packs CSV files (`id,lower,upper,size`) and says how well and how fast.
//!
//! `solve [--packer NAME] [--capacity N|bound] [--work N] [--seed N] [--threads N] [--seconds S] FILE…`

use std::process::ExitCode;
use std::time::Duration;

use tenure_plan::{Fit, Item, Options, Packer, Problem, check, fit, lower_bound, minimise};

fn main() -> ExitCode {
    let mut options = Options::default();
    let (mut packer, mut capacity, mut files) = (Packer::Best, None, Vec::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().unwrap_or_default();
        match argument.as_str() {
            "--packer" => packer = value().parse().expect("a packer"),
            "--capacity" => capacity = Some(value()),
            "--work" => options.work = value().parse().expect("a number"),
            "--seed" => options.seed = value().parse().expect("a number"),
            "--threads" => options.threads = value().parse().expect("a number"),
            "--seconds" => {
                options.time = Some(Duration::from_secs_f64(value().parse().expect("seconds")));
            }
            _ => files.push(argument),
        }
    }
    println!(
        "{:<44} {:>7} {:>12} {:>12} {:>8} {:>10} {:>9}",
        "file", "items", "bytes", "bound", "above", "verdict", "CPU s"
    );
    let mut all = 0.0;
    for file in &files {
        let text = std::fs::read_to_string(file).expect("a file");
        let problem = Problem::new(parse(&text).expect("id,lower,upper,size")).expect("a problem");
        let bound = lower_bound(&problem);
        let before = cpu_seconds();
        let (bytes, verdict) = if let Some(capacity) = &capacity {
            let capacity = capacity.parse().unwrap_or(bound);
            match fit(&problem, capacity, &options) {
                Fit::Fits(packing) => {
                    check(&problem, &packing).expect("a packing");
                    (packing.bytes, "fits")
                }
                Fit::Impossible(obstacle) => (obstacle.bytes, "impossible"),
                Fit::Unknown { best } => (best.bytes, "unknown"),
            }
        } else {
            let packing = match packer {
                Packer::Best => minimise(&problem, &options),
                _ => packer.pack(&problem, &options),
            };
            check(&problem, &packing).expect("a packing");
            (packing.bytes, if packing.optimal { "optimal" } else { "open" })
        };
        let seconds = cpu_seconds() - before;
        all += seconds;
        let above = 100.0 * (bytes as f64 / bound.max(1) as f64 - 1.0);
        println!(
            "{:<44} {:>7} {bytes:>12} {bound:>12} {above:>7.3}% {verdict:>10} {seconds:>9.4}",
            file.rsplit('/').next().unwrap_or(file),
            problem.items().len(),
        );
    }
    println!("{:<44} {all:>66.4}", "all");
    ExitCode::SUCCESS
}

fn parse(text: &str) -> Option<Vec<Item>> {
    let item = |line: &str| {
        let mut fields = line.split(',').skip(1).map(|field| field.trim().parse::<u64>().ok());
        let mut next = || fields.next().flatten();
        Some(Item { lower: next()?, upper: next()?, size: next()?, align: 1 })
    };
    text.lines().skip(1).filter(|line| !line.trim().is_empty()).map(item).collect()
}

/// Processor time of this process, user and system.
fn cpu_seconds() -> f64 {
    let Ok(text) = std::fs::read_to_string("/proc/self/schedstat") else { return 0.0 };
    let nanoseconds = text.split(' ').next().and_then(|field| field.parse::<u64>().ok());
    nanoseconds.unwrap_or(0) as f64 / 1e9
}
