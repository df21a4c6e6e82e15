//! Bytes out of the system's cache, in the faster of two ways.
//!
//! Which one that is depends on how the system has the file in its cache: large pieces, as reading
//! leaves them, are mapped at nearly no cost and copied at the speed of memory; single pages, as
//! writing leaves them, cost more to map than to read. So each way is measured, and the faster one
//! goes on.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::Result;
use crate::source::{self, OpenFile};

/// How many pieces are filled in turns before one way goes on.
const TURNS: u64 = 8;
/// After so many pieces the other way is tried again: files are not the same everywhere.
const AGAIN: u64 = 64;

/// The part of it by which a cost may rise with each piece.
const FORGET: u64 = 16;

/// What the two ways have cost.
#[derive(Debug, Default)]
pub(super) struct Warm {
    pieces: AtomicU64,
    copied: Cost,
    read: Cost,
}

/// What a way costs, in picoseconds for a byte: the least that was seen, which is forgotten slowly.
/// By the clock on the wall, because that of the processor jumps on virtual machines; what else the
/// machine does can only add to it, and one piece that had to wait must not decide for many.
#[derive(Debug, Default)]
struct Cost(AtomicU64);

impl Cost {
    fn add(&self, time: Duration, bytes: usize) {
        let cost = time.as_nanos().saturating_mul(1000) / (bytes as u128).max(1);
        let cost = u64::try_from(cost).unwrap_or(u64::MAX);
        let before = self.now();
        // Another thread may add at the same time; one of the two then counts.
        let after = if before == 0 { cost } else { cost.min(before + before / FORGET) };
        self.0.store(after, Ordering::Relaxed);
    }

    fn now(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Warm {
    /// Fills `into` with bytes from `at` that are in the cache.
    pub(super) fn fill(&self, source: &OpenFile, at: u64, into: &mut [u8]) -> Result<()> {
        let piece = self.pieces.fetch_add(1, Ordering::Relaxed);
        let by_copy = if piece < TURNS {
            piece.is_multiple_of(2)
        } else {
            (self.copied.now() < self.read.now()) != (piece % AGAIN == AGAIN - 1)
        };
        let start = Instant::now();
        if by_copy && copy(source, at, into)? {
            self.copied.add(start.elapsed(), into.len());
        } else {
            source::read_exact(source, at, into)?;
            self.read.add(start.elapsed(), into.len());
        }
        Ok(())
    }
}

/// Copies out of the cache; false if the system cannot do it for this file.
#[cfg(linux_like)]
fn copy(source: &OpenFile, at: u64, into: &mut [u8]) -> Result<bool> {
    match tenure_memory::backend::copy_from_cache(&source.file, at, into) {
        Ok(()) => Ok(true),
        Err(tenure_memory::Error::Truncated) => Err(crate::Error::CutOff { at, had: source.size }),
        Err(_) => Ok(false),
    }
}

#[cfg(not(linux_like))]
fn copy(_source: &OpenFile, _at: u64, _into: &mut [u8]) -> Result<bool> {
    Ok(false)
}
