//! The memory that streams of others may take here, all of them together.
//!
//! Whoever is in the network can send frames of any size under any number of names: what they take is
//! counted here before it is taken, and given back when it is dropped.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The part of the available memory that is used unless it is said otherwise.
const SHARE: u64 = 4;
/// The budget where nobody says how much memory is available.
const UNKNOWN: u64 = 1 << 30;
/// The smallest budget.
pub(crate) const LEAST: u64 = 1 << 20;

/// A number of bytes, and how many of them are taken.
#[derive(Debug)]
pub(crate) struct Budget {
    limit: u64,
    used: Mutex<u64>,
}

/// Bytes that somebody has taken. They are given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    budget: Arc<Budget>,
    bytes: u64,
}

/// There is not so much left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "{needed} bytes more than are used now would exceed the bridge's memory: {used} of {limit} bytes \
     are used{}",
    tenure_layout::Remedy::RaiseBridgeMemory.clause()
)]
pub struct OverBudget {
    /// Bytes that were asked for besides those that are used.
    pub needed: u64,
    /// Bytes that are used.
    pub used: u64,
    /// The most bytes.
    pub limit: u64,
}

impl OverBudget {
    /// What sort of error it is.
    pub fn kind(&self) -> tenure_layout::ErrorKind {
        tenure_layout::ErrorKind::OutOfMemory
    }
}

impl Budget {
    pub(crate) fn new(limit: u64) -> Arc<Budget> {
        Arc::new(Budget { limit, used: Mutex::new(0) })
    }

    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    pub(crate) fn used(&self) -> u64 {
        *self.lock()
    }

    fn lock(&self) -> MutexGuard<'_, u64> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A share of no bytes.
    pub(crate) fn share(self: &Arc<Budget>) -> Share {
        Share { budget: Arc::clone(self), bytes: 0 }
    }

    /// A share of so many bytes, if there are as many.
    pub(crate) fn take(self: &Arc<Budget>, bytes: u64) -> Result<Share, OverBudget> {
        let mut share = self.share();
        share.resize(bytes)?;
        Ok(share)
    }
}

impl Share {
    /// Takes more, if there is more, or gives back.
    pub(crate) fn resize(&mut self, bytes: u64) -> Result<(), OverBudget> {
        let mut used = self.budget.lock();
        let limit = self.budget.limit;
        let all = used.saturating_sub(self.bytes).saturating_add(bytes);
        if bytes > self.bytes && all > limit {
            return Err(OverBudget { needed: bytes - self.bytes, used: *used, limit });
        }
        *used = all;
        self.bytes = bytes;
        Ok(())
    }

    /// Counts what was taken already, whether there was as much or not.
    pub(crate) fn count(&mut self, bytes: u64) {
        let mut used = self.budget.lock();
        *used = used.saturating_sub(self.bytes).saturating_add(bytes);
        self.bytes = bytes;
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.count(0);
    }
}

/// The budget unless it is said otherwise: a quarter of the memory that is available now.
pub(crate) fn usual() -> u64 {
    tenure_memory::available_memory().map_or(UNKNOWN, |bytes| (bytes / SHARE).max(LEAST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_counted_and_given_back() {
        let budget = Budget::new(100);
        let mut one = budget.take(60).unwrap();
        let error = budget.take(50).unwrap_err();
        assert_eq!(error, OverBudget { needed: 50, used: 60, limit: 100 });
        let other = budget.take(40).unwrap();
        assert_eq!(budget.used(), 100);
        assert!(one.resize(61).is_err() && one.resize(60).is_ok());
        one.resize(10).unwrap();
        drop(other);
        assert_eq!(budget.used(), 10);
        // What is there already counts, also beyond the limit; then nobody gets more.
        one.count(150);
        assert!(budget.take(1).is_err() && budget.take(0).is_ok());
        one.resize(140).unwrap();
        drop(one);
        assert_eq!(budget.used(), 0);
        assert!(budget.take(u64::MAX).is_err());
    }

    #[test]
    fn the_machine_has_a_budget() {
        assert!(usual() >= LEAST);
    }
}
