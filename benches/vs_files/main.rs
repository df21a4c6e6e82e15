//! Tensors of a large safetensors file, beside Python's safetensors package, `numpy.memmap`,
//! `memcpy` and the disk itself.
//!
//! Time is that of the processor, of all threads, where bytes come from the system's cache; beside
//! `memcpy` and where they come from the disk it is that of the clock on the wall, and in the latter
//! case the file is put out of the cache before every measurement.

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use tenure::files::open;
use tenure::memory::kind;
use tenure::{Pool, PoolLimits, TensorMemory};
use tenure_benches::{Bench, Error, Python, Unit, program_nanoseconds, touched};

mod disk;
mod model;

use model::Model;

/// Bytes of the tensor that is touched.
const TENSOR: usize = 16 << 20;
/// Tensors of the file: 2 GiB.
const TENSORS: usize = 128;
const TENSORS_IF_QUICK: usize = 2;
const ROUNDS: usize = 9;
const PAGE: usize = 4096;

fn main() -> ExitCode {
    tenure_benches::run(rows)
}

fn rows(bench: &mut Bench) -> Result<(), Error> {
    let model = Model::new(if bench.quick() { TENSORS_IF_QUICK } else { TENSORS })?;
    let python = Python::new("benches/vs_files/contest.py", bench.quick());
    touching(bench, &model, &python);
    warm(bench, &model, &python)?;
    cold(bench, &model, &python)
}

/// What Python takes for this, with the tensor in the middle if it is about one.
fn ask(python: &Python, what: &str, model: &Model) -> f64 {
    python.ask(&format!("{what} {} {}", model.middle(), model.path().display()))
}

/// Processor time of `work`, which does not fail here.
fn processor<R>(work: impl FnOnce() -> Result<R, Error>) -> f64 {
    let start = program_nanoseconds();
    match work() {
        Ok(result) => {
            let taken = program_nanoseconds() - start;
            drop(black_box(result));
            taken
        }
        Err(_) => f64::NAN,
    }
}

/// Time on the wall, with the file out of the cache.
fn wall<R>(model: &Model, work: impl FnOnce() -> Result<R, Error>) -> f64 {
    match disk::evict(model.path()) {
        Ok(()) => on_the_wall(work),
        Err(_) => f64::NAN,
    }
}

/// Time on the wall of `work`, which does not fail here.
fn on_the_wall<R>(work: impl FnOnce() -> Result<R, Error>) -> f64 {
    let start = Instant::now();
    match work() {
        Ok(result) => {
            let taken = start.elapsed().as_secs_f64() * 1e9;
            drop(black_box(result));
            taken
        }
        Err(_) => f64::NAN,
    }
}

/// Opens the file and touches every page of one tensor.
fn touch(model: &Model) -> Result<u8, Error> {
    let tensor = open(model.path())?.tensor(&model.middle())?;
    let bytes = tensor.map_read()?;
    Ok(bytes.as_slice().iter().step_by(PAGE).fold(0, |sum, byte| sum ^ byte))
}

fn touching(bench: &mut Bench, model: &Model, python: &Python) {
    let name = "open, touch one tensor of 16 MiB";
    if let Some(row) = bench.row(name, Unit::Nanoseconds) {
        row.target(1.0)
            .ours(|| processor(|| touch(model)))
            .rival("numpy.memmap", || ask(python, "memmap", model))
            .rival("Python safetensors", || ask(python, "touch", model))
            .measure();
    }
    if let Some(row) = bench.row("Python: the same", Unit::Nanoseconds) {
        row.target(1.0)
            .ours(|| ask(python, "our_touch", model))
            .rival("numpy.memmap", || ask(python, "memmap", model))
            .rival("Python safetensors", || ask(python, "touch", model))
            .measure();
    }
    if let Some(row) = bench.row("the same: growth of resident memory", Unit::Bytes) {
        let growth = || {
            let before = resident();
            let tensor = open(model.path()).and_then(|file| file.tensor(&model.middle()));
            let Ok(tensor) = tensor else { return f64::NAN };
            let Ok(bytes) = tensor.map_read() else { return f64::NAN };
            black_box(bytes.as_slice().iter().step_by(PAGE).fold(0, |sum, byte| sum ^ byte));
            resident() - before
        };
        row.target(1.05)
            .rounds(ROUNDS)
            .ours(growth)
            .rival("the tensor", || TENSOR as f64)
            .measure();
    }
}

/// Resident bytes of this program.
fn resident() -> f64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split_whitespace().nth(1).and_then(|pages| pages.parse::<f64>().ok());
    pages.map_or(f64::NAN, |pages| pages * rustix::param::page_size() as f64)
}

/// A pool that keeps a whole model.
fn pool() -> Result<Pool, Error> {
    let limits = PoolLimits::new(8 << 30, 4);
    Ok(Pool::new(kind::allocator(TensorMemory::Mem)?).with_limits(limits))
}

/// Loads everything into memory of a pool.
fn load(model: &Model, pool: &Pool) -> Result<u64, Error> {
    Ok(open(model.path())?.load().allocator(pool).run()?.bytes())
}

fn warm(bench: &mut Bench, model: &Model, python: &Python) -> Result<(), Error> {
    if let Some(row) = bench.row("load all, warm, beside memcpy", Unit::Nanoseconds) {
        let (pool, from, mut to) = (pool()?, touched(model.bytes()), touched(model.bytes()));
        // As the system has a file that was read, not as one that was just written.
        disk::evict(model.path())?;
        std::fs::read(model.path())?;
        row.target(1.0 / 0.9)
            .rounds(ROUNDS)
            .ours(|| on_the_wall(|| load(model, &pool)))
            .rival("memcpy", || {
                on_the_wall(|| {
                    to.copy_from_slice(&from);
                    Ok(black_box(&to).len())
                })
            })
            .measure();
    }
    if let Some(row) = bench.row("load all, warm", Unit::Nanoseconds) {
        let pool = pool()?;
        row.target(1.0)
            .rounds(ROUNDS)
            .ours(|| processor(|| load(model, &pool)))
            .rival("Python safetensors", || ask(python, "load", model))
            .measure();
    }
    Ok(())
}

/// The same in Python, with the file out of the cache.
fn cold_in_python(python: &Python, what: &str, model: &Model) -> f64 {
    if disk::evict(model.path()).is_err() {
        return f64::NAN;
    }
    ask(python, what, model)
}

fn cold(bench: &mut Bench, model: &Model, python: &Python) -> Result<(), Error> {
    if let Some(row) = bench.row("load all, cold, beside O_DIRECT", Unit::Nanoseconds) {
        let (pool, mut reader) = (pool()?, disk::Reader::new(model)?);
        row.target(1.1)
            .rounds(2 * ROUNDS + 1)
            .ours(|| wall(model, || load(model, &pool)))
            .rival("O_DIRECT", || wall(model, || reader.read()))
            .measure();
    }
    if let Some(row) = bench.row("load all, cold", Unit::Nanoseconds) {
        let pool = pool()?;
        row.target(0.5)
            .rounds(ROUNDS)
            .ours(|| wall(model, || load(model, &pool)))
            .rival("Python safetensors", || cold_in_python(python, "load_wall", model))
            .measure();
    }
    // Into new memory every time, whose pages have to be made: Python has no pools.
    if let Some(row) = bench.row("Python: load all, cold", Unit::Nanoseconds) {
        row.target(1.0)
            .rounds(ROUNDS)
            .ours(|| cold_in_python(python, "our_load_wall", model))
            .rival("Python safetensors", || cold_in_python(python, "load_wall", model))
            .measure();
    }
    Ok(())
}
