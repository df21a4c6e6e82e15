//! Who may share memory.
//!
//! The promise of this crate: a packing it returns was checked by an independent sweep, and
//! "optimal" is said only of what was proven. Nothing here touches memory, the operating system
//! or `unsafe`.
#![forbid(unsafe_code)]
#![warn(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used
)]

mod bound;
mod check;
pub mod draw;
mod pack;
mod problem;
mod solve;

pub use bound::lower_bound;
pub use check::{CheckError, check, check_offsets};
pub use pack::{Packer, UnknownPacker};
pub use problem::{Item, MAX_TOTAL, Packing, Problem, ProblemError};
pub use solve::fit::{Fit, Obstacle, fit};
pub use solve::minimise::minimise;
pub use solve::options::{Options, Progress};
