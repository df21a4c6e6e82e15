//! Everything that can go wrong with a stream, with the values that were wrong.

use std::io;
use tenure_layout::{ErrorKind, Remedy};

use crate::detail;

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a stream could not be made, joined or used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A name that cannot be one.
    #[error(transparent)]
    Name(Box<detail::Name>),
    /// The directory of the streams cannot be used.
    #[error(transparent)]
    Directory(Box<detail::Directory>),
    /// A path that no socket can have.
    #[error(transparent)]
    PathTooLong(Box<detail::PathTooLong>),
    /// The stream has a producer already.
    #[error(transparent)]
    Taken(Box<detail::Taken>),
    /// Nobody publishes the stream.
    #[error(transparent)]
    NoStream(Box<detail::NoStream>),
    /// The producer is there and does not answer.
    #[error(transparent)]
    NoAnswer(Box<detail::NoAnswer>),
    /// The producer said no.
    #[error(transparent)]
    Refused(Box<detail::Refused>),
    /// The stream is over: its producer ended it, or died.
    #[error(transparent)]
    Ended(Box<detail::Ended>),
    /// The producer put this consumer out.
    #[error(transparent)]
    Evicted(Box<detail::Evicted>),
    /// The producer is of a user that is not trusted.
    #[error(transparent)]
    Producer(Box<detail::Producer>),
    /// All frames that a subscriber may hold are held, so no other can come.
    #[error(transparent)]
    AllHeld(Box<detail::AllHeld>),
    /// The memory of a frame is more than this subscriber takes.
    #[error(transparent)]
    MemoryLimit(Box<detail::MemoryLimit>),
    /// A frame that does not look as the publisher declared.
    #[error(transparent)]
    OtherSpec(Box<detail::OtherSpec>),
    /// The producer has claimed all the slots that it may.
    #[error(transparent)]
    NoSlot(Box<detail::NoSlot>),
    /// Devices still read what consumers gave back.
    #[error(transparent)]
    DevicesBusy(Box<detail::DevicesBusy>),
    /// A slot was claimed without saying what for.
    #[error(
        "stream `{name}` does not know what its frames look like{}",
        Remedy::DescribeFrames.clause()
    )]
    NoSpec {
        /// The stream.
        name: String,
    },
    /// A claimed slot that a copy or a device still works on.
    #[error(
        "a copy or a device still works on the slot's tensor, or another stream has published it: \
         wait for its end first. The frame was not published"
    )]
    StillHeld,
    /// Something that does not fit a packet.
    #[error(transparent)]
    TooLong(Box<detail::TooLong>),
    /// Memory that the user brings has no slot left: consumers hold as many others.
    #[error(
        "the stream has {slots} slots, which is as many as can be, and all of those for memory \
         that is brought are with consumers: bring the same memory again and again, or copy"
    )]
    TooManySlots {
        /// How many.
        slots: usize,
    },
    /// It was made before this process was forked off.
    #[error(
        "stream `{name}` was opened by the process that this one was forked off, whose it stays: \
         open it here"
    )]
    Forked {
        /// The stream.
        name: String,
    },
    /// What the other side sent makes no sense.
    #[error(transparent)]
    Packet(Box<detail::Packet>),
    /// A report that makes no sense.
    #[error(transparent)]
    Report(Box<detail::Report>),
    /// A system call failed.
    #[error("{what} failed: {cause}")]
    System {
        /// The call, in words.
        what: &'static str,
        /// The system's answer; part of the text, so no source besides.
        cause: io::Error,
    },
    /// Memory was refused.
    #[error(transparent)]
    Memory(#[from] tenure_memory::Error),
    /// A tensor was refused.
    #[error(transparent)]
    Tensor(#[from] tenure_tensor::Error),
}

impl Error {
    #[cold]
    pub(crate) fn system(what: &'static str, cause: impl Into<io::Error>) -> Error {
        Error::System { what, cause: cause.into() }
    }

    /// What sort of error it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Tensor(error) => error.kind(),
            Error::Memory(error) => error.kind(),
            Error::Taken(_) => ErrorKind::Exists,
            Error::NoSlot(_) | Error::DevicesBusy(_) | Error::AllHeld(_) | Error::StillHeld => {
                ErrorKind::Busy
            }
            Error::NoStream(_) => ErrorKind::NotFound,
            Error::NoAnswer(_) => ErrorKind::NoAnswer,
            Error::Refused(_) | Error::Producer(_) => ErrorKind::Refused,
            Error::MemoryLimit(_) => ErrorKind::OutOfMemory,
            Error::Ended(_) => ErrorKind::Closed,
            Error::Evicted(_) => ErrorKind::Evicted,
            Error::Packet(_) | Error::Report(_) => ErrorKind::Damaged,
            Error::Directory(_) | Error::System { .. } => ErrorKind::System,
            Error::Forked { .. } => ErrorKind::Forked,
            Error::Name(_)
            | Error::PathTooLong(_)
            | Error::OtherSpec(_)
            | Error::NoSpec { .. }
            | Error::TooLong(_)
            | Error::TooManySlots { .. } => ErrorKind::Invalid,
        }
    }

    /// What would help, where a call would.
    pub fn remedy(&self) -> Option<Remedy> {
        match self {
            Error::Tensor(error) => error.remedy(),
            Error::Memory(error) => error.remedy(),
            Error::Producer(producer) => Some(Remedy::TrustProducer { uid: producer.uid }),
            Error::AllHeld(_) => Some(Remedy::DropFrames),
            Error::MemoryLimit(_) => Some(Remedy::RaiseLimits),
            Error::OtherSpec(_) => Some(Remedy::LetFramesDiffer),
            Error::NoSlot(_) => Some(Remedy::PublishSlots),
            Error::DevicesBusy(_) => Some(Remedy::TryAgainOrMoreSlots),
            Error::NoSpec { .. } => Some(Remedy::DescribeFrames),
            _ => None,
        }
    }

    /// The operating system's answer, if it is one. It is part of the text.
    pub fn os_error(&self) -> Option<&io::Error> {
        match self {
            Error::Tensor(error) => error.os_error(),
            Error::Memory(error) => error.os_error(),
            Error::Directory(directory) => Some(&directory.cause),
            Error::System { cause, .. } => Some(cause),
            _ => None,
        }
    }

    /// Whether dropping frames, slots or guards, or waiting, would help.
    pub fn is_busy(&self) -> bool {
        self.kind() == ErrorKind::Busy
    }

    /// Whether the stream is over for this consumer, and only opening it again can help.
    pub fn is_over(&self) -> bool {
        matches!(self, Error::Ended { .. } | Error::Evicted { .. } | Error::NoStream { .. })
    }
}

impl From<tenure_layout::Error> for Error {
    fn from(error: tenure_layout::Error) -> Error {
        Error::Tensor(error.into())
    }
}
