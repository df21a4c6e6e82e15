//! The C exchange interface of DLPack: our table for others, and the tables of others for us.
#![expect(unsafe_code, reason = "functions that foreign code calls with pointers, and theirs")]

use std::ffi::{c_int, c_void};
use std::ptr;

use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use tenure::dlpack::ffi::{DLManagedTensorVersioned, DLPackVersion, DLTensor};
use tenure::dlpack::{ExchangeTable, Fault, Managed, VERSION};
use tenure::{LogicalMemorySpace, TensorDyn};

use crate::fail::{Answer, Fail};
use crate::tensor::Tensor;
use crate::{capsule, pending};

/// What `Tensor.__dlpack_c_exchange_api__` shows.
pub(crate) static TABLE: ExchangeTable =
    ExchangeTable::new(Some(from_object), Some(to_object), Some(describe_object));

/// Runs `work`, and raises what it refuses: 0, or -1 with an exception set.
fn answer(work: impl FnOnce(Python<'_>) -> Answer<()>) -> c_int {
    // The interface is called attached, which makes this cheap.
    Python::attach(|py| match work(py) {
        Ok(()) => 0,
        Err(fail) => {
            PyErr::from(fail).restore(py);
            -1
        }
    })
}

fn null() -> Fail {
    PyBufferError::new_err("a pointer of the DLPack exchange interface is null").into()
}

/// Waits for copies of ours: the interface leaves streams to the caller, and those copies are on none.
///
/// # Safety
/// `object` must be null or a live object that nobody frees meanwhile.
unsafe fn with_tensor(
    py: Python<'_>,
    object: *mut c_void,
    use_it: impl FnOnce(&Tensor) -> Answer<()>,
) -> Answer<()> {
    // SAFETY: by the caller's promise.
    let object = unsafe { Bound::from_borrowed_ptr_or_opt(py, object.cast()) }.ok_or_else(null)?;
    let tensor = object.cast::<Tensor>().map_err(|_| {
        PyTypeError::new_err("the object is no tenure.Tensor, whose table this is".to_owned())
    })?;
    let tensor = tensor.get();
    pending::settle(py, &tensor.tensor, true, None)?;
    use_it(tensor)
}

/// # Safety
/// As the DLPack specification has it: attached, with a live object and room for the answer.
unsafe extern "C" fn from_object(
    object: *mut c_void,
    out: *mut *mut DLManagedTensorVersioned,
) -> c_int {
    answer(|py| {
        if out.is_null() {
            return Err(null());
        }
        // SAFETY: by the caller's promise.
        unsafe {
            with_tensor(py, object, |tensor| {
                out.write(tensor.tensor.to_dlpack()?.into_raw().as_ptr());
                Ok(())
            })
        }
    })
}

/// Refuses what cannot be imported and leaves it to the caller. The specification does not say who
/// has a structure that was refused: apache-tvm-ffi deletes it, and torch takes it not.
///
/// # Safety
/// `managed` must be null or a structure as a DLPack producer gives it out.
unsafe fn check(managed: *mut DLManagedTensorVersioned) -> Answer<()> {
    if managed.is_null() {
        return Err(null());
    }
    // SAFETY: by the caller's promise; every major version starts with its number.
    let DLPackVersion { major, minor } = unsafe { (*managed).version };
    if major != VERSION.0 {
        return Err(tenure::tensor::Error::from(Fault::Version { major, minor }).into());
    }
    // SAFETY: by the caller's promise, and of the version that we know. Without a deleter the copy
    // owns nothing, and what is made of it is gone before the structure is.
    unsafe {
        let mut copy = DLManagedTensorVersioned { deleter: None, ..managed.read() };
        TensorDyn::from_dlpack(Managed::from_raw(&raw mut copy)?)?;
    }
    Ok(())
}

/// # Safety
/// As the DLPack specification has it: attached, with a structure that becomes ours.
unsafe extern "C" fn to_object(
    managed: *mut DLManagedTensorVersioned,
    out: *mut *mut c_void,
) -> c_int {
    answer(|py| {
        if out.is_null() {
            return Err(null());
        }
        // SAFETY: by the caller's promise, as both of these want it.
        let managed = unsafe {
            check(managed)?;
            Managed::from_raw(managed)?
        };
        let tensor = Py::new(py, Tensor::new(TensorDyn::from_dlpack(managed)?))?;
        // SAFETY: room for the answer, by the caller's promise.
        unsafe { out.write(tensor.into_ptr().cast()) };
        Ok(())
    })
}

/// # Safety
/// As the DLPack specification has it: attached, with a live object that outlives the use of the
/// answer, and room for it.
unsafe extern "C" fn describe_object(object: *mut c_void, out: *mut DLTensor) -> c_int {
    answer(|py| {
        if out.is_null() {
            return Err(null());
        }
        // SAFETY: by the caller's promise; a tensor of Python never changes, so what the
        // description points to lives as long as the object.
        unsafe {
            with_tensor(py, object, |tensor| {
                let described = tensor.tensor.to_dl_tensor()?;
                // Only what may be written is described so.
                tensor.lent.address(&tensor.tensor, false)?;
                out.write(described);
                Ok(())
            })
        }
    })
}

/// A tensor through the table of the object's type. `None` if it has none, or if the memory is
/// not the CPU's: its streams would have to be waited for, which `__dlpack__` does.
pub(crate) fn import(x: &Bound<'_, PyAny>) -> Answer<Option<TensorDyn>> {
    let py = x.py();
    let Some(capsule) = x.get_type().getattr_opt(intern!(py, "__dlpack_c_exchange_api__"))? else {
        return Ok(None);
    };
    let Some(table) = capsule::table(&capsule) else { return Ok(None) };
    // SAFETY: a capsule of that name has a table that stays, which starts with its version; what
    // comes after is as we know it in our major version only.
    let convert = unsafe {
        let table = table.as_ptr();
        if (*table).header.version.major != VERSION.0 {
            return Ok(None);
        }
        (*table).managed_tensor_from_py_object_no_sync
    };
    let Some(convert) = convert else { return Ok(None) };
    let mut managed = ptr::null_mut();
    // SAFETY: attached, with a live object of the type whose table it is, and room for the answer.
    if unsafe { convert(x.as_ptr().cast(), &mut managed) } != 0 {
        return Err(PyErr::fetch(py).into());
    }
    // SAFETY: the function gave a structure, which is ours. Nothing in this package makes guards,
    // so nothing conflicts with how others use the memory.
    let tensor = TensorDyn::from_dlpack(unsafe { Managed::from_raw(managed) }?)?;
    Ok((tensor.space() == LogicalMemorySpace::MainMemory).then_some(tensor))
}
