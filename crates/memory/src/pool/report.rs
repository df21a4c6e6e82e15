//! How much a pool may have, and what it did.

use std::fmt;

/// How much a pool may have.
///
/// Bytes are those of the buffers that the pool makes: up to an eighth more than was asked for
/// ([`crate::Allocator::allocate`] of a pool), but never more than the limit allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolLimits {
    /// The most bytes in use and kept together. A request that does not fit, even if everything
    /// kept is given up for it, is [`crate::Error::PoolFull`].
    pub bytes: usize,
    /// The most bytes kept for reuse.
    pub kept_bytes: usize,
    /// The most buffers kept for reuse.
    pub buffers: usize,
}

impl PoolLimits {
    /// At most so many bytes in use and kept together, and so many buffers kept. `usize::MAX` is no
    /// limit.
    pub fn new(bytes: usize, buffers: usize) -> PoolLimits {
        PoolLimits { bytes, kept_bytes: bytes, buffers }
    }
}

impl Default for PoolLimits {
    /// No limit to what is in use; 256 MiB in at most 64 buffers are kept.
    fn default() -> PoolLimits {
        PoolLimits { bytes: usize::MAX, kept_bytes: 256 << 20, buffers: 64 }
    }
}

/// What a pool did and holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PoolReport {
    /// Requests served from kept buffers.
    pub hits: u64,
    /// Requests that went to the allocator.
    pub misses: u64,
    /// Buffers given up because a limit was reached, they were idle, or others may hold them.
    pub given_up: u64,
    /// Buffers kept now.
    pub kept: usize,
    /// Bytes kept now.
    pub kept_bytes: usize,
    /// Buffers in use now.
    pub used: usize,
    /// Bytes in use now.
    pub used_bytes: usize,
    /// The most bytes that were in use at one time.
    pub peak_bytes: usize,
    /// The most buffers that were in use at one time.
    pub peak: usize,
}

impl PoolReport {
    /// Limits that keep exactly what the pool has seen in use at one time, with no limit to what is
    /// in use: run a few rounds, then make the pool with these.
    pub fn limits(&self) -> PoolLimits {
        PoolLimits { bytes: usize::MAX, kept_bytes: self.peak_bytes, buffers: self.peak }
    }
}

impl fmt::Display for PoolReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} in use ({} bytes, peak {}), {} kept ({} bytes), {} reused, {} allocated, {} given up",
            self.used,
            self.used_bytes,
            self.peak_bytes,
            self.kept,
            self.kept_bytes,
            self.hits,
            self.misses,
            self.given_up
        )
    }
}

impl PoolReport {
    /// Bytes in use and kept.
    pub(super) fn all_bytes(&self) -> usize {
        self.used_bytes.saturating_add(self.kept_bytes)
    }

    pub(super) fn begin_use(&mut self, bytes: usize) {
        self.used += 1;
        self.used_bytes += bytes;
        self.peak = self.peak.max(self.used);
        self.peak_bytes = self.peak_bytes.max(self.used_bytes);
    }

    pub(super) fn end_use(&mut self, bytes: usize) {
        self.used -= 1;
        self.used_bytes -= bytes;
    }

    pub(super) fn begin_keeping(&mut self, bytes: usize) {
        self.kept += 1;
        self.kept_bytes += bytes;
    }

    pub(super) fn end_keeping(&mut self, bytes: usize) {
        self.kept -= 1;
        self.kept_bytes -= bytes;
    }
}
