//! The C exchange interface of DLPack 1.3: a table of functions on a type of Python, by which
//! other libraries convert its objects without calling Python.
//!
//! Here is what needs no Python: allocation, the stream, and the table. What turns objects into
//! structures and back belongs to whoever has the objects; [`crate::Tensor::to_dlpack`],
//! [`crate::Tensor::to_dl_tensor`] and [`crate::Tensor::from_dlpack`] do the work for it.
#![expect(unsafe_code, reason = "functions that foreign code calls with pointers")]

use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr;

use tenure_memory::{DeviceVendor, DlDevice, LogicalMemorySpace, TensorMemory, allocator_on};

use super::ffi::{
    DLDeviceType, DLManagedTensorVersioned, DLPackDLTensorFromPyObjectNoSync, DLPackExchangeAPI,
    DLPackExchangeAPIHeader, DLPackManagedTensorFromPyObjectNoSync,
    DLPackManagedTensorToPyObjectNoSync, DLPackVersion, DLTensor,
};
use super::import::{dtype, shape};
use super::{Fault, VERSION, Versioned};
use crate::{DynTensor, Result, TensorDyn};

/// A table that can be a `static`, as the interface demands: it stays for as long as the process.
///
/// ```
/// use std::ffi::{c_int, c_void};
/// use tenure_tensor::dlpack::{ExchangeTable, ffi::DLManagedTensorVersioned};
///
/// unsafe extern "C" fn from_object(_: *mut c_void, _: *mut *mut DLManagedTensorVersioned) -> c_int {
///     -1
/// }
/// unsafe extern "C" fn to_object(_: *mut DLManagedTensorVersioned, _: *mut *mut c_void) -> c_int {
///     -1
/// }
/// static TABLE: ExchangeTable = ExchangeTable::new(Some(from_object), Some(to_object), None);
/// assert_eq!(TABLE.api().header.version.major, 1);
/// ```
#[derive(Debug)]
#[repr(transparent)]
pub struct ExchangeTable(DLPackExchangeAPI);

// SAFETY: functions and numbers that never change, and a null pointer.
unsafe impl Send for ExchangeTable {}
// SAFETY: as above.
unsafe impl Sync for ExchangeTable {}

impl ExchangeTable {
    /// The table of this version, with our allocator and stream, and the functions that convert
    /// objects: to a structure, from one, and (optional) to a description alone.
    pub const fn new(
        from_object: DLPackManagedTensorFromPyObjectNoSync,
        to_object: DLPackManagedTensorToPyObjectNoSync,
        tensor_from_object: DLPackDLTensorFromPyObjectNoSync,
    ) -> ExchangeTable {
        let version = DLPackVersion { major: VERSION.0, minor: VERSION.1 };
        ExchangeTable(DLPackExchangeAPI {
            header: DLPackExchangeAPIHeader { version, prev_api: ptr::null_mut() },
            managed_tensor_allocator: Some(managed_tensor_allocator),
            managed_tensor_from_py_object_no_sync: from_object,
            managed_tensor_to_py_object_no_sync: to_object,
            dltensor_from_py_object_no_sync: tensor_from_object,
            current_work_stream: Some(current_work_stream),
        })
    }

    /// The table, for a capsule named `dlpack_exchange_api`.
    pub const fn api(&self) -> &DLPackExchangeAPI {
        &self.0
    }
}

/// A new tensor of zeros with the element type, shape and device of a description, of which
/// nothing else is looked at.
///
/// # Errors
/// As [`crate::Tensor::from_dlpack`] for what makes no sense, [`Fault::Unreachable`] for devices
/// that are not open, and if there is no memory.
///
/// # Safety
/// The shape, unless null, must be a list of `ndim` numbers.
pub unsafe fn allocate(prototype: &DLTensor) -> Result<Versioned> {
    let have = LogicalMemorySpace::MainMemory.dlpack(DeviceVendor::Cuda);
    let device_type = prototype.device.device_type.0.cast_signed();
    let asked = DlDevice { device_type, device_id: prototype.device.device_id };
    let (dtype, shape) = (dtype(prototype, false)?, shape(prototype)?);
    if device_type == have.device_type {
        return TensorDyn::new(&shape, dtype, Some(TensorMemory::Mem), None)?.to_dlpack();
    }
    let allocator = LogicalMemorySpace::from_dlpack(asked)
        .and_then(|(space, vendor)| allocator_on(vendor?, space))
        .ok_or(Fault::Unreachable { have, asked })?;
    TensorDyn::builder(&shape, dtype).allocator(allocator.as_ref()).build()?.to_dlpack()
}

/// Tells a failure to whoever asked: context, kind and message.
type SetError = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char);

/// [`allocate`] as the table has it. Answers 0, or -1 after calling `set_error`.
///
/// # Safety
/// `prototype` must be null or as [`allocate`] wants it, `out` null or valid for a write, and
/// `set_error` callable with `context`.
pub unsafe extern "C" fn managed_tensor_allocator(
    prototype: *mut DLTensor,
    out: *mut *mut DLManagedTensorVersioned,
    context: *mut c_void,
    set_error: Option<SetError>,
) -> c_int {
    let made = if prototype.is_null() || out.is_null() {
        Err(Fault::Null.into())
    } else {
        // SAFETY: by the caller's promise.
        unsafe { allocate(&*prototype) }
    };
    match made {
        Ok(managed) => {
            // SAFETY: not null, and valid by the caller's promise.
            unsafe { out.write(managed.into_raw().as_ptr()) };
            0
        }
        Err(error) => {
            // An error's text has no zero inside; if one had, its kind says enough.
            let message =
                CString::new(tenure_layout::Language::Plain.say(&error)).unwrap_or_default();
            if let Some(set_error) = set_error {
                // SAFETY: by the caller's promise; both texts live until the call returns.
                unsafe { set_error(context, c"BufferError".as_ptr(), message.as_ptr()) };
            }
            -1
        }
    }
}

/// The stream that work on a device is queued on: null, the default one, because nothing here
/// queues work on streams of its own.
///
/// # Safety
/// `out` must be null or valid for a write.
pub unsafe extern "C" fn current_work_stream(
    _device_type: DLDeviceType,
    _device_id: i32,
    out: *mut *mut c_void,
) -> c_int {
    if out.is_null() {
        return -1;
    }
    // SAFETY: not null, and valid by the caller's promise.
    unsafe { out.write(ptr::null_mut()) };
    0
}
