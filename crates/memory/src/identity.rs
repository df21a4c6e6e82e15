//! Which allocation is this: a key for caches, and whether it still exists.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

/// Names one buffer for as long as the process runs; ids are never used twice.
///
/// Not `Clone`: a cache that kept one would keep [`WeakIdentity::upgrade`] from ever saying that
/// the buffer is gone. Keep [`BufferIdentity::weak`] instead.
#[derive(Debug)]
pub struct BufferIdentity(Arc<u64>);

/// Knows whether a buffer still exists, without keeping it.
#[derive(Debug, Clone)]
pub struct WeakIdentity(Weak<u64>);

static NEXT: AtomicU64 = AtomicU64::new(1);

impl BufferIdentity {
    pub(crate) fn new() -> BufferIdentity {
        BufferIdentity(Arc::new(NEXT.fetch_add(1, Ordering::Relaxed)))
    }

    /// For a second owner inside this crate: a lazy buffer and the allocation made for it.
    pub(crate) fn same(&self) -> BufferIdentity {
        BufferIdentity(Arc::clone(&self.0))
    }

    /// The number.
    pub fn id(&self) -> u64 {
        *self.0
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

impl WeakIdentity {
    /// The identity, or `None` once the buffer is gone.
    pub fn upgrade(&self) -> Option<BufferIdentity> {
        self.0.upgrade().map(BufferIdentity)
    }
}
