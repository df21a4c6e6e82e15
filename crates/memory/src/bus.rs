//! Survives memory that is taken away: a mapped file that another process shortens, a huge page
//! that it gives back.
//!
//! Touching a page that is gone raises SIGBUS, which kills the process. Mappings that this can
//! happen to are watched: a handler, installed when the first one is made, puts zero
//! pages in the place of the missing ones and remembers it. Signals from anywhere else go on to
//! whoever handled them before.
#![expect(unsafe_code, reason = "a signal handler that maps pages")]

use std::ffi::c_void;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicUsize, Ordering, fence};

use rustix::io::Errno;
use rustix::mm::{self, MapFlags, ProtFlags};

use crate::descriptor::huge_page;
use crate::mapping::{Mapping, page_size};
use crate::{Error, Result};

/// Watches one mapping until dropped, which must happen before it is unmapped.
#[derive(Debug)]
pub(crate) struct Watch {
    range: &'static Range,
}

/// One watched range. Read by the signal handler, so never freed: reused instead.
#[derive(Debug, Default)]
struct Range {
    /// Odd while the five fields below change: the handler believes them if this stayed the same
    /// while it read them.
    version: AtomicUsize,
    /// First address; zero while free.
    start: AtomicUsize,
    /// One past the last address.
    end: AtomicUsize,
    /// Bytes of a page.
    page: AtomicUsize,
    /// Whether the pages are writable.
    writable: AtomicBool,
    /// The file, if nobody here writes its pages through a slice; otherwise -1.
    file: AtomicI32,
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
}

impl Watched {
    /// Nothing.
    const NOTHING: Watched = Watched { start: 0, end: 0, page: 0, writable: false, file: -1 };
}

impl Range {
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
        };
        fence(Ordering::Acquire);
        let unchanged =
            version == self.version.load(Ordering::Relaxed) && version.is_multiple_of(2);
        (unchanged && now.start != 0).then_some(now)
    }
}

/// The list of all ranges ever watched.
static FIRST: AtomicPtr<Range> = AtomicPtr::new(ptr::null_mut());
/// What handled the signal before; `None` in the cell if installing failed.
static PREVIOUS: OnceLock<Result<libc::sigaction, Errno>> = OnceLock::new();

impl Watch {
    /// Watches a mapping of the file behind `fd`, whose bytes guards may write if `writable`.
    pub(crate) fn new(mapping: &Mapping, fd: BorrowedFd<'_>, writable: bool) -> Result<Watch> {
        Watch::start(mapping, fd, writable, -1)
    }

    /// Watches a private mapping of a file, which guards only read. The file stays open for as
    /// long as it is watched.
    pub(crate) fn of_file(mapping: &Mapping, fd: BorrowedFd<'_>) -> Result<Watch> {
        Watch::start(mapping, fd, true, fd.as_raw_fd())
    }

    fn start(mapping: &Mapping, fd: BorrowedFd<'_>, writable: bool, file: i32) -> Result<Watch> {
        PREVIOUS
            .get_or_init(install)
            .as_ref()
            .map_err(|errno| Error::system("installing a handler for SIGBUS", *errno))?;
        let range = free_range();
        range.lost.store(false, Ordering::Relaxed);
        if mapping.len() > 0 {
            let start = mapping.address().addr().get();
            let (end, page) = (start + mapping.len(), huge_page(fd).unwrap_or_else(page_size));
            range.set(Watched { start, end, page, writable, file });
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
    let range: &'static Range =
        Box::leak(Box::new(Range { taken: AtomicBool::new(true), ..Range::default() }));
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

fn install() -> Result<libc::sigaction, Errno> {
    // SAFETY: the structures are plain data for which all zeros is valid, and the handler has the
    // signature that SA_SIGINFO asks for and only does what a signal handler may.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let mut previous: libc::sigaction = std::mem::zeroed();
        let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut c_void) = handle;
        action.sa_sigaction = handler as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        // Nothing interrupts the handler, so that no two of one thread wait for each other.
        libc::sigfillset(&raw mut action.sa_mask);
        if libc::sigaction(libc::SIGBUS, &raw const action, &raw mut previous) == 0 {
            Ok(previous)
        } else {
            Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL))
        }
    }
}

