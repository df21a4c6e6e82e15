//! The memory of slots that this consumer has: mapped once for every generation.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use rustix::fs::{OFlags, SealFlags, fcntl_get_seals, fcntl_getfl};
use smallvec::SmallVec;
use tenure_layout::Layout;
use tenure_memory::{
    Buffer, Error as MemoryError, Fence, Protection, RawBuffer, TensorMemory, import, recognise,
};
use tenure_tensor::wire::Description;

use super::budget::{Budget, Charge};
use super::connection::Lease;
use super::shelf::{Kept, Place, Shelf};
use crate::Error;
use crate::frame::Guarded;
use crate::socket::Descriptors;
use crate::wire::{Fault, FrameHead, MOST_SLOTS};

/// What the seals of a stream's memory file must be.
const SIZE_SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::SEAL);
const WRITE_SEALS: SealFlags = SealFlags::WRITE.union(SealFlags::FUTURE_WRITE);

/// The slots of one connection, by number.
pub(super) struct KnownSlots {
    slots: Vec<Option<Known>>,
    shelf: Arc<Shelf>,
    budget: Arc<Budget>,
    /// The stream's name, for errors.
    name: String,
    /// Memories that the producer may still say to forget: it says so at most once for each that it
    /// sent, and cannot keep this consumer busy with it.
    forgettable: usize,
}

/// The memory of one generation of a slot.
struct Known {
    generation: u32,
    memories: SmallVec<[Arc<RawBuffer>; 1]>,
    guarded: Guarded,
    charge: Arc<Charge>,
    /// What the last frame in it looked like.
    described: Option<Described>,
}

/// What frames in a slot look like.
struct Described {
    /// As it came.
    packet: Box<[u8]>,
    understood: Description,
    /// Where tensors that look so go when they were given back.
    place: Place,
}

/// A tensor in a slot.
pub(super) struct Taken {
    pub(super) kept: Kept,
    pub(super) guarded: Guarded,
    pub(super) fence: Option<Fence>,
}

/// Why a frame was not taken.
pub(super) enum Refused {
    /// The packet makes no sense.
    Fault(Fault),
    /// The description does not fit the memory.
    Description(Error),
    /// This process could not take the memory now.
    Memory(Error),
}

impl From<Fault> for Refused {
    fn from(fault: Fault) -> Refused {
        Refused::Fault(fault)
    }
}

impl KnownSlots {
    pub(super) fn new(budget: Budget, name: &str) -> KnownSlots {
        KnownSlots {
            slots: vec![],
            shelf: Arc::default(),
            budget: Arc::new(budget),
            name: name.to_owned(),
            forgettable: 0,
        }
    }

    /// The memory of a slot is not needed any more; frames in it keep it.
    pub(super) fn forget(&mut self, slot: u32, generation: u32) -> Result<(), Fault> {
        self.forgettable = self.forgettable.checked_sub(1).ok_or(Fault::Forgets { slot })?;
        if let Some(place) = self.slots.get_mut(slot as usize)
            && place.as_ref().is_some_and(|known| known.generation == generation)
        {
            *place = None;
            self.shelf.renew(slot as usize);
        }
        Ok(())
    }

    /// The tensor of a frame, with a lease that has not begun. Everything is checked against the
    /// memory.
    pub(super) fn tensor(
        &mut self,
        head: &FrameHead,
        description: &[u8],
        mut descriptors: Descriptors,
    ) -> Result<Taken, Refused> {
        let (found, memories) = (descriptors.len(), usize::from(head.memories));
        let expected = memories + usize::from(head.fence);
        if found != expected {
            return Err(Fault::Descriptors { found, expected }.into());
        }
        let fence = if head.fence { descriptors.pop() } else { None };
        let fence = fence.map(Fence::from_fd).transpose();
        let fence = fence.map_err(|error| Refused::Memory(error.into()))?;
        let slot = head.slot as usize;
        if self.slots.len() <= slot {
            self.slots.resize_with(slot + 1, || None);
        }
        let place = self.slots.get_mut(slot);
        let unknown = Fault::UnknownSlot { slot: head.slot, generation: head.generation };
        let place = place.ok_or_else(|| unknown.clone())?;
        if memories > 0 {
            self.forgettable = (self.forgettable + 1).min(MOST_SLOTS);
            let understood = understand(description)?;
            let take = (&self.budget, self.name.as_str());
            let mut known = take_memories(head.generation, &descriptors, &understood, take)?;
            let after = self.shelf.renew(slot);
            known.described = Some(Described::new(description, understood, after));
            *place = Some(known);
        }
        let known = place.as_mut().filter(|known| known.generation == head.generation);
        let Known { memories, guarded, described, charge, .. } = known.ok_or(unknown)?;
        // Frame after frame looks the same.
        let described = match described {
            Some(same) if *same.packet == *description => same,
            other => {
                let understood = understand(description)?;
                let after = self.shelf.renew(slot);
                other.insert(Described::new(description, understood, after))
            }
        };
        let kept = match self.shelf.take(&described.place) {
            Some(kept) => kept,
            None => described.tensor(memories, charge)?,
        };
        Ok(Taken { kept, guarded: *guarded, fence })
    }
}

