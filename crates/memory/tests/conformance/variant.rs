//! One way to get memory that the suite is run for.

use std::fmt;
use std::sync::Arc;

use tenure_memory::{Allocator, Buffer, Pool, Request, TensorMemory};

/// One way to get memory, and what is particular about it.
pub(crate) struct Variant {
    pub(crate) name: String,
    pub(crate) allocator: Arc<dyn Allocator>,
    /// Whether its memory has a descriptor to share it with.
    #[cfg_attr(not(linux_like), expect(dead_code, reason = "there are no descriptors"))]
    pub(crate) descriptors: bool,
    /// The pool, if it is one: sizes are rounded up, and memory outlives its buffers.
    pub(crate) pool: Option<Pool>,
}

impl Variant {
    pub(crate) fn new(name: impl Into<String>, allocator: impl Allocator + 'static) -> Variant {
        let descriptors = matches!(allocator.memory(), TensorMemory::Shm | TensorMemory::Dma);
        Variant { name: name.into(), allocator: Arc::new(allocator), descriptors, pool: None }
    }

    /// The same, with a pool around it.
    pub(crate) fn pooled(&self) -> Variant {
        let pool = Pool::over(Arc::clone(&self.allocator), Default::default());
        Variant {
            name: format!("pool of {}", self.name),
            allocator: Arc::new(pool.clone()),
            pool: Some(pool),
            ..*self
        }
    }

    /// A buffer of so many bytes.
    pub(crate) fn get(&self, bytes: usize) -> Buffer {
        self.named(bytes, None)
    }

    /// A buffer with a name.
    pub(crate) fn named(&self, bytes: usize, name: Option<&str>) -> Buffer {
        let request = Request::new(bytes).unwrap().with_name(name);
        let buffer = Buffer::from_raw(self.allocator.allocate(&request).unwrap());
        // A pool may give more than was asked for.
        buffer.slice(0..bytes).unwrap()
    }

    /// Lets a pool give up what it keeps.
    pub(crate) fn let_go(&self) {
        self.pool.iter().for_each(Pool::trim);
    }
}

impl fmt::Debug for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}
