//! Tensors into files, whole and on the disk, or not at all.
#![expect(unsafe_code, reason = "C passes pointers")]

use std::ffi::c_char;

use tenure::files::npy;
use tenure::files::safetensors::{self, Save};

use crate::failure::Outcome;
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
    // SAFETY: by the caller's promise.
    guarded(|| unsafe { save(path, names, tensors, count, Save::default()) })
}

/// As `tenure_save_safetensors`, with `entries` keys and values besides the tensors.
///
/// # Safety
/// `names` and `tensors` have `count` entries, `keys` and `values` have `entries`, which are
/// valid; texts end with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_save_safetensors_with_metadata(
    path: *const c_char,
    names: *const *const c_char,
    tensors: *const *mut TensorHandle,
    count: usize,
    keys: *const *const c_char,
    values: *const *const c_char,
    entries: usize,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (keys, values) =
            unsafe { (texts(keys, entries, "keys")?, texts(values, entries, "values")?) };
        let mut how = Save::default();
        let pairs = keys.into_iter().zip(values);
        how.metadata = pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        // SAFETY: by the caller's promise.
        unsafe { save(path, names, tensors, count, how) }
    })
}

/// # Safety
/// As [`tenure_save_safetensors`].
unsafe fn save(
    path: *const c_char,
    names: *const *const c_char,
    tensors: *const *mut TensorHandle,
    count: usize,
    how: Save,
) -> Outcome {
    // SAFETY: by the caller's promise.
    let (path, names) = unsafe { (text(path, "path")?, texts(names, count, "names")?) };
    // SAFETY: by the caller's promise.
    let handles = unsafe { list(tensors, count, "tensors")? };
    let mut tensors = vec![];
    for (name, &handle) in names.into_iter().zip(handles) {
        // SAFETY: by the caller's promise.
        tensors.push((name, unsafe { borrow(handle, "one of the tensors")? }.tensor.clone()));
    }
    safetensors::save(path, &tensors, &how)?;
    Ok(())
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
