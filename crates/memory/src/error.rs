//! Everything that can go wrong with memory, with the values that were wrong.

use std::io;
use std::sync::Arc;

use tenure_layout::{Clause, ErrorKind, Remedy};

use crate::{LogicalMemorySpace, TensorMemory, detail};

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// One memory that was tried and why it did not serve.
#[derive(Debug, Clone)]
pub struct Refusal {
    /// The memory tried.
    pub memory: TensorMemory,
    /// Why not.
    pub error: Arc<Error>,
}

/// Why a memory cannot be had on this machine or in this build.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Why {
    /// This version or build has no allocator for it.
    #[error("{0}")]
    NotInThisBuild(&'static str),
    /// The operating system does not have it.
    #[error("this operating system has no {0}")]
    NotOnThisSystem(&'static str),
    /// A system call said no.
    #[error("{what}: {reason}")]
    Refused {
        /// What was tried.
        what: &'static str,
        /// The system's answer.
        reason: String,
    },
    /// It is not made by allocating.
    #[error("{reason}{}", Clause::from(*remedy))]
    NotAllocated {
        /// Why not.
        reason: &'static str,
        /// What makes it.
        remedy: Option<Remedy>,
    },
    /// Every source of it was tried.
    #[cfg(linux_like)]
    #[error("{}", source_words(.0))]
    Sources(Vec<crate::kind::dma::SourceRefusal>),
}

/// Why memory was refused, a guard not given, or a descriptor not accepted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The bytes are in use in a way that excludes what was asked.
    #[error(transparent)]
    Busy(Box<detail::Busy>),
    /// A memory that cannot be had here.
    #[error(transparent)]
    Unavailable(Box<detail::Unavailable>),
    /// None of the memories could serve.
    #[error(transparent)]
    NoneServed(Box<detail::NoneServed>),
    /// The operating system has no memory left for this.
    #[error(transparent)]
    OutOfMemory(Box<detail::OutOfMemory>),
    /// A pool that has as much as it may.
    #[error(transparent)]
    PoolFull(Box<detail::PoolFull>),
    /// A file that cannot be opened.
    #[error(transparent)]
    Open(Box<detail::Open>),
    /// A system call failed.
    #[error(transparent)]
    System(Box<detail::System>),
    /// More bytes than can be addressed, or an alignment that is no power of two.
    #[error(
        "{bytes} bytes aligned to {align} cannot be allocated (alignment: a power of two up to {})",
        crate::allocator::LARGEST_ALIGNMENT
    )]
    BadRequest {
        /// Bytes asked for.
        bytes: usize,
        /// Alignment asked for.
        align: usize,
    },
    /// A byte range outside its buffer.
    #[error(transparent)]
    OutOfBounds(Box<detail::OutOfBounds>),
    /// Rows of bytes that overlap, or that end where nothing can be addressed.
    #[error(transparent)]
    BadRows(Box<detail::BadRows>),
    /// A place that would break the alignment the buffer was asked for with.
    #[error("byte {offset} of the arena is not aligned to {align}, as the buffer needs")]
    Misaligned {
        /// Where in the arena.
        offset: usize,
        /// What the buffer needs.
        align: usize,
    },
    /// A lazy buffer that already has its place.
    #[error("buffer {id} already has its place and cannot be placed again")]
    AlreadyPlaced {
        /// The buffer.
        id: u64,
    },
    /// Memory that the CPU cannot reach.
    #[error(
        "memory {memory} in space {space} cannot be mapped for the CPU{}",
        Remedy::CopyToMain.clause()
    )]
    NotMappable {
        /// The memory.
        memory: TensorMemory,
        /// Where it lives.
        space: LogicalMemorySpace,
    },
    /// Memory that another library has on a device which is not open here.
    #[error(transparent)]
    NotOpen(Box<detail::NotOpen>),
    /// A device refused, or failed.
    #[error(transparent)]
    Device(Box<detail::Device>),
    /// A space that no open device has.
    #[error(transparent)]
    NoSpace(Box<detail::NoSpace>),
    /// Writing to what is read-only.
    #[error("this {memory} memory is read-only{}", Remedy::MapForReading.clause())]
    ReadOnly {
        /// The memory.
        memory: TensorMemory,
    },
    /// Memory without a file descriptor.
    #[error(
        "{memory} memory has no file descriptor: allocate with memory shm (or dma) to share it"
    )]
    NoDescriptor {
        /// The memory.
        memory: TensorMemory,
    },
    /// Memory that is not a DMA-BUF.
    #[error("{memory} memory is not a DMA-BUF{}", Remedy::CloneDescriptor.clause())]
    NotDma {
        /// The memory.
        memory: TensorMemory,
    },
    /// Memory whose kind cannot be made read-only for others.
    #[error("{memory} memory cannot be shared read-only: {reason}")]
    NotSealable {
        /// The memory.
        memory: TensorMemory,
        /// Why.
        reason: &'static str,
    },
    /// A descriptor that is not memory.
    #[error(
        "the file descriptor is {found}, not memory that can be mapped (a sealed memory file, a DMA-BUF or a regular file)"
    )]
    NotMemory {
        /// What it is.
        found: &'static str,
    },
    /// A descriptor whose memory another process could take away.
    #[error(
        "the file descriptor is {found}: it can shrink while it is mapped; pass a memory file that can be sealed against shrinking"
    )]
    Unsealed {
        /// What it is.
        found: &'static str,
    },
    /// Memory whose rows are not plain.
    #[error(
        "memory with the modifier {modifier:#018x} is tiled, compressed or not known to be \
         neither: only linear memory (modifier 0) can be used"
    )]
    Modifier {
        /// The DRM modifier.
        modifier: u64,
    },
    /// A descriptor opened in the wrong mode.
    #[error(transparent)]
    WrongMode(Box<detail::WrongMode>),
    /// A file or descriptor shorter than what it should hold.
    #[error("the memory behind the file descriptor has {have} bytes, {need} are needed")]
    TooShort {
        /// Bytes there are.
        have: u64,
        /// Bytes needed.
        need: u64,
    },
    /// A memory file that would take more memory to read than this process can afford.
    #[error(transparent)]
    Sparse(Box<detail::Sparse>),
    /// A mapped file that lost bytes after it was mapped; zeros are in their place.
    #[error("the mapped file was cut off by someone else: bytes that were mapped are gone")]
    Truncated,
    /// A word that names no memory.
    #[error("unknown memory {word:?}: known are {}", TensorMemory::words())]
    UnknownMemory {
        /// The word.
        word: Box<str>,
    },
    /// A message that is not one of ours, or a broken one.
    #[error(transparent)]
    Message(Box<detail::Message>),
    /// The other side closed the connection.
    #[error("the other side closed the connection{}", if *midway { " in the middle of a message" } else { "" })]
    Closed {
        /// Whether part of a message had arrived.
        midway: bool,
    },
}

