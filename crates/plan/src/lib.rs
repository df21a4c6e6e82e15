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
mod capacity;
mod check;
mod csv;
pub mod draw;
mod explain;
mod in_place;
mod incremental;
mod json;
mod lanes;
mod lifetimes;
mod make;
mod mode;
mod pack;
mod plan;
mod pools;
mod problem;
mod reorder;
mod schedule;
mod sizes;
mod solve;
mod verify;

pub use bound::lower_bound;
pub use capacity::{Capacity, Shortage, capacity};
pub use check::{CheckError, check, check_offsets};
pub use csv::{CsvError, Table};
pub use explain::{Verdict, explain};
pub use incremental::{Replanned, replan};
pub use json::JsonError;
pub use lifetimes::{ArenaKey, Lifetimes, Reason, Tenant};
pub use make::plan;
pub use mode::{MODE_VARIABLE, PlannerMode, UnknownMode};
pub use pack::{Packer, UnknownPacker};
pub use plan::{Arena, Placement, Plan, PlanError};
pub use pools::{MemoryPool, Pooled, PoolsError, pools};
pub use problem::{Item, MAX_TOTAL, Packing, Problem, ProblemError};
pub use reorder::{Reorder, Reordered, reorder};
pub use schedule::error::ScheduleError;
pub use schedule::{BufferSpec, DEFAULT_ALIGN, Lane, Schedule, Step, View};
pub use sizes::{Bytes, Dynamic, SizeError};
pub use solve::fit::{Fit, fit};
pub use solve::minimise::minimise;
pub use solve::obstacle::Obstacle;
pub use solve::options::{Options, Progress};
pub use tenure_layout::ErrorKind;
pub use verify::{VerifyError, verify};
