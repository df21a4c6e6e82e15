//! DLPack: tensors to and from other libraries, without a copy.
#![expect(unsafe_code, reason = "C passes pointers, and structures of other libraries")]

use tenure::TensorDyn;
use tenure::dlpack::ffi::{DLManagedTensor, DLManagedTensorVersioned};
use tenure::dlpack::{ExportRequest, Exported, Managed, ManagedStruct, VERSION};

use crate::failure::{Failure, Outcome};
use crate::guarded::guarded;
use crate::pointers::{borrow, give, out};
use crate::status::Status;
use crate::tensor::TensorHandle;

/// Lends a tensor to another library, as a structure of DLPack 1. Whoever has it calls its
/// deleter, once, on any thread. Until then the bytes are lent: `tenure_map` is
/// `TENURE_STATUS_BUSY`, and so is `tenure_map_read` unless it is `read_only`.
///
/// # Safety
/// `tensor` is null or a handle; `managed` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_tensor_to_dlpack(
    tensor: *const TensorHandle,
    read_only: bool,
    managed: *mut *mut DLManagedTensorVersioned,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (tensor, managed) = unsafe { (borrow(tensor, "tensor")?, out(managed, "managed")?) };
        let request = ExportRequest::new().max_version(Some(VERSION)).read_only(read_only);
        match tensor.tensor.to_dlpack_for(&request)? {
            Exported::Versioned(lent) => managed.write(lent.into_raw().as_ptr()),
            Exported::Legacy(_) => {
                let text = "an export of DLPack 1 was asked for, an older one was made";
                return Err(Failure::new(Status::Internal, text));
            }
        };
        Ok(())
    })
}

/// As `tenure_tensor_to_dlpack`, as a structure of DLPack before 1.0, which cannot say that bytes
/// are read-only: those of a read-only tensor are refused.
///
/// # Safety
/// `tensor` is null or a handle; `managed` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_tensor_to_dlpack_legacy(
    tensor: *const TensorHandle,
    managed: *mut *mut DLManagedTensor,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (tensor, managed) = unsafe { (borrow(tensor, "tensor")?, out(managed, "managed")?) };
        managed.write(tensor.tensor.to_dlpack_legacy()?.into_raw().as_ptr());
        Ok(())
    })
}

/// A tensor of a structure that is the caller's to give.
///
/// # Safety
/// As the functions below.
unsafe fn import<S: ManagedStruct>(managed: *mut S) -> Outcome<TensorDyn> {
    // SAFETY: by the caller's promise.
    let managed = unsafe { Managed::from_raw(managed) }?;
    Ok(TensorDyn::from_dlpack(managed)?)
}

/// A tensor over the memory that a structure of DLPack 1 describes. The structure is taken over,
/// whatever the answer is: its deleter is called when the tensor, its views and maps are gone, or
/// at once if it is refused.
///
/// # Safety
/// `managed` is null or what a DLPack producer gave to the caller, who has not called its deleter
/// and will not; the memory it describes is valid until then. `tensor` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_tensor_from_dlpack(
    managed: *mut DLManagedTensorVersioned,
    tensor: *mut *mut TensorHandle,
) -> Status {
    guarded(|| {
        // First, so that the deleter is called if there is nowhere to put the tensor.
        // SAFETY: by the caller's promise.
        let made = unsafe { import(managed) };
        // SAFETY: by the caller's promise.
        give(unsafe { out(tensor, "tensor") }?, made?.into());
        Ok(())
    })
}

/// As `tenure_tensor_from_dlpack`, of a structure of DLPack before 1.0.
///
/// # Safety
/// As `tenure_tensor_from_dlpack`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_tensor_from_dlpack_legacy(
    managed: *mut DLManagedTensor,
    tensor: *mut *mut TensorHandle,
) -> Status {
    guarded(|| {
        // First, so that the deleter is called if there is nowhere to put the tensor.
        // SAFETY: by the caller's promise.
        let made = unsafe { import(managed) };
        // SAFETY: by the caller's promise.
        give(unsafe { out(tensor, "tensor") }?, made?.into());
        Ok(())
    })
}
