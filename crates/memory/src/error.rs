//! Everything that can go wrong with memory, with the values that were wrong.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use crate::{Access, DeviceVendor, LogicalMemorySpace, TensorMemory};

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
    #[error("{0}")]
    NotAllocated(&'static str),
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
    #[error(
        "cannot {asked} bytes {}..{} of {}: bytes {}..{} are held for {held}; {}",
        range.start, range.end, buffer_words(name), held_range.start, held_range.end,
        remedy_words(*held)
    )]
    Busy {
        /// What was asked for.
        asked: Access,
        /// The bytes asked for.
        range: Range<usize>,
        /// What the holder does with them.
        held: Access,
        /// The bytes held.
        held_range: Range<usize>,
        /// Name of the buffer, if it has one.
        name: Option<Arc<str>>,
    },
    /// A memory that cannot be had here.
    #[error("memory {memory} is not available: {why}")]
    Unavailable {
        /// The memory.
        memory: TensorMemory,
        /// Why.
        why: Why,
    },
    /// None of the memories could serve.
    #[error("no memory could serve {bytes} bytes: {}", refusal_words(refusals))]
    NoneServed {
        /// Bytes asked for.
        bytes: usize,
        /// Every memory tried, and why it refused.
        refusals: Vec<Refusal>,
    },
    /// The operating system has no memory left for this.
    #[error("{memory}: no room for {bytes} bytes{}", available_words(available, source))]
    OutOfMemory {
        /// The memory asked.
        memory: TensorMemory,
        /// Bytes asked for.
        bytes: usize,
        /// Bytes that are there, where the system says so.
        available: Option<u64>,
        /// The system's answer, where it gave one.
        #[source]
        source: Option<io::Error>,
    },
    /// A pool that has as much as it may.
    #[error(
        "{memory}: a pool limited to {limit} bytes has {used} bytes in use and cannot give {asked} \
         more: give some back, or make the pool with a larger limit"
    )]
    PoolFull {
        /// The pool's memory.
        memory: TensorMemory,
        /// Bytes asked for.
        asked: usize,
        /// Bytes in use.
        used: usize,
        /// The most that the pool may have.
        limit: usize,
    },
    /// A file that cannot be opened.
    #[error("cannot open {}: {cause}", path.display())]
    Open {
        /// The path.
        path: std::path::PathBuf,
        /// The system's answer; part of the text, so no source besides.
        cause: io::Error,
    },
    /// A system call failed.
    #[error("{what} failed: {cause}")]
    System {
        /// The call, in words.
        what: &'static str,
        /// The system's answer; part of the text, so no source besides.
        cause: io::Error,
    },
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
    #[error("bytes {start}..{end} do not lie inside a buffer of {len} bytes")]
    OutOfBounds {
        /// First byte.
        start: usize,
        /// One past the last byte.
        end: usize,
        /// Bytes of the buffer.
        len: usize,
    },
    /// Rows of bytes that overlap, or that end where nothing can be addressed.
    #[error(
        "rows must lie behind each other and end below 2^{}, got {count} rows of {len} bytes every \
         {stride} bytes from byte {start}",
        usize::BITS
    )]
    BadRows {
        /// First byte.
        start: usize,
        /// Bytes of each row.
        len: usize,
        /// Bytes from one row to the next.
        stride: usize,
        /// Number of rows.
        count: usize,
    },
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
        "memory {memory} in space {space} cannot be mapped for the CPU: copy it with \
         to(Some(TensorMemory::Mem)), or into memory that can be with copy_from()"
    )]
    NotMappable {
        /// The memory.
        memory: TensorMemory,
        /// Where it lives.
        space: LogicalMemorySpace,
    },
    /// Memory that another library has on a device which is not open here.
    #[error(
        "memory {memory} in space {space} was made by another library, and no device is open here \
         that reaches it: {}",
        open_words(*space, *vendor)
    )]
    NotOpen {
        /// The memory.
        memory: TensorMemory,
        /// Where it lives.
        space: LogicalMemorySpace,
        /// Whose device that is.
        vendor: DeviceVendor,
    },
    /// A device refused, or failed.
    #[error("{device}: {what}: {fault}")]
    Device {
        /// Which device.
        device: Arc<str>,
        /// What was tried.
        what: &'static str,
        /// What it said.
        fault: DeviceFault,
    },
    /// A space that no open device has.
    #[error(
        "none of the {devices} devices that are open here has {space}: open one that has (tenure \
         info lists them), and keep its handle or a tensor of it"
    )]
    NoSpace {
        /// The space asked for.
        space: LogicalMemorySpace,
        /// How many devices are open.
        devices: usize,
    },
    /// Writing to what is read-only.
    #[error("this {memory} memory is read-only: use map_read(), or copy it to writable memory")]
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
    #[error("{memory} memory is not a DMA-BUF: allocate with memory dma, or use clone_fd()")]
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
    #[error("the file descriptor is open {mode}, but {needed} is needed")]
    WrongMode {
        /// How it is open.
        mode: &'static str,
        /// What is needed.
        needed: &'static str,
    },
    /// A file or descriptor shorter than what it should hold.
    #[error("the memory behind the file descriptor has {have} bytes, {need} are needed")]
    TooShort {
        /// Bytes there are.
        have: u64,
        /// Bytes needed.
        need: u64,
    },
    /// A memory file that would take more memory to read than this process can afford.
    #[error(
        "the memory behind the file descriptor has {size} bytes, of which {holes} were never \
         written; reading them would take memory of this process, which has {left} bytes for that: \
         its maker has to allocate it (fallocate), or write it"
    )]
    Sparse {
        /// Bytes of the file.
        size: u64,
        /// Bytes of it that take no memory yet.
        holes: u64,
        /// What may still be taken.
        left: u64,
    },
    /// A mapped file that lost bytes after it was mapped; zeros are in their place.
    #[error("the mapped file was cut off by someone else: bytes that were mapped are gone")]
    Truncated,
    /// A word that names no memory.
    #[error("unknown memory {word:?}: known are {}", TensorMemory::words())]
    UnknownMemory {
        /// The word.
        word: String,
    },
    /// A message that is not one of ours, or a broken one.
    #[error("message refused: {reason}")]
    Message {
        /// What is wrong with it.
        reason: MessageFault,
    },
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
    pub(crate) fn system(what: &'static str, cause: impl Into<io::Error>) -> Error {
        Error::System { what, cause: cause.into() }
    }

    /// Whether waiting or dropping a guard would help.
    pub fn is_busy(&self) -> bool {
        matches!(self, Error::Busy { .. })
    }
}

