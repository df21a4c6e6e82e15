//! One frame: a tensor that nobody can write, and what came with it.

use std::fmt;
use std::ops::Deref;
use std::time::Duration;

use tenure_memory::{Fence, TensorMemory};
use tenure_tensor::TensorDyn;

use crate::clock;
use crate::subscriber::Kept;
use crate::wire::{FrameHead, NONE};

/// A frame of a stream. It is a tensor, to be read only.
///
/// Its slot goes back to the producer when the last handle to the tensor is gone: the frame,
/// tensors shared or viewed from it, their guards and exports. Until then nobody writes to it, and
/// it stays valid if the producer dies.
///
/// Foreign code that writes to an export of it all the same, as torch does, changes pages of its
/// own, which no other consumer, reader in Rust or later frame sees: see
/// [`tenure_memory::Access::ExportRead`].
pub struct Frame {
    came: Came,
}

/// What keeps others from writing to the memory of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Guarded {
    /// The kernel, by seals that nobody can take off.
    Sealed,
    /// The kernel, by giving out a descriptor for reading only (DMA-BUF).
    ReadOnly,
    /// Nothing but good manners: a DMA-BUF whose exporter lets everybody write that has it.
    Open,
}

/// What a frame is made of.
pub(crate) struct Came {
    pub(crate) head: FrameHead,
    pub(crate) incarnation: u64,
    /// Frames not got since the frame before.
    pub(crate) missed: u64,
    pub(crate) guarded: Guarded,
    pub(crate) fence: Option<Fence>,
    pub(crate) kept: Kept,
}

impl Drop for Frame {
    fn drop(&mut self) {
        self.came.kept.end();
    }
}

impl Frame {
    pub(crate) fn new(came: Came) -> Frame {
        Frame { came }
    }

    /// The frame as a tensor.
    pub fn tensor(&self) -> &TensorDyn {
        self.came.kept.tensor()
    }

    /// The tensor alone. It keeps the slot just as the frame does.
    pub fn into_tensor(self) -> TensorDyn {
        self.tensor().clone()
    }

    /// Number of the frame, counted by the producer since it began.
    pub fn sequence(&self) -> u64 {
        self.came.head.sequence
    }

    /// Tells one life of the producer from the next.
    pub fn incarnation(&self) -> u64 {
        self.came.incarnation
    }

    /// When it was taken, by the clock `CLOCK_MONOTONIC`, if the producer said so.
    pub fn timestamp(&self) -> Option<Duration> {
        (self.came.head.captured != NONE).then(|| Duration::from_nanos(self.came.head.captured))
    }

    /// When it was published, by the clock `CLOCK_MONOTONIC`.
    pub fn published(&self) -> Duration {
        Duration::from_nanos(self.came.head.published)
    }

    /// How long ago it was published.
    pub fn age(&self) -> Duration {
        Duration::from_nanos(clock::now().saturating_sub(self.came.head.published))
    }

    /// Frames that were published between the one before and this one and did not come, because
    /// this consumer had no credit left.
    pub fn dropped(&self) -> u64 {
        self.came.missed
    }

    /// All frames that did not come since this consumer did.
    pub fn dropped_in_all(&self) -> u64 {
        self.came.head.dropped
    }

    /// Bytes of the producer's own.
    pub fn blob(&self) -> &[u8] {
        self.came.kept.blob()
    }

    /// Which slot of the stream it is in.
    pub fn slot(&self) -> usize {
        self.came.head.slot as usize
    }

    /// Which memory of the slot it is in.
    pub fn generation(&self) -> u32 {
        self.came.head.generation
    }

    /// What keeps others from writing to it.
    pub fn guarded(&self) -> Guarded {
        self.came.guarded
    }

    /// The memory it is in.
    pub fn memory(&self) -> TensorMemory {
        self.tensor().memory()
    }

    /// The fence after which the frame is complete, if the subscriber was built to wait for
    /// fences itself ([`crate::SubscriberBuilder::explicit_fences`]).
    pub fn fence(&self) -> Option<&Fence> {
        self.came.fence.as_ref()
    }

    pub(crate) fn take_fence(&mut self) -> Option<Fence> {
        self.came.fence.take()
    }

    pub(crate) fn put_fence(&mut self, fence: Fence) {
        self.came.fence = Some(fence);
    }

    /// Gives the frame back, to be written again when `fence` is done: a device still reads it.
    /// Other handles to the tensor keep the slot as usual.
    pub fn release_after(self, fence: Fence) {
        self.came.kept.lease().set_fence(fence);
    }
}

impl Deref for Frame {
    type Target = TensorDyn;

    fn deref(&self) -> &TensorDyn {
        self.came.kept.tensor()
    }
}

impl fmt::Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Frame")
            .field("sequence", &self.came.head.sequence)
            .field("slot", &self.came.head.slot)
            .field("tensor", self.tensor())
            .finish_non_exhaustive()
    }
}
