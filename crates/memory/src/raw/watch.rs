//! Who is told before an allocation goes: drivers that imported it have to let go of it first.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::RawBuffer;

type Hook = Box<dyn FnOnce() + Send>;

/// Who wants to know, each by a number of its own.
#[derive(Default)]
pub(super) struct Watch {
    hooks: Mutex<Vec<(u64, Hook)>>,
}

impl Watch {
    fn hooks(&self) -> MutexGuard<'_, Vec<(u64, Hook)>> {
        self.hooks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, who: u64, hook: Hook) -> bool {
        let mut hooks = self.hooks();
        let new = hooks.iter().all(|(known, _)| *known != who);
        if new {
            hooks.push((who, hook));
        }
        new
    }

    /// Tells everybody, once.
    pub(super) fn tell(&self) {
        let hooks = std::mem::take(&mut *self.hooks());
        hooks.into_iter().for_each(|(_, hook)| hook());
    }
}

impl RawBuffer {
    /// Calls `hook` before the memory itself is freed: for drivers that imported it, which have to let
    /// go of it by then. Says whether it was entered: for each number `who` there is one. Windows over
    /// another raw buffer's bytes enter it there; memory of a pool is not freed while it is pooled.
    ///
    /// ```
    /// use std::sync::{Arc, atomic::{AtomicBool, Ordering}};
    /// use tenure_memory::{Request, TensorMemory, allocate};
    /// let raw = allocate(Some(TensorMemory::Mem), &Request::new(4)?)?;
    /// let gone = Arc::new(AtomicBool::new(false));
    /// let told = Arc::clone(&gone);
    /// assert!(raw.when_freed(1, move || told.store(true, Ordering::Relaxed)));
    /// assert!(!raw.when_freed(1, || unreachable!("there is one already")));
    /// drop(raw);
    /// assert!(gone.load(Ordering::Relaxed));
    /// # Ok::<(), tenure_memory::Error>(())
    /// ```
    pub fn when_freed(&self, who: u64, hook: impl FnOnce() + Send + 'static) -> bool {
        match self.core().memory.home() {
            Some(home) => home.when_freed(who, hook),
            None => self.core().watch.add(who, Box::new(hook)),
        }
    }
}
