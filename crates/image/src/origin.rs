//! Which process something was made in: threads do not survive a fork, so what has threads of its own
//! does without them in a process that was forked off.

/// The process that something was made in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Origin {
    #[cfg(linux_like)]
    process: tenure_memory::backend::Process,
    #[cfg(not(linux_like))]
    process: u32,
}

impl Origin {
    /// This process.
    pub(crate) fn here() -> Origin {
        #[cfg(linux_like)]
        return Origin { process: tenure_memory::backend::Process::current() };
        #[cfg(not(linux_like))]
        return Origin { process: std::process::id() };
    }

    /// How often the process was forked off, as far as that is known.
    pub(crate) fn forks(self) -> usize {
        #[cfg(linux_like)]
        return self.process.forks() as usize;
        #[cfg(not(linux_like))]
        return 0;
    }

    /// Whether this still is that process, and not one that was forked off it.
    pub(crate) fn is_here(self) -> bool {
        #[cfg(linux_like)]
        return self.process.is_current();
        #[cfg(not(linux_like))]
        return self.process == std::process::id();
    }
}
