//! Memory files whose bytes exist before anybody touches them.

use std::os::fd::BorrowedFd;

use rustix::fs::{self, FallocateFlags};
use rustix::io::Errno;

use crate::mapping::{LARGE_PAGE, Mapping, page_size};
use crate::{Error, Result, TensorMemory};

/// From this size on the machine is asked whether it has so much before it is taken: the kernel
/// would rather kill a process than refuse.
const ASK_FIRST: usize = 64 << 20;

/// Makes sure that all bytes exist and maps them. `ordinary` pages come from main memory and are
/// gathered into large ones where the kernel can; others come from a reserve of their own.
pub(super) fn reserve_and_map(fd: BorrowedFd<'_>, bytes: usize, ordinary: bool) -> Result<Mapping> {
    let refuse = |available, errno: Option<Errno>| Error::OutOfMemory {
        memory: TensorMemory::Shm,
        bytes,
        available,
        source: errno.map(Into::into),
    };
    if ordinary
        && bytes >= ASK_FIRST
        && let Some(available) = available_memory()
        && bytes as u64 > available
    {
        return Err(refuse(Some(available), None));
    }
    let refused = |errno| refuse(None, Some(errno));
    fs::ftruncate(fd, bytes as u64).map_err(refused)?;
    let mapping = Mapping::shared(fd, bytes, true).map_err(refused)?;
    if ordinary && bytes >= LARGE_PAGE {
        // One page of each large page's range for the others to be gathered around: ten times as
        // fast as making them all.
        for start in (0..=bytes - LARGE_PAGE).step_by(LARGE_PAGE) {
            allocate(fd, start, page_size()).map_err(refused)?;
        }
        mapping.gather_large_pages();
    }
    allocate(fd, 0, bytes).map_err(refused)?;
    mapping.populate();
    Ok(mapping)
}

/// Makes all bytes of a new memory file exist.
pub(super) fn reserve(fd: BorrowedFd<'_>, bytes: usize) -> Result<()> {
    allocate(fd, 0, bytes).map_err(|errno| Error::OutOfMemory {
        memory: TensorMemory::Shm,
        bytes,
        available: None,
        source: Some(errno.into()),
    })
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

/// Bytes that the kernel thinks can be had without swapping.
fn available_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024)
}
