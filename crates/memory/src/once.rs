//! A value that is made once, by whoever comes first; a failed attempt leaves it unmade.

#[cfg(not(loom))]
use std::sync::OnceLock;

use crate::sync::{Mutex, lock};

#[derive(Debug)]
pub(crate) struct Once<T> {
    value: OnceLock<T>,
    /// Held while somebody makes the value, so that it is made once.
    making: Mutex<()>,
}

impl<T> Once<T> {
    pub(crate) fn new() -> Once<T> {
        Once { value: OnceLock::new(), making: Mutex::new(()) }
    }

    pub(crate) fn with(value: T) -> Once<T> {
        let once = Once::new();
        // A new cell is empty, so this cannot fail.
        let _ = once.value.set(value);
        once
    }

    #[inline]
    pub(crate) fn get(&self) -> Option<&T> {
        self.value.get()
    }

    pub(crate) fn get_mut(&mut self) -> Option<&mut T> {
        self.value.get_mut()
    }

    /// The value, made by `make` if nobody has yet.
    pub(crate) fn get_or_make<E>(&self, make: impl FnOnce() -> Result<T, E>) -> Result<&T, E> {
        if let Some(value) = self.value.get() {
            return Ok(value);
        }
        let _making = lock(&self.making);
        if let Some(value) = self.value.get() {
            return Ok(value);
        }
        let value = make()?;
        Ok(self.value.get_or_init(|| value))
    }

    /// Sets the value; gives it back if there is one already.
    pub(crate) fn set(&self, value: T) -> Result<(), T> {
        let _making = lock(&self.making);
        self.value.set(value)
    }
}

/// The model checker has no `OnceLock`: one whose state it sees change.
#[cfg(loom)]
#[derive(Debug)]
struct OnceLock<T> {
    value: std::sync::OnceLock<T>,
    is_set: loom::sync::atomic::AtomicBool,
}

#[cfg(loom)]
impl<T> OnceLock<T> {
    fn new() -> Self {
        let is_set = loom::sync::atomic::AtomicBool::new(false);
        OnceLock { value: std::sync::OnceLock::new(), is_set }
    }

    fn get(&self) -> Option<&T> {
        let is_set = self.is_set.load(loom::sync::atomic::Ordering::Acquire);
        self.value.get().filter(|_| is_set)
    }

    fn get_mut(&mut self) -> Option<&mut T> {
        self.value.get_mut()
    }

    fn set(&self, value: T) -> Result<(), T> {
        self.value.set(value)?;
        self.is_set.store(true, loom::sync::atomic::Ordering::Release);
        Ok(())
    }

    fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
        let value = self.value.get_or_init(make);
        self.is_set.store(true, loom::sync::atomic::Ordering::Release);
        value
    }
}
