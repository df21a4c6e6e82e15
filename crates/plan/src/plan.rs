//! The answer as plain data: arenas, and where in them each buffer is.

use serde::{Deserialize, Serialize};

use crate::lifetimes::Reason;
use crate::schedule::error::ScheduleError;
use crate::{Lane, Packer, PlannerMode, ProblemError};

/// Which buffers share memory: for each an arena and an offset, or why it has none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// How far sharing goes.
    pub mode: PlannerMode,
    /// Who packed the arenas; `None` in modes that do not pack.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "crate::json::packer")]
    pub packer: Option<Packer>,
    /// The memory to allocate.
    pub arenas: Vec<Arena>,
    /// Where each buffer goes, in the schedule's order.
    pub placements: Vec<Placement>,
    /// The size of all arenas together. In [`PlannerMode::Disabled`], which has none, what the
    /// buffers that could be placed take on their own, each rounded up to its alignment.
    pub bytes: u64,
    /// No plan of any mode needs fewer bytes for the same schedule and the same rules of who
    /// can share.
    pub lower_bound: u64,
    /// `bytes` is proven to be the minimum.
    pub optimal: bool,
}

/// One piece of memory that buffers are placed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arena {
    /// The device whose memory it is.
    pub device: u32,
    /// [`Lane::Copy`] if others than the device's compute lane touch it.
    pub lane: Lane,
    /// Its size.
    pub bytes: u64,
    /// What its address must be a multiple of.
    pub align: u64,
    /// It cannot be smaller for what the mode puts into it.
    pub lower_bound: u64,
    /// `bytes` is proven to be the minimum.
    pub optimal: bool,
}

/// Where a buffer goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// Nowhere.
    Excluded(Reason),
    /// Into an arena.
    #[serde(untagged)]
    At {
        /// Its index in the plan.
        arena: usize,
        /// Bytes from the start of the arena.
        offset: u64,
    },
}

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The schedule makes no sense.
    #[error(transparent)]
    Schedule(Box<ScheduleError>),
    /// The lifetimes make no problem; a valid schedule does not come to this.
    #[error(transparent)]
    Problem(#[from] ProblemError),
}

impl Plan {
    /// Where buffer `index` goes: arena and offset, or `None` if it is not placed.
    pub fn place(&self, index: usize) -> Option<(usize, u64)> {
        match self.placements.get(index) {
            Some(&Placement::At { arena, offset }) => Some((arena, offset)),
            _ => None,
        }
    }
}

impl From<ScheduleError> for PlanError {
    fn from(error: ScheduleError) -> PlanError {
        PlanError::Schedule(Box::new(error))
    }
}

impl PlanError {
    /// What sort of error it is.
    pub fn kind(&self) -> tenure_layout::ErrorKind {
        tenure_layout::ErrorKind::Invalid
    }
}
