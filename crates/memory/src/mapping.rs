//! Pages mapped into this process, unmapped when dropped.
#![expect(unsafe_code, reason = "maps and unmaps pages")]

use std::ffi::c_void;
#[cfg(linux_like)]
use std::ops::Range;
#[cfg(linux_like)]
use std::os::fd::BorrowedFd;
use std::ptr::{self, NonNull};

use rustix::io::{Errno, Result};
use rustix::mm::{self, MapFlags, ProtFlags};

#[cfg(linux_like)]
mod private;

/// `MADV_COLLAPSE`, which not every platform's headers have.
#[cfg(linux_like)]
const COLLAPSE: i32 = 25;

/// Bytes of a large page on the systems that have them.
pub(crate) const LARGE_PAGE: usize = 2 << 20;

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

/// Rounded up to whole pages, or to whole large pages where that costs an eighth at most: a tail
/// of small pages takes more time to make and to use than all of the large ones.
pub(crate) fn whole_pages(bytes: usize) -> Result<usize> {
    let large = bytes.checked_next_multiple_of(LARGE_PAGE).ok_or(Errno::OVERFLOW)?;
    if large - bytes <= bytes / 8 {
        return Ok(large);
    }
    bytes.checked_next_multiple_of(page_size()).ok_or(Errno::OVERFLOW)
}

impl Mapping {
    /// Nothing mapped, for empty buffers.
    #[cfg(linux_like)]
    pub(crate) fn empty() -> Mapping {
        Mapping { address: crate::allocator::nowhere(), len: 0 }
    }

    /// Zeroed private pages that start at a multiple of `align`. The kernel keeps account of them,
    /// and refuses what the machine cannot have.
    pub(crate) fn anonymous(bytes: usize, align: usize) -> Result<Mapping> {
        Mapping::aligned(bytes, align, ProtFlags::READ | ProtFlags::WRITE)
    }

