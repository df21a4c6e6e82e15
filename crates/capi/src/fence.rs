//! Work that is on its way, and what tells that it is done.
#![expect(unsafe_code, reason = "C passes pointers and descriptors")]

use std::ffi::c_int;
use std::os::fd::{AsFd, IntoRawFd};
use std::time::Duration;

use tenure::image::Convert;
use tenure::memory::Fence;

use crate::convert::ConvertHandle;
use crate::descriptor::descriptor;
use crate::failure::Failure;
use crate::guarded::{guarded, guarded_free};
use crate::handles::Handle;
use crate::pointers::{borrow, give, optional, out, take};
use crate::processor::{PlacementFigures, ProcessorHandle, figures};
use crate::status::Status;
use crate::tensor::TensorHandle;

/// Becomes done when the work behind it is, and stays so. Any thread may use it.
pub struct FenceHandle(pub(crate) Fence);

impl Handle for FenceHandle {}

/// As `tenure_processor_convert`, perhaps done later: `fence` is done when the picture is, and
/// nobody can touch either side until then. A fence that fails tells that the destination is not
/// written. Handles of the tensors may be freed before.
///
/// # Safety
/// Handles are null or valid; `placement` is null or valid, and `fence` too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_processor_convert_later(
    processor: *const ProcessorHandle,
    source: *const TensorHandle,
    destination: *const TensorHandle,
    convert: *const ConvertHandle,
    placement: *mut PlacementFigures,
    fence: *mut *mut FenceHandle,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (processor, source, fence) = unsafe {
            (borrow(processor, "processor")?, borrow(source, "source")?, out(fence, "fence")?)
        };
        // SAFETY: by the caller's promise.
        let (destination, convert) =
            unsafe { (borrow(destination, "destination")?, optional(convert, "convert")?) };
        let usual = Convert::new();
        let convert = convert.map_or(&usual, |convert| &convert.0);
        let destination = destination.tensor.clone();
        let (place, begun) = processor.0.convert_later(&source.tensor, &destination, convert)?;
        if !placement.is_null() {
            // SAFETY: by the caller's promise.
            unsafe { out(placement, "placement")? }.write(figures(&place));
        }
        give(fence, FenceHandle(begun));
        Ok(())
    })
}

/// The name that `tenure_processor_convert_later` had before version 0.2; deprecated.
///
/// # Safety
/// As `tenure_processor_convert_later`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_processor_convert_async(
    processor: *const ProcessorHandle,
    source: *const TensorHandle,
    destination: *const TensorHandle,
    convert: *const ConvertHandle,
    placement: *mut PlacementFigures,
    fence: *mut *mut FenceHandle,
) -> Status {
    // SAFETY: the same call with the same pointers, by the caller's promise.
    unsafe {
        tenure_processor_convert_later(processor, source, destination, convert, placement, fence)
    }
}

/// Begins a copy of `source` into `tensor`: `fence` is done when the elements are copied. Both tensors
/// are held until then: mapping `tensor`, or writing `source`, is `TENURE_STATUS_BUSY`. Their handles may
/// be freed before. Between memories that the CPU reaches the copy is done at once.
///
/// # Safety
/// Both are null or handles; `fence` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_tensor_copy_from_later(
    tensor: *const TensorHandle,
    source: *const TensorHandle,
    fence: *mut *mut FenceHandle,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (tensor, source, fence) =
            unsafe { (borrow(tensor, "tensor")?, borrow(source, "source")?, out(fence, "fence")?) };
        give(fence, FenceHandle(tensor.tensor.copy_from_later(&source.tensor)?));
        Ok(())
    })
}

/// A fence of another library or process: a sync file, whose descriptor is duplicated. The caller
/// keeps and closes its own.
///
/// # Safety
/// Nobody closes `fd` meanwhile; `fence` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_fence_from_fd(fd: c_int, fence: *mut *mut FenceHandle) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (fd, fence) = unsafe { (descriptor(fd, "fd")?, out(fence, "fence")?) };
        give(fence, FenceHandle(Fence::from_fd(fd)?));
        Ok(())
    })
}

/// Waits until the work is done, at most so many nanoseconds; 0 only looks, and less than 0 waits
/// without end. Puts out whether it is done.
///
/// # Safety
/// `fence` is null or a fence; `done` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_fence_wait(
    fence: *const FenceHandle,
    nanoseconds: i64,
    done: *mut bool,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (fence, done) = unsafe { (borrow(fence, "fence")?, out(done, "done")?) };
        let timeout = u64::try_from(nanoseconds).ok().map(Duration::from_nanos);
        done.write(fence.0.wait(timeout)?);
        Ok(())
    })
}

/// A new descriptor to poll, or to give to another library or process; the caller closes it.
///
/// # Safety
/// `fence` is null or a fence; `fd` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_fence_clone_fd(
    fence: *const FenceHandle,
    fd: *mut c_int,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (fence, fd) = unsafe { (borrow(fence, "fence")?, out(fd, "fd")?) };
        let copy = fence.0.fd().as_fd().try_clone_to_owned().map_err(|error| {
            Failure::new(
                Status::System,
                format!("the fence's descriptor cannot be copied: {error}"),
            )
        })?;
        fd.write(copy.into_raw_fd());
        Ok(())
    })
}

/// Gives a fence back; null is fine. The work goes on.
///
/// # Safety
/// `fence` is null or a fence that nobody uses any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_fence_free(fence: *mut FenceHandle) {
    // SAFETY: by the caller's promise.
    guarded_free(|| unsafe { take(fence, "fence") });
}
