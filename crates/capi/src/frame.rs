//! Frames of a stream: tensors that nobody writes, and what came with them.
#![expect(unsafe_code, reason = "C passes pointers")]

use std::ffi::c_void;
use std::ptr;
use std::time::Duration;

use tenure::memory::Fence;
use tenure::stream::{Frame, Guarded};

use crate::fence::FenceHandle;
use crate::guarded::{guarded, guarded_free};
use crate::handles::Handle;
use crate::pointers::{borrow, give, out, take};
use crate::status::Status;
use crate::tensor::TensorHandle;

/// A frame of a stream. Its slot goes back to the producer when the frame is released and all
/// tensors, maps and exports made of it are gone; until then nobody writes to it, also if the
/// producer dies. Calls from several threads are fine.
pub struct FrameHandle(pub(crate) Frame);

impl Handle for FrameHandle {}

/// What keeps others from writing to a frame: one of `TENURE_GUARDED_…`.
pub type GuardedCode = i32;

/// Nothing but good manners: a DMA-BUF whose exporter lets everybody write that has it.
pub const TENURE_GUARDED_OPEN: GuardedCode = 0;
/// The kernel, by seals that nobody can take off.
pub const TENURE_GUARDED_SEALED: GuardedCode = 1;
/// The kernel, by giving out a descriptor for reading only.
pub const TENURE_GUARDED_READ_ONLY: GuardedCode = 2;

/// What came with a frame.
#[repr(C)]
pub struct FrameInfo {
    /// Its number, counted by the producer since it began.
    pub sequence: u64,
    /// Tells one life of the producer from the next.
    pub incarnation: u64,
    /// When it was taken, in nanoseconds of `CLOCK_MONOTONIC`; 0 if the producer did not say so.
    pub timestamp: u64,
    /// When it was published, in nanoseconds of `CLOCK_MONOTONIC`.
    pub published: u64,
    /// Frames that were published between the one before and this one and did not come.
    pub dropped: u64,
    /// All frames that did not come since this consumer did.
    pub dropped_in_all: u64,
    /// Which slot of the stream it is in.
    pub slot: usize,
    /// Which memory of the slot it is in: with slot and incarnation, what caches go by.
    pub generation: u32,
    /// What keeps others from writing to it.
    pub guarded: GuardedCode,
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The frame's tensor, a new handle, to read only. It keeps the slot just as the frame does.
///
/// # Safety
/// `frame` is null or a frame; `tensor` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_frame_tensor(
    frame: *const FrameHandle,
    tensor: *mut *mut TensorHandle,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (frame, tensor) = unsafe { (borrow(frame, "frame")?, out(tensor, "tensor")?) };
        give(tensor, frame.0.tensor().clone().into());
        Ok(())
    })
}

/// Numbers, times and losses.
///
/// # Safety
/// `frame` is null or a frame; `info` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_frame_info(
    frame: *const FrameHandle,
    info: *mut FrameInfo,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (frame, info) = unsafe { (borrow(frame, "frame")?, out(info, "info")?) };
        let frame = &frame.0;
        info.write(FrameInfo {
            sequence: frame.sequence(),
            incarnation: frame.incarnation(),
            timestamp: frame.timestamp().map_or(0, nanoseconds),
            published: nanoseconds(frame.published()),
            dropped: frame.dropped(),
            dropped_in_all: frame.dropped_in_all(),
            slot: frame.slot(),
            generation: frame.generation(),
            guarded: match frame.guarded() {
                Guarded::Sealed => TENURE_GUARDED_SEALED,
                Guarded::ReadOnly => TENURE_GUARDED_READ_ONLY,
                _ => TENURE_GUARDED_OPEN,
            },
        });
        Ok(())
    })
}

/// Bytes of the producer's own: never null, perhaps none. Valid until the frame is released.
///
/// # Safety
/// `frame` is null or a frame; the others are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_frame_blob(
    frame: *const FrameHandle,
    data: *mut *const c_void,
    bytes: *mut usize,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (frame, data, bytes) =
            unsafe { (borrow(frame, "frame")?, out(data, "data")?, out(bytes, "bytes")?) };
        let blob = frame.0.blob();
        data.write(blob.as_ptr().cast());
        bytes.write(blob.len());
        Ok(())
    })
}

/// The fence after which the frame is complete, or null if it is: only for subscribers with
/// explicit fences, all others have waited for it.
///
/// # Safety
/// `frame` is null or a frame; `fence` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_frame_fence(
    frame: *const FrameHandle,
    fence: *mut *mut FenceHandle,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (frame, fence) = unsafe { (borrow(frame, "frame")?, out(fence, "fence")?) };
        match frame.0.fence() {
            Some(until) => give(fence, FenceHandle(Fence::from_fd(until.fd())?)),
            None => {
                fence.write(ptr::null_mut());
            }
        }
        Ok(())
    })
}

/// Releases a frame, to be written again when `fence` is done, because a device still reads it.
/// The frame is gone unless this answers an error.
///
/// # Safety
/// `frame` is null or a frame that nobody uses any more; `fence` is null or a fence.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_frame_release_after(
    frame: *mut FrameHandle,
    fence: *const FenceHandle,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let fence = Fence::from_fd(unsafe { borrow(fence, "fence")? }.0.fd())?;
        // SAFETY: by the caller's promise.
        unsafe { borrow(frame, "frame")? };
        // SAFETY: by the caller's promise; the reference above is gone.
        if let Some(frame) = unsafe { take(frame, "frame")? } {
            frame.0.release_after(fence);
        }
        Ok(())
    })
}

/// Releases a frame; null is fine. Tensors made of it stay, and keep its slot.
///
/// # Safety
/// `frame` is null or a frame that nobody uses any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_frame_release(frame: *mut FrameHandle) {
    // SAFETY: by the caller's promise.
    guarded_free(|| unsafe { take(frame, "frame") });
}
