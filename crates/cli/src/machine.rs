//! What the system says about the machine: its processor, its memory, its files in `/proc`,
//! `/sys` and `/dev`. Used by more than one subcommand.

pub(crate) mod processor;
pub(crate) mod room;
mod tree;

pub(crate) use tree::Tree;
