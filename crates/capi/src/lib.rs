//! The C library: libtenure, with the header `include/tenure.h`, which is made of these files.
//!
//! The promise of this crate: what a C program passes is looked at before it is used. Null
//! pointers and wrong values are a status and a text, and no panic leaves the library. What C
//! cannot promise by types (that a handle is one of ours and not freed) is said at each function.
//! There is no logic here: every function does one call of the crate `tenure`.
#![warn(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used
)]

mod allocator;
mod codes;
mod convert;
#[cfg(linux_like)]
mod descriptor;
mod dlpack;
mod failure;
mod files;
mod guarded;
mod image;
mod map;
mod plan;
mod pointers;
mod pool;
mod processor;
mod save;
mod schedule;
mod status;
mod tensor;
mod version;
mod views;
