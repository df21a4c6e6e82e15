//! Which process something was made in. A forked copy has the same memory and descriptors, and is
//! somebody else.
//!
//! What all allocations of a process go through is locked while it forks: a lock that another thread
//! had at that moment would be nobody's in the copy, and stay locked.
#![expect(unsafe_code, reason = "registers a function that runs in forked processes")]

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::bus::Turn;
use crate::{registry, statistics};

/// How often this process was forked off, counted from the first that asked.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// The process that something was made in, told from copies of it without asking the system.
///
/// Copies made by calling the kernel without the C library (`clone`) are not noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process {
    forks: u32,
}

impl Process {
    /// This one.
    pub fn current() -> Process {
        register();
        Process { forks: FORKS.load(Ordering::Relaxed) }
    }

    /// How often it was forked off since the first that asked.
    pub fn forks(self) -> u32 {
        self.forks
    }

    /// Whether this still is that process, and not one that was forked off it.
    pub fn is_current(self) -> bool {
        self.forks == FORKS.load(Ordering::Relaxed)
    }
}

impl Default for Process {
    fn default() -> Process {
        Process::current()
    }
}

/// Sees to it that forks are noticed from now on, and that no lock is lost in them.
pub(crate) fn register() {
    static REGISTERED: AtomicBool = AtomicBool::new(false);
    // Not `Once`: one that another thread is at when the process forks never ends in the copy.
    static REGISTERING: Turn = Turn::new();
    if cfg!(miri) || REGISTERED.load(Ordering::Acquire) {
        return;
    }
    while !REGISTERING.take() {
        std::thread::yield_now();
    }
    if !REGISTERED.load(Ordering::Relaxed) {
        // SAFETY: the functions stay for ever. Before the fork they may do anything; after it they
        // only count and unlock what this same thread has locked, which is allowed in a process that
        // was just forked off. If there is no memory to register them, forks are not noticed.
        let _ = unsafe { libc::pthread_atfork(Some(before), Some(after), Some(forked)) };
        REGISTERED.store(true, Ordering::Release);
    }
    REGISTERING.give_back();
}

thread_local! {
    /// The locks that this thread holds while it forks.
    static HELD: RefCell<Option<(registry::Locked, statistics::Locked)>> =
        const { RefCell::new(None) };
}

/// Runs before a fork. Registered twice (by a process that was forked off while it was registered),
/// it does nothing the second time.
extern "C" fn before() {
    let _ = HELD.try_with(|held| {
        if let Ok(mut held) = held.try_borrow_mut()
            && held.is_none()
        {
            // Nobody takes one of them while it has the other.
            *held = Some((registry::locked(), statistics::locked()));
        }
    });
}

/// Runs after a fork, in the process that forked.
extern "C" fn after() {
    let take = |held: &RefCell<Option<_>>| held.try_borrow_mut().ok().and_then(|mut it| it.take());
    drop(HELD.try_with(take));
}

/// Runs in the copy, before anything else does.
extern "C" fn forked() {
    FORKS.fetch_add(1, Ordering::Relaxed);
    after();
}
