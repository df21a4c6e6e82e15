//! The planner beside other planners: time to fit the hard instances, bytes on the large ones.
//!
//! minimalloc is C++ and not part of this project: build it, and name its program in
//! `TENURE_MINIMALLOC`. Without it, its column is missing.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use tenure::plan::{Fit, Options, Packer, Table, fit, lower_bound};
use tenure_benches::{Bench, Error, Stopwatch, Unit};

mod rival;

/// The room that the challenge gives.
const CAPACITY: u64 = 1 << 20;
const CHALLENGE: [&str; 11] = ["A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K"];
const LARGE: [&str; 4] = ["pangu_2.6B", "S_1", "G_1", "large_resnet50"];

fn main() -> ExitCode {
    tenure_benches::run(|bench| {
        challenge(bench)?;
        large(bench)?;
        models(bench)?;
        replay(bench)
    })
}

fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/plan/tests/data")
}

fn table(path: &Path) -> Result<Table, Error> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(Table::from_csv(&text).map_err(|e| format!("{}: {e}", path.display()))?)
}

/// Processor time of us for one instance, in nanoseconds; NaN if it was not solved.
fn solve(table: &Table) -> f64 {
    let watch = Stopwatch::start();
    let answer = fit(&table.problem, CAPACITY, &Options { work: 1 << 30, ..Options::default() });
    let nanoseconds = watch.nanoseconds();
    if matches!(answer, Fit::Fits(_)) { nanoseconds } else { f64::NAN }
}

fn challenge(bench: &mut Bench) -> Result<(), Error> {
    let minimalloc = rival::minimalloc().filter(|_| !bench.quick());
    let mut sums = (0.0, 0.0);
    for name in CHALLENGE {
        let path = tests().join(format!("{name}.1048576.csv"));
        let table = table(&path)?;
        let theirs = minimalloc.as_ref().map(|program| program.solve(&path, CAPACITY));
        let theirs = theirs.transpose()?;
        let mut ours = f64::NAN;
        if let Some(row) = bench.row(&format!("challenge {name} in 1 MiB"), Unit::Nanoseconds) {
            let row = row.once().target(0.5).ours(|| {
                ours = solve(&table);
                ours
            });
            match theirs {
                Some(time) => row.rival("minimalloc", move || time).measure(),
                None => row.measure(),
            }
        }
        sums = (sums.0 + ours, sums.1 + theirs.unwrap_or(f64::NAN));
    }
    if let Some(row) = bench.row("challenge, all eleven", Unit::Nanoseconds) {
        let row = row.once().target(0.1).ours(|| sums.0);
        match minimalloc {
            Some(_) => row.rival("minimalloc", || sums.1).measure(),
            None => row.measure(),
        }
    }
    Ok(())
}

/// Bytes of the packer `best` beside those of packers that do not search.
fn bytes(bench: &mut Bench, name: &str, tables: &[Table]) {
    let sum = |packer: Packer| {
        let pack = |table: &Table| packer.pack(&table.problem, &Options::default()).bytes as f64;
        tables.iter().map(pack).sum::<f64>()
    };
    if let Some(row) = bench.row(name, Unit::Bytes) {
        row.once()
            .ours(|| sum(Packer::Best))
            .rival("tlsf replay", || sum(Packer::Tlsf))
            .rival("best fit", || sum(Packer::BestFit))
            .rival("greedy by size", || sum(Packer::GreedySize))
            .limit(|| tables.iter().map(|table| lower_bound(&table.problem) as f64).sum())
            .measure();
    }
}

fn large(bench: &mut Bench) -> Result<(), Error> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("vs_planners/data");
    for name in LARGE {
        let file = format!("{name}.csv");
        let path = Some(own.join(&file)).filter(|path| path.exists());
        let table = table(&path.unwrap_or_else(|| tests().join(file)))?;
        bytes(bench, &format!("bytes of {name}"), std::slice::from_ref(&table));
        if let Some(row) = bench.row(&format!("time for {name}"), Unit::Nanoseconds) {
            let time = |packer: Packer| {
                let watch = Stopwatch::start();
                packer.pack(&table.problem, &Options::default());
                watch.nanoseconds()
            };
            row.once()
                .target(f64::INFINITY)
                .ours(|| time(Packer::Best))
                .rival("greedy by size", || time(Packer::GreedySize))
                .measure();
        }
    }
    Ok(())
}

fn models(bench: &mut Bench) -> Result<(), Error> {
    let mut tables = vec![];
    let folder = std::fs::read_dir(tests()).map_err(|e| format!("the traces of models: {e}"))?;
    for entry in folder {
        let path = entry.map_err(|e| format!("the traces of models: {e}"))?.path();
        let words = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if [".view.", ".inplace.", ".tfl."].iter().any(|kind| words.contains(kind)) {
            tables.push(table(&path)?);
        }
    }
    bytes(bench, "bytes of the models' traces, sum", &tables);
    Ok(())
}

/// What replaying costs, which is what a runtime would do while it runs.
fn replay(bench: &mut Bench) -> Result<(), Error> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("vs_planners/data/pangu_2.6B.csv");
    let mut csv = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    if let Some((end, _)) = csv.match_indices('\n').nth(10_000) {
        csv.truncate(end);
    }
    let table = Table::from_csv(&csv).map_err(|e| format!("{}: {e}", path.display()))?;
    if let Some(row) = bench.row("tlsf replay of 10,000 buffers", Unit::Nanoseconds) {
        let time = |packer: Packer| {
            let watch = Stopwatch::start();
            packer.pack(&table.problem, &Options::default());
            watch.nanoseconds()
        };
        row.target(f64::INFINITY)
            .ours(|| time(Packer::Tlsf))
            .rival("greedy by size", || time(Packer::GreedySize))
            .measure();
    }
    Ok(())
}
