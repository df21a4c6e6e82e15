//! Lazy buffers get their place in an arena.

use std::sync::Arc;

use super::{Buffer, Placed};
use crate::{Error, Result};

impl Buffer {
    /// Places a lazy buffer inside an arena, `offset` bytes from the arena's start. The arena
    /// stays allocated for as long as the buffer exists.
    ///
    /// # Errors
    /// If the buffer already has its place, the arena is too small, or the place does not have
    /// the alignment asked for.
    pub fn place_in(&self, arena: &Buffer, offset: usize) -> Result<()> {
        self.place_at(arena, offset, None)
    }

    /// As [`Buffer::place_in`], for a plan that calls the buffer `planned`: errors say so.
    ///
    /// ```
    /// use tenure_memory::{Buffer, Request, TensorMemory, allocate, kind};
    /// let arena = Request::new(4096)?.with_name(Some("arena"));
    /// let arena = Buffer::from_raw(allocate(Some(TensorMemory::Mem), &arena)?);
    /// let buffer = Buffer::lazy(kind::allocator(TensorMemory::Mem)?, 1024, Some("logits"))?;
    /// buffer.place_in_as(&arena, 512, "dense_3")?;
    /// let guard = arena.read()?;
    /// let busy = buffer.write().unwrap_err().to_string();
    /// assert!(busy.starts_with("cannot write \"logits\" (planned as \"dense_3\") at bytes 512..1536"));
    /// # Ok::<(), tenure_memory::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Buffer::place_in`].
    pub fn place_in_as(&self, arena: &Buffer, offset: usize, planned: &str) -> Result<()> {
        self.place_at(arena, offset, Some(planned))
    }

    fn place_at(&self, arena: &Buffer, offset: usize, planned: Option<&str>) -> Result<()> {
        let already = || Error::AlreadyPlaced { id: self.root.identity.id() };
        if self.is_placed() {
            return Err(already());
        }
        let home = arena.slice_of(offset, self.root.len)?;
        let placed = home.placed()?;
        let at = placed.offset + home.offset;
        // By address where there is one: the arena itself may be aligned to less.
        let base = placed.raw.base().unwrap_or(0);
        if !(base + at).is_multiple_of(self.root.align) {
            return Err(Error::Misaligned { offset: at, align: self.root.align });
        }
        let mut placed = Placed::new(Arc::clone(&placed.raw), at);
        placed.planned = planned.map(Box::from);
        self.root.place.set(placed).map_err(|_| already())
    }
}
