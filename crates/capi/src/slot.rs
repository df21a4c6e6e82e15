//! Slots of a stream: what a producer fills and publishes.
#![expect(unsafe_code, reason = "C passes pointers")]

use tenure::stream::Slot;

use crate::failure::Failure;
use crate::guarded::{guarded, guarded_free};
use crate::handles::Handle;
use crate::pointers::{borrow, borrow_mut, give, out, take};
use crate::publishing::{FrameMeta, PublishReceipt, meta, with_receipt};
use crate::status::Status;
use crate::tensor::TensorHandle;

/// A slot to fill, which nobody else has yet. Publishing takes the slot away; the handle is freed
/// in any case.
pub struct SlotHandle(Option<Slot>);

impl Handle for SlotHandle {}

impl From<Slot> for SlotHandle {
    fn from(slot: Slot) -> SlotHandle {
        SlotHandle(Some(slot))
    }
}

fn spent() -> Failure {
    Failure::invalid("the slot was published or given up before: claim another one")
}

/// The tensor to fill, a new handle. Kept past `tenure_slot_publish` it is a private copy, and so
/// are its maps and views: nothing that is written there reaches the frame.
///
/// # Safety
/// `slot` is null or a slot; `tensor` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_slot_tensor(
    slot: *const SlotHandle,
    tensor: *mut *mut TensorHandle,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (slot, tensor) = unsafe { (borrow(slot, "slot")?, out(tensor, "tensor")?) };
        let filled = slot.0.as_ref().ok_or_else(spent)?;
        give(tensor, filled.tensor().clone().into());
        Ok(())
    })
}

/// Publishes the frame to all consumers that have a credit left, and waits for none of them.
/// `meta` and `receipt` may be null. `TENURE_STATUS_BUSY` if a copy or a device still works on the
/// tensor; if it is not published, for this or another reason, the slot is given up, but for null
/// pointers.
///
/// # Safety
/// `slot` is null or a slot that nobody else uses; `meta` and what it points to, and `receipt`,
/// are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_slot_publish(
    slot: *mut SlotHandle,
    meta: *const FrameMeta,
    receipt: *mut PublishReceipt,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (slot, meta) = unsafe { (borrow_mut(slot, "slot")?, self::meta(meta)?) };
        let publish = || Ok(slot.0.take().ok_or_else(spent)?.publish(meta)?);
        // SAFETY: by the caller's promise.
        unsafe { with_receipt(receipt, publish) }
    })
}

/// Gives a slot back; null is fine. One that was not published is given up.
///
/// # Safety
/// `slot` is null or a slot that nobody uses any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_slot_free(slot: *mut SlotHandle) {
    // SAFETY: by the caller's promise.
    guarded_free(|| unsafe { take(slot, "slot") });
}
