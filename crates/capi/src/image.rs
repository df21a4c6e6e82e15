//! Tensors that are images: making them, what is known of them, what their numbers mean.
#![expect(unsafe_code, reason = "C passes pointers")]

use std::ffi::c_char;

use tenure::{DynTensor, Quantization, TensorDyn};

use crate::codes::{
    self, DTypeCode, FormatCode, MatrixCode, MemoryCode, RangeCode, TENURE_FORMAT_NONE,
    TENURE_MATRIX_NONE, TENURE_RANGE_LIMITED,
};
use crate::failure::Failure;
use crate::guarded::guarded;
use crate::pointers::{borrow, borrow_mut, give, optional_text, out};
use crate::status::Status;
use crate::tensor::TensorHandle;

/// An image of zeros; rows are `row_stride` bytes apart, or without padding for 0, in every memory.
///
/// # Safety
/// Pointers are null or valid; `name` ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_image_new(
    width: usize,
    height: usize,
    format: FormatCode,
    dtype: DTypeCode,
    row_stride: usize,
    memory: MemoryCode,
    name: *const c_char,
    tensor: *mut *mut TensorHandle,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (name, tensor) = unsafe { (optional_text(name, "name")?, out(tensor, "tensor")?) };
        let (format, dtype) = (codes::format(format)?, codes::dtype(dtype)?);
        let (memory, stride) = (codes::memory(memory)?, (row_stride != 0).then_some(row_stride));
        let image = TensorDyn::image_builder(width, height, format, dtype)
            .row_stride(stride)
            .memory(memory)
            .name(name)
            .build()?;
        give(tensor, image.into());
        Ok(())
    })
}

/// The format, or `TENURE_FORMAT_NONE` for a tensor that is no image.
///
/// # Safety
/// `tensor` is null or a handle; `format` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_tensor_format(
    tensor: *const TensorHandle,
    format: *mut FormatCode,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (tensor, format) = unsafe { (borrow(tensor, "tensor")?, out(format, "format")?) };
        format.write(tensor.tensor.format().map_or(TENURE_FORMAT_NONE, |one| one.code().into()));
        Ok(())
    })
}

/// Says that a tensor is an image (or a batch of them) of this format; its shape must be one that
/// such an image has. No other thread may use the handle meanwhile.
///
/// # Safety
/// `tensor` is null or a handle that nobody else uses meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_tensor_set_format(
    tensor: *mut TensorHandle,
    format: FormatCode,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let tensor = unsafe { borrow_mut(tensor, "tensor")? };
        Ok(tensor.tensor.set_format(codes::format(format)?)?)
    })
}

/// Width and height in pixels, and bytes from one row to the next (of the first plane).
///
/// # Safety
/// `tensor` is null or a handle; the others are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_image_size(
    tensor: *const TensorHandle,
    width: *mut usize,
    height: *mut usize,
    row_stride: *mut usize,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (tensor, width) = unsafe { (borrow(tensor, "tensor")?, out(width, "width")?) };
        // SAFETY: by the caller's promise.
        let (height, stride) = unsafe { (out(height, "height")?, out(row_stride, "row_stride")?) };
        let Some(image) = tensor.tensor.image_layout() else {
            let shape = tensor.tensor.shape();
            let text = format!("the tensor of shape {shape:?} is no image: set its format first");
            return Err(Failure::invalid(text));
        };
        width.write(image.width());
        height.write(image.height());
        stride.write(image.row_stride());
        Ok(())
    })
}

/// How many planes an image has; 1 for a tensor that is no image.
///
/// # Safety
/// `tensor` is null or a handle; `count` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_image_plane_count(
    tensor: *const TensorHandle,
    count: *mut usize,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (tensor, count) = unsafe { (borrow(tensor, "tensor")?, out(count, "count")?) };
        count.write(tensor.tensor.plane_count());
        Ok(())
    })
}

/// What the tensor says of its colours; `TENURE_MATRIX_NONE` if nothing.
///
/// # Safety
/// `tensor` is null or a handle; the others are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_tensor_colour(
    tensor: *const TensorHandle,
    matrix: *mut MatrixCode,
    range: *mut RangeCode,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (tensor, matrix, range) =
            unsafe { (borrow(tensor, "tensor")?, out(matrix, "matrix")?, out(range, "range")?) };
        let colour = tensor.tensor.colour();
        matrix.write(colour.map_or(TENURE_MATRIX_NONE, |colour| colour.matrix as MatrixCode));
        range.write(colour.map_or(TENURE_RANGE_LIMITED, |colour| colour.range as RangeCode));
        Ok(())
    })
}

/// Says what the numbers of an image mean; with `TENURE_MATRIX_NONE` nothing is said any more.
///
/// # Safety
/// `tensor` is null or a handle that nobody else uses meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_tensor_set_colour(
    tensor: *mut TensorHandle,
    matrix: MatrixCode,
    range: RangeCode,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let tensor = unsafe { borrow_mut(tensor, "tensor")? };
        tensor.tensor.set_colour(codes::colour(matrix, range)?);
        Ok(())
    })
}

/// Says that integers mean `(stored - zero_point) * scale`.
///
/// # Safety
/// `tensor` is null or a handle that nobody else uses meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_tensor_set_quantization(
    tensor: *mut TensorHandle,
    scale: f32,
    zero_point: i32,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let tensor = unsafe { borrow_mut(tensor, "tensor")? };
        let quantization = Quantization::per_tensor(scale, zero_point)?;
        Ok(tensor.tensor.set_quantization(Some(quantization))?)
    })
}
