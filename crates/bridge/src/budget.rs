//! The memory that streams of others may take here, all of them together.
//!
//! Whoever is in the network can send frames of any size under any number of names: what they take is
//! counted here before it is taken, and given back when it is dropped.
//!
//! Besides, memory has to be earned by sending, or little data would become much memory. What a stream
//! has not earned is lent to it, and all streams together are lent little: names cost nothing. It is
//! not counted by peer either, whose ids cost nothing. Nobody is kept out by those who take all of it:
//! frames that are refused earn too.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The part of the available memory that is used unless it is said otherwise.
const SHARE: u64 = 4;
/// The budget where nobody says how much memory is available.
const UNKNOWN: u64 = 1 << 30;
/// The smallest budget.
pub(crate) const LEAST: u64 = 1 << 20;

/// Memory that a stream earns with each byte that was sent: what compresses better only has to be sent
/// for a while.
const EARNED: u64 = 64;
/// Memory beyond what they have earned that is lent to one stream, and to all of them together.
const LENT: u64 = 16 << 20;
const ALL_LENT: u64 = 64 << 20;

/// A number of bytes, and how many of them are taken.
#[derive(Debug)]
pub(crate) struct Budget {
    limit: u64,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    used: u64,
    /// Those of the used bytes that nobody has earned.
    lent: u64,
}

/// Bytes that somebody has taken. They are given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    budget: Arc<Budget>,
    bytes: u64,
    lent: u64,
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
        Arc::new(Budget { limit, taken: Mutex::default() })
    }

    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    pub(crate) fn used(&self) -> u64 {
        self.lock().used
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A share of no bytes.
    pub(crate) fn share(self: &Arc<Budget>) -> Share {
        Share { budget: Arc::clone(self), bytes: 0, lent: 0 }
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
        let mut taken = self.budget.lock();
        let limit = self.budget.limit;
        let all = taken.used.saturating_sub(self.bytes).saturating_add(bytes);
        if bytes > self.bytes && all > limit {
            return Err(OverBudget { needed: bytes - self.bytes, used: taken.used, limit });
        }
        taken.used = all;
        self.bytes = bytes;
        Ok(())
    }

    /// Borrows what a stream of `came` bytes has not earned of so much memory, before it is taken.
    ///
    /// # Errors
    /// The most memory that it can have.
    pub(crate) fn borrow(&mut self, bytes: u64, came: u64) -> Result<(), u64> {
        let mut taken = self.budget.lock();
        let (lent, others) = (lent(bytes, came), taken.lent.saturating_sub(self.lent));
        let most = LENT.min(ALL_LENT.saturating_sub(others));
        if lent > most {
            return Err(earned(came).saturating_add(most));
        }
        taken.lent = others.saturating_add(lent);
        self.lent = lent;
        Ok(())
    }

    /// Counts what a stream of `came` bytes has taken already, whether there was as much or not.
    pub(crate) fn count(&mut self, bytes: u64, came: u64) {
        let mut taken = self.budget.lock();
        let lent = lent(bytes, came);
        taken.used = taken.used.saturating_sub(self.bytes).saturating_add(bytes);
        taken.lent = taken.lent.saturating_sub(self.lent).saturating_add(lent);
        (self.bytes, self.lent) = (bytes, lent);
    }
}

fn earned(came: u64) -> u64 {
    came.saturating_mul(EARNED)
}

fn lent(bytes: u64, came: u64) -> u64 {
    bytes.saturating_sub(earned(came))
}

impl Drop for Share {
    fn drop(&mut self) {
        self.count(0, 0);
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
        one.count(150, 0);
        assert!(budget.take(1).is_err() && budget.take(0).is_ok());
        one.resize(140).unwrap();
        drop(one);
        assert_eq!(budget.used(), 0);
        assert!(budget.take(u64::MAX).is_err());
    }

    #[test]
    fn what_is_not_earned_is_lent_once() {
        let budget = Budget::new(u64::MAX);
        let mut shares: Vec<Share> = (0..256).map(|_| budget.share()).collect();
        // All that one byte can have, for as many as there is something to lend.
        let lent = shares.iter_mut().filter_map(|share| share.borrow(LENT + EARNED, 1).ok());
        assert_eq!(lent.count() as u64, ALL_LENT / LENT);
        let Some(last) = shares.last_mut() else { unreachable!() };
        assert_eq!(last.borrow(EARNED * 10 + 1, 10), Err(EARNED * 10));
        last.borrow(EARNED * 10, 10).unwrap();
        // One that goes leaves its part to another; earning and giving back do too.
        drop(shares.remove(0));
        let Some(last) = shares.last_mut() else { unreachable!() };
        assert_eq!(last.borrow(LENT + 1, 0), Err(LENT));
        last.borrow(LENT, 0).unwrap();
        assert!(budget.share().borrow(1, 0).is_err());
        last.borrow(LENT, LENT / EARNED).unwrap();
        let mut other = budget.share();
        other.borrow(LENT, 0).unwrap();
        other.count(LENT / 2, 0);
        last.borrow(LENT / 2, 0).unwrap();
        assert!(budget.share().borrow(1, 0).is_err());
        drop((shares, other));
        let taken = budget.lock();
        assert_eq!((taken.used, taken.lent), (0, 0));
    }

    #[test]
    fn the_machine_has_a_budget() {
        assert!(usual() >= LEAST);
    }
}
