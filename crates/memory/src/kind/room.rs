//! Whether the machine has as much memory as is asked for: the kernel would rather kill a process
//! later than refuse now.
//!
//! Shared memory, and copies that the kernel makes of it, exist when they are made, so they are
//! compared with what is free now: large ones each, small ones whenever a few MiB of them have come
//! together. Heap pages exist when they are touched, and tensors may stay sparse: all of them in
//! this process together are compared with what the machine has at all.

mod cgroup;

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Error, Result, TensorMemory};

/// So many bytes are given before the machine is asked for what is free: for these it takes far
/// longer to make the memory than to ask.
const ASK_EVERY: u64 = 4 << 20;

/// What the kernel needs for one object beside its pages, roughly.
const OBJECT: u64 = 4 << 10;

/// Left free: what is given before the machine is asked again, and room for everybody else (stacks,
/// page tables, the words of an error).
const RESERVE: u64 = ASK_EVERY + (4 << 20);

/// Bytes that were given without asking the machine.
struct Unasked(AtomicU64);

static UNASKED: Unasked = Unasked(AtomicU64::new(0));

/// Refuses `bytes` bytes that take `whole` with what they are rounded up to, if that is more than
/// the kernel thinks can be had without swapping.
pub(crate) fn check_room(memory: TensorMemory, bytes: usize, whole: usize) -> Result<()> {
    give(memory, bytes, (whole as u64).saturating_add(OBJECT))
}

fn give(memory: TensorMemory, bytes: usize, cost: u64) -> Result<()> {
    UNASKED.give(cost, available).map_err(|(available, grouped)| {
        let source = grouped.then(|| io::Error::other(Limited { limit: limits().all, used: None }));
        Error::from(crate::detail::OutOfMemory {
            memory,
            bytes,
            available: Some(available),
            source,
        })
    })
}

/// A small heap block, whose pages are touched when it is made. Who makes and frees blocks in turn
/// asks the machine for nothing.
#[derive(Debug)]
pub(crate) struct Small {
    bytes: u64,
}

impl Small {
    /// Counts a block.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the machine has no room for it.
    pub(crate) fn new(bytes: usize) -> Result<Small> {
        give(TensorMemory::Mem, bytes, bytes as u64)?;
        Ok(Small { bytes: bytes as u64 })
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        UNASKED.take_back(self.bytes);
    }
}

impl Unasked {
    /// Gives `bytes` bytes, or says how many are left, of the machine or of a control group.
    fn give(&self, bytes: u64, ask: impl Fn() -> Option<(u64, bool)>) -> Result<(), (u64, bool)> {
        let small = bytes < ASK_EVERY;
        let cost = if small { bytes } else { 0 };
        let seen = self.0.fetch_add(cost, Ordering::Relaxed) + cost;
        if small && seen < ASK_EVERY {
            return Ok(());
        }
        let Some((available, grouped)) = ask() else { return Ok(()) };
        let Some(left) = available.checked_sub(RESERVE).and_then(|left| left.checked_sub(bytes))
        else {
            self.take_back(cost);
            return Err((available.saturating_sub(RESERVE), grouped));
        };
        // Near the end the machine is asked each time.
        if left >= ASK_EVERY {
            self.take_back(seen);
        }
        Ok(())
    }

    /// What others have been given meanwhile stays.
    fn take_back(&self, bytes: u64) {
        let less = |now: u64| Some(now.saturating_sub(bytes));
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }
}

/// Bytes that can be had now without swapping, and whether a control group leaves less than the
/// machine.
pub(crate) fn available() -> Option<(u64, bool)> {
    let machine = memory_line("MemAvailable:").map(|available| (available, false));
    let group = cgroup::available().map(|available| (available, true));
    machine.into_iter().chain(group).min()
}

/// What this machine has, and the control groups of this process allow.
#[derive(Clone, Copy)]
struct Limits {
    /// Bytes of memory, without swap.
    main: u64,
    /// Bytes of memory and swap.
    all: u64,
}

/// Read once: the answer takes longer than a small allocation. Without an answer (this process has
/// no descriptors left, say) nothing is refused here, and the next request asks again.
fn limits() -> Limits {
    static LIMITS: OnceLock<Limits> = OnceLock::new();
    let read = || {
        let machine = memory_line("MemTotal:")?;
        let main = cgroup::limit().ok()?.map_or(machine, |limit| limit.min(machine));
        Some(Limits { main, all: main.saturating_add(memory_line("SwapTotal:")?) })
    };
    let known = LIMITS.get().copied();
    known
        .or_else(|| read().map(|limits| *LIMITS.get_or_init(|| limits)))
        .unwrap_or(Limits { main: u64::MAX, all: u64::MAX })
}