/// Only atomics and system calls: nothing that a signal handler may not do.
extern "C" fn handle(signal: i32, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes a valid siginfo to a handler installed with SA_SIGINFO.
    let (address, code) = unsafe { ((*info).si_addr().addr(), (*info).si_code) };
    // Signals that were sent carry whatever their sender wrote: only the kernel is believed.
    let sent = code <= 0;
    for range in ranges().take_while(|_| !sent) {
        if let Some(watched) = range.get()
            && (watched.start..watched.end).contains(&address)
            && refill(watched, address)
        {
            range.lost.store(true, Ordering::Release);
            return;
        }
    }
    pass_on(signal, sent, info, context);
}

/// Held while a page is replaced.
static REPLACING: AtomicBool = AtomicBool::new(false);

/// Which addresses to replace. The page touched and no other: one that was replaced before may
/// have been written since, through a slice that somebody still holds. Where nobody writes, all
/// that the file has lost, because a process may have only so many mappings.
fn missing(watched: Watched, address: usize) -> std::ops::Range<usize> {
    let page = address & !(watched.page - 1);
    if watched.file >= 0 {
        // SAFETY: async-signal-safe; the structure is valid when zeroed, and the descriptor is
        // open while the range is watched.
        let size = unsafe {
            let mut stat: libc::stat = std::mem::zeroed();
            if libc::fstat(watched.file, &raw mut stat) == 0 { Some(stat.st_size) } else { None }
        };
        let kept = size.and_then(|size| usize::try_from(size).ok());
        let first = kept
            .and_then(|kept| kept.checked_next_multiple_of(watched.page))
            .and_then(|kept| watched.start.checked_add(kept));
        if let Some(first) = first.filter(|first| *first <= page) {
            return first..watched.end;
        }
    }
    page..page + watched.page
}

/// Puts zero pages in the place of missing ones.
fn refill(watched: Watched, address: usize) -> bool {
    let touched = ptr::without_provenance_mut::<c_void>(address & !(watched.page - 1));
    let missing = missing(watched, address);
    let place = ptr::without_provenance_mut::<c_void>(missing.start);
    let (protection, advice) = if watched.writable {
        (ProtFlags::READ | ProtFlags::WRITE, mm::Advice::LinuxPopulateWrite)
    } else {
        (ProtFlags::READ, mm::Advice::LinuxPopulateRead)
    };
    while REPLACING.swap(true, Ordering::Acquire) {
        std::hint::spin_loop();
    }
    // SAFETY: advice about our own mapping, and the pages that are missing are replaced.
    let there = unsafe {
        // Another thread that touched the same page may have been here first.
        mm::madvise(touched, watched.page, advice).is_ok() || {
            let flags = MapFlags::PRIVATE | MapFlags::FIXED;
            mm::mmap_anonymous(place, missing.len(), protection, flags).is_ok()
        }
    };
    REPLACING.store(false, Ordering::Release);
    there
}

/// Not ours: whoever handled the signal before does it now.
fn pass_on(signal: i32, sent: bool, info: *mut libc::siginfo_t, context: *mut c_void) {
    let Some(Ok(previous)) = PREVIOUS.get() else { return restore_default(signal, sent) };
    match previous.sa_sigaction {
        // Faults cannot be ignored.
        libc::SIG_IGN if sent => {}
        libc::SIG_DFL | libc::SIG_IGN => restore_default(signal, sent),
        handler if previous.sa_flags & libc::SA_SIGINFO != 0 => {
            // SAFETY: the program installed this address as a handler with this signature.
            let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut c_void) =
                unsafe { std::mem::transmute(handler) };
            handler(signal, info, context);
            finish(signal, sent);
        }
        handler => {
            // SAFETY: the program installed this address as a handler with this signature.
            let handler: extern "C" fn(i32) = unsafe { std::mem::transmute(handler) };
            handler(signal);
            finish(signal, sent);
        }
    }
}

/// The instruction runs again and the signal then does what it does without a handler.
fn restore_default(signal: i32, sent: bool) {
    // SAFETY: async-signal-safe, and the structure is valid when zeroed (SIG_DFL).
    unsafe {
        let action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, &raw const action, ptr::null_mut());
    }
    finish(signal, sent);
}

/// A handler that steps aside (Rust's own does) waits for the fault to come again. What was sent
/// does not come again by itself.
fn finish(signal: i32, sent: bool) {
    // SAFETY: async-signal-safe; asks only, and the structure is valid when zeroed.
    let now = unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, ptr::null(), &raw mut now);
        now
    };
    if sent && now.sa_sigaction == libc::SIG_DFL {
        // SAFETY: async-signal-safe; arrives when the handler has returned.
        unsafe { libc::raise(signal) };
    }
}
