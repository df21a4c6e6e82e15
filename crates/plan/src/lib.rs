//! Who may share memory.
//!
//! The promise of this crate: a packing it returns was checked by an independent sweep, and
//! "optimal" is said only of what was proven. Nothing here touches memory, the operating system
//! or `unsafe`.
//!
//! # Memory
//!
//! A schedule of very many buffers is planned in at most 250 bytes of heap for each. That is what
//! the planner itself takes at its peak, with the answer, and without the schedule: a buffer and its
//! step are some 290 bytes of it. `tests/memory.rs` holds every call to it, with one queue and with
//! several, with views and in-place sharing. The process that plans 1,000,000 buffers
//! (`examples/million.rs`; glibc's allocator, x86-64):
//!
//! | call | one queue | copies on two devices |
//! |---|---|---|
//! | the schedule alone | 291 B a buffer | 291 B |
//! | `plan` | + 204 B | + 149 B |
//! | `verify` | + 204 B | + 212 B |
//! | `pools` | + 213 B | + 166 B |
//! | `reorder`, whose answer has a copy of the schedule | + 296 B | + 296 B |
//!
//! Steps that touch many buffers, and buffers that many steps touch, take 4 to 16 bytes more for each
//! touch. With less than 65,536 buffers speed counts more than memory: lists of what is placed take up
//! to 340 bytes a buffer, and the search for the minimum (of up to 262,144 buffers, if the budget
//! lasts that long) keeps as much again for each size that it tries, and 100 MB of what it refuted.
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
mod lists;
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
