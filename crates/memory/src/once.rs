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

/// The model checker has no `OnceLock`: one whose every access is visible to it. Values are
/// leaked, which a model run can afford.
#[cfg(loom)]
#[derive(Debug)]
struct OnceLock<T: 'static>(loom::sync::Mutex<Option<&'static T>>);

#[cfg(loom)]
impl<T: 'static> OnceLock<T> {
    fn new() -> Self {
        OnceLock(loom::sync::Mutex::new(None))
    }

    #[inline]
    fn get(&self) -> Option<&T> {
        *lock(&self.0)
    }

    fn set(&self, value: T) -> Result<(), T> {
        let mut slot = lock(&self.0);
        if slot.is_some() {
            return Err(value);
        }
        *slot = Some(Box::leak(Box::new(value)));
        Ok(())
    }

    fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
        lock(&self.0).get_or_insert_with(|| Box::leak(Box::new(make())))
    }
}
