//! Survives memory that is taken away: a mapped file that another process shortens, a huge page
//! that it gives back.
//!
//! Touching a page that is gone raises SIGBUS, which kills the process. Mappings that this can
//! happen to are watched: a handler puts zero pages in the place of the missing ones and remembers
//! it. Signals from anywhere else go on to the handler that was there before. What is guaranteed,
//! and what no library can guarantee, is said at [`ensure_sigbus_handler`].
//!
//! - `handler`: the handler, and installing it;
//! - `others`: the handlers that are called for signals that are not ours;
//! - `refill`: what the handler puts in the place of missing pages;
//! - `turn`: one thread at a time for each mapping.
#![expect(unsafe_code, reason = "a list of leaked entries that a signal handler reads")]

mod handler;
mod others;
mod refill;
mod turn;

use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;
use std::sync::atomic::{
    AtomicBool, AtomicI32, AtomicPtr, AtomicU64, AtomicUsize, Ordering, fence,
};

pub use handler::ensure_sigbus_handler;
pub(crate) use handler::unblock;

pub(crate) use self::turn::Turn;
use crate::Result;
use crate::descriptor::huge_page;
use crate::mapping::{Mapping, page_size};

/// Watches one mapping until dropped, which must happen before it is unmapped.
#[derive(Debug)]
pub(crate) struct Watch {
    range: &'static Range,
}

/// One watched range. Read by the signal handler, so never freed: reused instead.
#[derive(Debug)]
struct Range {
    /// Odd while the fields up to `offset` change: the handler believes them if this stayed the
    /// same while it read them.
    version: AtomicUsize,
    /// First address; zero while free.
    start: AtomicUsize,
    /// One past the last address.
    end: AtomicUsize,
    /// Bytes of a page.
    page: AtomicUsize,
    /// Whether the pages are writable.
    writable: AtomicBool,
    /// The file; open for as long as it is watched.
    file: AtomicI32,
    /// Which byte of the file is at `start`.
    offset: AtomicU64,
    /// The first address of the tail that was replaced: it may have been written since, through a
    /// slice that somebody still holds, so it is not replaced again. Changed by whoever has
    /// `turn`.
    replaced: AtomicUsize,
    /// Whether a signal that this process sent to itself was taken for the herald of a fault here.
    heralded: AtomicBool,
    /// Held while pages are replaced.
    turn: Turn,
    /// Whether pages were missing.
    lost: AtomicBool,
    /// Whether somebody owns the entry.
    taken: AtomicBool,
    next: AtomicPtr<Range>,
}

/// What the handler needs to know of a range.
#[derive(Clone, Copy)]
struct Watched {
    start: usize,
    end: usize,
    page: usize,
    writable: bool,
    file: i32,
    offset: u64,
}

impl Watched {
    /// Nothing.
    const NOTHING: Watched =
        Watched { start: 0, end: 0, page: 0, writable: false, file: -1, offset: 0 };
}

impl Range {
    /// An entry that watches nothing and has an owner.
    fn new() -> Range {
        Range {
            version: AtomicUsize::new(0),
            start: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
            page: AtomicUsize::new(0),
            writable: AtomicBool::new(false),
            file: AtomicI32::new(-1),
            offset: AtomicU64::new(0),
            replaced: AtomicUsize::new(usize::MAX),
            heralded: AtomicBool::new(false),
            turn: Turn::new(),
            lost: AtomicBool::new(false),
            taken: AtomicBool::new(true),
            next: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Changes what is watched. Called by the owner of the entry only.
    fn set(&self, to: Watched) {
        let version = self.version.load(Ordering::Relaxed);
        self.version.store(version.wrapping_add(1), Ordering::Relaxed);
        fence(Ordering::Release);
        self.start.store(to.start, Ordering::Relaxed);
        self.end.store(to.end, Ordering::Relaxed);
        self.page.store(to.page, Ordering::Relaxed);
        self.writable.store(to.writable, Ordering::Relaxed);
        self.file.store(to.file, Ordering::Relaxed);
        self.offset.store(to.offset, Ordering::Relaxed);
        self.version.store(version.wrapping_add(2), Ordering::Release);
    }

    /// What is watched, unless that changes at this moment: what a thread touches does not.
    fn get(&self) -> Option<Watched> {
        let version = self.version.load(Ordering::Acquire);
        let now = Watched {
            start: self.start.load(Ordering::Relaxed),
            end: self.end.load(Ordering::Relaxed),
            page: self.page.load(Ordering::Relaxed),
            writable: self.writable.load(Ordering::Relaxed),
            file: self.file.load(Ordering::Relaxed),
            offset: self.offset.load(Ordering::Relaxed),
        };
        fence(Ordering::Acquire);
        let unchanged =
            version == self.version.load(Ordering::Relaxed) && version.is_multiple_of(2);
        (unchanged && now.start != 0).then_some(now)
    }
}

/// The list of all ranges ever watched.
static FIRST: AtomicPtr<Range> = AtomicPtr::new(ptr::null_mut());

impl Watch {
    /// Watches a mapping of the file behind `fd` from its first byte on. The descriptor must stay
    /// open for as long as this exists; `writable` says how the pages are mapped.
    pub(crate) fn new(mapping: &Mapping, fd: BorrowedFd<'_>, writable: bool) -> Result<Watch> {
        Watch::from(mapping, fd, writable, 0)
    }

    /// As [`Watch::new`], of a mapping that begins at byte `offset` of the file.
    pub(crate) fn from(
        mapping: &Mapping,
        fd: BorrowedFd<'_>,
        writable: bool,
        offset: u64,
    ) -> Result<Watch> {
        ensure_sigbus_handler()?;
        let range = free_range();
        range.lost.store(false, Ordering::Relaxed);
        range.replaced.store(usize::MAX, Ordering::Relaxed);
        range.heralded.store(false, Ordering::Relaxed);
        if mapping.len() > 0 {
            let start = mapping.address().addr().get();
            let (end, page) = (start + mapping.len(), huge_page(fd).unwrap_or_else(page_size));
            range.set(Watched { start, end, page, writable, file: fd.as_raw_fd(), offset });
        }
        Ok(Watch { range })
    }

    /// Whether another process took bytes away.
    pub(crate) fn lost(&self) -> bool {
        self.range.lost.load(Ordering::Acquire)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.range.set(Watched::NOTHING);
        self.range.taken.store(false, Ordering::Release);
    }
}

fn ranges() -> impl Iterator<Item = &'static Range> {
    let mut at = FIRST.load(Ordering::Acquire);
    std::iter::from_fn(move || {
        // SAFETY: entries are leaked boxes, linked when complete and never freed.
        let range = unsafe { at.as_ref() }?;
        at = range.next.load(Ordering::Acquire);
        Some(range)
    })
}

/// An entry nobody owns, or a new one.
fn free_range() -> &'static Range {
    let free = |range: &&Range| {
        range.taken.compare_exchange(false, true, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    };
    if let Some(range) = ranges().find(free) {
        return range;
    }
    let range: &'static Range = Box::leak(Box::new(Range::new()));
    let this = ptr::from_ref(range).cast_mut();
    let mut first = FIRST.load(Ordering::Acquire);
    loop {
        range.next.store(first, Ordering::Relaxed);
        match FIRST.compare_exchange(first, this, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => return range,
            Err(now) => first = now,
        }
    }
}