/// Why a device did not do what it was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceFault {
    /// It stopped working: its memory is gone.
    #[error("the device is lost, and what was in its memory: open it again")]
    Lost,
    /// It was opened before this process was forked off.
    #[error(
        "process {opened} opened it, and this process {here} was forked off later: open it here"
    )]
    Forked {
        /// The process that opened it.
        opened: u32,
        /// This process.
        here: u32,
    },
    /// Memory of another device, or of none.
    #[error("the memory is not this device's: copy it through main memory")]
    OtherDevice,
    /// It does not have that.
    #[error("it has no {0}")]
    Lacks(&'static str),
    /// A device that is not there.
    #[error("there is no device {number}: {devices} {}, counted from 0", if *devices == 1 { "is there" } else { "are there" })]
    NoDevice {
        /// The number asked for.
        number: u32,
        /// How many there are.
        devices: usize,
    },
    /// It cannot be used, and this is why.
    #[error("{0}")]
    Unusable(String),
    /// A queue that is not there.
    #[error("it has {queues} queues, counted from 0, and none is {queue}")]
    NoQueue {
        /// The number asked for.
        queue: usize,
        /// How many there are.
        queues: usize,
    },
    /// The driver's answer.
    #[error("the driver answers {code} ({name})")]
    Answer {
        /// Its number.
        code: i64,
        /// Its name, as far as known.
        name: String,
    },
}

/// What is wrong with a message from another process.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MessageFault {
    /// Not ours at all.
    #[error("it starts with {found:#010x}, not the mark of a tensor message")]
    NotOurs {
        /// What it starts with.
        found: u32,
    },
    /// A version this build does not speak.
    #[error("it is of version {found}, this build speaks version {known}")]
    Version {
        /// The message's version.
        found: u16,
        /// Ours.
        known: u16,
    },
    /// A packet too short to be a message.
    #[error("it has {found} bytes, a message has at least {head}")]
    NoHead {
        /// Bytes that came.
        found: usize,
        /// Bytes of the smallest message.
        head: usize,
    },
    /// The other side paused in the middle of a message, for longer than anyone waits.
    #[error("the other side stopped in the middle of it: close the connection")]
    Stalled,
    /// Longer than any message may be, or than what arrived.
    #[error("it says {said} bytes, at most {limit} are possible")]
    Length {
        /// The length it says.
        said: usize,
        /// The most there can be.
        limit: usize,
    },
    /// The wrong number of descriptors.
    #[error("it came with {found} file descriptors, {expected} belong to it")]
    Descriptors {
        /// How many came.
        found: usize,
        /// How many belong to it.
        expected: usize,
    },
    /// Descriptors were lost on the way, which happens when this process has none left.
    #[error("its file descriptors were lost: this process has none left (see ulimit -n)")]
    DescriptorsLost,
}