    /// Private pages that start at a multiple of `align`; without access they are addresses only,
    /// which the kernel keeps no account of.
    fn aligned(bytes: usize, align: usize, protection: ProtFlags) -> Result<Mapping> {
        let len = bytes.checked_next_multiple_of(page_size()).ok_or(Errno::OVERFLOW)?;
        // More than needed, so that an aligned start is in it; the rest is given back.
        let slack = if align > page_size() { align - page_size() } else { 0 };
        let total = len.checked_add(slack).ok_or(Errno::OVERFLOW)?;
        // SAFETY: the kernel chooses the address, so nothing that exists is replaced.
        let start =
            unsafe { mm::mmap_anonymous(ptr::null_mut(), total, protection, MapFlags::PRIVATE)? };
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

    /// Pages of a file shared with everybody that maps it. A mapping of a large page or more
    /// starts at a multiple of one, so that the kernel can use them.
    #[cfg(linux_like)]
    pub(crate) fn shared(fd: BorrowedFd<'_>, bytes: usize, writable: bool) -> Result<Mapping> {
        Mapping::shared_aligned(fd, bytes, 1, writable)
    }

    /// The same, at a multiple of `align` too; `AGAIN` if other threads were always quicker to
    /// take the addresses that would do.
    #[cfg(linux_like)]
    pub(crate) fn shared_aligned(
        fd: BorrowedFd<'_>,
        bytes: usize,
        align: usize,
        writable: bool,
    ) -> Result<Mapping> {
        let protection =
            if writable { ProtFlags::READ | ProtFlags::WRITE } else { ProtFlags::READ };
        let map = |hint| Mapping::of_file(hint, fd, bytes, protection, MapFlags::SHARED);
        let wanted = if bytes >= LARGE_PAGE { align.max(LARGE_PAGE) } else { align };
        if wanted <= page_size() || bytes == 0 {
            return map(ptr::null_mut());
        }
        // The hint is room that was mapped and given back; now and then another thread takes it
        // first. Mapping over the room instead would leave a hole there if the file refuses, and
        // giving the room back would unmap whatever another thread has put into that hole.
        let hint = || Mapping::aligned(bytes, wanted, ProtFlags::empty()).map(|room| room.start());
        let mut mapping = map(hint()?)?;
        for _ in 0..3 {
            if mapping.address.addr().get().is_multiple_of(wanted) {
                break;
            }
            mapping = map(hint()?)?;
        }
        if mapping.address.addr().get().is_multiple_of(align) {
            Ok(mapping)
        } else {
            Err(Errno::AGAIN)
        }
    }

    /// Pages of a file for this process alone: writing changes a copy, never the file.
    #[cfg(linux_like)]
    pub(crate) fn private(fd: BorrowedFd<'_>, bytes: usize) -> Result<Mapping> {
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        Mapping::of_file(ptr::null_mut(), fd, bytes, ProtFlags::READ | ProtFlags::WRITE, flags)
    }

    /// A part of a file for a moment, with its page tables filled: read-only, from a byte that is
    /// a multiple of a page.
    #[cfg(linux_like)]
    pub(crate) fn window(fd: BorrowedFd<'_>, at: u64, bytes: usize) -> Result<Mapping> {
        let len = bytes.checked_next_multiple_of(page_size()).ok_or(Errno::OVERFLOW)?;
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: the kernel chooses the address, so nothing that exists is replaced.
        let start = unsafe { mm::mmap(ptr::null_mut(), len, ProtFlags::READ, flags, fd, at)? };
        Ok(Mapping { address: not_null(start)?, len })
    }

    #[cfg(linux_like)]
    fn of_file(
        hint: *mut c_void,
        fd: BorrowedFd<'_>,
        bytes: usize,
        protection: ProtFlags,
        flags: MapFlags,
    ) -> Result<Mapping> {
        if bytes == 0 {
            return Ok(Mapping::empty());
        }
        let len = bytes.checked_next_multiple_of(page_size()).ok_or(Errno::OVERFLOW)?;
        // SAFETY: the kernel chooses the address, near the hint where that is free, so nothing
        // that exists is replaced.
        let start = unsafe { mm::mmap(hint, len, protection, flags, fd, 0)? };
        Ok(Mapping { address: not_null(start)?, len })
    }

    /// The first byte.
    pub(crate) fn address(&self) -> NonNull<u8> {
        self.address
    }

    /// Whether an address is inside.
    #[cfg(linux_like)]
    pub(crate) fn contains(&self, address: NonNull<u8>) -> bool {
        let start = self.address.addr().get();
        (start..start + self.len).contains(&address.addr().get())
    }

    /// Bytes mapped, in whole pages.
    #[cfg(linux_like)]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// How many bytes of `range` are in main memory.
    #[cfg(linux_like)]
    pub(crate) fn resident(&self, range: Range<usize>) -> Result<usize> {
        let page = page_size();
        let (first, end) = (range.start / page * page, range.end.min(self.len));
        if first >= end {
            return Ok(0);
        }
        let mut pages = vec![0u8; (end - first).div_ceil(page)];
        // SAFETY: the pages are inside our own mapping, of which the kernel is only asked, and
        // `pages` has a byte for each of them.
        let answer = unsafe {
            let start = self.address.as_ptr().add(first).cast();
            libc::mincore(start, end - first, pages.as_mut_ptr().cast())
        };
        if answer != 0 {
            return Err(
                Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL)
            );
        }
        let there = pages.iter().filter(|page| **page & 1 != 0).count();
        Ok((there * page).min(range.len()))
    }

    /// Asks for transparent huge pages; a kernel without them goes on with small ones.
    pub(crate) fn advise_huge_pages(&self) {
        #[cfg(linux_like)]
        // SAFETY: advice about our own mapping that does not change its contents.
        let _ = unsafe { mm::madvise(self.start(), self.len, mm::Advice::LinuxHugepage) };
    }

    /// Gathers the small pages of every large page's range into one large page, now and whatever
    /// the system's setting for shared memory is. Pages that do not exist yet become part of it.
    /// Needs Linux 6.1 and a free large page; otherwise small ones stay.
    #[cfg(linux_like)]
    pub(crate) fn gather_large_pages(&self) {
        let whole = self.len - self.len % LARGE_PAGE;
        // SAFETY: advice about our own mapping that does not change its contents.
        let _ = unsafe { libc::madvise(self.start(), whole, COLLAPSE) };
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
