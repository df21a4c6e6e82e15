//! Bytes out of the system's cache, in the faster of two ways.
//!
//! Which one that is depends on how the system has the file in its cache: large pieces, as reading
//! leaves them, are mapped at nearly no cost and copied at the speed of memory; single pages, as
//! writing leaves them, cost more to map than to read. So each way is measured once, and the
//! faster one goes on.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::source::{self, OpenFile};
use crate::{Error, Result};

/// What the two ways have cost, in picoseconds of the processor for a byte; zero if not known.
#[derive(Debug, Default)]
pub(super) struct Warm {
    copied: AtomicU64,
    read: AtomicU64,
}

impl Warm {
    /// Fills `into` with bytes from `at` that are in the cache.
    pub(super) fn fill(&self, source: &OpenFile, at: u64, into: &mut [u8]) -> Result<()> {
        let (copied, read) =
            (self.copied.load(Ordering::Relaxed), self.read.load(Ordering::Relaxed));
        let start = processor_time();
        let bytes = into.len() as u64;
        let took = || {
            let taken = processor_time().saturating_sub(start).saturating_mul(1000);
            (taken / bytes.max(1)).max(1)
        };
        if copied == 0 || (read != 0 && copied < read) {
            if copy(source, at, into)? {
                self.copied.store(took(), Ordering::Relaxed);
                return Ok(());
            }
            self.copied.store(u64::MAX, Ordering::Relaxed);
        }
        source::read_exact(source, at, into)?;
        self.read.store(took(), Ordering::Relaxed);
        Ok(())
    }
}

/// Nanoseconds that this thread has spent on a processor.
#[cfg(linux_like)]
fn processor_time() -> u64 {
    use rustix::time::{ClockId, clock_gettime};
    let now = clock_gettime(ClockId::ThreadCPUTime);
    let part = |number: i64| u64::try_from(number).unwrap_or(0);
    part(now.tv_sec).saturating_mul(1_000_000_000).saturating_add(part(now.tv_nsec))
}

/// Nothing is compared where there is one way only.
#[cfg(not(linux_like))]
fn processor_time() -> u64 {
    0
}

/// Copies out of the cache; false if the system cannot do it for this file.
#[cfg(linux_like)]
fn copy(source: &OpenFile, at: u64, into: &mut [u8]) -> Result<bool> {
    match tenure_memory::copy_from_cache(&source.file, at, into) {
        Ok(()) => Ok(true),
        Err(tenure_memory::Error::Truncated) => Err(Error::CutOff { at, had: source.size }),
        Err(_) => Ok(false),
    }
}

#[cfg(not(linux_like))]
fn copy(_source: &OpenFile, _at: u64, _into: &mut [u8]) -> Result<bool> {
    Ok(false)
}
