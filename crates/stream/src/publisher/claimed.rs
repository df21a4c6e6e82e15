//! A slot that the producer fills.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tenure_memory::{Buffer, RawBuffer};
use tenure_tensor::TensorDyn;

use super::homes::Owned;
use super::{Meta, Receipt, Shared};
use crate::{Error, Result};

/// A slot to fill: a tensor that nobody else has yet. Publishing it takes it away, so that what
/// was published cannot be written; dropping it gives it up.
#[must_use]
pub struct Slot {
    tensor: TensorDyn,
    claim: Arc<Claim>,
    owned: Arc<Owned>,
}

/// Gives the slot up when the last handle to its tensor is gone, unless it was published.
struct Claim {
    shared: Arc<Shared>,
    slot: usize,
    published: AtomicBool,
}

impl Drop for Claim {
    fn drop(&mut self) {
        if !*self.published.get_mut() {
            let slot = self.slot;
            self.shared.with(|core| core.accounts.unclaim(slot, true));
        }
    }
}

impl Slot {
    pub(super) fn new(shared: &Arc<Shared>, slot: usize, owned: Arc<Owned>) -> Result<Slot> {
        let shared = Arc::clone(shared);
        let claim = Arc::new(Claim { shared, slot, published: AtomicBool::new(false) });
        let raw = RawBuffer::lent(Arc::clone(&owned.raw), Arc::clone(&claim));
        let fitted = owned.spec.fitted(owned.raw.memory())?;
        let tensor = fitted.over(Buffer::from_raw(raw))?;
        Ok(Slot { tensor, claim, owned })
    }

    /// The tensor to fill. Every other handle to it must be gone before [`Slot::publish`].
    pub fn tensor(&self) -> &TensorDyn {
        &self.tensor
    }

    /// Which slot of the stream it is.
    pub fn index(&self) -> usize {
        self.claim.slot
    }

    /// Publishes the frame to all consumers that have a credit left. Never waits for any of them.
    ///
    /// # Errors
    /// [`Error::StillHeld`] if other handles to the tensor exist; the slot is then given up when
    /// the last of them is gone. [`Error::TooLong`] if the blob is.
    pub fn publish(self, meta: Meta<'_>) -> Result<Receipt> {
        meta.check()?;
        let Slot { tensor, claim, owned } = self;
        drop(tensor);
        if Arc::strong_count(&claim) > 1 {
            return Err(Error::StillHeld);
        }
        let receipt = claim.shared.publish(claim.slot, &owned, &meta)?;
        claim.published.store(true, Ordering::Relaxed);
        Ok(receipt)
    }
}

impl Deref for Slot {
    type Target = TensorDyn;

    fn deref(&self) -> &TensorDyn {
        &self.tensor
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slot")
            .field("index", &self.claim.slot)
            .field("tensor", &self.tensor)
            .finish_non_exhaustive()
    }
}
