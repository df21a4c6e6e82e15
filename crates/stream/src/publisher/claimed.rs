//! A slot that the producer fills.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

use tenure_memory::Buffer;
use tenure_tensor::TensorDyn;

use super::homes::{Home, Owned};
use super::{Meta, Receipt, Shared};
use crate::{Error, Result};

/// A slot to fill: a tensor that nobody else has yet. Publishing it takes it away, so that what
/// was published cannot be written; dropping it gives it up.
#[must_use]
pub struct Slot {
    shared: Arc<Shared>,
    slot: usize,
    ready: Ready,
    owned: Arc<Owned>,
}

/// A tensor over the memory of a slot, kept by the memory's owner while nobody fills it, so that
/// the next claim makes no other.
pub(super) struct Ready {
    tensor: TensorDyn,
    claim: Arc<Claim>,
}

/// Gives the slot up when the last handle to its tensor is gone, while it is claimed.
#[derive(Default)]
struct Claim {
    /// `None` while nobody fills the slot, so that a kept tensor does not keep the stream.
    claimed: Mutex<Option<(Arc<Shared>, usize)>>,
}

impl Claim {
    fn set(&self, claimed: Option<(Arc<Shared>, usize)>) {
        let mut place = self.claimed.lock().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *place, claimed);
        drop(place);
        // Without the lock: it may be all that is left of the stream.
        drop(before);
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let claimed = self.claimed.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some((shared, slot)) = claimed.take() {
            shared.with_own(|core| core.accounts.unclaim(slot, true));
        }
    }
}

impl Ready {
    fn over(owned: &Owned) -> Result<Ready> {
        let claim = Arc::new(Claim::default());
        let raw = owned.memory.window(Arc::clone(&claim));
        let tensor = owned.spec.over(Buffer::from_raw(raw))?;
        Ok(Ready { tensor, claim })
    }

    /// From now on the tensor can be used, and no frame in the memory.
    fn open(&self, owned: &Owned) -> Result<()> {
        Ok(owned.memory.open(self.tensor.buffer().raw()?)?)
    }

    /// From now on it is the other way round.
    fn close(&self, owned: &Owned) -> Result<()> {
        Ok(owned.memory.close(self.tensor.buffer().raw()?)?)
    }
}

impl Slot {
    pub(super) fn new(shared: &Arc<Shared>, slot: usize, owned: Arc<Owned>) -> Result<Slot> {
        let ready = owned.take_ready().map_or_else(|| Ready::over(&owned), Ok)?;
        ready.open(&owned)?;
        ready.claim.set(Some((Arc::clone(shared), slot)));
        Ok(Slot { shared: Arc::clone(shared), slot, ready, owned })
    }

    /// The tensor to fill.
    pub fn tensor(&self) -> &TensorDyn {
        &self.ready.tensor
    }

    /// Which slot of the stream it is.
    pub fn index(&self) -> usize {
        self.slot
    }

    /// Gives the slot up, and at once: whoever still has the tensor goes on with a private copy.
    /// Dropping it gives it up when the last handle to the tensor is gone.
    pub fn discard(self) {
        let Slot { shared, slot, mut ready, owned } = self;
        if !shared.process.is_current() || ready.tensor.is_only_handle() {
            return;
        }
        let window = ready.tensor.buffer().raw();
        if let Ok(Ok(memory)) = window.map(|window| owned.memory.part(window)) {
            let parted = Arc::new(owned.parted(memory));
            ready.claim.set(None);
            shared.with(|core| {
                core.set_home(slot, Home::Owned(parted));
                core.accounts.unclaim(slot, true);
            });
        }
    }

    /// Publishes the frame to all consumers that have a credit left. Never waits for any of them.
    ///
    /// Whoever still has the tensor, or a view, guard or export of it, can go on using it: from now
    /// on it is a private copy, and no write to it reaches the frame. It costs pages only where it
    /// is written, or still there when the slot is used again.
    ///
    /// # Errors
    /// [`Error::StillHeld`] if a copy or a device is still at work on the tensor; the slot is then
    /// given up when the last handle is gone, and so it is if there is no room for a private copy.
    /// [`Error::TooLong`] if the blob is.
    pub fn publish(self, meta: Meta<'_>) -> Result<Receipt> {
        self.shared.check_process()?;
        meta.check()?;
        let Slot { shared, slot, mut ready, owned } = self;
        if !ready.tensor.is_only_handle() {
            let owned = part(&shared, slot, &owned, &ready)?;
            ready.claim.set(None);
            return shared.publish(slot, &owned, &meta);
        }
        // From here on nobody can write to the slot: the only tensor is out of everybody's reach.
        ready.close(&owned)?;
        let receipt = shared.publish(slot, &owned, &meta)?;
        ready.claim.set(None);
        owned.keep_ready(ready);
        Ok(receipt)
    }
}

/// Parts what somebody still has of a slot's tensor from what is published.
fn part(shared: &Shared, slot: usize, owned: &Arc<Owned>, ready: &Ready) -> Result<Arc<Owned>> {
    match owned.memory.part(ready.tensor.buffer().raw()?) {
        Ok(memory) => {
            let parted = Arc::new(owned.parted(memory));
            shared.with(|core| core.set_home(slot, Home::Owned(Arc::clone(&parted))));
            Ok(parted)
        }
        Err(error) if error.is_busy() => Err(Error::StillHeld),
        Err(error @ tenure_memory::Error::OutOfMemory { .. }) => Err(error.into()),
        // A DMA-BUF, or an old kernel: they keep the memory, and the slot gets other.
        Err(_) => {
            let made = Arc::new(shared.make(&owned.spec)?);
            let copy = Ready::over(&made)?;
            copy.open(&made)?;
            copy.tensor.copy_from(&ready.tensor).map_err(|error| match error {
                tenure_tensor::Error::Memory(error) if error.is_busy() => Error::StillHeld,
                error => error.into(),
            })?;
            copy.close(&made)?;
            made.keep_ready(copy);
            shared.with(|core| core.install(slot, &made));
            Ok(made)
        }
    }
}

impl Deref for Slot {
    type Target = TensorDyn;

    fn deref(&self) -> &TensorDyn {
        &self.ready.tensor
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slot")
            .field("index", &self.slot)
            .field("tensor", &self.ready.tensor)
            .finish_non_exhaustive()
    }
}
