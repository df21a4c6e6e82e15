//! One face for all sub-allocators. All calls are inlined, so that none pays for it.

use offset_allocator::{Allocation, Allocator};
use tenure::memory::tlsf::{Block, Tlsf};

/// What our blocks are aligned to, in bytes. offset-allocator, which cannot count to the size of
/// the arenas here in bytes, is made to count in these.
const GRANULE: u64 = 256;

pub(crate) trait Arena: Sized {
    type Block;

    fn allocate(&mut self, size: u64) -> Option<Self::Block>;

    fn free(&mut self, block: Self::Block);

    /// Bytes from the start of the arena.
    fn offset(&self, block: &Self::Block) -> u64;
}

pub(crate) fn tenure(room: u64) -> Option<Tlsf> {
    Tlsf::with_granularity(room, GRANULE).ok()
}

impl Arena for Tlsf {
    type Block = Block;

    #[inline(always)]
    fn allocate(&mut self, size: u64) -> Option<Block> {
        self.allocate(size, GRANULE).ok()
    }

    #[inline(always)]
    fn free(&mut self, block: Block) {
        // Were it refused, the footprint would tell.
        let _ = self.free(block);
    }

    fn offset(&self, block: &Block) -> u64 {
        block.offset()
    }
}

pub(crate) fn offset_allocator(room: u64) -> Option<Allocator> {
    u32::try_from(room / GRANULE).ok().map(Allocator::new)
}

impl Arena for Allocator {
    type Block = Allocation;

    #[inline(always)]
    fn allocate(&mut self, size: u64) -> Option<Allocation> {
        self.allocate(u32::try_from(size.div_ceil(GRANULE)).ok()?)
    }

    #[inline(always)]
    fn free(&mut self, block: Allocation) {
        self.free(block);
    }

    fn offset(&self, block: &Allocation) -> u64 {
        u64::from(block.offset) * GRANULE
    }
}
