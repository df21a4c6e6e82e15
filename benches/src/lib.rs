//! What all benchmarks against rivals share.
//!
//! A benchmark is named after its rival (`vs_<rival>`) and is a list of rows. A row asks the same
//! of us and of every rival, in turns and in one run, so that what disturbs the machine disturbs
//! all alike, and takes the lower quartile of many rounds. Less is better in every row. Time is that
//! of the processor on this thread ([`Stopwatch`]), so it does not count who else is running.
//!
//! # Adding a row
//!
//! ```no_run
//! use tenure_benches::{Bench, Error, Unit, per_call, touched};
//!
//! fn rows(bench: &mut Bench) -> Result<(), Error> {
//!     if let Some(row) = bench.row("copy of 1 MiB", Unit::Nanoseconds) {
//!         let (from, mut to, mut to_too) = (touched(1 << 20), touched(1 << 20), touched(1 << 20));
//!         row.target(1.0)
//!             .ours(per_call(|| to.copy_from_slice(&from)))
//!             .rival("a loop", per_call(|| to_too.iter_mut().zip(&from).for_each(|(t, f)| *t = *f)))
//!             .measure();
//!     }
//!     Ok(())
//! }
//! ```
//!
//! [`Bench::row`] gives nothing if the row was not asked for, so what is made inside costs nothing
//! then. [`per_call`] finds out how often to call; what needs preparation before every measurement
//! is a closure that uses a [`Stopwatch`] and returns the number itself. What gives the same number
//! every time, like a footprint, is measured [once](Row::once). The target is the largest ratio of
//! ours to the best rival that passes; the limit what nobody can be better than. Rows of one subject are a file beside `main.rs`, which
//! calls its `rows`.
//!
//! # Running
//!
//! `cargo bench --bench vs_edgefirst -- [WORD]... [--quick] [--json FILE]`: only rows with one of
//! the words in their name, a smoke run without verdicts, and the numbers for other programs.

mod asked;
mod bench;
mod clock;
mod error;
mod options;
mod program;
mod python;
mod row;
mod table;
mod touch;

pub use bench::{Bench, run};
pub use clock::{Stopwatch, per_call, per_call_on_the_wall, per_cold_call, program_nanoseconds};
pub use error::Error;
pub use program::{Program, note};
pub use python::Python;
pub use row::Row;
pub use table::Unit;
pub use touch::{touch, touched};
