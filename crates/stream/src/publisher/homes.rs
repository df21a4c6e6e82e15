//! The memory of slots.

use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use smallvec::SmallVec;
use tenure_memory::backend::DeviceHold;
use tenure_memory::{
    Access, Allocator, Buffer, BufferIdentity, Error as MemoryError, Fence, RawBuffer, SlotMemory,
    TensorMemory, WeakIdentity, kind,
};
use tenure_tensor::wire::Description;
use tenure_tensor::{Sharing, TensorDyn};

use super::claimed::Ready;
use crate::subscriber::look;
use crate::wire::{LONGEST_DESCRIPTION, MOST_MEMORIES};
use crate::{Error, Result, Spec};

/// The memory of a slot of the stream's own, and what the frames in it look like.
pub(super) struct Owned {
    pub(super) memory: Arc<SlotMemory>,
    pub(super) spec: Arc<Spec>,
    /// The description of frames in it, as it travels.
    pub(super) description: Arc<[u8]>,
    /// Its tensor, while nobody fills it.
    ready: Mutex<Option<Ready>>,
}

impl Owned {
    /// New memory. Sealed at once, while only this process knows it: from now on the kernel
    /// refuses every other way of writing.
    pub(super) fn make(memory: TensorMemory, spec: &Arc<Spec>, name: &str) -> Result<Owned> {
        let allocator: &dyn Allocator = kind::allocator(memory)?;
        let request = tenure_memory::Request::new(spec.bytes())?.with_name(Some(name));
        let raw = allocator.allocate(&request)?;
        raw.descriptor()?;
        if memory == TensorMemory::Shm {
            raw.seal_for_others()?;
        }
        Owned::over(Arc::new(SlotMemory::new(raw)), Arc::clone(spec))
    }

    /// The same memory for other frames; `None` if it is too small.
    pub(super) fn again(&self, spec: &Arc<Spec>) -> Result<Option<Owned>> {
        if spec.bytes() > self.raw().size() {
            return Ok(None);
        }
        Owned::over(Arc::clone(&self.memory), Arc::clone(spec)).map(Some)
    }

    /// The same frames after the memory was parted from a window over it.
    pub(super) fn parted(&self, memory: SlotMemory) -> Owned {
        let (spec, description) = (Arc::clone(&self.spec), Arc::clone(&self.description));
        Owned { memory: Arc::new(memory), spec, description, ready: Mutex::default() }
    }

    fn over(memory: Arc<SlotMemory>, spec: Arc<Spec>) -> Result<Owned> {
        let description = describe(&spec.over(Buffer::from_raw(memory.window(())))?)?;
        Ok(Owned { memory, spec, description, ready: Mutex::default() })
    }

    pub(super) fn raw(&self) -> &RawBuffer {
        self.memory.raw()
    }

    pub(super) fn take_ready(&self) -> Option<Ready> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Keeps its tensor for the next claim.
    pub(super) fn keep_ready(&self, ready: Ready) {
        let mut place = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        let before = place.replace(ready);
        drop(place);
        drop(before);
    }

    /// Whether devices are done with it.
    pub(super) fn ready(&self) -> bool {
        self.raw().memory() != TensorMemory::Dma
            || self.memory.wait_ready(Access::KernelWrite, Some(Duration::ZERO)).unwrap_or(false)
    }
}

/// Whether devices are done with memory, so that it may be written. What cannot be told for the
/// moment is no.
fn devices_done(buffer: &Buffer) -> bool {
    buffer.memory() != TensorMemory::Dma
        || buffer.wait_ready(Access::KernelWrite, Some(Duration::ZERO)).unwrap_or(false)
}

/// The description of a tensor as it travels.
pub(super) fn describe(tensor: &TensorDyn) -> Result<Arc<[u8]>> {
    let description = Description::of(tensor, Sharing::ReadOnly)?.encode();
    let (bytes, limit) = (description.len(), LONGEST_DESCRIPTION);
    if bytes > limit {
        return Err(Error::from(crate::detail::TooLong {
            what: "the tensor's description",
            bytes,
            limit,
        }));
    }
    Ok(description.into())
}

/// A tensor that the user brought, for as long as somebody has it.
pub(super) struct Borrowed {
    /// Keep the memory, and writers of this process away from it.
    holds: SmallVec<[DeviceHold; 1]>,
}

/// The memories of a tensor, one for each buffer.
pub(super) type Memories = SmallVec<[Arc<RawBuffer>; 1]>;

/// Which memories.
type Identities = SmallVec<[WeakIdentity; 1]>;

/// The memories of a tensor.
pub(super) fn memories(tensor: &TensorDyn) -> Result<Memories> {
    let count = if tensor.is_multi_buffer() { tensor.plane_count() } else { 1 };
    let raw = |plane| Ok(Arc::clone(tensor.plane_buffer(plane)?.raw()?));
    (0..count.min(MOST_MEMORIES)).map(raw).collect()
}

