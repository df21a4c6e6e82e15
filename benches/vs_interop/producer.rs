//! What an exchange costs at least: one allocation with everything in it, filled in and freed.
#![expect(unsafe_code, reason = "makes structures as foreign code does")]

use std::ptr::{self, NonNull};

use tenure::dlpack::Versioned;
use tenure::dlpack::ffi::{
    DLDataType, DLDevice, DLDeviceType, DLManagedTensorVersioned, DLPackVersion, DLTensor,
};

#[repr(C)]
struct Minimal {
    managed: DLManagedTensorVersioned,
    shape: [i64; 4],
    strides: [i64; 4],
}

unsafe extern "C" fn free(pointer: *mut DLManagedTensorVersioned) {
    // SAFETY: only `make` gives out structures with this deleter.
    drop(unsafe { Box::from_raw(pointer.cast::<Minimal>()) });
}

/// A tensor of f32 over memory that is never freed.
fn make(data: NonNull<u8>, shape: [i64; 4]) -> *mut DLManagedTensorVersioned {
    let dl_tensor = DLTensor {
        data: data.as_ptr().cast(),
        device: DLDevice { device_type: DLDeviceType::kDLCPU, device_id: 0 },
        ndim: 4,
        dtype: DLDataType { code: 2, bits: 32, lanes: 1 },
        shape: ptr::null_mut(),
        strides: ptr::null_mut(),
        byte_offset: 0,
    };
    let managed = DLManagedTensorVersioned {
        version: DLPackVersion { major: 1, minor: 3 },
        manager_ctx: ptr::null_mut(),
        deleter: Some(free),
        flags: 0,
        dl_tensor,
    };
    let [_, b, c, d] = shape;
    let minimal = Minimal { managed, shape, strides: [b * c * d, c * d, d, 1] };
    let minimal = Box::into_raw(Box::new(minimal));
    // SAFETY: a box that nobody else knows.
    unsafe {
        (*minimal).managed.dl_tensor.shape = (&raw mut (*minimal).shape).cast();
        (*minimal).managed.dl_tensor.strides = (&raw mut (*minimal).strides).cast();
    }
    minimal.cast()
}

/// A structure over leaked memory, as a foreign library hands one over.
pub(crate) fn structure(memory: &'static [f32], shape: [i64; 4]) -> *mut DLManagedTensorVersioned {
    make(NonNull::from(memory).cast(), shape)
}

/// The same, owned.
pub(crate) fn owned(memory: &'static [f32], shape: [i64; 4]) -> Option<Versioned> {
    // SAFETY: just made, with lists of four numbers and memory that stays. It is shared memory:
    // the benchmark makes no references to it that write.
    unsafe { Versioned::from_raw(structure(memory, shape)) }.ok()
}
