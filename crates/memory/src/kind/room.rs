//! Whether the machine has as much memory as is asked for: the kernel would rather kill a process
//! later than refuse now.
//!
//! Shared memory exists when it is made, so it is compared with what is free now. Heap pages exist
//! when they are touched, and tensors may stay sparse: all of them in this process together are
//! compared with what the machine has at all.

mod cgroup;

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Error, Result, TensorMemory};

/// From this size on the machine is asked for what is free now: it takes far longer to make such
/// memory than to ask.
const ASK_FIRST: usize = 4 << 20;

/// Refuses `bytes` bytes that take `whole` with what they are rounded up to, if that is more than
/// the kernel thinks can be had without swapping.
pub(super) fn check_room(memory: TensorMemory, bytes: usize, whole: usize) -> Result<()> {
    if whole < ASK_FIRST {
        return Ok(());
    }
    let Some((available, grouped)) = available() else { return Ok(()) };
    if whole as u64 <= available {
        return Ok(());
    }
    let source = grouped.then(|| io::Error::other(Limited { limit: limits().all, used: None }));
    Err(Error::from(crate::detail::OutOfMemory {
        memory,
        bytes,
        available: Some(available),
        source,
    }))
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
    fn the_machine_is_known() {
        assert!(main_memory() > 1 << 20 && main_memory() < 1 << 50);
    }
}
