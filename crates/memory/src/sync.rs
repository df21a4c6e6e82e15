//! The locks of this crate, so that a model checker can take their place.

#[cfg(loom)]
pub(crate) use loom::{
    sync::atomic::{AtomicUsize, Ordering},
    sync::{Condvar, Mutex, MutexGuard},
    thread::yield_now as spin,
};
#[cfg(not(loom))]
pub(crate) use std::{
    hint::spin_loop as spin,
    sync::atomic::{AtomicUsize, Ordering},
    sync::{Condvar, Mutex, MutexGuard},
};

/// Locks, also after a panic elsewhere: every critical section here leaves its data whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
