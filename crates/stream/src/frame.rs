//! One frame: a tensor that nobody can write, and what came with it.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use tenure_memory::{Fence, TensorMemory};
use tenure_tensor::TensorDyn;

use crate::clock;
use crate::subscriber::Lease;
use crate::wire::{FrameHead, NONE};

/// A frame of a stream. It is a tensor, to be read only.
///
/// Its slot goes back to the producer when the last handle to the tensor is gone: the frame,
/// tensors shared or viewed from it, their guards and exports. Until then nobody writes to it, and
/// it stays valid if the producer dies.
pub struct Frame {
    tensor: TensorDyn,
    head: FrameHead,
    incarnation: u64,
    missed: u64,
    blob: Box<[u8]>,
    guarded: Guarded,
    fence: Option<Fence>,
    lease: Arc<Lease>,
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

/// What a frame is made of besides its tensor.
pub(crate) struct Came<'a> {
    pub(crate) head: FrameHead,
    pub(crate) incarnation: u64,
    /// Frames not got since the frame before.
    pub(crate) missed: u64,
    pub(crate) blob: &'a [u8],
    pub(crate) guarded: Guarded,
    pub(crate) fence: Option<Fence>,
    pub(crate) lease: Arc<Lease>,
}

impl Frame {
    pub(crate) fn new(tensor: TensorDyn, came: Came<'_>) -> Frame {
        let Came { head, incarnation, missed, blob, guarded, fence, lease } = came;
        Frame { tensor, head, incarnation, missed, blob: blob.into(), guarded, fence, lease }
    }

    /// The frame as a tensor.
    pub fn tensor(&self) -> &TensorDyn {
        &self.tensor
    }

    /// The tensor alone. It keeps the slot just as the frame does.
    pub fn into_tensor(self) -> TensorDyn {
        self.tensor
    }

    /// Number of the frame, counted by the producer since it began.
    pub fn sequence(&self) -> u64 {
        self.head.sequence
    }

    /// Tells one life of the producer from the next.
    pub fn incarnation(&self) -> u64 {
        self.incarnation
    }

    /// When it was taken, by the clock `CLOCK_MONOTONIC`, if the producer said so.
    pub fn timestamp(&self) -> Option<Duration> {
        (self.head.captured != NONE).then(|| Duration::from_nanos(self.head.captured))
    }

    /// When it was published, by the clock `CLOCK_MONOTONIC`.
    pub fn published(&self) -> Duration {
        Duration::from_nanos(self.head.published)
    }

    /// How long ago it was published.
    pub fn age(&self) -> Duration {
        Duration::from_nanos(clock::now().saturating_sub(self.head.published))
    }

    /// Frames that were published between the one before and this one and did not come, because
    /// this consumer had no credit left.
    pub fn dropped(&self) -> u64 {
        self.missed
    }

    /// All frames that did not come since this consumer did.
    pub fn dropped_in_all(&self) -> u64 {
        self.head.dropped
    }

    /// Bytes of the producer's own.
    pub fn blob(&self) -> &[u8] {
        &self.blob
    }

    /// Which slot of the stream it is in.
    pub fn slot(&self) -> usize {
        self.head.slot as usize
    }

    /// Which memory of the slot it is in.
    pub fn generation(&self) -> u32 {
        self.head.generation
    }

    /// What keeps others from writing to it.
    pub fn guarded(&self) -> Guarded {
        self.guarded
    }

    /// The memory it is in.
    pub fn memory(&self) -> TensorMemory {
        self.tensor.memory()
    }

    /// The fence after which the frame is complete, if the subscriber was built to wait for
    /// fences itself ([`crate::SubscriberBuilder::explicit_fences`]).
    pub fn fence(&self) -> Option<&Fence> {
        self.fence.as_ref()
    }

    pub(crate) fn take_fence(&mut self) -> Option<Fence> {
        self.fence.take()
    }

    pub(crate) fn put_fence(&mut self, fence: Fence) {
        self.fence = Some(fence);
    }

    /// Gives the frame back, to be written again when `fence` is done: a device still reads it.
    /// Other handles to the tensor keep the slot as usual.
    pub fn release_after(self, fence: Fence) {
        self.lease.set_fence(fence);
    }
}

impl Deref for Frame {
    type Target = TensorDyn;

    fn deref(&self) -> &TensorDyn {
        &self.tensor
    }
}

impl fmt::Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Frame")
            .field("sequence", &self.head.sequence)
            .field("slot", &self.head.slot)
            .field("tensor", &self.tensor)
            .finish_non_exhaustive()
    }
}
