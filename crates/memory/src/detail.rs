//! What errors carry that would be too large to be returned in every `Result`: one struct for each
//! such variant of [`Error`].

use std::io;
use std::ops::Range;
use std::sync::Arc;

use tenure_layout::Remedy;

use crate::{
    Access, DeviceFault, DeviceVendor, Error, LogicalMemorySpace, MessageFault, Refusal,
    TensorMemory, Why,
};

macro_rules! boxed {
    ($($name:ident),* $(,)?) => {$(
        impl From<$name> for Error {
            #[cold]
            fn from(detail: $name) -> Error {
                Error::$name(Box::new(detail))
            }
        }
    )*};
}

boxed!(
    BadRows,
    Busy,
    Device,
    Message,
    NoSpace,
    NoneServed,
    NotOpen,
    Open,
    OutOfBounds,
    OutOfMemory,
    PoolFull,
    Sparse,
    System,
    Unavailable,
    WrongMode,
);

/// The bytes are in use in a way that excludes what was asked.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot {asked} {}bytes {}..{} of {}: bytes {}..{} are held for {held}; {}",
    asker_words(asker), range.start, range.end, buffer_words(name), held_range.start,
    held_range.end, remedy_words(*held)
)]
pub struct Busy {
    /// What was asked for.
    pub asked: Access,
    /// The bytes asked for.
    pub range: Range<usize>,
    /// What the holder does with them.
    pub held: Access,
    /// The bytes held.
    pub held_range: Range<usize>,
    /// Name of the allocation, if it has one; the bytes are counted in it.
    pub name: Option<Arc<str>>,
    /// Whose bytes were asked for, where that is not all that the allocation is called after.
    pub asker: Option<Asker>,
}

/// The tensor or buffer of an arena that somebody asked for.
#[derive(Debug, Clone)]
pub struct Asker {
    /// Its name, if it has one.
    pub name: Option<Arc<str>>,
    /// What the plan that placed it calls it, if that is something else.
    pub planned: Option<Box<str>>,
}

/// A memory that cannot be had here.
#[derive(Debug, thiserror::Error)]
#[error("memory {memory} is not available: {why}")]
pub struct Unavailable {
    /// The memory.
    pub memory: TensorMemory,
    /// Why.
    pub why: Why,
}

/// None of the memories could serve.
#[derive(Debug, thiserror::Error)]
#[error("no memory could serve {bytes} bytes: {}", refusal_words(refusals))]
pub struct NoneServed {
    /// Bytes asked for.
    pub bytes: usize,
    /// Every memory tried, and why it refused.
    pub refusals: Vec<Refusal>,
}

/// The operating system has no memory left for this.
#[derive(Debug, thiserror::Error)]
#[error("{memory}: no room for {bytes} bytes{}", available_words(available, source))]
pub struct OutOfMemory {
    /// The memory asked.
    pub memory: TensorMemory,
    /// Bytes asked for.
    pub bytes: usize,
    /// Bytes that are there, where the system says so.
    pub available: Option<u64>,
    /// The system's answer, where it gave one.
    #[source]
    pub source: Option<io::Error>,
}

/// A pool that has as much as it may.
#[derive(Debug, thiserror::Error)]
#[error(
    "{memory}: a pool limited to {limit} bytes has {used} bytes in use and cannot give {asked} \
     more: give some back, or make the pool with a larger limit"
)]
pub struct PoolFull {
    /// The pool's memory.
    pub memory: TensorMemory,
    /// Bytes asked for.
    pub asked: usize,
    /// Bytes in use.
    pub used: usize,
    /// The most that the pool may have.
    pub limit: usize,
}

/// A file that cannot be opened.
#[derive(Debug, thiserror::Error)]
#[error("cannot open {}: {cause}", path.display())]
pub struct Open {
    /// The path.
    pub path: std::path::PathBuf,
    /// The system's answer; part of the text, so no source besides.
    pub cause: io::Error,
}

/// A system call failed.
#[derive(Debug, thiserror::Error)]
#[error("{what} failed: {cause}")]
pub struct System {
    /// The call, in words.
    pub what: &'static str,
    /// The system's answer; part of the text, so no source besides.
    pub cause: io::Error,
}

/// A byte range outside its buffer.
#[derive(Debug, thiserror::Error)]
#[error("bytes {start}..{end} do not lie inside a buffer of {len} bytes")]
pub struct OutOfBounds {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// Bytes of the buffer.
    pub len: usize,
}

