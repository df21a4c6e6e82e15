//! Pages mapped into this process, unmapped when dropped.
#![expect(unsafe_code, reason = "maps and unmaps pages")]

use std::ffi::c_void;
#[cfg(linux_like)]
use std::os::fd::BorrowedFd;
use std::ptr::{self, NonNull};

use rustix::io::{Errno, Result};
use rustix::mm::{self, MapFlags, ProtFlags};

/// Pages of this process.
#[derive(Debug)]
pub(crate) struct Mapping {
    address: NonNull<u8>,
    /// Whole pages; zero if nothing is mapped.
    len: usize,
}

// SAFETY: pages have no thread affinity; access to the bytes is ordered by the ledger.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

pub(crate) fn page_size() -> usize {
    rustix::param::page_size()
}

/// Rounded up to whole pages.
pub(crate) fn whole_pages(bytes: usize) -> Result<usize> {
    bytes.checked_next_multiple_of(page_size()).ok_or(Errno::OVERFLOW)
}

impl Mapping {
    /// Nothing mapped, for empty buffers.
    #[cfg(linux_like)]
    pub(crate) fn empty() -> Mapping {
        Mapping { address: crate::allocator::nowhere(), len: 0 }
    }

    /// Zeroed private pages that start at a multiple of `align`.
    pub(crate) fn anonymous(bytes: usize, align: usize) -> Result<Mapping> {
        let len = whole_pages(bytes)?;
        // More than needed, so that an aligned start is in it; the rest is given back.
        let slack = if align > page_size() { align - page_size() } else { 0 };
        let total = len.checked_add(slack).ok_or(Errno::OVERFLOW)?;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: the kernel chooses the address, so nothing that exists is replaced.
        let start = unsafe {
            mm::mmap_anonymous(ptr::null_mut(), total, ProtFlags::READ | ProtFlags::WRITE, flags)?
        };
        let before = start.addr().next_multiple_of(align.max(1)) - start.addr();
        let after = slack - before;
        // SAFETY: both ranges are unused parts of the mapping just made, in whole pages.
        unsafe {
            let used = start.byte_add(before);
            if before > 0 {
                mm::munmap(start, before)?;
            }
            if after > 0 {
                mm::munmap(used.byte_add(len), after)?;
            }
            Ok(Mapping { address: not_null(used)?, len })
        }
    }

    /// Pages of a file shared with everybody that maps it.
    #[cfg(linux_like)]
    pub(crate) fn shared(fd: BorrowedFd<'_>, bytes: usize, writable: bool) -> Result<Mapping> {
        let protection =
            if writable { ProtFlags::READ | ProtFlags::WRITE } else { ProtFlags::READ };
        Mapping::of_file(fd, bytes, protection, MapFlags::SHARED)
    }

    /// Pages of a file for this process alone: writing changes a copy, never the file.
    #[cfg(linux_like)]
    pub(crate) fn private(fd: BorrowedFd<'_>, bytes: usize) -> Result<Mapping> {
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        Mapping::of_file(fd, bytes, ProtFlags::READ | ProtFlags::WRITE, flags)
    }

    #[cfg(linux_like)]
    fn of_file(
        fd: BorrowedFd<'_>,
        bytes: usize,
        protection: ProtFlags,
        flags: MapFlags,
    ) -> Result<Mapping> {
        if bytes == 0 {
            return Ok(Mapping::empty());
        }
        let len = whole_pages(bytes)?;
        // SAFETY: the kernel chooses the address, so nothing that exists is replaced.
        let start = unsafe { mm::mmap(ptr::null_mut(), len, protection, flags, fd, 0)? };
        Ok(Mapping { address: not_null(start)?, len })
    }

    /// The first byte.
    pub(crate) fn address(&self) -> NonNull<u8> {
        self.address
    }

    /// Bytes mapped, in whole pages.
    #[cfg(linux_like)]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Asks for transparent huge pages; a kernel without them goes on with small ones.
    pub(crate) fn advise_huge_pages(&self) {
        #[cfg(linux_like)]
        // SAFETY: advice about our own mapping that does not change its contents.
        let _ = unsafe { mm::madvise(self.start(), self.len, mm::Advice::LinuxHugepage) };
    }

    /// Fills the page tables now, for writing, so that no fault comes later. Needs Linux 5.14;
    /// older kernels fault as pages are touched.
    #[cfg(linux_like)]
    pub(crate) fn populate(&self) {
        if self.len > 0 {
            let advice = mm::Advice::LinuxPopulateWrite;
            // SAFETY: advice about our own mapping that does not change its contents.
            let _ = unsafe { mm::madvise(self.start(), self.len, advice) };
        }
    }

    fn start(&self) -> *mut c_void {
        self.address.as_ptr().cast()
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        if self.len > 0 {
            // SAFETY: the pages were mapped by us and nobody holds references into them: guards
            // keep the raw buffer, and with it this mapping, alive.
            let _ = unsafe { mm::munmap(self.start(), self.len) };
        }
    }
}

fn not_null(start: *mut c_void) -> Result<NonNull<u8>> {
    NonNull::new(start.cast()).ok_or(Errno::NOMEM)
}
