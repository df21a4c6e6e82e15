//! Memory files whose bytes exist before anybody touches them.

use std::os::fd::BorrowedFd;

use rustix::fs::{self, FallocateFlags};
use rustix::io::Errno;

use crate::mapping::{LARGE_PAGE, Mapping, page_size};

/// Makes sure that all bytes exist and maps them, at a multiple of `align` if that can be had. `ordinary` pages come from main memory and are
/// gathered into large ones where the kernel can; others come from a reserve of their own.
pub(super) fn reserve_and_map(
    fd: BorrowedFd<'_>,
    bytes: usize,
    align: usize,
    ordinary: bool,
) -> Result<Mapping, Errno> {
    fs::ftruncate(fd, bytes as u64)?;
    let mapping = Mapping::shared_aligned(fd, bytes, align, true)?;
    if ordinary && bytes >= LARGE_PAGE {
        // One page of each large page's range for the others to be gathered around: ten times as
        // fast as making them all.
        for start in (0..=bytes - LARGE_PAGE).step_by(LARGE_PAGE) {
            allocate(fd, start, page_size())?;
        }
        mapping.gather_large_pages();
    }
    allocate(fd, 0, bytes)?;
    mapping.populate();
    Ok(mapping)
}

/// Makes bytes of a memory file exist.
pub(super) fn allocate(fd: BorrowedFd<'_>, start: usize, bytes: usize) -> Result<(), Errno> {
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
