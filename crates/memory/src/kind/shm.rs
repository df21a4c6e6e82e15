//! Shared memory: a memory file, reserved when made and sealed against changing its size.
//!
//! What is promised exists: a machine without room says so here, not with a signal later. Named
//! POSIX shared memory and huge pages are options.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, OnceLock};

use rustix::fs::{self, MemfdFlags, SealFlags};
use rustix::io::Errno;

use crate::bus::Watch;
use crate::descriptor::still_has;
use crate::kind::room::check_room;
use crate::mapping::{page_size, whole_pages};
use crate::{Allocator, Error, RawBuffer, Request, Result, TensorMemory, Why};

#[cfg_attr(not(posix_shm), path = "shm/named_elsewhere.rs")]
mod named;
mod raw;
mod reserve;

pub use named::{open_named, remove_named};
pub(crate) use raw::Shared;

/// Allocates shared memory.
///
/// ```no_run
/// use tenure_memory::kind::shm::{HugePages, Shm};
/// let named = Shm::named("/camera0");
/// let huge = Shm::huge_pages(HugePages::TwoMiB);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Shm {
    pages: Pages,
}

/// Where the pages come from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum Pages {
    #[default]
    MemoryFile,
    /// A file in `/dev/shm`.
    Posix(String),
    Reserve(HugePages),
}

/// Sizes of huge pages, which the administrator must have set aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HugePages {
    /// Pages of 2 MiB.
    TwoMiB,
    /// Pages of 1 GiB.
    OneGiB,
}

impl HugePages {
    fn bytes(self) -> usize {
        match self {
            HugePages::TwoMiB => 2 << 20,
            HugePages::OneGiB => 1 << 30,
        }
    }

    fn flag(self) -> MemfdFlags {
        match self {
            HugePages::TwoMiB => MemfdFlags::HUGETLB | MemfdFlags::HUGE_2MB,
            HugePages::OneGiB => MemfdFlags::HUGETLB | MemfdFlags::HUGE_1GB,
        }
    }
}

static DEFAULT: Shm = Shm { pages: Pages::MemoryFile };
static REFUSED: OnceLock<Option<Why>> = OnceLock::new();

pub(super) fn probe() -> Result<&'static dyn Allocator, Why> {
    let ask = || {
        memory_file("tenure-probe", MemfdFlags::empty())
            .err()
            // Out of descriptors today is no answer for tomorrow.
            .filter(|errno| *errno != Errno::MFILE && *errno != Errno::NFILE)
            .map(|errno| Why::Refused { what: "memfd_create", reason: errno.to_string() })
    };
    // Asked first: a process that is forked off meanwhile would wait for ever for who asks.
    let refused = match REFUSED.get() {
        Some(refused) => refused,
        None => {
            let refused = ask();
            REFUSED.get_or_init(|| refused)
        }
    };
    match refused {
        Some(why) => Err(why.clone()),
        None => Ok(&DEFAULT),
    }
}

impl Shm {
    /// Anonymous sealed memory files.
    pub fn new() -> Shm {
        Shm::default()
    }

    /// Named POSIX shared memory (`/dev/shm`), created anew and removed by
    /// [`remove_named`]. It cannot be sealed: if another process shortens it, the bytes that are
    /// gone read as zero and the tensor says so; [`crate::ensure_sigbus_handler`] says what that
    /// depends on.
    pub fn named(name: &str) -> Shm {
        Shm { pages: Pages::Posix(name.to_owned()) }
    }

    /// Sealed memory files of huge pages from the kernel's reserve.
    pub fn huge_pages(size: HugePages) -> Shm {
        Shm { pages: Pages::Reserve(size) }
    }
}

impl Allocator for Shm {
    fn memory(&self) -> TensorMemory {
        TensorMemory::Shm
    }

    fn allocate(&self, request: &Request<'_>) -> Result<RawBuffer> {
        let size = request.bytes();
        let out_of_memory = |errno| no_room(size, errno);
        let (unit, ordinary) = match self.pages {
            Pages::Reserve(huge) => (huge.bytes(), false),
            Pages::MemoryFile | Pages::Posix(_) => (page_size(), true),
        };
        let whole = whole_pages(size)
            .and_then(|bytes| bytes.checked_next_multiple_of(unit).ok_or(Errno::OVERFLOW))
            .map_err(out_of_memory)?;
        if ordinary {
            // Needs a descriptor, so it is asked before the file takes what may be the last one.
            check_room(TensorMemory::Shm, size, whole)?;
        }
        let file = |flags| {
            memory_file(request.name().unwrap_or("tenure"), flags)
                .map_err(|errno| Error::system("making a memory file", errno))
        };
        let (fd, undo) = match &self.pages {
            Pages::MemoryFile => (file(MemfdFlags::empty())?, None),
            Pages::Reserve(huge) => (file(huge.flag())?, None),
            Pages::Posix(name) => (named::create(name)?, Some(named::Undo::new(name))),
        };
        let mapping = reserve::reserve_and_map(fd.as_fd(), whole, request.align(), ordinary)
            .map_err(out_of_memory)?;
        let sealable = undo.is_none();
        if sealable {
            // No other seals yet: read-only sharing adds one later.
            fs::fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::GROW)
                .map_err(|errno| Error::system("sealing the memory file", errno))?;
            // Until now whoever found it in /proc could shorten it.
            if !still_has(fd.as_fd(), whole as u64) {
                return Err(Error::Truncated);
            }
        }
        let lasting = sealable && ordinary;
        let watch = if lasting { None } else { Some(Watch::new(&mapping, fd.as_fd(), true)?) };
        let shared = Shared::new(fd, mapping, size, true, watch)?;
        undo.into_iter().for_each(named::Undo::keep);
        Ok(RawBuffer::new(shared, request.name()))
    }

    fn keep(&self) -> Option<Arc<dyn Allocator>> {
        Some(Arc::new(self.clone()))
    }
}

fn no_room(bytes: usize, errno: Errno) -> Error {
    let (memory, source) = (TensorMemory::Shm, Some(errno.into()));
    Error::from(crate::detail::OutOfMemory { memory, bytes, available: None, source })
}

fn memory_file(name: &str, flags: MemfdFlags) -> Result<OwnedFd, Errno> {
    // A name is for people looking at /proc; the kernel takes 249 bytes without zeros.
    let name: String = name.chars().filter(|letter| *letter != '\0').take(60).collect();
    let flags = flags | MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    match fs::memfd_create(&name, flags | MemfdFlags::NOEXEC_SEAL) {
        // Before Linux 6.3 there is no such flag.
        Err(Errno::INVAL) => fs::memfd_create(&name, flags),
        answer => answer,
    }
}

/// A memory file of whole pages that all exist, sealed against changing its size.
///
/// # Errors
/// If there is no room for it.
pub(crate) fn sealed_memory(bytes: usize) -> Result<OwnedFd> {
    let fd = memory_file("tenure", MemfdFlags::empty())
        .map_err(|errno| Error::system("making a memory file", errno))?;
    reserve::allocate(fd.as_fd(), 0, bytes).map_err(|errno| no_room(bytes, errno))?;
    fs::fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::GROW)
        .map_err(|errno| Error::system("sealing the memory file", errno))?;
    Ok(fd)
}
