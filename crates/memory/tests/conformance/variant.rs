//! Every way to get memory that the suite is run for.
#![expect(unsafe_code, reason = "adopts foreign memory")]

use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

use tenure_memory::kind::{self, foreign};
use tenure_memory::{Allocator, Buffer, Error, Pool, RawBuffer, Request, Result, TensorMemory};

/// One way to get memory, and what is particular about it.
pub(crate) struct Variant {
    pub(crate) name: String,
    pub(crate) allocator: Arc<dyn Allocator>,
    /// The largest alignment that it serves.
    pub(crate) largest_align: usize,
    /// Whether its memory has a descriptor to share it with.
    pub(crate) descriptors: bool,
    /// The pool, if it is one: sizes are rounded up, and memory outlives its buffers.
    pub(crate) pool: Option<Pool>,
}

impl Variant {
    pub(crate) fn new(name: impl Into<String>, allocator: impl Allocator + 'static) -> Variant {
        let descriptors = allocator.memory() == TensorMemory::Shm;
        Variant {
            name: name.into(),
            allocator: Arc::new(allocator),
            // Memory files start at a page.
            largest_align: if descriptors { 4096 } else { 2 << 20 },
            descriptors,
            pool: None,
        }
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

/// Every memory of the table that can be allocated here, alone and in a pool.
pub(crate) fn table() -> Vec<Variant> {
    // Miri knows no memory files, not even to ask for one.
    let known = |kind: &&kind::Kind| !cfg!(miri) || kind.memory == TensorMemory::Mem;
    let mut all = vec![];
    for kind in kind::ALL.iter().filter(known) {
        if let Ok(allocator) = kind.allocator() {
            let variant = Variant::new(kind.memory.name(), Static(allocator));
            all.extend([variant.pooled(), variant]);
        }
    }
    all
}

/// An allocator of the table as one that can be owned.
pub(crate) struct Static(pub(crate) &'static dyn Allocator);

impl Allocator for Static {
    fn memory(&self) -> TensorMemory {
        self.0.memory()
    }

    fn allocate(&self, request: &Request<'_>) -> Result<RawBuffer> {
        self.0.allocate(request)
    }
}

/// Adopts blocks that another allocator made: a `Vec` stands for it.
pub(crate) struct Adopting;

impl Allocator for Adopting {
    fn memory(&self) -> TensorMemory {
        TensorMemory::Mem
    }

    fn allocate(&self, request: &Request<'_>) -> Result<RawBuffer> {
        let (bytes, align) = (request.bytes(), request.align());
        let room = bytes + align;
        let mut theirs: Vec<u8> = vec![];
        theirs.try_reserve_exact(room).map_err(|_| Error::OutOfMemory {
            memory: TensorMemory::Mem,
            bytes,
            available: None,
            source: None,
        })?;
        theirs.resize(room, 0);
        let skip = theirs.as_ptr().align_offset(align);
        let address = NonNull::new(theirs[skip..].as_mut_ptr());
        // SAFETY: the bytes are initialised, stay in place while the `Vec` exists, which moves
        // into the buffer, and are used by nobody else.
        unsafe {
            foreign::adopt(address, bytes, foreign::Description::HEAP, theirs, request.name())
        }
    }
}

/// POSIX shared memory under names that are never used twice, and that are gone at once.
#[cfg(all(linux_like, not(miri)))]
pub(crate) struct Named;

#[cfg(all(linux_like, not(miri)))]
impl Allocator for Named {
    fn memory(&self) -> TensorMemory {
        TensorMemory::Shm
    }

    fn allocate(&self, request: &Request<'_>) -> Result<RawBuffer> {
        use std::sync::atomic::{AtomicU32, Ordering};
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("/tenure-conformance-{}-{number}", std::process::id());
        let raw = kind::shm::Shm::new().named(&name).allocate(request)?;
        kind::shm::remove_named(&name)?;
        Ok(raw)
    }
}
