//! Who has a buffer: whether this is the only handle, and what keeps foreign memory.

use std::any::Any;
use std::sync::Arc;

use super::Buffer;
use crate::RawBuffer;

impl Buffer {
    /// Whether this is the only way to the bytes that starts at this buffer's allocation: there is no
    /// clone, slice, guard, export or other holder of it. Whoever asks has the only handle, so the
    /// answer stays true for as long as no other is made of it. An allocation below one that was
    /// [lent](RawBuffer::lent) is not asked; nor is there anything to ask while there is none.
    ///
    /// ```
    /// use tenure_memory::{Buffer, Request, TensorMemory, allocate};
    /// let request = Request::new(4)?;
    /// let mut buffer = Buffer::from_raw(allocate(Some(TensorMemory::Mem), &request)?);
    /// let guard = buffer.read()?;
    /// assert!(!buffer.is_only_handle());
    /// drop(guard);
    /// assert!(buffer.is_only_handle());
    /// # Ok::<(), tenure_memory::Error>(())
    /// ```
    pub fn is_only_handle(&mut self) -> bool {
        let Some(root) = Arc::get_mut(&mut self.root) else { return false };
        root.place.get_mut().is_none_or(|placed| Arc::get_mut(&mut placed.raw).is_some())
    }

    /// What keeps the bytes of foreign memory ([`crate::kind::foreign::adopt`]), given back by the only
    /// handle to all of them.
    ///
    /// ```
    /// use std::ptr::NonNull;
    /// use tenure_memory::{Buffer, kind::foreign};
    /// let mut theirs = vec![1u8, 2, 3];
    /// let address = NonNull::new(theirs.as_mut_ptr());
    /// // SAFETY: a Vec's heap block stays in place while the Vec lives, which moves into the buffer.
    /// let raw = unsafe { foreign::adopt(address, 3, foreign::Description::HEAP, theirs, None)? };
    /// let buffer = Buffer::from_raw(raw);
    /// let other = buffer.clone();
    /// let buffer = buffer.into_owner::<Vec<u8>>().expect_err("there is another handle");
    /// drop(other);
    /// assert_eq!(buffer.into_owner::<Vec<u8>>().ok(), Some(vec![1, 2, 3]));
    /// # Ok::<(), tenure_memory::Error>(())
    /// ```
    ///
    /// # Errors
    /// The buffer itself, if there is another handle, it is a part of the memory, or what keeps it
    /// is no `O`.
    pub fn into_owner<O: Any>(mut self) -> std::result::Result<O, Buffer> {
        let whole = self.offset == 0 && self.len == self.root.len;
        let placed = Arc::get_mut(&mut self.root).and_then(|root| root.place.get_mut());
        let alone = placed.filter(|placed| whole && placed.offset == 0);
        let raw = alone.and_then(|placed| Arc::get_mut(&mut placed.raw));
        let owner = raw.filter(|raw| raw.size() == self.len).and_then(RawBuffer::take_owner);
        owner.ok_or(self)
    }
}
