//! Why a plan does not become memory, or a schedule does not run on it.

use std::{fmt, io};

use tenure_layout::{ErrorKind, Remedy};
use tenure_plan::ScheduleError;

use super::detail;

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
    Schedule(Box<ScheduleError>),
    /// The plan, the schedule and the tensors are not of each other.
    #[error(transparent)]
    Count(Box<detail::Count>),
    /// A tensor of another size than the schedule says.
    #[error("{who} has {given} bytes, the schedule says {expected}")]
    Length {
        /// Which one.
        who: Box<Who>,
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
        who: Box<Who>,
        /// Whether it is another one's handle.
        twice: bool,
    },
    /// A view that has its bytes elsewhere than the plan says.
    #[error("{who} is a view that is not where the plan puts it: pass a slice of its base")]
    Elsewhere {
        /// Which one.
        who: Box<Who>,
    },
    /// A plan that points outside its own arenas.
    #[error("the plan puts {who} into arena {arena}, which has no such bytes")]
    Outside {
        /// Which one.
        who: Box<Who>,
        /// The arena.
        arena: usize,
    },
    /// Tensors of one arena that were to be made in different memories, so that there is no
    /// telling which the arena should be in.
    #[error(transparent)]
    Mixed(Box<detail::Mixed>),
    /// Memory for an arena was refused.
    #[error(transparent)]
    Arena(Box<detail::Arena>),
    /// A tensor of its own for a view could not be placed in the tensor of its base.
    #[error(transparent)]
    View(Box<detail::View>),
    /// A tensor could not be placed in its arena.
    #[error(transparent)]
    Place(Box<detail::Place>),
}

impl From<ScheduleError> for RealizeError {
    #[cold]
    fn from(error: ScheduleError) -> RealizeError {
        RealizeError::Schedule(Box::new(error))
    }
}

impl RealizeError {
    /// What the memory below answered, if that was the reason.
    pub fn memory(&self) -> Option<&tenure_memory::Error> {
        match self {
            RealizeError::Arena(arena) => Some(&arena.source),
            RealizeError::View(view) => Some(&view.source),
            RealizeError::Place(place) => Some(&place.source),
            _ => None,
        }
    }

    /// What sort of error it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            RealizeError::Schedule(error) => error.kind(),
            RealizeError::Arena(arena) => arena.source.kind(),
            RealizeError::View(view) => view.source.kind(),
            RealizeError::Place(place) => place.source.kind(),
            RealizeError::Count(_)
            | RealizeError::Length { .. }
            | RealizeError::Taken { .. }
            | RealizeError::Elsewhere { .. }
            | RealizeError::Outside { .. }
            | RealizeError::Mixed(_) => ErrorKind::Invalid,
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

/// Why a schedule does not run on its tensors.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// The tensors are not those of the schedule.
    #[error(transparent)]
    Buffers(#[from] RealizeError),
    /// Bytes that are needed have been overwritten.
    #[error(transparent)]
    Overwritten(Box<detail::Overwritten>),
    /// A tensor that cannot be used, because another one is.
    #[error(transparent)]
    Refused(Box<detail::Refused>),
}

impl ReplayError {
    /// What the memory below answered, if that was the reason.
    pub fn memory(&self) -> Option<&tenure_memory::Error> {
        match self {
            ReplayError::Buffers(error) => error.memory(),
            ReplayError::Refused(refused) => Some(&refused.source),
            ReplayError::Overwritten(_) => None,
        }
    }

    /// What sort of error it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            ReplayError::Buffers(error) => error.kind(),
            ReplayError::Overwritten(_) => ErrorKind::Damaged,
            ReplayError::Refused(refused) => refused.source.kind(),
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
