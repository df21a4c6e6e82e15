//! Shared memory: a memory file, reserved when made and sealed against changing its size.
//!
//! What is promised exists: a machine without room says so here, not with a signal later. Named
//! POSIX shared memory and huge pages are options.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;

use rustix::fs::{self, FallocateFlags, MemfdFlags, Mode, SealFlags};
use rustix::io::Errno;
use rustix::shm;

use crate::bus::Watch;
use crate::mapping::{LARGE_PAGE, Mapping, page_size, whole_pages};
use crate::{Allocator, Error, RawBuffer, Request, Result, TensorMemory, Why};

mod raw;

pub(crate) use raw::Shared;

/// From this size on the machine is asked whether it has so much before it is taken: the kernel
/// would rather kill a process than refuse.
const ASK_FIRST: usize = 64 << 20;

/// Allocates shared memory.
///
/// ```no_run
/// use tenure_memory::kind::shm::{HugePages, Shm};
/// let named = Shm::new().named("/camera0");
/// let huge = Shm::new().huge_pages(HugePages::TwoMiB);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Shm {
    posix_name: Option<String>,
    huge: Option<HugePages>,
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

static DEFAULT: Shm = Shm { posix_name: None, huge: None };
static REFUSED: OnceLock<Option<Why>> = OnceLock::new();

pub(super) fn probe() -> Result<&'static dyn Allocator, Why> {
    let refused = REFUSED.get_or_init(|| {
        memory_file("tenure-probe", MemfdFlags::empty())
            .err()
            // Out of descriptors today is no answer for tomorrow.
            .filter(|errno| *errno != Errno::MFILE && *errno != Errno::NFILE)
            .map(|errno| Why::Refused { what: "memfd_create", reason: errno.to_string() })
    });
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
    /// gone read as zero and the tensor says so.
    pub fn named(self, name: &str) -> Shm {
        Shm { posix_name: Some(name.to_owned()), ..self }
    }

    /// Huge pages from the kernel's reserve.
    pub fn huge_pages(self, size: HugePages) -> Shm {
        Shm { huge: Some(size), ..self }
    }

    /// Makes sure that all bytes exist, in large pages where the kernel has them, and maps them.
    fn reserve_and_map(&self, fd: BorrowedFd<'_>, bytes: usize) -> Result<Mapping> {
        let refuse = |available, errno: Option<Errno>| Error::OutOfMemory {
            memory: TensorMemory::Shm,
            bytes,
            available,
            source: errno.map(Into::into),
        };
        if bytes >= ASK_FIRST
            && self.huge.is_none()
            && let Some(available) = available_memory()
            && bytes as u64 > available
        {
            return Err(refuse(Some(available), None));
        }
        let size_set = fs::ftruncate(fd, bytes as u64);
        size_set.map_err(|errno| refuse(None, Some(errno)))?;
        let mapping =
            Mapping::shared(fd, bytes, true).map_err(|errno| refuse(None, Some(errno)))?;
        if bytes >= LARGE_PAGE && self.huge.is_none() {
            // One page of each large page's range for the others to be gathered around: ten times
            // as fast as making them all.
            for start in (0..=bytes - LARGE_PAGE).step_by(LARGE_PAGE) {
                allocate(fd, start, page_size()).map_err(|errno| refuse(None, Some(errno)))?;
            }
            mapping.gather_large_pages();
        }
        allocate(fd, 0, bytes).map_err(|errno| refuse(None, Some(errno)))?;
        mapping.populate();
        Ok(mapping)
    }
}

/// Makes bytes of a memory file exist.
fn allocate(fd: BorrowedFd<'_>, start: usize, bytes: usize) -> Result<(), Errno> {
    if bytes == 0 {
        return Ok(());
    }
    loop {
        match fs::fallocate(fd, FallocateFlags::empty(), start as u64, bytes as u64) {
            Err(Errno::INTR) => {}
            answer => return answer,
        }
    }
}

/// Removes the name of POSIX shared memory; the memory lives on while it is mapped.
///
/// # Errors
/// If there is no memory of that name.
pub fn remove_named(name: &str) -> Result<()> {
    shm::unlink(name).map_err(|errno| Error::system("removing the shared memory's name", errno))
}

impl Allocator for Shm {
    fn memory(&self) -> TensorMemory {
        TensorMemory::Shm
    }

    fn allocate(&self, request: &Request<'_>) -> Result<RawBuffer> {
        let size = request.bytes();
        let out_of_memory = |errno: Errno| Error::OutOfMemory {
            memory: TensorMemory::Shm,
            bytes: size,
            available: None,
            source: Some(errno.into()),
        };
        let unit = self.huge.map_or_else(page_size, HugePages::bytes);
        let whole = whole_pages(size)
            .and_then(|bytes| bytes.checked_next_multiple_of(unit).ok_or(Errno::OVERFLOW))
            .map_err(out_of_memory)?;
        if request.align() > unit && whole < LARGE_PAGE {
            return Err(Error::BadRequest { bytes: size, align: request.align() });
        }
        let (fd, sealable) = match &self.posix_name {
            Some(name) => (posix(name)?, false),
            None => {
                let flags = self.huge.map_or(MemfdFlags::empty(), HugePages::flag);
                let fd = memory_file(request.name().unwrap_or("tenure"), flags)
                    .map_err(|errno| Error::system("making a memory file", errno))?;
                (fd, true)
            }
        };
        let undo = Undo(self.posix_name.as_deref());
        let mapping = self.reserve_and_map(fd.as_fd(), whole)?;
        if sealable {
            // No other seals yet: read-only sharing adds one later.
            fs::fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::GROW)
                .map_err(|errno| Error::system("sealing the memory file", errno))?;
        }
        let watch = if sealable { None } else { Some(Watch::new(&mapping, true)?) };
        let shared = Shared::new(fd, mapping, size, true, watch)?;
        std::mem::forget(undo);
        Ok(RawBuffer::new(shared, request.name()))
    }
}

/// Removes the name of half-made POSIX memory.
struct Undo<'a>(Option<&'a str>);

impl Drop for Undo<'_> {
    fn drop(&mut self) {
        if let Some(name) = self.0 {
            let _ = shm::unlink(name);
        }
    }
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

fn posix(name: &str) -> Result<OwnedFd> {
    let flags = shm::OFlags::CREATE | shm::OFlags::EXCL | shm::OFlags::RDWR;
    shm::open(name, flags, Mode::RUSR | Mode::WUSR)
        .map_err(|errno| Error::system("making named shared memory", errno))
}

/// Opens named POSIX shared memory that another process made.
///
/// # Errors
/// If there is none of that name, or it may not be opened in the mode asked for.
pub fn open_named(name: &str, writable: bool) -> Result<RawBuffer> {
    let mode = if writable { shm::OFlags::RDWR } else { shm::OFlags::RDONLY };
    let fd = shm::open(name, mode, Mode::empty())
        .map_err(|errno| Error::system("opening named shared memory", errno))?;
    let size = fs::fstat(&fd).map_err(|errno| Error::system("asking for the size", errno))?.st_size;
    let size = usize::try_from(size).unwrap_or(0);
    let mapping = Mapping::shared(fd.as_fd(), size, writable)
        .map_err(|errno| Error::system("mapping named shared memory", errno))?;
    let watch = Some(Watch::new(&mapping, writable)?);
    Ok(RawBuffer::new(Shared::new(fd, mapping, size, writable, watch)?, Some(name)))
}

/// Bytes that the kernel thinks can be had without swapping.
fn available_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024)
}
