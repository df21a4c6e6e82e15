//! The search for the smallest packing, or for one within a capacity.

pub(crate) mod core;
pub(crate) mod fit;
pub(crate) mod minimise;
mod nogood;
pub(crate) mod obstacle;
pub(crate) mod options;
pub(crate) mod orders;
mod portfolio;
mod race;
mod restarts;
mod search;
mod state;
mod summit;
#[cfg(test)]
mod tests;
