//! Private pages over a shared file: given to foreign code in place of the file's own pages,
//! cleaned of what it wrote, or left behind where a view of the shared pages is still in use.
#![expect(unsafe_code, reason = "maps, moves and asks about pages")]

use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;
use std::sync::atomic::{AtomicU8, Ordering};

use rustix::fs::{self, Mode, OFlags};
use rustix::ioctl::opcode;

use super::{
    Errno, LARGE_PAGE, MapFlags, Mapping, NonNull, ProtFlags, Range, Result, c_void, mm, not_null,
    page_size,
};

/// `MREMAP_MAYMOVE`, `MREMAP_FIXED` and `MREMAP_DONTUNMAP` (of shared pages since Linux 5.13),
/// which not every platform's headers have.
const MAY_MOVE: i32 = 1;
const FIXED: i32 = 2;
const DONT_UNMAP: i32 = 4;

/// Up to so many bytes, dropping all pages takes less time than asking which were written.
const FEW_BYTES: usize = 128 << 10;

/// `PAGE_IS_FILE`, `PAGE_IS_PRESENT` and `PAGE_IS_SWAPPED` of `PAGEMAP_SCAN`.
const FILE: u64 = 1 << 2;
const PRESENT: u64 = 1 << 3;
const SWAPPED: u64 = 1 << 4;

/// `struct page_region`: pages of the same categories.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Region {
    start: u64,
    end: u64,
    categories: u64,
}

/// `struct pm_scan_arg`.
#[repr(C)]
#[derive(Default)]
struct Scan {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    vec: u64,
    vec_len: u64,
    max_pages: u64,
    category_inverted: u64,
    category_mask: u64,
    category_anyof_mask: u64,
    return_mask: u64,
}

/// `PAGEMAP_SCAN`, since Linux 6.7.
const SCAN: rustix::ioctl::Opcode = opcode::read_write::<Scan>(b'f', 16);

impl Mapping {
    /// As [`Mapping::private`], and where the kernel can use large pages if there are any.
    pub(crate) fn private_aligned(fd: BorrowedFd<'_>, bytes: usize) -> Result<Mapping> {
        let hint = match bytes >= LARGE_PAGE {
            true => Mapping::anonymous(bytes, LARGE_PAGE)?.start(),
            false => ptr::null_mut(),
        };
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        Mapping::of_file(hint, fd, bytes, ProtFlags::READ | ProtFlags::WRITE, flags)
    }

    /// Of private pages: drops those that were written in `range`, so that the file's are seen
    /// again. Nobody may use the bytes meanwhile.
    pub(crate) fn forget_writes(&self, range: Range<usize>) -> Result<()> {
        let first = range.start / page_size() * page_size();
        let end = range.end.next_multiple_of(page_size()).min(self.len);
        if first >= end {
            return Ok(());
        }
        if end - first <= FEW_BYTES {
            return self.drop_pages(first, end);
        }
        match self.drop_written(first, end) {
            // Before Linux 6.7, without /proc, or out of descriptors.
            Err(_) => self.drop_pages(first, end),
            done => done,
        }
    }

    /// Asks which pages were written, and drops them.
    fn drop_written(&self, first: usize, end: usize) -> Result<()> {
        // Opened each time: after a fork it would be about the other process.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let pagemap = fs::open("/proc/self/pagemap", flags, Mode::empty())?;
        let base = self.address.addr().get();
        let (mut at, end) = ((base + first) as u64, (base + end) as u64);
        let mut found = [Region::default(); 32];
        while at < end {
            let mut scan = Scan {
                size: size_of::<Scan>() as u64,
                start: at,
                end,
                vec: found.as_mut_ptr().expose_provenance() as u64,
                vec_len: found.len() as u64,
                category_inverted: FILE,
                category_mask: FILE,
                category_anyof_mask: PRESENT | SWAPPED,
                return_mask: PRESENT,
                ..Scan::default()
            };
            // SAFETY: the kernel reads and writes `scan`, writes at most `vec_len` entries of
            // `found`, whose address is exposed, and only tells about the pages.
            let count = unsafe { libc::ioctl(pagemap.as_raw_fd(), SCAN as _, &raw mut scan) };
            let Ok(count) = usize::try_from(count) else { return Err(last_error()) };
            for region in found.iter().take(count) {
                self.drop_pages(region.start as usize - base, region.end as usize - base)?;
            }
            if scan.walk_end <= at {
                return Err(Errno::INVAL);
            }
            at = scan.walk_end;
        }
        Ok(())
    }

