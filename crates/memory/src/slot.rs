//! Memory that is filled, published and filled again, by one process and again and again.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use crate::kind::window::Window;
use crate::{Access, Buffer, RawBuffer, Result};

/// Memory of a stream's slot.
///
/// Whoever fills it has a window of its own, with a ledger of its own. Between [`SlotMemory::open`]
/// and [`SlotMemory::close`] the window can be used and other mappings of the memory in this
/// process cannot; before and after it is the other way round. A window of which somebody still has
/// handles, guards or exports cannot be closed, but [parted](SlotMemory::part) from the memory: what
/// is still held goes on as a private copy, at the same address and with another identity, and the
/// memory goes on elsewhere.
///
/// ```
/// use tenure_memory::{Buffer, Request, SlotMemory, TensorMemory, allocate};
/// let slot = SlotMemory::new(allocate(Some(TensorMemory::Shm), &Request::new(4096)?)?);
/// let window = Buffer::from_raw(slot.window(()));
/// assert!(window.write().unwrap_err().is_busy());
/// slot.open(window.raw()?)?;
/// let mut kept = window.write()?;
/// kept.as_bytes_mut().fill(1);
/// let slot = slot.part(window.raw()?)?;
/// // In nobody's way, and of no effect.
/// kept.as_bytes_mut().fill(2);
/// let reader = tenure_memory::import(slot.raw().descriptor()?, 4096, Default::default(), None)?;
/// assert_eq!(reader.read()?.as_bytes()[0], 1);
/// # Ok::<(), tenure_memory::Error>(())
/// ```
pub struct SlotMemory {
    /// Never given out: its address changes.
    home: Arc<RawBuffer>,
    /// What windows were parted from: they may show bytes of the memory still.
    left: Mutex<Vec<Weak<RawBuffer>>>,
}

impl SlotMemory {
    /// Takes memory that nobody else has.
    pub fn new(raw: RawBuffer) -> SlotMemory {
        SlotMemory { home: Arc::new(raw), left: Mutex::default() }
    }

    /// The memory, for questions.
    pub fn raw(&self) -> &RawBuffer {
        &self.home
    }

    /// A window to fill the memory through, closed at first. `lease` is dropped when the last handle
    /// to it is gone.
    pub fn window(&self, lease: impl Send + Sync + 'static) -> RawBuffer {
        let home = Arc::clone(&self.home);
        RawBuffer::in_turns(&self.home, Window::lent(home, Box::new(lease)))
    }

    /// Opens a window of this memory: it can be used, and other mappings cannot. Windows that were
    /// parted before and still exist get a copy of the bytes first.
    ///
    /// # Errors
    /// [`crate::Error::Busy`] if somebody holds bytes of another mapping,
    /// [`crate::Error::OutOfMemory`] if there is no memory for the copy.
    pub fn open(&self, window: &RawBuffer) -> Result<()> {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(home) = left.last() {
            if let Some(home) = home.upgrade() {
                home.copy_left_behind()?;
            }
            left.pop();
        }
        window.begin_turn(&self.home)
    }

    /// Closes a window of this memory.
    ///
    /// # Errors
    /// [`crate::Error::Busy`] if somebody holds bytes of it.
    pub fn close(&self, window: &RawBuffer) -> Result<()> {
        window.end_turn(&self.home)
    }

    /// Parts an open window from the memory. The answer is the memory, with the same bytes at
    /// another address; the window keeps this one, has no descriptor any more, and what is written
    /// there changes nothing but the window. Threads that write through it meanwhile lose nothing:
    /// what they write is in the memory until this returns, and never afterwards.
    ///
    /// # Errors
    /// [`crate::Error::Busy`] if a copy or a device uses bytes of the window or they are published
    /// otherwise; [`crate::Error::OutOfMemory`] without room for the private copy; and if the kernel cannot do it: only since Linux 5.13, and only for memory files
    /// of ordinary pages. Nothing has changed then.
    pub fn part(&self, window: &RawBuffer) -> Result<SlotMemory> {
        let raw = window.part(&self.home)?;
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let mut left = std::mem::take(&mut *left);
        left.retain(|home| home.strong_count() > 0);
        left.push(Arc::downgrade(&self.home));
        Ok(SlotMemory { home: Arc::new(raw), left: Mutex::new(left) })
    }

    /// As [`Buffer::wait_ready`].
    ///
    /// # Errors
    /// As there.
    pub fn wait_ready(&self, access: Access, timeout: Option<Duration>) -> Result<bool> {
        Buffer::from_shared(Arc::clone(&self.home)).wait_ready(access, timeout)
    }
}

impl fmt::Debug for SlotMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SlotMemory").field(&self.home).finish()
    }
}
