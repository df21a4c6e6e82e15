//! What the frames of a stream look like.
#![expect(unsafe_code, reason = "C passes pointers")]

use tenure::stream::Spec;

use crate::codes::{self, DTypeCode, FormatCode, MatrixCode, RangeCode};
use crate::guarded::{guarded, guarded_free};
use crate::handles::Handle;
use crate::pointers::{borrow, borrow_mut, dims, give, out, take};
use crate::status::Status;
use crate::tensor::TensorHandle;

/// What the frames of a stream look like.
pub struct SpecHandle(pub(crate) Spec);

impl Handle for SpecHandle {}

/// Frames of elements without gaps.
///
/// # Safety
/// Pointers are null or valid; `shape` has `rank` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_spec_tensor(
    shape: *const usize,
    rank: usize,
    dtype: DTypeCode,
    spec: *mut *mut SpecHandle,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (shape, spec) = unsafe { (dims(shape, rank, "shape")?, out(spec, "spec")?) };
        give(spec, SpecHandle(Spec::tensor(codes::dtype(dtype)?, shape)?));
        Ok(())
    })
}

/// Frames that are images, with rows `row_stride` bytes apart, or without padding for 0.
///
/// # Safety
/// `spec` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_spec_image(
    width: usize,
    height: usize,
    format: FormatCode,
    dtype: DTypeCode,
    row_stride: usize,
    spec: *mut *mut SpecHandle,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let spec = unsafe { out(spec, "spec")? };
        let (format, dtype) = (codes::format(format)?, codes::dtype(dtype)?);
        let stride = (row_stride != 0).then_some(row_stride);
        give(spec, SpecHandle(Spec::image_of(width, height, format, dtype, stride)?));
        Ok(())
    })
}

/// Frames that look like a tensor, without its gaps.
///
/// # Safety
/// `tensor` is null or a handle; `spec` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_spec_like(
    tensor: *const TensorHandle,
    spec: *mut *mut SpecHandle,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (tensor, spec) = unsafe { (borrow(tensor, "tensor")?, out(spec, "spec")?) };
        give(spec, SpecHandle(Spec::like(&tensor.tensor)?));
        Ok(())
    })
}

/// Says what the numbers of images mean; `TENURE_MATRIX_NONE` changes nothing.
///
/// # Safety
/// `spec` is null or one that nobody else uses meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_spec_set_colour(
    spec: *mut SpecHandle,
    matrix: MatrixCode,
    range: RangeCode,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let spec = unsafe { borrow_mut(spec, "spec")? };
        if let Some(colour) = codes::colour(matrix, range)? {
            spec.0 = spec.0.clone().with_colour(colour);
        }
        Ok(())
    })
}

/// Gives a description of frames back; null is fine.
///
/// # Safety
/// `spec` is null or one that nobody uses any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_spec_free(spec: *mut SpecHandle) {
    // SAFETY: by the caller's promise.
    guarded_free(|| unsafe { take(spec, "spec") });
}
