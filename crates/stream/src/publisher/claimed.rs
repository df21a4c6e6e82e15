//! A slot that the producer fills.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

use tenure_memory::{Buffer, RawBuffer};
use tenure_tensor::TensorDyn;

use super::homes::Owned;
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
        let raw = RawBuffer::lent(Arc::clone(&owned.raw), Arc::clone(&claim));
        let fitted = owned.spec.fitted(owned.raw.memory())?;
        let tensor = fitted.over(Buffer::from_raw(raw))?;
        Ok(Ready { tensor, claim })
    }
}

impl Slot {
    pub(super) fn new(shared: &Arc<Shared>, slot: usize, owned: Arc<Owned>) -> Result<Slot> {
        let ready = owned.take_ready().map_or_else(|| Ready::over(&owned), Ok)?;
        ready.claim.set(Some((Arc::clone(shared), slot)));
        Ok(Slot { shared: Arc::clone(shared), slot, ready, owned })
    }

    /// The tensor to fill. Every other handle to it must be gone before [`Slot::publish`].
    pub fn tensor(&self) -> &TensorDyn {
        &self.ready.tensor
    }

    /// Which slot of the stream it is.
    pub fn index(&self) -> usize {
        self.slot
    }

    /// Publishes the frame to all consumers that have a credit left. Never waits for any of them.
    ///
    /// # Errors
    /// [`Error::StillHeld`] if other handles to the tensor exist; the slot is then given up when
    /// the last of them is gone. [`Error::TooLong`] if the blob is.
    pub fn publish(self, meta: Meta<'_>) -> Result<Receipt> {
        self.shared.check_process()?;
        meta.check()?;
        let Slot { shared, slot, mut ready, owned } = self;
        if !ready.tensor.is_only_handle() {
            return Err(Error::StillHeld);
        }
        // From here on nobody can write to the slot: the only tensor is out of everybody's reach.
        let receipt = shared.publish(slot, &owned, &meta)?;
        ready.claim.set(None);
        owned.keep_ready(ready);
        Ok(receipt)
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