/// Bytes of main memory that this process may use at all.
pub(crate) fn main_memory() -> u64 {
    limits().main
}

fn memory_line(name: &str) -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    kilobytes.checked_mul(1024)
}

/// Bytes counted against a limit until dropped.
#[derive(Debug)]
pub(crate) struct Claim {
    bytes: u64,
    counter: &'static AtomicU64,
}

/// Bytes of heap pages that this process has in tensors, touched or not.
static HEAP: AtomicU64 = AtomicU64::new(0);

impl Claim {
    /// Counts heap pages, if all of them together are within what the machine has.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] otherwise.
    pub(crate) fn heap(bytes: usize) -> Result<Claim> {
        let limit = limits().all;
        Claim::new(&HEAP, bytes as u64, limit).map_err(|used| {
            Error::from(crate::detail::OutOfMemory {
                memory: TensorMemory::Mem,
                bytes,
                available: Some(limit.saturating_sub(used)),
                source: Some(io::Error::other(Limited { limit, used: Some(used) })),
            })
        })
    }

    /// Counts bytes, or says how many are counted already if that would be more than `limit`.
    pub(crate) fn new(counter: &'static AtomicU64, bytes: u64, limit: u64) -> Result<Claim, u64> {
        let more = |used: u64| used.checked_add(bytes).filter(|all| *all <= limit);
        counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more)?;
        Ok(Claim { bytes, counter })
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.counter.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Why there is no more; part of the words of [`Error::OutOfMemory`].
#[derive(Debug)]
struct Limited {
    limit: u64,
    used: Option<u64>,
}

impl fmt::Display for Limited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "this process may use {} bytes of memory and swap", self.limit)?;
        match self.used {
            Some(used) => write!(f, ", and its tensors have {used} of them"),
            None => Ok(()),
        }
    }
}

impl StdError for Limited {}

/// The limit in words, if `source` is one.
pub(crate) fn limit_words(source: &Option<io::Error>) -> Option<String> {
    let inner = source.as_ref()?.get_ref()?;
    inner.downcast_ref::<Limited>().map(ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_add_up_to_the_limit_and_no_further() {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let first = Claim::new(&COUNTER, 60, 100).unwrap();
        assert_eq!(Claim::new(&COUNTER, 41, 100).unwrap_err(), 60);
        assert_eq!(Claim::new(&COUNTER, u64::MAX, u64::MAX).unwrap_err(), 60);
        let second = Claim::new(&COUNTER, 40, 100).unwrap();
        drop(first);
        assert!(Claim::new(&COUNTER, 60, 100).is_ok());
        drop(second);
        assert_eq!(COUNTER.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn small_requests_are_refused_together() {
        const MIB: u64 = 1 << 20;
        // A machine on which all that is given exists at once.
        let (unasked, free) = (Unasked(AtomicU64::new(0)), AtomicU64::new(100 * MIB));
        let questions = AtomicU64::new(0);
        let ask = || {
            questions.fetch_add(1, Ordering::Relaxed);
            Some((free.load(Ordering::Relaxed), false))
        };
        for bytes in [4096, 60_000, MIB, 3 * MIB + 5, 5 * MIB, 40 * MIB] {
            free.store(100 * MIB, Ordering::Relaxed);
            questions.store(0, Ordering::Relaxed);
            let mut given = 0;
            while unasked.give(bytes, ask).is_ok() {
                given += bytes;
                let before = free.fetch_sub(bytes, Ordering::Relaxed);
                assert!(before >= bytes, "{bytes}: {given} were given");
            }
            assert!(given + RESERVE + ASK_EVERY + bytes >= 60 * MIB, "{bytes}: only {given}");
            // Refused again and again, and not let in after a while.
            assert!((0..10_000).all(|_| unasked.give(bytes.max(MIB), ask).is_err()));
        }
        // Far from the end it is asked seldom.
        free.store(u64::MAX, Ordering::Relaxed);
        unasked.give(MIB, ask).unwrap();
        questions.store(0, Ordering::Relaxed);
        (0..1000).for_each(|_| unasked.give(40_000, ask).unwrap());
        assert!((8..16).contains(&questions.load(Ordering::Relaxed)), "{questions:?}");
        assert_eq!(unasked.give(u64::MAX, ask), Err((u64::MAX - RESERVE, false)));
        // What is given back is not asked for again.
        unasked.0.store(0, Ordering::Relaxed);
        for _ in 0..1000 {
            unasked.give(MIB, || unreachable!("nothing more is taken")).unwrap();
            unasked.take_back(MIB);
        }
    }

    #[test]
    fn the_machine_is_known() {
        assert!(main_memory() > 1 << 20 && main_memory() < 1 << 50);
    }
}
