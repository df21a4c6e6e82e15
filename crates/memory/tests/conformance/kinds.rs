//! Every memory that can be allocated on this machine, and some that need a little help.
#![expect(unsafe_code, reason = "adopts foreign memory")]

use std::ptr::NonNull;

use tenure_memory::kind::{self, foreign};
use tenure_memory::{Allocator, Error, RawBuffer, Request, Result, TensorMemory};

use crate::suite::variant::Variant;

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
    all.extend(dma_sources());
    all
}

/// Every source of DMA memory that this machine has.
#[cfg(all(linux_like, not(miri)))]
fn dma_sources() -> impl Iterator<Item = Variant> {
    use kind::dma::{Dma, survey};
    let working = survey().into_iter().filter(|(_, answer)| answer.is_ok());
    working.map(|(source, _)| Variant::new(format!("{source:?}"), Dma::from_source(source)))
}

#[cfg(not(all(linux_like, not(miri))))]
fn dma_sources() -> impl Iterator<Item = Variant> {
    std::iter::empty()
}

/// An allocator of the table as one that can be owned.
struct Static(&'static dyn Allocator);

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
        if bytes as u64 > 1 << 40 {
            let (memory, available, source) = (TensorMemory::Mem, None, None);
            return Err(Error::from(tenure_memory::detail::OutOfMemory {
                memory,
                bytes,
                available,
                source,
            }));
        }
        let mut theirs = vec![0u8; bytes + align];
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
        let raw = kind::shm::Shm::named(&name).allocate(request)?;
        kind::shm::remove_named(&name)?;
        Ok(raw)
    }
}
