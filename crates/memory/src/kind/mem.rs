//! The heap: small blocks from the global allocator, large ones as pages of their own.
//!
//! Pages from the kernel are zero when first touched, so a large block costs nothing until it is
//! used and is never written twice. Blocks of a large page or more start at one and ask for
//! transparent huge pages: one fault for 2 MiB, not 512.
//!
//! What can be refused is refused when it is asked for. On Linux all blocks from 128 KiB on, in this
//! process together, are never more than memory and swap of the machine, or than the control groups
//! that it is in allow (read once). Smaller ones are touched when they are made, so the machine is
//! asked for what is free whenever a few MiB of them have come together. Every block is reserved as
//! far as the kernel keeps account: always with `vm.overcommit_memory=2`, and with 0 one that is
//! more than the machine has. Not refused is what other processes and other memory of this one have taken of it
//! meanwhile: pages are made when they are touched, so that a tensor may be sparse, and only mode 2
//! keeps the kernel from promising to two processes what it has once. Shared memory is made at once
//! and has no such gap.
#![expect(unsafe_code, reason = "calls the global allocator")]

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;
use std::sync::Arc;

#[cfg(linux_like)]
use super::room::{Claim, Small};
#[cfg(maps_pages)]
use crate::mapping::{LARGE_PAGE, Mapping, whole_pages};
use crate::{
    Allocator, CpuAddress, Error, RawBuffer, RawMemory, Request, Result, TensorMemory, Why,
};

/// Blocks from here on are pages of their own.
#[cfg(maps_pages)]
const LARGE: usize = 128 << 10;

/// Allocates from the heap of this process.
#[derive(Debug, Clone, Copy, Default)]
pub struct Mem;

pub(super) fn probe() -> Result<&'static dyn Allocator, Why> {
    Ok(&Mem)
}

impl Allocator for Mem {
    fn memory(&self) -> TensorMemory {
        TensorMemory::Mem
    }

    fn allocate(&self, request: &Request<'_>) -> Result<RawBuffer> {
        #[cfg(maps_pages)]
        if request.bytes() >= LARGE {
            return Ok(RawBuffer::new(Pages::new(request)?, request.name()));
        }
        Ok(RawBuffer::new(Block::new(request)?, request.name()))
    }

    fn keep(&self) -> Option<Arc<dyn Allocator>> {
        Some(Arc::new(*self))
    }
}

/// A block of the global allocator.
struct Block {
    address: NonNull<u8>,
    layout: Layout,
    size: usize,
    /// Given back when the block is.
    #[cfg(linux_like)]
    _small: Small,
}

// SAFETY: a heap block has no thread affinity; access is ordered by the ledger.
unsafe impl Send for Block {}
// SAFETY: as above.
unsafe impl Sync for Block {}

impl Block {
    fn new(request: &Request<'_>) -> Result<Block> {
        let (size, align) = (request.bytes(), request.align());
        // The allocator must not be asked for nothing; an empty buffer has one byte it never uses.
        let layout = Layout::from_size_align(size.max(1), align)
            .map_err(|_| Error::BadRequest { bytes: size, align })?;
        #[cfg(linux_like)]
        let small = Small::new(layout.size())?;
        // SAFETY: the layout has a size above zero.
        let address = NonNull::new(unsafe { alloc_zeroed(layout) });
        let address = address.ok_or(Error::from(crate::detail::OutOfMemory {
            memory: TensorMemory::Mem,
            bytes: size,
            available: None,
            source: None,
        }))?;
        Ok(Block {
            address,
            layout,
            size,
            #[cfg(linux_like)]
            _small: small,
        })
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout, freed once.
        unsafe { dealloc(self.address.as_ptr(), self.layout) }
    }
}

// SAFETY: the block is zeroed, aligned as asked, and lives until `self` is dropped.
unsafe impl RawMemory for Block {
    fn memory(&self) -> TensorMemory {
        TensorMemory::Mem
    }

    fn size(&self) -> usize {
        self.size
    }

    fn address(&self) -> CpuAddress {
        CpuAddress::Fixed(self.address)
    }
}

/// Pages of their own.
#[cfg(maps_pages)]
struct Pages {
    mapping: Mapping,
    size: usize,
    /// Given back when the pages are.
    #[cfg(linux_like)]
    _claim: Claim,
}

#[cfg(maps_pages)]
impl Pages {
    fn new(request: &Request<'_>) -> Result<Pages> {
        let size = request.bytes();
        let align = if size >= LARGE_PAGE { LARGE_PAGE } else { request.align() };
        #[cfg(linux_like)]
        let claim = Claim::heap(size)?;
        let mapping = whole_pages(size).and_then(|whole| Mapping::anonymous(whole, align));
        let mapping = mapping.map_err(|source| {
            Error::from(crate::detail::OutOfMemory {
                memory: TensorMemory::Mem,
                bytes: size,
                available: None,
                source: Some(source.into()),
            })
        })?;
        if size >= LARGE_PAGE {
            mapping.advise_huge_pages();
        }
        Ok(Pages {
            mapping,
            size,
            #[cfg(linux_like)]
            _claim: claim,
        })
    }
}

#[cfg(maps_pages)]
// SAFETY: the mapping is zeroed, aligned as asked, and lives until `self` is dropped.
unsafe impl RawMemory for Pages {
    fn memory(&self) -> TensorMemory {
        TensorMemory::Mem
    }

    fn size(&self) -> usize {
        self.size
    }

    fn address(&self) -> CpuAddress {
        CpuAddress::Fixed(self.mapping.address())
    }
}
