//! rlsf, which keeps its tables in the memory that it manages and so needs some.
#![expect(unsafe_code, reason = "rlsf is handed raw memory, and pointers into it")]

use std::alloc::Layout;
use std::io;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

use super::arena::Arena;

/// The alignment that costs rlsf the least: it is what its blocks have anyway.
const ALIGN: usize = 16;

/// Address space that becomes memory page by page, where it is written to.
pub(crate) struct Reserve {
    start: NonNull<u8>,
    len: usize,
}

impl Reserve {
    pub(crate) fn new(len: u64) -> io::Result<Self> {
        let len = usize::try_from(len).map_err(io::Error::other)?;
        let (access, flags) =
            (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE | MapFlags::NORESERVE);
        // SAFETY: The kernel chooses where, so no existing mapping is affected.
        let start = unsafe { mmap_anonymous(ptr::null_mut(), len, access, flags) }?;
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, len })
    }

    /// A new arena in the first `room` bytes. Pages that earlier ones have touched are warm.
    pub(crate) fn arena(&mut self, room: u64) -> Option<Rlsf<'_>> {
        let room = usize::try_from(room).ok().filter(|&room| room <= self.len)?;
        let mut tlsf = rlsf::Tlsf::new();
        let memory = NonNull::slice_from_raw_parts(self.start, room);
        // SAFETY: `memory` is mapped for reading and writing, nobody else uses it as `self` is
        // borrowed mutably for as long as the arena lives, and only then it is unmapped.
        unsafe { tlsf.insert_free_block_ptr(memory) }?;
        Some(Rlsf { tlsf, start: self.start })
    }
}

impl Drop for Reserve {
    fn drop(&mut self) {
        // SAFETY: This is the mapping made in `new`, and no arena borrows it any more.
        // Nothing can be done if it fails, and the process ends soon.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.len) };
    }
}

/// With as many size classes as ours: half as many were measured to be no faster.
pub(crate) struct Rlsf<'r> {
    tlsf: rlsf::Tlsf<'r, u32, u64, 32, 64>,
    start: NonNull<u8>,
}

/// Not to be copied, so it is freed at most once.
pub(crate) struct Held<'r> {
    memory: NonNull<u8>,
    reserve: PhantomData<&'r mut Reserve>,
}

impl<'r> Arena for Rlsf<'r> {
    type Block = Held<'r>;

    #[inline(always)]
    fn allocate(&mut self, size: u64) -> Option<Held<'r>> {
        let layout = Layout::from_size_align(usize::try_from(size).ok()?, ALIGN).ok()?;
        let memory = self.tlsf.allocate(layout)?;
        Some(Held { memory, reserve: PhantomData })
    }

    #[inline(always)]
    fn free(&mut self, block: Held<'r>) {
        // SAFETY: It was allocated with this alignment and not freed before, as it cannot be
        // copied; and by this arena, as the benchmark has no two of them at a time and `'r` ends
        // before the next is made.
        unsafe { self.tlsf.deallocate(block.memory, ALIGN) }
    }

    fn offset(&self, block: &Held<'r>) -> u64 {
        (block.memory.addr().get() - self.start.addr().get()) as u64
    }
}
