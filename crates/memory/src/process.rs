//! Which process something was made in. A forked copy has the same memory and descriptors, and is
//! somebody else.
#![expect(unsafe_code, reason = "registers a function that runs in forked processes")]

use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

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
        static REGISTERED: Once = Once::new();
        REGISTERED.call_once(|| {
            // SAFETY: the function only counts, which is allowed in a process that was just forked
            // off. If there is no memory to register it, forks are not noticed.
            let _ = unsafe { libc::pthread_atfork(None, None, Some(forked)) };
        });
        Process { forks: FORKS.load(Ordering::Relaxed) }
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

/// Runs in the copy, before anything else does.
extern "C" fn forked() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}