#[cfg(linux_like)]
fn source_words(refusals: &[crate::kind::dma::SourceRefusal]) -> String {
    let words = |refusal: &crate::kind::dma::SourceRefusal| {
        format!("{}: {}", refusal.source, refusal.reason)
    };
    refusals.iter().map(words).collect::<Vec<_>>().join(", ")
}

/// The call that opens a device.
fn open_words(space: LogicalMemorySpace, vendor: DeviceVendor) -> String {
    let number = match space {
        LogicalMemorySpace::GpuMemory { device_id } => device_id,
        _ => 0,
    };
    match vendor {
        DeviceVendor::Cuda => format!("tenure::gpu::open(\"cuda:{number}\") opens it"),
        DeviceVendor::Rocm => format!("tenure::gpu::open(\"hip:{number}\") opens it"),
        _ => "that library has to copy it".to_owned(),
    }
}

fn buffer_words(name: &Option<Arc<str>>) -> String {
    name.as_ref().map_or_else(|| "the buffer".to_owned(), |name| format!("buffer {name:?}"))
}

/// What would end a use.
fn remedy_words(held: Access) -> &'static str {
    match held {
        Access::Read | Access::Write => "drop that guard first",
        Access::KernelRead | Access::KernelWrite => "that has to end first",
        Access::ExportRead | Access::ExportWrite => "what was lent has to be given back first",
        Access::Publish => {
            "it is published: its consumers have to give it back first, or a copy be used"
        }
    }
}

fn available_words(available: &Option<u64>, source: &Option<io::Error>) -> String {
    let Some(bytes) = available else { return String::new() };
    #[cfg(linux_like)]
    let limit = crate::kind::room::limit_words(source);
    #[cfg(not(linux_like))]
    let limit = source.as_ref().and(None::<String>);
    match limit {
        Some(limit) => format!(" ({bytes} bytes are available: {limit})"),
        None => format!(" ({bytes} bytes are available)"),
    }
}

fn refusal_words(refusals: &[Refusal]) -> String {
    let words = |refusal: &Refusal| match refusal.error.as_ref() {
        Error::Unavailable { why, .. } => format!("{}: {why}", refusal.memory),
        other => format!("{}: {other}", refusal.memory),
    };
    refusals.iter().map(words).collect::<Vec<_>>().join("; ")
}
