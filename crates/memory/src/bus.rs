//! Survives memory that is taken away: a mapped file that another process shortens.
//!
//! Touching a page beyond a file's new end raises SIGBUS, which kills the process. Mappings that
//! this can happen to are watched: a handler, installed when the first one is made, puts zero
//! pages in the place of the missing ones and remembers it. Signals from anywhere else go on to
//! whoever handled them before.
#![expect(unsafe_code, reason = "a signal handler that maps pages")]

use std::ffi::c_void;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use rustix::io::Errno;
use rustix::mm::{self, MapFlags, ProtFlags};

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
    /// First address; zero while free.
    start: AtomicUsize,
    /// One past the last address.
    end: AtomicUsize,
    /// Whether the pages are writable.
    writable: AtomicBool,
    /// Whether pages were missing.
    lost: AtomicBool,
    /// Whether somebody owns the entry.
    taken: AtomicBool,
    next: AtomicPtr<Range>,
}

/// The list of all ranges ever watched.
static FIRST: AtomicPtr<Range> = AtomicPtr::new(ptr::null_mut());
/// What handled the signal before; `None` in the cell if installing failed.
static PREVIOUS: OnceLock<Result<libc::sigaction, Errno>> = OnceLock::new();

impl Watch {
    pub(crate) fn new(mapping: &Mapping, writable: bool) -> Result<Watch> {
        PREVIOUS
            .get_or_init(install)
            .as_ref()
            .map_err(|errno| Error::system("installing a handler for SIGBUS", *errno))?;
        let range = free_range();
        let start = mapping.address().addr().get();
        range.writable.store(writable, Ordering::Relaxed);
        range.lost.store(false, Ordering::Relaxed);
        if mapping.len() > 0 {
            range.end.store(start + mapping.len(), Ordering::Relaxed);
            range.start.store(start, Ordering::Release);
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
        self.range.start.store(0, Ordering::Release);
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
        libc::sigemptyset(&raw mut action.sa_mask);
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
    let address = unsafe { (*info).si_addr() }.addr();
    for range in ranges() {
        let start = range.start.load(Ordering::Acquire);
        let end = range.end.load(Ordering::Relaxed);
        if start != 0 && (start..end).contains(&address) && refill(range, address, end) {
            range.lost.store(true, Ordering::Release);
            return;
        }
    }
    pass_on(signal, info, context);
}

/// Zero pages from the one touched to the end of the range.
fn refill(range: &Range, address: usize, end: usize) -> bool {
    let first = address & !(page_size() - 1);
    let mut protection = ProtFlags::READ;
    if range.writable.load(Ordering::Relaxed) {
        protection |= ProtFlags::WRITE;
    }
    let place = ptr::without_provenance_mut(first);
    let flags = MapFlags::PRIVATE | MapFlags::FIXED;
    // SAFETY: replaces pages of a mapping that we own and that its file no longer backs.
    unsafe { mm::mmap_anonymous(place, end - first, protection, flags) }.is_ok()
}

/// Not ours: whoever handled the signal before does it now.
fn pass_on(signal: i32, info: *mut libc::siginfo_t, context: *mut c_void) {
    let Some(Ok(previous)) = PREVIOUS.get() else { return restore_default(signal) };
    match previous.sa_sigaction {
        libc::SIG_DFL | libc::SIG_IGN => restore_default(signal),
        handler if previous.sa_flags & libc::SA_SIGINFO != 0 => {
            // SAFETY: the program installed this address as a handler with this signature.
            let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut c_void) =
                unsafe { std::mem::transmute(handler) };
            handler(signal, info, context);
        }
        handler => {
            // SAFETY: the program installed this address as a handler with this signature.
            let handler: extern "C" fn(i32) = unsafe { std::mem::transmute(handler) };
            handler(signal);
        }
    }
}

/// The instruction runs again and the signal then does what it does without a handler.
fn restore_default(signal: i32) {
    // SAFETY: async-signal-safe, and the structure is valid when zeroed (SIG_DFL).
    unsafe {
        let action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, &raw const action, ptr::null_mut());
    }
}
