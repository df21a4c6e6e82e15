//! Tensors into files, whole and on the disk, or not at all.
#![expect(unsafe_code, reason = "C passes pointers")]

use std::ffi::c_char;

use tenure::files::{npy, safetensors};

use crate::guarded::guarded;
use crate::pointers::{borrow, list, text, texts};
use crate::status::Status;
use crate::tensor::TensorHandle;

/// Saves tensors as a safetensors file, which is there when this returns, whole and on the disk,
/// or is what it was before.
///
/// # Safety
/// `names` and `tensors` have `count` entries, which are valid; texts end with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_save_safetensors(
    path: *const c_char,
    names: *const *const c_char,
    tensors: *const *mut TensorHandle,
    count: usize,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (path, names) = unsafe { (text(path, "path")?, texts(names, count, "names")?) };
        // SAFETY: by the caller's promise.
        let handles = unsafe { list(tensors, count, "tensors")? };
        let mut tensors = vec![];
        for (name, &handle) in names.into_iter().zip(handles) {
            // SAFETY: by the caller's promise.
            tensors.push((name, unsafe { borrow(handle, "one of the tensors")? }.tensor.share()));
        }
        safetensors::save(path, &tensors, &safetensors::Save::default())?;
        Ok(())
    })
}

/// Saves a tensor as an npy file; otherwise as `tenure_save_safetensors`.
///
/// # Safety
/// `tensor` is null or a handle; `path` is null or a text that ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_save_npy(
    path: *const c_char,
    tensor: *const TensorHandle,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (path, tensor) = unsafe { (text(path, "path")?, borrow(tensor, "tensor")?) };
        npy::save(path, &tensor.tensor)?;
        Ok(())
    })
}
