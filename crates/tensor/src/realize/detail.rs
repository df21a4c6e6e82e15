//! What errors carry that would be too large to be returned in every `Result`: one struct for each
//! such variant of [`RealizeError`] and [`ReplayError`].

use std::fmt;

use tenure_memory::{Error, TensorMemory};

use super::{RealizeError, ReplayError, Who};

macro_rules! boxed {
    ($error:ident: $($name:ident),* $(,)?) => {$(
        impl From<$name> for $error {
            #[cold]
            fn from(detail: $name) -> $error {
                $error::$name(Box::new(detail))
            }
        }
    )*};
}

boxed!(RealizeError: Arena, Count, Mixed, Place, View);
boxed!(ReplayError: Overwritten, Refused);

/// The plan, the schedule and the tensors are not of each other.
#[derive(Debug, thiserror::Error)]
#[error("{what} has {given} buffers, the schedule has {expected}")]
pub struct Count {
    /// What does not match.
    pub what: &'static str,
    /// How many it has.
    pub given: usize,
    /// How many the schedule has.
    pub expected: usize,
}

/// Tensors of one arena that were to be made in different memories, so that there is no telling
/// which the arena should be in.
#[derive(Debug, thiserror::Error)]
#[error(
    "arena {arena} is for {first} in {memory} and {second} in {other}: say which memory it is to be \
     in"
)]
pub struct Mixed {
    /// The arena.
    pub arena: usize,
    /// The first tensor in it.
    pub first: Who,
    /// Its memory.
    pub memory: TensorMemory,
    /// One that does not agree.
    pub second: Who,
    /// That one's memory.
    pub other: TensorMemory,
}

/// Memory for an arena was refused.
#[derive(Debug, thiserror::Error)]
#[error("arena {arena} of {bytes} bytes, for {}, was not allocated", Them(.of))]
pub struct Arena {
    /// The arena.
    pub arena: usize,
    /// Its size.
    pub bytes: u64,
    /// The tensors that are to be in it.
    pub of: Vec<Who>,
    /// Why.
    #[source]
    pub source: Error,
}

/// A tensor of its own for a view could not be placed in the tensor of its base.
#[derive(Debug, thiserror::Error)]
#[error("{who} was not placed at byte {offset} of {base}, which it is a view of")]
pub struct View {
    /// The view.
    pub who: Who,
    /// Its base.
    pub base: Who,
    /// Where in it.
    pub offset: usize,
    /// Why not.
    #[source]
    pub source: Error,
}

/// A tensor could not be placed in its arena.
#[derive(Debug, thiserror::Error)]
#[error("{who} was not placed at byte {offset} of arena {arena}")]
pub struct Place {
    /// Which one.
    pub who: Who,
    /// The arena.
    pub arena: usize,
    /// Where in it.
    pub offset: usize,
    /// Why not.
    #[source]
    pub source: Error,
}

/// Bytes that are needed have been overwritten.
#[derive(Debug, thiserror::Error)]
#[error("step {step:?} reads {who}: byte {byte} is {found}, {expected} was written")]
pub struct Overwritten {
    /// The step's name.
    pub step: String,
    /// What it reads.
    pub who: Who,
    /// Which byte of it.
    pub byte: usize,
    /// What is there.
    pub found: u8,
    /// What should be there.
    pub expected: u8,
}

/// A tensor that cannot be used, because another one is.
#[derive(Debug, thiserror::Error)]
#[error("step {step:?} cannot use {who}")]
pub struct Refused {
    /// The step's name.
    pub step: String,
    /// What it would use.
    pub who: Who,
    /// Why not.
    #[source]
    pub source: Error,
}

/// More are not named in a text.
const NAMED: usize = 3;

/// Some of many tensors, and how many more there are.
struct Them<'a>(&'a [Who]);

impl fmt::Display for Them<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, who) in self.0.iter().take(NAMED).enumerate() {
            write!(f, "{}{who}", if index == 0 { "" } else { ", " })?;
        }
        match self.0.len() {
            0 => write!(f, "no tensor"),
            all if all > NAMED => write!(f, " and {} more", all - NAMED),
            _ => Ok(()),
        }
    }
}
