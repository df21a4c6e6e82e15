//! Buffers of lazy tensors: who will allocate them.

use std::sync::Arc;

use tenure_memory::{
    Allocator, Buffer, Error, RawBuffer, Request, TensorMemory, Why, allocate, automatic, detail,
    kind,
};

use super::allocator_of;
use crate::{Result, To};

/// Bytes that are made at this place when they are touched.
pub(super) fn buffer(place: To<'_>, request: &Request<'_>) -> Result<Buffer> {
    Ok(Buffer::lazy_in(kept(place)?, request))
}

fn kept(place: To<'_>) -> Result<Arc<dyn Allocator>> {
    Ok(match place {
        To::Memory(Some(memory)) => Arc::new(memory),
        To::Memory(None) => Arc::new(Automatic),
        To::Space(space) => match allocator_of(space)? {
            Some(allocator) => allocator,
            None => Arc::new(Automatic),
        },
        To::Allocator(allocator) => allocator.keep().ok_or_else(|| {
            let reason = "its allocator cannot be kept: give a pool, an Arc of the allocator, or a \
                          memory by its name";
            let why = Why::Refused { what: "a lazy tensor", reason: reason.to_owned() };
            Error::from(detail::Unavailable { memory: allocator.memory(), why })
        })?,
    })
}

/// The first memory that serves when the bytes are touched.
struct Automatic;

impl Allocator for Automatic {
    /// The first that is there; another may serve.
    fn memory(&self) -> TensorMemory {
        let there = |memory: &&TensorMemory| kind::allocator(**memory).is_ok();
        automatic().iter().find(there).copied().unwrap_or(TensorMemory::Mem)
    }

    fn allocate(&self, request: &Request<'_>) -> tenure_memory::Result<RawBuffer> {
        allocate(None, request)
    }
}
