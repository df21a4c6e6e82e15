//! TFLite: the graph of a file, and an offline memory plan written into it.

mod error;
mod flat;
mod model;
mod operators;
mod overlap;
mod read;
mod write;

pub use error::{FlatFault, PlanFault};
pub use read::read;
pub use write::{offline_offsets, write_offline_plan};
