//! What the handler puts in the place of missing pages.
//!
//! All that a file has lost is replaced at once, by one mapping without reserved memory: a process
//! may have only so many mappings, and a file may be larger than the machine. Everything here is
//! called in a signal handler: atomics and system calls, nothing else.
#![expect(unsafe_code, reason = "maps pages by address")]

use std::ffi::c_void;
use std::os::fd::BorrowedFd;
use std::ptr;
use std::sync::atomic::Ordering;

use rustix::fs;
use rustix::mm::{self, MapFlags, ProtFlags};

use super::{Range, Watched};

/// Puts zero pages in the place of those missing at and behind `address`; whether the instruction
/// may be tried again.
///
/// Nobody waits here. While another thread replaces pages of the same mapping, this returns: the
/// instruction then faults again, or no longer. So a thread depends on a system call of another
/// one only where both touch one file, and even then it can be interrupted and ended.
pub(super) fn refill(range: &Range, watched: Watched, address: usize, broken: bool) -> bool {
    if !range.turn.take() {
        // SAFETY: no arguments.
        unsafe { libc::sched_yield() };
        return true;
    }
    let done = replace(range, watched, address, broken);
    if done {
        range.lost.store(true, Ordering::Release);
    }
    range.turn.give_back();
    done
}

/// Whether the file is shorter than it is mapped and nobody has touched what is missing.
pub(super) fn awaits_fault(range: &Range) -> bool {
    let Some(watched) = range.get() else { return false };
    let first = first_missing(watched);
    first.is_some_and(|first| first < watched.end && first < range.replaced.load(Ordering::Relaxed))
}

/// The first address that the file has no page for; `None` if there is no saying.
fn first_missing(watched: Watched) -> Option<usize> {
    if watched.file < 0 {
        return None;
    }
    // SAFETY: the descriptor is open while the range is watched.
    let file = unsafe { BorrowedFd::borrow_raw(watched.file) };
    let size = u64::try_from(fs::fstat(file).ok()?.st_size).ok()?;
    let kept = size.saturating_sub(watched.offset).checked_next_multiple_of(watched.page as u64)?;
    // More than can be addressed is more than is mapped.
    let kept = usize::try_from(kept).unwrap_or(usize::MAX);
    Some(watched.start.saturating_add(kept))
}

fn replace(range: &Range, watched: Watched, address: usize, broken: bool) -> bool {
    let page = address & !(watched.page - 1);
    let replaced = range.replaced.load(Ordering::Relaxed).min(watched.end);
    if page >= replaced && !broken {
        // Another thread was here between the fault and now.
        return true;
    }
    if let Some(first) = first_missing(watched).filter(|first| *first <= page)
        && first < replaced
        && map_zeros(watched, first, replaced)
    {
        range.replaced.store(first, Ordering::Relaxed);
        return true;
    }
    // The file has the page, but it cannot be had: a disk that cannot be read, a huge page that
    // another process gave back, memory that is broken. Or it has it again.
    if !broken && can_be_had(watched, page) {
        return true;
    }
    if map_zeros(watched, page, page + watched.page) {
        return true;
    }
    // There can be no more mappings: everything behind the page goes with it.
    let all = map_zeros(watched, page, replaced);
    if all {
        range.replaced.store(page, Ordering::Relaxed);
    }
    all
}

/// Whether a page is there now.
fn can_be_had(watched: Watched, page: usize) -> bool {
    let place = ptr::without_provenance_mut::<c_void>(page);
    // SAFETY: advice about our own mapping, which changes none of its bytes.
    unsafe { mm::madvise(place, watched.page, mm::Advice::LinuxPopulateRead).is_ok() }
}

/// Maps zero pages over a part of a watched range.
fn map_zeros(watched: Watched, start: usize, end: usize) -> bool {
    let protection =
        if watched.writable { ProtFlags::READ | ProtFlags::WRITE } else { ProtFlags::READ };
    let flags = MapFlags::PRIVATE | MapFlags::FIXED | MapFlags::NORESERVE;
    let place = ptr::without_provenance_mut::<c_void>(start);
    // SAFETY: whole pages of a mapping of ours that is watched, so it is not unmapped before its
    // owner has let go; whoever reads them finds zeros in place of bytes that are gone.
    end > start && unsafe { mm::mmap_anonymous(place, end - start, protection, flags) }.is_ok()
}
