//! Why a plan does not become memory, or a schedule does not run on it.

use std::{fmt, io};

use tenure_layout::{ErrorKind, Remedy};
use tenure_memory::TensorMemory;

/// A buffer of the schedule and the tensor that was given for it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Who {
    /// The buffer's name in the schedule.
    pub buffer: String,
    /// The tensor's own name, if it has one.
    pub tensor: Option<String>,
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.tensor {
            Some(tensor) => write!(f, "tensor {tensor:?} for buffer {:?}", self.buffer),
            None => write!(f, "the tensor for buffer {:?}", self.buffer),
        }
    }
}

/// Why a plan was not realized, or a schedule not replayed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RealizeError {
    /// The schedule makes no sense.
    #[error(transparent)]
    Schedule(#[from] tenure_plan::ScheduleError),
    /// The plan, the schedule and the tensors are not of each other.
    #[error("{what} has {given} buffers, the schedule has {expected}")]
    Count {
        /// What does not match.
        what: &'static str,
        /// How many it has.
        given: usize,
        /// How many the schedule has.
        expected: usize,
    },
    /// A tensor of another size than the schedule says.
    #[error("{who} has {given} bytes, the schedule says {expected}")]
    Length {
        /// Which one.
        who: Who,
        /// Bytes it has.
        given: usize,
        /// Bytes it should have.
        expected: u64,
    },
    /// A tensor that has its bytes already, or is given twice.
    #[error(
        "{who} {}: only a lazy tensor that nobody has touched can be placed",
        if *twice { "is given twice" } else { "has its bytes already" }
    )]
    Taken {
        /// Which one.
        who: Who,
        /// Whether it is another one's handle.
        twice: bool,
    },
    /// A view that has its bytes elsewhere than the plan says.
    #[error("{who} is a view that is not where the plan puts it: pass a slice of its base")]
    Elsewhere {
        /// Which one.
        who: Who,
    },
    /// A plan that points outside its own arenas.
    #[error("the plan puts {who} into arena {arena}, which has no such bytes")]
    Outside {
        /// Which one.
        who: Who,
        /// The arena.
        arena: usize,
    },
    /// Tensors of one arena that were to be made in different memories, so that there is no
    /// telling which the arena should be in.
    #[error(
        "arena {arena} is for {first} in {memory} and {second} in {other}: say which memory it is to \
         be in"
    )]
    Mixed {
        /// The arena.
        arena: usize,
        /// The first tensor in it.
        first: Who,
        /// Its memory.
        memory: TensorMemory,
        /// One that does not agree.
        second: Who,
        /// That one's memory.
        other: TensorMemory,
    },
    /// Memory for an arena was refused.
    #[error("arena {arena} of {bytes} bytes, for {}, was not allocated", Them(.of))]
    Arena {
        /// The arena.
        arena: usize,
        /// Its size.
        bytes: u64,
        /// The tensors that are to be in it.
        of: Vec<Who>,
        /// Why.
        #[source]
        source: tenure_memory::Error,
    },
    /// A tensor of its own for a view could not be placed in the tensor of its base.
    #[error("{who} was not placed at byte {offset} of {base}, which it is a view of")]
    View {
        /// The view.
        who: Who,
        /// Its base.
        base: Who,
        /// Where in it.
        offset: usize,
        /// Why not.
        #[source]
        source: tenure_memory::Error,
    },
    /// A tensor could not be placed in its arena.
    #[error("{who} was not placed at byte {offset} of arena {arena}")]
    Place {
        /// Which one.
        who: Who,
        /// The arena.
        arena: usize,
        /// Where in it.
        offset: usize,
        /// Why not.
        #[source]
        source: tenure_memory::Error,
    },
}

impl RealizeError {
    /// What the memory below answered, if that was the reason.
    pub fn memory(&self) -> Option<&tenure_memory::Error> {
        match self {
            RealizeError::Arena { source, .. }
            | RealizeError::View { source, .. }
            | RealizeError::Place { source, .. } => Some(source),
            _ => None,
        }
    }

    /// What sort of error it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            RealizeError::Schedule(error) => error.kind(),
            RealizeError::Arena { source, .. }
            | RealizeError::View { source, .. }
            | RealizeError::Place { source, .. } => source.kind(),
            RealizeError::Count { .. }
            | RealizeError::Length { .. }
            | RealizeError::Taken { .. }
            | RealizeError::Elsewhere { .. }
            | RealizeError::Outside { .. }
            | RealizeError::Mixed { .. } => ErrorKind::Invalid,
        }
    }

    /// What would help, where a call would. The text of the [`source`](std::error::Error::source)
    /// has it.
    pub fn remedy(&self) -> Option<Remedy> {
        self.memory().and_then(tenure_memory::Error::remedy)
    }

    /// The operating system's answer, if it is one.
    pub fn os_error(&self) -> Option<&io::Error> {
        self.memory().and_then(tenure_memory::Error::os_error)
    }
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

/// Why a schedule does not run on its tensors.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// The tensors are not those of the schedule.
    #[error(transparent)]
    Buffers(#[from] RealizeError),
    /// Bytes that are needed have been overwritten.
    #[error("step {step:?} reads {who}: byte {byte} is {found}, {expected} was written")]
    Overwritten {
        /// The step's name.
        step: String,
        /// What it reads.
        who: Who,
        /// Which byte of it.
        byte: usize,
        /// What is there.
        found: u8,
        /// What should be there.
        expected: u8,
    },
    /// A tensor that cannot be used, because another one is.
    #[error("step {step:?} cannot use {who}")]
    Refused {
        /// The step's name.
        step: String,
        /// What it would use.
        who: Who,
        /// Why not.
        #[source]
        source: tenure_memory::Error,
    },
}

impl ReplayError {
    /// What the memory below answered, if that was the reason.
    pub fn memory(&self) -> Option<&tenure_memory::Error> {
        match self {
            ReplayError::Buffers(error) => error.memory(),
            ReplayError::Refused { source, .. } => Some(source),
            ReplayError::Overwritten { .. } => None,
        }
    }

    /// What sort of error it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            ReplayError::Buffers(error) => error.kind(),
            ReplayError::Overwritten { .. } => ErrorKind::Damaged,
            ReplayError::Refused { source, .. } => source.kind(),
        }
    }

    /// What would help, where a call would. The text of the [`source`](std::error::Error::source)
    /// has it.
    pub fn remedy(&self) -> Option<Remedy> {
        self.memory().and_then(tenure_memory::Error::remedy)
    }

    /// The operating system's answer, if it is one.
    pub fn os_error(&self) -> Option<&io::Error> {
        self.memory().and_then(tenure_memory::Error::os_error)
    }
}
