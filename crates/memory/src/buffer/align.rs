//! What addresses of a buffer's bytes are multiples of, before there is an address too.

use super::Buffer;

impl Buffer {
    /// Whether byte `at` of this buffer is, or will be, at an address that is a multiple of `align`.
    ///
    /// While the bytes do not exist the answer is what the buffer was asked for with: whoever places it
    /// keeps that. Of memory without an address (of some devices), and of memory that has one only
    /// while it is mapped, bytes count from the start of the allocation, which is aligned as was asked.
    ///
    /// ```
    /// use tenure_memory::{Buffer, TensorMemory, kind};
    /// let buffer = Buffer::lazy(kind::allocator(TensorMemory::Mem)?, 1024, None)?;
    /// assert!(buffer.is_aligned(0, 256) && !buffer.is_aligned(0, 4096));
    /// let cut = buffer.slice(1..1024)?;
    /// assert!(cut.is_aligned(3, 4) && !cut.is_aligned(0, 4));
    /// # Ok::<(), tenure_memory::Error>(())
    /// ```
    pub fn is_aligned(&self, at: usize, align: usize) -> bool {
        let (promised, base) = match self.root.place.get() {
            Some(placed) => (true, placed.raw.base().unwrap_or(0).wrapping_add(placed.offset)),
            None => (self.root.align.is_multiple_of(align), 0),
        };
        // Addresses wrap at a power of two, which keeps the remainder of every alignment.
        promised && base.wrapping_add(self.offset).wrapping_add(at).is_multiple_of(align)
    }
}