/// Rows of bytes that overlap, or that end where nothing can be addressed.
#[derive(Debug, thiserror::Error)]
#[error(
    "rows must lie behind each other and end below 2^{}, got {count} rows of {len} bytes every \
     {stride} bytes from byte {start}",
    usize::BITS
)]
pub struct BadRows {
    /// First byte.
    pub start: usize,
    /// Bytes of each row.
    pub len: usize,
    /// Bytes from one row to the next.
    pub stride: usize,
    /// Number of rows.
    pub count: usize,
}

/// A device refused, or failed.
#[derive(Debug, thiserror::Error)]
#[error("{device}: {what}: {fault}")]
pub struct Device {
    /// Which device.
    pub device: Arc<str>,
    /// What was tried.
    pub what: &'static str,
    /// What it said.
    pub fault: DeviceFault,
}

/// A space that no open device has.
#[derive(Debug, thiserror::Error)]
#[error(
    "none of the {devices} devices that are open here has {space}: open one that has (tenure \
     info lists them), and keep its handle or a tensor of it"
)]
pub struct NoSpace {
    /// The space asked for.
    pub space: LogicalMemorySpace,
    /// How many devices are open.
    pub devices: usize,
}

/// A memory file that would take more memory to read than this process can afford.
#[derive(Debug, thiserror::Error)]
#[error(
    "the memory behind the file descriptor has {size} bytes, of which {holes} were never \
     written; reading them would take memory of this process, which has {left} bytes for that: \
     its maker has to allocate it (fallocate), or write it"
)]
pub struct Sparse {
    /// Bytes of the file.
    pub size: u64,
    /// Bytes of it that take no memory yet.
    pub holes: u64,
    /// What may still be taken.
    pub left: u64,
}

/// A descriptor opened in the wrong mode.
#[derive(Debug, thiserror::Error)]
#[error("the file descriptor is open {mode}, but {needed} is needed")]
pub struct WrongMode {
    /// How it is open.
    pub mode: &'static str,
    /// What is needed.
    pub needed: &'static str,
}

/// A message that is not one of ours, or a broken one.
#[derive(Debug, thiserror::Error)]
#[error("message refused: {reason}")]
pub struct Message {
    /// What is wrong with it.
    pub reason: MessageFault,
}

fn buffer_words(name: &Option<Arc<str>>) -> String {
    name.as_ref().map_or_else(|| "the buffer".to_owned(), |name| format!("buffer {name:?}"))
}

fn asker_words(asker: &Option<Asker>) -> String {
    match asker.as_ref().map(|asker| (&asker.name, &asker.planned)) {
        Some((Some(name), Some(planned))) => format!("{name:?} (planned as {planned:?}) at "),
        Some((Some(name), None)) => format!("{name:?} at "),
        Some((None, Some(planned))) => format!("what is planned as {planned:?} at "),
        Some((None, None)) | None => String::new(),
    }
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
        Error::Unavailable(unavailable) => format!("{}: {}", refusal.memory, unavailable.why),
        other => format!("{}: {other}", refusal.memory),
    };
    refusals.iter().map(words).collect::<Vec<_>>().join("; ")
}

/// Memory that another library has on a device which is not open here.
#[derive(Debug, thiserror::Error)]
#[error(
    "memory {memory} in space {space} was made by another library, and no device is open here \
     that reaches it{}",
    open_words(*space, *vendor)
)]
pub struct NotOpen {
    /// The memory.
    pub memory: TensorMemory,
    /// Where it lives.
    pub space: LogicalMemorySpace,
    /// Whose device that is.
    pub vendor: DeviceVendor,
}

/// What opens the device of another library, if anything here does.
pub(crate) fn open_remedy(space: LogicalMemorySpace, vendor: DeviceVendor) -> Option<Remedy> {
    let number = match space {
        LogicalMemorySpace::GpuMemory { device_id } => device_id,
        _ => 0,
    };
    match vendor {
        DeviceVendor::Cuda => Some(Remedy::OpenDevice { backend: "cuda", number }),
        DeviceVendor::Rocm => Some(Remedy::OpenDevice { backend: "hip", number }),
        _ => None,
    }
}

fn open_words(space: LogicalMemorySpace, vendor: DeviceVendor) -> String {
    match open_remedy(space, vendor) {
        Some(remedy) => remedy.clause().to_string(),
        None => ": that library has to copy it".to_owned(),
    }
}
