//! DMA-BUF: memory that cameras, GPUs and NPUs share by file descriptor.
//!
//! Three sources make it, tried in order: a DMA heap, a graphics card's dumb buffers, and memory
//! files wrapped by `/dev/udmabuf`. Each says why it cannot serve; the answer is remembered.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, OnceLock};

use rustix::io::Errno;

use super::room::check_room;
use crate::{Allocator, Error, RawBuffer, Request, Result, TensorMemory, Why};

mod dumb;
mod heap;
mod raw;
mod request;
mod udmabuf;

pub(crate) use raw::DmaBuf;
pub(crate) use request::{export_fence, import_fence};

/// Where DMA memory comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// A heap under `/dev/dma_heap`, by name: `system`, `reserved` (CMA), an uncached one.
    Heap(String),
    /// Dumb buffers of a graphics card under `/dev/dri`, by name: `card0`.
    Card(String),
    /// Memory files wrapped by `/dev/udmabuf`.
    Udmabuf,
}

/// A source that was tried, and why it does not serve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceRefusal {
    /// What was tried: a path.
    pub source: String,
    /// The system's answer, and what would help.
    pub reason: String,
    /// Whether this process only ran out of something, so that asking again makes sense.
    pub(crate) passing: bool,
}

/// Allocates DMA memory.
///
/// ```no_run
/// use tenure_memory::kind::dma::{Dma, Source};
/// // The first source that works, or one by name.
/// let any = Dma::new();
/// let contiguous = Dma::from_source(Source::Heap("reserved".to_owned()));
/// ```
#[derive(Debug, Clone, Default)]
pub struct Dma {
    source: Option<Source>,
}

static DEFAULT: OnceLock<Result<Dma, Why>> = OnceLock::new();

pub(super) fn probe() -> Result<&'static dyn Allocator, Why> {
    if DEFAULT.get().is_none() {
        let found = match find() {
            // Out of descriptors today is no answer for tomorrow.
            Err(refusals) if refusals.iter().any(|refusal| refusal.passing) => {
                return Err(Why::Sources(refusals));
            }
            found => found.map_err(Why::Sources),
        };
        // Whoever comes first is remembered; all of them looked at the same machine.
        let _ = DEFAULT.set(found);
    }
    match DEFAULT.get() {
        Some(Ok(dma)) => Ok(dma),
        Some(Err(why)) => Err(why.clone()),
        None => Err(Why::Sources(vec![])),
    }
}

/// The first source that gives a page.
fn find() -> Result<Dma, Vec<SourceRefusal>> {
    let mut refusals = vec![];
    for source in sources(&mut refusals) {
        match source.make(4096) {
            Ok(_) => return Ok(Dma { source: Some(source) }),
            Err(refusal) => refusals.push(refusal),
        }
    }
    Err(refusals)
}

/// Every source that the machine has a device node for, in the order they are tried.
fn sources(refusals: &mut Vec<SourceRefusal>) -> Vec<Source> {
    let mut all = heap::list(refusals);
    all.extend(dumb::list(refusals));
    all.push(Source::Udmabuf);
    all
}

/// Every source of DMA memory on this machine: it works, or why not.
pub fn survey() -> Vec<(Source, Result<(), SourceRefusal>)> {
    let all = sources(&mut vec![]);
    all.into_iter().map(|source| (source.clone(), source.make(4096).map(|_| ()))).collect()
}

impl Dma {
    /// The first source that works on this machine.
    pub fn new() -> Dma {
        Dma::default()
    }

    /// One source and no other.
    pub fn from_source(source: Source) -> Dma {
        Dma { source: Some(source) }
    }
}

impl Source {
    /// A DMA-BUF of so many bytes, in whole pages.
    fn make(&self, bytes: usize) -> Result<OwnedFd, SourceRefusal> {
        match self {
            Source::Heap(name) => heap::make(name, bytes),
            Source::Card(name) => dumb::make(name, bytes),
            Source::Udmabuf => udmabuf::make(bytes),
        }
    }

    fn serve(&self, request: &Request<'_>) -> Result<RawBuffer> {
        let page = crate::mapping::page_size();
        // A buffer of nothing still is a buffer.
        let bytes = request.bytes().max(1).next_multiple_of(page);
        check_room(TensorMemory::Dma, request.bytes(), bytes)?;
        let fd = self.make(bytes).map_err(|refusal| {
            Error::from(crate::detail::Unavailable {
                memory: TensorMemory::Dma,
                why: Why::Sources(vec![refusal]),
            })
        })?;
        if let Some(name) = request.name() {
            request::set_name(fd.as_fd(), name);
        }
        let buffer = DmaBuf::made(fd, request)?;
        Ok(RawBuffer::new(buffer, request.name()))
    }
}

impl Allocator for Dma {
    fn memory(&self) -> TensorMemory {
        TensorMemory::Dma
    }

    fn allocate(&self, request: &Request<'_>) -> Result<RawBuffer> {
        match &self.source {
            Some(source) => source.serve(request),
            None => super::allocator(TensorMemory::Dma)?.allocate(request),
        }
    }

    fn keep(&self) -> Option<Arc<dyn Allocator>> {
        Some(Arc::new(self.clone()))
    }
}

/// What to do about a device node that cannot be opened.
fn advice(path: &str, error: &std::io::Error) -> SourceRefusal {
    let reason = if error.kind() == std::io::ErrorKind::PermissionDenied {
        let group = if path.starts_with("/dev/dri") { "video or render" } else { "video" };
        format!(
            "{error} (add the user to the group that owns it, usually {group}, or add a udev rule)"
        )
    } else {
        error.to_string()
    };
    let passing = matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE));
    SourceRefusal { source: path.to_owned(), reason, passing }
}

/// A request to a device that was refused.
fn refused(path: &str, bytes: usize, errno: Errno) -> SourceRefusal {
    let passing = errno == Errno::MFILE || errno == Errno::NFILE;
    SourceRefusal { source: path.to_owned(), reason: format!("{bytes} bytes: {errno}"), passing }
}
