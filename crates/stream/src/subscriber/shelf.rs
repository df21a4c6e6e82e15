//! Tensors of frames that were given back, to be used again by the next frame of the same slot:
//! so a frame costs no allocation once every slot has been seen.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use tenure_tensor::TensorDyn;

use super::connection::{Held, Lease};

/// A tensor over the memory of a slot, which `lease` is kept by.
#[derive(Debug)]
pub(crate) struct Kept {
    tensor: TensorDyn,
    lease: Arc<Lease>,
    /// Bytes of the producer's own; the allocation is used again.
    blob: Vec<u8>,
    place: Place,
}

/// Where a tensor goes when it was given back.
#[derive(Debug, Clone)]
pub(super) struct Place {
    /// Gone with the subscriber.
    shelf: Weak<Shelf>,
    slot: usize,
    stamp: u64,
}

/// The tensors of one connection that no frame has.
#[derive(Debug, Default)]
pub(super) struct Shelf {
    slots: Mutex<Vec<OnShelf>>,
}

#[derive(Debug, Default)]
struct OnShelf {
    /// Counts memories and descriptions of the slot: tensors of others are not kept.
    stamp: u64,
    kept: Option<Kept>,
}

impl Shelf {
    fn at<T>(&self, slot: usize, work: impl FnOnce(&mut OnShelf) -> T) -> Option<T> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.get_mut(slot).map(work)
    }

    /// From now on the slot has other tensors.
    pub(super) fn renew(self: &Arc<Shelf>, slot: usize) -> Place {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if slots.len() <= slot {
            slots.resize_with(slot + 1, OnShelf::default);
        }
        let renewed = slots.get_mut(slot).map(|on_shelf| {
            on_shelf.stamp += 1;
            (on_shelf.stamp, on_shelf.kept.take())
        });
        drop(slots);
        // Dropped without the lock: memory takes time to free.
        let (stamp, _before) = renewed.unwrap_or_default();
        Place { shelf: Arc::downgrade(self), slot, stamp }
    }

    /// The tensor that waits at this place.
    pub(super) fn take(&self, place: &Place) -> Option<Kept> {
        self.at(place.slot, |there| there.kept.take_if(|_| there.stamp == place.stamp))?
    }
}

impl Kept {
    /// A tensor that was made with this lease.
    pub(super) fn new(tensor: TensorDyn, lease: Arc<Lease>, place: Place) -> Kept {
        Kept { tensor, lease, blob: vec![], place }
    }

    /// Gives it to a frame, which holds the slot from now on.
    pub(super) fn begin(&mut self, held: Held, blob: &[u8]) {
        self.lease.begin(held);
        self.blob.extend_from_slice(blob);
    }

    pub(crate) fn tensor(&self) -> &TensorDyn {
        &self.tensor
    }

    pub(crate) fn blob(&self) -> &[u8] {
        &self.blob
    }

    pub(crate) fn lease(&self) -> &Lease {
        &self.lease
    }

    /// The frame is gone. If nobody else has the tensor, the slot is given back now and the tensor
    /// waits for the next frame; otherwise the last handle gives the slot back.
    pub(crate) fn end(&mut self) {
        // What was inherited is not given back here.
        if !self.lease.is_own() || !self.tensor.is_only_handle() {
            return;
        }
        self.lease.end();
        let Some(shelf) = self.place.shelf.upgrade() else { return };
        self.blob.clear();
        let blob = std::mem::take(&mut self.blob);
        let (tensor, lease) = (self.tensor.clone(), Arc::clone(&self.lease));
        let kept = Kept { tensor, lease, blob, place: self.place.clone() };
        let Place { slot, stamp, .. } = self.place;
        // What is not kept is dropped without the lock.
        let _other = shelf.at(slot, |there| {
            if there.stamp == stamp { there.kept.replace(kept) } else { Some(kept) }
        });
    }
}
