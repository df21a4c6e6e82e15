//! The C library: libtenure, with the header `include/tenure.h`, which is made of these files.
//!
//! The promise of this crate: what a C program passes is looked at before it is used. Null
//! pointers and wrong values are a status and a text, and no panic leaves the library. What C
//! cannot promise by types (that a handle is one of ours and not freed) is said at each function,
//! and looked up where `TENURE_CHECK_HANDLES=1` asks for it.
//! There is no logic here: every function does one call of the crate `tenure`.
#![warn(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used
)]
#![expect(missing_debug_implementations, reason = "what C sees, no program in Rust prints")]

mod allocator;
pub mod codes;
pub mod convert;
#[cfg(linux_like)]
pub mod descriptor;
#[cfg(linux_like)]
pub mod device;
#[cfg(linux_like)]
pub mod devices;
pub mod dlpack;
mod failure;
#[cfg(linux_like)]
pub mod fence;
pub mod files;
#[cfg(linux_like)]
pub mod frame;
pub mod guarded;
mod handles;
pub mod image;
pub mod map;
pub mod picture;
pub mod plan;
mod pointers;
#[cfg(linux_like)]
pub mod policy;
pub mod pool;
pub mod processor;
#[cfg(linux_like)]
pub mod publisher;
#[cfg(linux_like)]
pub mod publisher_options;
#[cfg(linux_like)]
pub mod publishing;
pub mod save;
pub mod schedule;
#[cfg(linux_like)]
pub mod slot;
#[cfg(linux_like)]
pub mod spec;
pub mod status;
#[cfg(linux_like)]
pub mod streams;
#[cfg(linux_like)]
pub mod subscriber;
pub mod tensor;
pub mod version;
pub mod views;
