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

mod problem;

pub use problem::{Item, Packing, Problem};
