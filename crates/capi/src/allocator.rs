//! The allocator of a memory that C names by its code.

use tenure::memory::kind;
use tenure::{Allocator, LogicalMemorySpace, RawBuffer, Request, TensorMemory};

use crate::codes::{self, MemoryCode};
use crate::failure::{Failure, Outcome};

/// One of the built-in allocators, to keep.
pub(crate) struct Named(pub(crate) &'static dyn Allocator);

impl Allocator for Named {
    fn memory(&self) -> TensorMemory {
        self.0.memory()
    }

    fn space(&self) -> LogicalMemorySpace {
        self.0.space()
    }

    fn allocate(&self, request: &Request<'_>) -> tenure::memory::Result<RawBuffer> {
        self.0.allocate(request)
    }
}

/// The allocator of the memory with this code, which must not be automatic.
pub(crate) fn named(code: MemoryCode) -> Outcome<&'static dyn Allocator> {
    match codes::memory(code)? {
        Some(memory) => Ok(kind::allocator(memory)?),
        None => Err(Failure::invalid(
            "the memory must be named here, not automatic: TENURE_MEMORY_SHM, say",
        )),
    }
}