impl Error {
    /// A failed system call in words.
    #[cfg(unix)]
    #[cold]
    pub(crate) fn system(what: &'static str, cause: impl Into<io::Error>) -> Error {
        detail::System { what, cause: cause.into() }.into()
    }

    /// What sort of error it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Busy(_) => ErrorKind::Busy,
            Error::Unavailable(_) | Error::NoSpace(_) | Error::NotOpen { .. } => {
                ErrorKind::Unavailable
            }
            Error::NoneServed(_) | Error::OutOfMemory(_) | Error::PoolFull(_) => {
                ErrorKind::OutOfMemory
            }
            Error::ReadOnly { .. } => ErrorKind::ReadOnly,
            Error::NotMappable { .. }
            | Error::NoDescriptor { .. }
            | Error::NotDma { .. }
            | Error::NotSealable { .. }
            | Error::NotMemory { .. }
            | Error::Unsealed { .. }
            | Error::WrongMode(_)
            | Error::Modifier { .. } => ErrorKind::Unsupported,
            Error::Open(_) | Error::System(_) => ErrorKind::System,
            Error::Truncated | Error::Message(_) => ErrorKind::Damaged,
            Error::Closed { .. } => ErrorKind::Closed,
            Error::Device(device) => device.fault.kind(),
            Error::BadRequest { .. }
            | Error::OutOfBounds(_)
            | Error::BadRows(_)
            | Error::Misaligned { .. }
            | Error::AlreadyPlaced { .. }
            | Error::TooShort { .. }
            | Error::Sparse(_)
            | Error::UnknownMemory { .. } => ErrorKind::Invalid,
        }
    }

    /// What would help, where a call would.
    pub fn remedy(&self) -> Option<Remedy> {
        match self {
            Error::Unavailable(unavailable) => unavailable.why.remedy(),
            Error::NotMappable { .. } => Some(Remedy::CopyToMain),
            Error::NotOpen(closed) => detail::open_remedy(closed.space, closed.vendor),
            Error::ReadOnly { .. } => Some(Remedy::MapForReading),
            Error::NotDma { .. } => Some(Remedy::CloneDescriptor),
            _ => None,
        }
    }

    /// The operating system's answer, if it is one. It is part of the text.
    pub fn os_error(&self) -> Option<&io::Error> {
        match self {
            Error::Open(open) => Some(&open.cause),
            Error::System(system) => Some(&system.cause),
            Error::OutOfMemory(full) => full.source.as_ref(),
            _ => None,
        }
    }

    /// Whether waiting or dropping a guard would help.
    pub fn is_busy(&self) -> bool {
        self.kind() == ErrorKind::Busy
    }
}

impl Why {
    /// What would help, where a call would.
    pub fn remedy(&self) -> Option<Remedy> {
        match self {
            Why::NotAllocated { remedy, .. } => *remedy,
            _ => None,
        }
    }
}

impl DeviceFault {
    /// What sort of error it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            DeviceFault::Forked { .. } => ErrorKind::Forked,
            DeviceFault::NoQueue { .. } => ErrorKind::NotFound,
            DeviceFault::OtherDevice | DeviceFault::Lacks(_) => ErrorKind::Unsupported,
            DeviceFault::Lost
            | DeviceFault::NoDevice { .. }
            | DeviceFault::Unusable(_)
            | DeviceFault::Answer { .. } => ErrorKind::Unavailable,
        }
    }
}

impl MessageFault {
    /// What sort of error it is.
    pub fn kind(&self) -> ErrorKind {
        ErrorKind::Damaged
    }
}

#[cfg(linux_like)]
fn source_words(refusals: &[crate::kind::dma::SourceRefusal]) -> String {
    let words = |refusal: &crate::kind::dma::SourceRefusal| {
        format!("{}: {}", refusal.source, refusal.reason)
    };
    refusals.iter().map(words).collect::<Vec<_>>().join(", ")
}
