//! How much of a producer's memory a subscriber keeps at one time. A producer can send new memory
//! with every frame, as large as it says: without a limit it could take all of this process's
//! addresses and descriptors.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::process::{Resource, getrlimit};
use rustix::system::sysinfo;

use crate::Error;

/// More memories are not kept unless the user says so: as many as a stream has slots.
const MOST_MEMORIES: usize = crate::wire::MOST_SLOTS;

/// The limits of one connection, and what is used of them. Without locks, so that a process that was
/// forked off can drop what it inherited at any moment.
#[derive(Debug)]
pub(super) struct Budget {
    bytes: Limited,
    memories: Limited,
}

#[derive(Debug)]
struct Limited {
    limit: usize,
    used: AtomicUsize,
}

/// The memory of one slot, counted until it is dropped.
#[derive(Debug)]
pub(super) struct Charge {
    budget: Arc<Budget>,
    bytes: usize,
    memories: usize,
}

impl Limited {
    fn new(limit: usize) -> Limited {
        Limited { limit, used: AtomicUsize::new(0) }
    }

    /// Uses more; if that is too much, what it would be.
    fn take(&self, more: usize) -> Result<usize, usize> {
        let after = |used: usize| used.checked_add(more).filter(|after| *after <= self.limit);
        match self.used.fetch_update(Ordering::SeqCst, Ordering::SeqCst, after) {
            Ok(before) => Ok(before + more),
            Err(used) => Err(used.saturating_add(more)),
        }
    }

    fn give_back(&self, less: usize) {
        self.used.fetch_sub(less, Ordering::SeqCst);
    }
}

impl Budget {
    /// With these limits, or else with the usual ones.
    pub(super) fn new(bytes: Option<usize>, memories: Option<usize>) -> Budget {
        let usual_memories = || {
            let open = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
            usize::try_from(open / 2).unwrap_or(MOST_MEMORIES).min(MOST_MEMORIES)
        };
        Budget {
            bytes: Limited::new(bytes.unwrap_or_else(half_of_memory)),
            memories: Limited::new(memories.unwrap_or_else(usual_memories)),
        }
    }

    /// Counts the memory of a slot; an error if that is too much.
    pub(super) fn charge(
        self: &Arc<Budget>,
        name: &str,
        bytes: usize,
        memories: usize,
    ) -> crate::Result<Charge> {
        let refused = |bytes, memories| {
            Error::from(crate::detail::MemoryLimit {
                name: name.to_owned(),
                bytes,
                byte_limit: self.bytes.limit,
                memories,
                memory_limit: self.memories.limit,
            })
        };
        match (self.bytes.take(bytes), self.memories.take(memories)) {
            (Ok(_), Ok(_)) => Ok(Charge { budget: Arc::clone(self), bytes, memories }),
            (Ok(all), Err(then)) => {
                self.bytes.give_back(bytes);
                Err(refused(all, then))
            }
            (Err(then), Ok(all)) => {
                self.memories.give_back(memories);
                Err(refused(then, all))
            }
            (Err(bytes), Err(memories)) => Err(refused(bytes, memories)),
        }
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.budget.bytes.give_back(self.bytes);
        self.budget.memories.give_back(self.memories);
    }
}

fn half_of_memory() -> usize {
    let machine = sysinfo();
    let unit = u64::from(machine.mem_unit).max(1);
    #[allow(clippy::useless_conversion, reason = "the width differs between architectures")]
    let bytes = u64::from(machine.totalram).saturating_mul(unit) / 2;
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_dropped_can_be_used_again() {
        let budget = Arc::new(Budget::new(Some(100), Some(3)));
        let first = budget.charge("s", 60, 1).unwrap();
        let refused = budget.charge("s", 50, 1).unwrap_err().to_string();
        assert!(refused.contains("110 bytes in 2 memories, at most 100 in 3"), "{refused}");
        assert!(budget.charge("s", 1, 3).is_err());
        assert!(budget.charge("s", usize::MAX, usize::MAX).is_err());
        let second = budget.charge("s", 40, 2).unwrap();
        drop(first);
        budget.charge("s", 60, 1).unwrap();
        drop(second);
        budget.charge("s", 100, 3).unwrap();
    }
}