/// Seals memories that can be shared, where that is possible.
pub(super) fn seal(memories: &[Arc<RawBuffer>]) -> Result<()> {
    for raw in memories {
        raw.descriptor()?;
        if raw.memory() == TensorMemory::Shm {
            raw.seal_for_others()?;
        }
    }
    Ok(())
}

/// Refuses memories that cannot be shared, whether or not they would be copied: foreign code that
/// has an array of the tensor does not decide that.
pub(super) fn check_shareable(memories: &[Arc<RawBuffer>]) -> Result<()> {
    // Not asked of those that always can be: who asks for the descriptor keeps pools from using the
    // memory again.
    let always =
        |raw: &&Arc<RawBuffer>| matches!(raw.memory(), TensorMemory::Shm | TensorMemory::Dma);
    for raw in memories.iter().filter(|raw| !always(raw)) {
        raw.descriptor()?;
    }
    Ok(())
}

/// Whether consumers would refuse the memory: a file, which others may cut or write.
fn is_refused(raw: &RawBuffer) -> bool {
    match raw.memory() {
        // Sealed before it is sent.
        TensorMemory::Shm | TensorMemory::Dma => false,
        _ => raw.descriptor().is_ok_and(|fd| look(fd).is_err()),
    }
}

/// Whether a tensor can only be published as a copy: foreign code may write to it at any time, it
/// is what was left of a slot that is published, or consumers take no such memory.
pub(super) fn needs_copy(memories: &[Arc<RawBuffer>], hold: &Result<Borrowed>) -> bool {
    match hold {
        Ok(_) => memories.iter().any(|raw| raw.is_parted() || is_refused(raw)),
        Err(Error::Memory(MemoryError::Busy(busy))) => busy.held == Access::ExportWrite,
        Err(_) => false,
    }
}

/// The descriptors of memories.
pub(super) fn descriptors(memories: &[Arc<RawBuffer>]) -> Result<SmallVec<[BorrowedFd<'_>; 5]>> {
    memories.iter().map(|raw| Ok(raw.descriptor()?)).collect()
}

impl Borrowed {
    /// Keeps writers away, foreign code included; an error if there is one.
    pub(super) fn hold(memories: &[Arc<RawBuffer>]) -> Result<Borrowed> {
        let hold = |raw: &Arc<RawBuffer>| {
            DeviceHold::over(Arc::clone(raw), Access::Publish, 0..raw.size())
        };
        let holds = memories.iter().map(hold).collect::<tenure_memory::Result<_>>()?;
        Ok(Borrowed { holds })
    }

    /// What a device still does with it; `None` if nothing, or if this kernel cannot say (before
    /// 6.0).
    pub(super) fn used_until(&self) -> Option<Fence> {
        let buffers = self.holds.iter().map(|hold| Buffer::from_shared(Arc::clone(hold.raw())));
        let busy = |buffer: &Buffer| !devices_done(buffer);
        buffers.filter(busy).find_map(|buffer| buffer.fence(Access::KernelWrite).ok())
    }
}

/// What is kept for a slot.
pub(super) enum Home {
    /// Nothing.
    Vacant,
    /// Memory of the stream.
    Owned(Arc<Owned>),
    /// Memory that the user brings again and again, and what of it consumers have now.
    Borrowed(Lent, Option<Borrowed>),
}

/// Memory of the user's.
pub(super) struct Lent {
    identities: Identities,
    memory: TensorMemory,
    bytes: usize,
}

impl Lent {
    /// Known again when the same memories come back.
    pub(super) fn new(memories: &[Arc<RawBuffer>], memory: TensorMemory) -> Lent {
        let identities = memories.iter().map(|raw| BufferIdentity::weak(raw.identity())).collect();
        Lent { identities, memory, bytes: memories.iter().map(|raw| raw.size()).sum() }
    }
}

impl Home {
    /// Whether these memories belong to the slot.
    pub(super) fn is_of(&self, memories: &[Arc<RawBuffer>]) -> bool {
        let Home::Borrowed(Lent { identities: known, .. }, _) = self else { return false };
        let same = |(weak, raw): (&WeakIdentity, &Arc<RawBuffer>)| {
            weak.upgrade().is_some_and(|identity| identity == *raw.identity())
        };
        known.len() == memories.len() && known.iter().zip(memories).all(same)
    }

    /// Whether the memories that belonged to the slot do not exist any more.
    pub(super) fn is_over(&self) -> bool {
        let gone = |weak: &WeakIdentity| weak.upgrade().is_none();
        matches!(self, Home::Borrowed(lent, _) if lent.identities.iter().any(gone))
    }

    pub(super) fn bytes(&self) -> usize {
        match self {
            Home::Vacant => 0,
            Home::Owned(owned) => owned.raw().size(),
            // The user may have freed it meanwhile.
            Home::Borrowed(lent, _) => {
                if self.is_over() {
                    0
                } else {
                    lent.bytes
                }
            }
        }
    }

    pub(super) fn memory(&self) -> Option<TensorMemory> {
        match self {
            Home::Vacant => None,
            Home::Owned(owned) => Some(owned.raw().memory()),
            Home::Borrowed(lent, _) => Some(lent.memory),
        }
    }
}
