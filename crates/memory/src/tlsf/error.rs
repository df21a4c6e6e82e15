//! Why an arena said no.

use tenure_layout::ErrorKind;

use super::MAX_CAPACITY;

/// Why an arena could not be made, or refused to hand out or take back a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Granules must be a power of two bytes.
    #[error("granularity {granularity} is not a power of two; 256 suits tensors")]
    Granularity {
        /// What was asked for, in bytes.
        granularity: u64,
    },

    /// Too small for one granule, or too large to be counted.
    #[error("capacity {capacity} is not between one granule ({granularity}) and {MAX_CAPACITY}")]
    Capacity {
        /// What was asked for, in bytes.
        capacity: u64,
        /// The smallest capacity possible, in bytes.
        granularity: u64,
    },

    /// Alignments must be a power of two bytes.
    #[error("alignment {align} is not a power of two; 1 asks for no more than the granularity")]
    Align {
        /// What was asked for, in bytes.
        align: u64,
    },

    /// No free block is large enough.
    #[error(
        "no room for {asked} bytes aligned to {align}: \
         the largest of the free blocks has {largest_free} bytes, all together {free}"
    )]
    OutOfSpace {
        /// The size asked for, in bytes.
        asked: u64,
        /// The alignment asked for, in bytes.
        align: u64,
        /// See [`Tlsf::largest_free`](super::Tlsf::largest_free).
        largest_free: u64,
        /// Free bytes in total.
        free: u64,
    },

    /// The arena cannot number another block.
    #[error("the arena has {blocks} blocks, as many as it can number; use a second arena")]
    TooManyBlocks {
        /// Blocks in the arena, in use and free.
        blocks: u32,
    },

    /// The block is not in use in this arena.
    #[error(
        "the block of {size} bytes at offset {offset} is not in use here: \
         it is from before a reset or from another arena"
    )]
    UnknownBlock {
        /// Where the block claims to be, in bytes.
        offset: u64,
        /// How large it claims to be, in bytes.
        size: u64,
    },
}

impl Error {
    /// What sort of error it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::OutOfSpace { .. } | Error::TooManyBlocks { .. } => ErrorKind::OutOfMemory,
            Error::Granularity { .. }
            | Error::Capacity { .. }
            | Error::Align { .. }
            | Error::UnknownBlock { .. } => ErrorKind::Invalid,
        }
    }
}