impl Described {
    fn new(packet: &[u8], understood: Description, place: Place) -> Described {
        Described { packet: packet.into(), understood, place }
    }

    /// One more tensor that looks so.
    fn tensor(&self, memories: &[Arc<RawBuffer>], charge: &Arc<Charge>) -> Result<Kept, Refused> {
        let lease = Arc::new(Lease::over(charge));
        let lend = |raw: &Arc<RawBuffer>| RawBuffer::lent(Arc::clone(raw), Arc::clone(&lease));
        let buffers: SmallVec<[Buffer; 1]> =
            memories.iter().map(|raw| Buffer::from_raw(lend(raw))).collect();
        let tensor = self.understood.over(&buffers);
        let tensor = tensor.map_err(|error| Refused::Description(error.into()))?;
        Ok(Kept::new(tensor, lease, self.place.clone()))
    }
}

fn understand(description: &[u8]) -> Result<Description, Refused> {
    Description::decode(description)
        .map_err(|fault| Refused::Description(tenure_tensor::Error::from(fault).into()))
}

/// Maps the memories of a slot, after looking at what they are and whether the frame fits.
fn take_memories(
    generation: u32,
    descriptors: &Descriptors,
    description: &Description,
    (budget, name): (&Arc<Budget>, &str),
) -> Result<Known, Refused> {
    let Description { dtype, shape, strides, offset, .. } = description;
    let layout = Layout::strided(*dtype, shape, strides, *offset);
    let layout = layout.map_err(|error| Refused::Description(error.into()))?;
    let mut needed = layout.span().end;
    let mut memories = SmallVec::new();
    let mut guarded = Guarded::Sealed;
    for fd in descriptors {
        let how = look(fd.as_fd())?;
        // What is true of the least guarded memory is true of all.
        if how != Guarded::Sealed && guarded != Guarded::Open {
            guarded = how;
        }
        let tensor_name = description.name.as_deref();
        let buffer =
            import(fd, needed, Protection::ReadOnly, tensor_name).map_err(|error| match error {
                MemoryError::TooShort { .. } => Refused::Description(error.into()),
                error => Refused::Memory(error.into()),
            })?;
        // Further planes are measured when the tensor is made.
        needed = 0;
        let raw = buffer.raw().map_err(|error| Refused::Memory(error.into()))?;
        memories.push(Arc::clone(raw));
    }
    let bytes = memories.iter().map(|raw: &Arc<RawBuffer>| raw.size());
    let bytes = bytes.fold(0, usize::saturating_add);
    let charge = budget.charge(name, bytes, memories.len()).map_err(Refused::Memory)?;
    Ok(Known { generation, memories, guarded, charge: Arc::new(charge), described: None })
}

/// What keeps others from writing to the memory; an error if it is none that streams have.
pub(crate) fn look(fd: BorrowedFd<'_>) -> Result<Guarded, Fault> {
    let wrong = |found: &dyn std::fmt::Display| Fault::Memory { found: found.to_string() };
    match recognise(fd).map_err(|error| wrong(&error))? {
        TensorMemory::Shm => {
            let seals = fcntl_get_seals(fd).map_err(|errno| wrong(&errno))?;
            if !seals.contains(SIZE_SEALS) || !seals.intersects(WRITE_SEALS) {
                return Err(Fault::Unsealed { found: seals.bits() });
            }
            Ok(Guarded::Sealed)
        }
        TensorMemory::Dma => {
            let mode = fcntl_getfl(fd).map_err(|errno| wrong(&errno))?;
            let read_only = mode & OFlags::ACCMODE == OFlags::RDONLY;
            Ok(if read_only { Guarded::ReadOnly } else { Guarded::Open })
        }
        other => Err(wrong(&other)),
    }
}
