//! Random schedules that make sense, and a machine that runs them.
#![allow(dead_code, unreachable_pub, reason = "each test uses its own part")]

pub mod random;
pub mod replay;