    /// Drops pages of a private mapping: the file's are seen again.
    fn drop_pages(&self, first: usize, end: usize) -> Result<()> {
        debug_assert!(first <= end && end <= self.len);
        // SAFETY: whole pages of our own mapping, which nobody uses now.
        unsafe {
            let start = self.address.as_ptr().add(first).cast();
            mm::madvise(start, end - first, mm::Advice::LinuxDontNeed)
        }
    }

    /// Moves shared pages of the file behind `fd` to another address, which is the answer, and
    /// leaves private ones here, which show the same bytes until either is written. A thread that
    /// writes here meanwhile changes the file until this returns and never afterwards; no write is
    /// lost and there is always something mapped. On an error all is as before.
    ///
    /// Not reached: pages that a device or the kernel has pinned, and the mapping that a process
    /// forked off earlier has.
    pub(crate) fn move_away(&self, fd: BorrowedFd<'_>) -> Result<Mapping> {
        // First, because it is refused where memory cannot be promised twice.
        let private = Mapping::private(fd, self.len)?;
        let hint = match self.len >= LARGE_PAGE {
            true => Mapping::anonymous(self.len, LARGE_PAGE)?.start(),
            false => ptr::null_mut(),
        };
        // SAFETY: our own mapping stays where it is, and shows the same file: only its page tables
        // go. The kernel chooses the other address, near the hint where that is free.
        let moved = unsafe { remap(self.start(), self.len, MAY_MOVE | DONT_UNMAP, hint)? };
        let moved = Mapping { address: not_null(moved)?, len: self.len };
        // SAFETY: replaces our own mapping by another of ours of the same length, in one step.
        unsafe { remap(private.start(), self.len, MAY_MOVE | FIXED, self.start())? };
        // It is unmapped as this mapping now.
        std::mem::forget(private);
        Ok(moved)
    }

    /// Of private pages: copies all that show the file's bytes, which then may change. Others may
    /// write the bytes meanwhile.
    pub(crate) fn copy_pages(&self) -> Result<()> {
        if self.len == 0 {
            return Ok(());
        }
        // SAFETY: advice about our own mapping that does not change its contents.
        match unsafe { mm::madvise(self.start(), self.len, mm::Advice::LinuxPopulateWrite) } {
            // Before Linux 5.14.
            Err(Errno::INVAL) => self.touch_pages(),
            answer => return answer,
        }
        Ok(())
    }

