//! What can be wrong with a plan.

use crate::schedule::error::ScheduleError;

/// What is wrong with a [`Plan`](crate::Plan) for a schedule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// The schedule itself makes no sense.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),

    /// There must be one placement per buffer.
    #[error("{placements} placements for {buffers} buffers")]
    Count {
        /// Placements in the plan.
        placements: usize,
        /// Buffers in the schedule.
        buffers: usize,
    },

    /// The numbers of the plan or of an arena contradict each other.
    #[error("{bytes} bytes, lower bound {lower_bound}, optimal {optimal}: cannot be")]
    Claim {
        /// The claimed size.
        bytes: u64,
        /// The claimed lower bound.
        lower_bound: u64,
        /// Whether it is said to be minimal.
        optimal: bool,
    },

    /// An arena's alignment is not a power of two.
    #[error("arena {arena} is aligned to {align}, which is not a power of two")]
    ArenaAlign {
        /// Index of the arena.
        arena: usize,
        /// What the plan says, in bytes.
        align: u64,
    },

    /// A buffer that can be placed is not.
    #[error("buffer {buffer:?} is not placed, though it could be")]
    NotPlaced {
        /// Name of the buffer.
        buffer: String,
    },

    /// A buffer is placed that must not be.
    #[error(
        "buffer {buffer:?} is placed, though it or what it shares bytes with has memory of its own or is never used, or the plan places nothing"
    )]
    Placed {
        /// Name of the buffer.
        buffer: String,
    },

    /// A buffer is placed in an arena that does not exist.
    #[error("buffer {buffer:?} is in arena {arena}, but there are {arenas} arenas, from 0")]
    NoSuchArena {
        /// Name of the buffer.
        buffer: String,
        /// The index that the plan names.
        arena: usize,
        /// How many arenas there are.
        arenas: usize,
    },

    /// A buffer ends above the size of its arena.
    #[error(
        "buffer {buffer:?} of {bytes} bytes at {offset} ends outside of the arena's {arena_bytes} bytes"
    )]
    Outside {
        /// Name of the buffer.
        buffer: String,
        /// Its size in bytes.
        bytes: u64,
        /// Where it was put.
        offset: u64,
        /// The size of the arena.
        arena_bytes: u64,
    },

    /// A buffer is placed in another device's memory.
    #[error("buffer {buffer:?} of device {device} is placed on device {arena_device}")]
    Device {
        /// Name of the buffer.
        buffer: String,
        /// Its device.
        device: u32,
        /// The device of the arena.
        arena_device: u32,
    },

    /// A view is not where its base is.
    #[error("view {view:?} is not placed where its base {base:?} is")]
    ViewApart {
        /// Name of the view.
        view: String,
        /// Name of the buffer that has its bytes.
        base: String,
    },

    /// A buffer's address is not a multiple of its alignment.
    #[error("buffer {buffer:?} is at {offset} or in an arena that is not aligned to {align}")]
    Misaligned {
        /// Name of the buffer.
        buffer: String,
        /// Where it was put.
        offset: u64,
        /// What its address should be a multiple of.
        align: u64,
    },

    /// Two buffers are in use at the same time and share bytes.
    #[error("buffers {first:?} and {second:?} share bytes while both are in use, in step {step:?}")]
    Overlap {
        /// Name of the one that was there first.
        first: String,
        /// Name of the other.
        second: String,
        /// Name of the first step that touches the other.
        step: String,
    },

    /// One buffer follows another on some byte, but nothing makes the steps of one wait for
    /// those of the other.
    #[error("buffers {first:?} and {second:?} share bytes, but nothing orders their steps")]
    Unordered {
        /// Name of the one that was there first.
        first: String,
        /// Name of the other.
        second: String,
    },
}

impl VerifyError {
    /// What sort of error it is.
    pub fn kind(&self) -> tenure_layout::ErrorKind {
        tenure_layout::ErrorKind::Invalid
    }
}
