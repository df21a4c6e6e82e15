//! Kernel objects that this process has mapped: one ledger and one identity for each.
//!
//! Whoever can name an object (a descriptor received, `/proc/self/fd`, a name in `/dev/shm`) can
//! map it a second time. Both mappings answer to one ledger, so that safe code cannot get two
//! mutable slices of one page at two addresses.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::identity::OwnIdentity;
use crate::ledger::Ledger;
use crate::{RawBuffer, WeakIdentity};

/// Names a kernel object while it exists: the numbers of its device and inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ObjectKey {
    /// `st_dev`.
    pub device: u64,
    /// `st_ino`.
    pub inode: u64,
}

pub(crate) struct Known {
    ledger: Weak<Ledger>,
    identity: WeakIdentity,
    /// Mappings to use again: one for reading only, one for writing.
    #[cfg_attr(not(linux_like), expect(dead_code, reason = "descriptors bring them back"))]
    mapped: [Weak<RawBuffer>; 2],
}

static KNOWN: Mutex<Option<HashMap<ObjectKey, Known>>> = Mutex::new(None);

pub(crate) type Locked = MutexGuard<'static, Option<HashMap<ObjectKey, Known>>>;

/// What is known. A process that forks has it meanwhile.
pub(crate) fn locked() -> Locked {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn with<T>(work: impl FnOnce(&mut HashMap<ObjectKey, Known>) -> T) -> T {
    #[cfg(linux_like)]
    crate::process::register();
    work(locked().get_or_insert_default())
}

/// Ledger and identity for an allocation, shared with every other mapping of the same object.
pub(crate) fn join(key: Option<ObjectKey>) -> (Arc<Ledger>, OwnIdentity) {
    let Some(key) = key else { return (Arc::new(Ledger::new()), OwnIdentity::new()) };
    with(|known| {
        if let Some(entry) = known.get(&key)
            && let (Some(ledger), Some(identity)) = (entry.ledger.upgrade(), entry.identity.join())
        {
            return (ledger, identity);
        }
        let (ledger, identity) = (Arc::new(Ledger::new()), OwnIdentity::new());
        let mapped = [Weak::new(), Weak::new()];
        let entry = Known { ledger: Arc::downgrade(&ledger), identity: identity.weak(), mapped };
        known.insert(key, entry);
        (ledger, identity)
    })
}

/// Forgets an object whose last mapping is about to go.
pub(crate) fn leave(key: ObjectKey, ledger: &Arc<Ledger>) {
    with(|known| {
        // Under the lock nobody can join, so a count of one stays one.
        if Arc::strong_count(ledger) == 1 {
            known.remove(&key);
        }
    });
}

/// A mapping of the object that can be used again.
#[cfg(linux_like)]
pub(crate) fn mapped(key: ObjectKey, writable: bool) -> Option<Arc<RawBuffer>> {
    with(|known| known.get(&key).and_then(|entry| entry.mapped[usize::from(writable)].upgrade()))
}

/// The mapping for writing is not the object's any more.
#[cfg(linux_like)]
pub(crate) fn forget_writable(key: ObjectKey) {
    with(|known| {
        if let Some(entry) = known.get_mut(&key) {
            entry.mapped[usize::from(true)] = Weak::new();
        }
    });
}

/// Remembers a mapping for [`mapped`].
#[cfg(linux_like)]
pub(crate) fn remember(key: ObjectKey, raw: &Arc<RawBuffer>) {
    with(|known| {
        if let Some(entry) = known.get_mut(&key) {
            entry.mapped[usize::from(raw.writable())] = Arc::downgrade(raw);
        }
    });
}