    fn touch_pages(&self) {
        for at in (0..self.len).step_by(page_size()) {
            // SAFETY: inside our own writable mapping; others use the byte by plain accesses of
            // foreign code only, which an exchange for itself does not disturb.
            let byte = unsafe { AtomicU8::from_ptr(self.address.as_ptr().add(at)) };
            let now = byte.load(Ordering::Relaxed);
            let _ = byte.compare_exchange(now, now, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    /// Private pages with a copy of the bytes at `from`, in the same place.
    ///
    /// # Safety
    /// `from` must be valid for reads of `bytes` bytes, which nobody writes meanwhile.
    pub(crate) unsafe fn copy_of(from: NonNull<u8>, bytes: usize) -> Result<Mapping> {
        let copy = Mapping::anonymous(bytes, page_size())?;
        // SAFETY: valid by the caller's promise, and new pages overlap nothing.
        unsafe { ptr::copy_nonoverlapping(from.as_ptr(), copy.address.as_ptr(), bytes) };
        Ok(copy)
    }
}

/// `mremap` of all `len` bytes at `from`.
///
/// # Safety
/// As the kernel has it: the bytes are mapped by us, and so are those at `to` if it is fixed.
unsafe fn remap(from: *mut c_void, len: usize, flags: i32, to: *mut c_void) -> Result<*mut c_void> {
    // SAFETY: by the caller's promise; the numbers are as wide as the kernel has them.
    let at = unsafe { libc::syscall(libc::SYS_mremap, from, len, len, flags as usize, to) };
    if at == -1 {
        return Err(last_error());
    }
    Ok(ptr::with_exposed_provenance_mut(at as usize))
}

fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL)
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;
    use crate::kind::shm::sealed_memory;

    const PAGES: usize = 100;

    fn put(mapping: &Mapping, page: usize, value: u8) {
        assert!(page * page_size() < mapping.len);
        // SAFETY: inside a writable mapping that only this test has.
        unsafe { mapping.address.as_ptr().add(page * page_size()).write_volatile(value) };
    }

    fn get(mapping: &Mapping, page: usize) -> u8 {
        assert!(page * page_size() < mapping.len);
        // SAFETY: inside a mapping that only this test has.
        unsafe { mapping.address.as_ptr().add(page * page_size()).read_volatile() }
    }

    #[test]
    fn the_kernel_tells_which_pages_were_written() {
        let fd = sealed_memory(PAGES * page_size()).unwrap();
        let private = Mapping::private_aligned(fd.as_fd(), PAGES * page_size()).unwrap();
        let all = 0..PAGES;
        // More runs of pages than are asked for at once; pages that were only read are not among
        // them, nor those outside of what is asked about.
        all.clone().for_each(|page| assert_eq!(get(&private, page), 0));
        all.clone().step_by(2).for_each(|page| put(&private, page, 1));
        let (first, end) = (2 * page_size(), 98 * page_size());
        match private.drop_written(first, end) {
            Ok(()) => {}
            // Before Linux 6.7, where all are dropped.
            Err(Errno::NOTTY | Errno::INVAL) => private.drop_pages(first, end).unwrap(),
            Err(errno) => panic!("{errno}"),
        }
        let seen: Vec<usize> = all.clone().filter(|page| get(&private, *page) != 0).collect();
        assert_eq!(seen, [0, 98]);
        private.forget_writes(0..PAGES * page_size()).unwrap();
        assert!(all.clone().all(|page| get(&private, page) == 0));
    }

    #[test]
    fn pages_move_and_what_is_left_is_private() {
        let bytes = PAGES * page_size();
        let fd = sealed_memory(bytes).unwrap();
        let shared = Mapping::shared(fd.as_fd(), bytes, true).unwrap();
        put(&shared, 3, 7);
        let moved = match shared.move_away(fd.as_fd()) {
            Ok(moved) => moved,
            // Before Linux 5.13: as before.
            Err(Errno::INVAL) => return assert_eq!(get(&shared, 3), 7),
            Err(errno) => panic!("{errno}"),
        };
        assert_eq!((get(&shared, 3), get(&moved, 3)), (7, 7));
        put(&shared, 3, 8);
        put(&moved, 4, 9);
        assert_eq!((get(&shared, 3), get(&moved, 3)), (8, 7));
        // What nobody has written there is the file's still, until it is copied.
        assert_eq!(get(&shared, 4), 9);
        shared.copy_pages().unwrap();
        put(&moved, 4, 10);
        assert_eq!((get(&shared, 4), get(&moved, 4)), (9, 10));
        moved.touch_pages();
        drop(shared);
        let again = Mapping::shared(fd.as_fd(), bytes, false).unwrap();
        assert_eq!((get(&again, 3), get(&again, 4)), (7, 10));
    }
}
