//! Tensors that show the same bytes differently. No bytes move; an index or region outside is an
//! error, never a clamp.
#![expect(unsafe_code, reason = "C passes pointers")]

use tenure::{Region, TensorDyn};

use crate::failure::Outcome;
use crate::guarded::guarded;
use crate::pointers::{borrow, dims, give, out};
use crate::status::Status;
use crate::tensor::TensorHandle;

/// Puts out what `view` makes of a tensor.
///
/// # Safety
/// `tensor` is null or a handle; `made` is null or valid.
unsafe fn viewed(
    tensor: *const TensorHandle,
    made: *mut *mut TensorHandle,
    view: impl FnOnce(&TensorDyn) -> Outcome<TensorDyn>,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (tensor, made) = unsafe { (borrow(tensor, "tensor")?, out(made, "view")?) };
        give(made, view(&tensor.tensor)?.into());
        Ok(())
    })
}

/// Every `step`th of the indices `start` up to, without, `end` of dimension `axis`.
///
/// # Safety
/// `tensor` is null or a handle; `view` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_tensor_slice(
    tensor: *const TensorHandle,
    axis: usize,
    start: usize,
    end: usize,
    step: usize,
    view: *mut *mut TensorHandle,
) -> Status {
    // SAFETY: by the caller's promise.
    unsafe { viewed(tensor, view, |tensor| Ok(tensor.slice_step(axis, start..end, step)?)) }
}

/// One index of dimension `axis`, which disappears.
///
/// # Safety
/// `tensor` is null or a handle; `view` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_tensor_index(
    tensor: *const TensorHandle,
    axis: usize,
    index: usize,
    view: *mut *mut TensorHandle,
) -> Status {
    // SAFETY: by the caller's promise.
    unsafe { viewed(tensor, view, |tensor| Ok(tensor.index(axis, index)?)) }
}

/// The same elements in another shape; an error if gaps stand against it.
///
/// # Safety
/// `tensor` is null or a handle; `shape` has `rank` numbers; `view` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_tensor_reshape(
    tensor: *const TensorHandle,
    shape: *const usize,
    rank: usize,
    view: *mut *mut TensorHandle,
) -> Status {
    // SAFETY: by the caller's promise.
    unsafe { viewed(tensor, view, |tensor| Ok(tensor.reshape(dims(shape, rank, "shape")?)?)) }
}

/// The dimensions in another order: dimension `i` of the view is `axes[i]` of the tensor.
///
/// # Safety
/// `tensor` is null or a handle; `axes` has `rank` numbers; `view` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_tensor_permute(
    tensor: *const TensorHandle,
    axes: *const usize,
    rank: usize,
    view: *mut *mut TensorHandle,
) -> Status {
    // SAFETY: by the caller's promise.
    unsafe { viewed(tensor, view, |tensor| Ok(tensor.permute(dims(axes, rank, "axes")?)?)) }
}

/// Dimensions of 1 repeated, and leading ones added, to reach `shape`. Such a view can be read, not
/// mapped to write: one place stands for many elements.
///
/// # Safety
/// `tensor` is null or a handle; `shape` has `rank` numbers; `view` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_tensor_broadcast_to(
    tensor: *const TensorHandle,
    shape: *const usize,
    rank: usize,
    view: *mut *mut TensorHandle,
) -> Status {
    // SAFETY: by the caller's promise.
    unsafe { viewed(tensor, view, |tensor| Ok(tensor.broadcast_to(dims(shape, rank, "shape")?)?)) }
}

/// One element of the leading dimension; a batch of images gives an image.
///
/// # Safety
/// `tensor` is null or a handle; `view` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_tensor_batch(
    tensor: *const TensorHandle,
    index: usize,
    view: *mut *mut TensorHandle,
) -> Status {
    // SAFETY: by the caller's promise.
    unsafe { viewed(tensor, view, |tensor| Ok(tensor.batch(index)?)) }
}

/// The pixels of an image inside a rectangle, as an image over the same bytes.
///
/// # Safety
/// `tensor` is null or a handle; `view` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_tensor_region(
    tensor: *const TensorHandle,
    x: usize,
    y: usize,
    width: usize,
    height: usize,
    view: *mut *mut TensorHandle,
) -> Status {
    // SAFETY: by the caller's promise.
    unsafe { viewed(tensor, view, |tensor| Ok(tensor.view(Region::new(x, y, width, height))?)) }
}

/// One plane of an image as a tensor of its own over the same bytes.
///
/// # Safety
/// `tensor` is null or a handle; `view` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_tensor_plane(
    tensor: *const TensorHandle,
    plane: usize,
    view: *mut *mut TensorHandle,
) -> Status {
    // SAFETY: by the caller's promise.
    unsafe { viewed(tensor, view, |tensor| Ok(tensor.plane(plane)?)) }
}
