//! The command `tenure`.
#![forbid(unsafe_code)]

fn main() {}
