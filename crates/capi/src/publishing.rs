//! What is sent over a stream: frames of slots that were claimed, and of tensors that exist.
#![expect(unsafe_code, reason = "C passes pointers")]

use std::ffi::c_void;
use std::time::Duration;

use tenure::TensorDyn;
use tenure::stream::{Meta, Publisher, Receipt};

use crate::failure::Outcome;
use crate::fence::FenceHandle;
use crate::guarded::guarded;
use crate::pointers::{borrow, give, list, optional, optional_plain, out};
use crate::publisher::PublisherHandle;
use crate::slot::SlotHandle;
use crate::spec::SpecHandle;
use crate::status::Status;
use crate::tensor::TensorHandle;

/// What travels with a frame besides the tensor. All zeros is nothing.
#[repr(C)]
pub struct FrameMeta {
    /// When it was taken, in nanoseconds of `CLOCK_MONOTONIC`, as cameras say it; 0 if that is not
    /// known.
    pub timestamp: u64,
    /// Bytes of the user's own, at most 16 KiB, which are copied; null if there are none.
    pub blob: *const c_void,
    /// How many.
    pub blob_bytes: usize,
    /// The frame is complete when this fence is done, because a device still writes it; null if it
    /// is complete.
    pub fence: *const FenceHandle,
}

/// What became of a published frame.
#[repr(C)]
pub struct PublishReceipt {
    /// Number of the frame.
    pub sequence: u64,
    /// Consumers that it was sent to.
    pub consumers: usize,
    /// Consumers that had no credit left and did not get it.
    pub dropped: usize,
}

/// What C says of a frame.
///
/// # Safety
/// `meta` is null or valid, and what it points to stays so while the result is used.
pub(crate) unsafe fn meta<'a>(meta: *const FrameMeta) -> Outcome<Meta<'a>> {
    // SAFETY: by the caller's promise.
    let Some(said) = (unsafe { optional_plain(meta, "meta")? }) else { return Ok(Meta::new()) };
    // SAFETY: by the caller's promise.
    let blob = unsafe { list(said.blob.cast::<u8>(), said.blob_bytes, "blob")? };
    let mut meta = Meta::new().blob(blob);
    if said.timestamp != 0 {
        meta = meta.timestamp(Duration::from_nanos(said.timestamp));
    }
    // SAFETY: by the caller's promise.
    match unsafe { optional(said.fence, "fence")? } {
        Some(fence) => Ok(meta.fence(&fence.0)),
        None => Ok(meta),
    }
}

/// Publishes, and puts the receipt out if somebody wants it.
///
/// # Safety
/// `receipt` is null or valid.
pub(crate) unsafe fn with_receipt(
    receipt: *mut PublishReceipt,
    publish: impl FnOnce() -> Outcome<Receipt>,
) -> Outcome {
    // SAFETY: by the caller's promise. Looked at before anything is published.
    let room = if receipt.is_null() { None } else { Some(unsafe { out(receipt, "receipt") }?) };
    let Receipt { sequence, consumers, dropped } = publish()?;
    room.map(|room| room.write(PublishReceipt { sequence, consumers, dropped }));
    Ok(())
}

/// A slot to fill, for a frame that looks like `spec`, or with null like the one before. Its bytes
/// are what the last frame in it left. `TENURE_STATUS_BUSY` if too many are claimed already.
///
/// # Safety
/// `publisher` is null or a publisher, `spec` null or a description; `slot` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_publisher_claim(
    publisher: *const PublisherHandle,
    spec: *const SpecHandle,
    slot: *mut *mut SlotHandle,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (publisher, spec, slot) = unsafe {
            (borrow(publisher, "publisher")?, optional(spec, "spec")?, out(slot, "slot")?)
        };
        let mut publisher = publisher.lock();
        let claimed = match spec {
            Some(spec) => publisher.claim_as(&spec.0)?,
            None => publisher.claim()?,
        };
        give(slot, claimed.into());
        Ok(())
    })
}

/// Publishes a tensor in one of the ways that there are.
///
/// # Safety
/// As [`tenure_publisher_publish`].
unsafe fn publish(
    publisher: *const PublisherHandle,
    tensor: *const TensorHandle,
    meta: *const FrameMeta,
    receipt: *mut PublishReceipt,
    way: impl FnOnce(&mut Publisher, &TensorDyn, Meta<'_>) -> tenure::stream::Result<Receipt>,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (publisher, tensor, meta) = unsafe {
            (borrow(publisher, "publisher")?, borrow(tensor, "tensor")?, self::meta(meta)?)
        };
        let publish = || Ok(way(&mut publisher.lock(), &tensor.tensor, meta)?);
        // SAFETY: by the caller's promise.
        unsafe { with_receipt(receipt, publish) }
    })
}

/// Publishes a tensor that lives in shared memory or a DMA-BUF, as it is: nothing is copied. Its
/// memory is kept from being written in this process until the last consumer has let go, and
/// shared memory is sealed for good. `meta` and `receipt` may be null.
///
/// # Safety
/// Handles are null or valid; `meta` and what it points to, and `receipt`, are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_publisher_publish(
    publisher: *const PublisherHandle,
    tensor: *const TensorHandle,
    meta: *const FrameMeta,
    receipt: *mut PublishReceipt,
) -> Status {
    // SAFETY: by the caller's promise.
    unsafe {
        publish(publisher, tensor, meta, receipt, |it, tensor, meta| {
            it.publish_tensor(tensor, meta)
        })
    }
}

/// Publishes a copy of a tensor in any memory; otherwise as `tenure_publisher_publish`.
///
/// # Safety
/// As `tenure_publisher_publish`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_publisher_publish_copy(
    publisher: *const PublisherHandle,
    tensor: *const TensorHandle,
    meta: *const FrameMeta,
    receipt: *mut PublishReceipt,
) -> Status {
    // SAFETY: by the caller's promise.
    unsafe {
        publish(publisher, tensor, meta, receipt, |it, tensor, meta| it.publish_copy(tensor, meta))
    }
}
