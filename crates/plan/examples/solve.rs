//! Packs CSV files (`id,lower,upper,size`) and says how well and how fast.
//!
//! `solve [--packer NAME] [--capacity N|bound] [--work N] [--seed N] [--threads N] [--seconds S]
//! [--save FOLDER] FILE…`; what was packed is written to the folder with its offsets.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use tenure_plan::{Fit, Options, Packer, Table, check, fit, lower_bound};

fn main() -> ExitCode {
    let mut options = Options::default();
    let (mut packer, mut capacity, mut files) = (Packer::Best, None, Vec::new());
    let mut folder: Option<PathBuf> = None;
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
            "--save" => folder = Some(value().into()),
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
        let table = Table::from_csv(&text).expect("id,lower,upper,size");
        let problem = &table.problem;
        let bound = lower_bound(problem);
        let before = cpu_seconds();
        let (packing, verdict) = match &capacity {
            None => {
                let packing = packer.pack(problem, &options);
                let verdict = if packing.optimal { "optimal" } else { "open" };
                (Some(packing), verdict)
            }
            Some(capacity) => match fit(problem, capacity.parse().unwrap_or(bound), &options) {
                Fit::Fits(packing) => (Some(packing), "fits"),
                Fit::Unknown { best } => (Some(best), "unknown"),
                Fit::Impossible(_) => (None, "impossible"),
            },
        };
        let seconds = cpu_seconds() - before;
        all += seconds;
        let name = Path::new(file).file_name().unwrap_or_default();
        if let Some(packing) = &packing {
            check(problem, packing).expect("a packing");
            if let Some(folder) = &folder {
                let csv = table.with(packing).to_csv();
                std::fs::write(folder.join(name), csv).expect("a folder to write to");
            }
        }
        let bytes = packing.map_or(0, |packing| packing.bytes);
        let above = 100.0 * (bytes as f64 / bound.max(1) as f64 - 1.0);
        println!(
            "{:<44} {:>7} {bytes:>12} {bound:>12} {above:>7.3}% {verdict:>10} {seconds:>9.4}",
            name.to_string_lossy(),
            problem.items().len(),
        );
    }
    println!("{:<44} {all:>66.4}", "all");
    ExitCode::SUCCESS
}

/// Processor time of this process, user and system.
fn cpu_seconds() -> f64 {
    let Ok(text) = std::fs::read_to_string("/proc/self/schedstat") else { return 0.0 };
    let nanoseconds = text.split(' ').next().and_then(|field| field.parse::<u64>().ok());
    nanoseconds.unwrap_or(0) as f64 / 1e9
}
