//! One at a time, in signal handlers and across fork.
//!
//! A lock that knows the process that holds it: what another thread held when the process was
//! forked is nobody's in the child, and is taken over there.

use std::sync::atomic::{AtomicU32, Ordering};

/// Held by one thread of one process, or free.
#[derive(Debug)]
pub(crate) struct Turn {
    /// The process whose thread has it; zero if nobody has.
    holder: AtomicU32,
}

impl Turn {
    pub(crate) const fn new() -> Turn {
        Turn { holder: AtomicU32::new(0) }
    }

    /// Takes it if it is free. Given back with [`Turn::give_back`].
    pub(crate) fn take(&self) -> bool {
        self.take_as(std::process::id())
    }

    fn take_as(&self, process: u32) -> bool {
        let change = |from| {
            self.holder.compare_exchange(from, process, Ordering::Acquire, Ordering::Relaxed)
        };
        match change(0) {
            Ok(_) => true,
            Err(holder) => holder != process && change(holder).is_ok(),
        }
    }

    /// Makes it free.
    pub(crate) fn give_back(&self) {
        self.holder.store(0, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_takes_over_what_its_parent_held() {
        let turn = Turn::new();
        assert!(turn.take_as(1) && !turn.take_as(1), "one thread at a time");
        // After fork: the copy of the lock says that the parent has it.
        assert!(turn.take_as(2) && !turn.take_as(2));
        turn.give_back();
        assert!(turn.take_as(2));
    }
}
