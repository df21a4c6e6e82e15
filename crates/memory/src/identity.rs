//! Which allocation is this: a key for caches, and whether it still exists.

use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

/// Names one buffer for as long as the process runs; ids are never used twice.
///
/// A key for maps and sets. Clones do not keep the buffer, nor do they keep
/// [`WeakIdentity::upgrade`] from saying that it is gone.
///
/// ```
/// use std::collections::HashMap;
/// use tenure_memory::{Buffer, Request, TensorMemory, allocate};
/// let buffer = Buffer::from_raw(allocate(Some(TensorMemory::Mem), &Request::new(64)?)?);
/// let mut prepared = HashMap::new();
/// prepared.insert(buffer.identity().clone(), "what was made of it");
/// assert!(prepared.contains_key(buffer.slice(0..8)?.identity()));
/// drop(buffer);
/// prepared.retain(|identity, _| identity.exists());
/// assert!(prepared.is_empty());
/// # Ok::<(), tenure_memory::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct BufferIdentity(Arc<Life>);

/// Knows whether a buffer still exists, without keeping it.
#[derive(Debug, Clone)]
pub struct WeakIdentity(Weak<Life>);

#[derive(Debug)]
struct Life {
    id: u64,
    /// Buffers and allocations that have the identity.
    owners: AtomicUsize,
}

/// The identity as the buffer itself has it: it exists for as long as one of these does.
#[derive(Debug)]
pub(crate) struct OwnIdentity(BufferIdentity);

static NEXT: AtomicU64 = AtomicU64::new(1);

impl OwnIdentity {
    pub(crate) fn new() -> OwnIdentity {
        let (id, owners) = (NEXT.fetch_add(1, Ordering::Relaxed), AtomicUsize::new(1));
        OwnIdentity(BufferIdentity(Arc::new(Life { id, owners })))
    }
}

impl Deref for OwnIdentity {
    type Target = BufferIdentity;

    fn deref(&self) -> &BufferIdentity {
        &self.0
    }
}

impl Drop for OwnIdentity {
    fn drop(&mut self) {
        self.0.0.owners.fetch_sub(1, Ordering::Release);
    }
}

impl BufferIdentity {
    /// For another owner inside this crate, made while there is one: a lazy buffer and the
    /// allocation made for it.
    pub(crate) fn same(&self) -> OwnIdentity {
        self.0.owners.fetch_add(1, Ordering::Relaxed);
        OwnIdentity(self.clone())
    }

    /// For another owner, unless the last one is gone.
    fn owned(&self) -> Option<OwnIdentity> {
        let owners = &self.0.owners;
        let more = |owners: usize| owners.checked_add(1).filter(|_| owners > 0);
        let joined = owners.fetch_update(Ordering::Acquire, Ordering::Relaxed, more);
        joined.ok().map(|_| OwnIdentity(self.clone()))
    }

    /// The number.
    pub fn id(&self) -> u64 {
        self.0.id
    }

    /// Whether the buffer still exists.
    pub fn exists(&self) -> bool {
        self.0.owners.load(Ordering::Acquire) > 0
    }

    /// A handle that knows when the buffer is gone.
    pub fn weak(&self) -> WeakIdentity {
        WeakIdentity(Arc::downgrade(&self.0))
    }
}

impl PartialEq for BufferIdentity {
    fn eq(&self, other: &BufferIdentity) -> bool {
        self.id() == other.id()
    }
}

impl Eq for BufferIdentity {}

impl Hash for BufferIdentity {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id().hash(state);
    }
}

impl WeakIdentity {
    /// For another owner inside this crate; `None` once the buffer is gone.
    pub(crate) fn join(&self) -> Option<OwnIdentity> {
        BufferIdentity(self.0.upgrade()?).owned()
    }

    /// The identity, or `None` once the buffer is gone.
    pub fn upgrade(&self) -> Option<BufferIdentity> {
        self.0.upgrade().map(BufferIdentity).filter(BufferIdentity::exists)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_do_not_keep_what_they_name() {
        let own = OwnIdentity::new();
        let (key, weak, second) = (own.clone(), own.weak(), own.same());
        drop(own);
        assert!(key.exists() && weak.upgrade().is_some_and(|same| same == key));
        drop(second);
        assert!(!key.exists() && weak.upgrade().is_none() && weak.join().is_none());
    }
}
