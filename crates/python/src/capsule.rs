//! Python capsules that carry DLPack structures, and the table of the C exchange interface.
#![expect(unsafe_code, reason = "calls the capsule functions of Python with raw pointers")]

use std::ffi::CStr;
use std::ptr::NonNull;

use pyo3::exceptions::PyBufferError;
use pyo3::ffi::{
    PyCapsule_GetPointer, PyCapsule_IsValid, PyCapsule_New, PyCapsule_SetName, PyObject,
};
use pyo3::prelude::*;
use pyo3::sync::critical_section::with_critical_section;
use pyo3::types::PyCapsule;
use tenure::dlpack::ffi::{DLManagedTensor, DLManagedTensorVersioned, DLPackExchangeAPI};
use tenure::dlpack::{ExchangeTable, Exported, Legacy, Managed, ManagedStruct, Versioned};

use crate::fail::Answer;

const EXCHANGE: &CStr = c"dlpack_exchange_api";

/// The names of a capsule with one of the structures: before and after it was taken.
trait Names: ManagedStruct {
    const FRESH: &CStr;
    const USED: &CStr;
}

impl Names for DLManagedTensorVersioned {
    const FRESH: &CStr = c"dltensor_versioned";
    const USED: &CStr = c"used_dltensor_versioned";
}

impl Names for DLManagedTensor {
    const FRESH: &CStr = c"dltensor";
    const USED: &CStr = c"used_dltensor";
}

/// A fresh capsule for whoever asked.
pub(crate) fn new(py: Python<'_>, exported: Exported) -> Answer<Bound<'_, PyAny>> {
    match exported {
        Exported::Versioned(managed) => wrap(py, managed),
        Exported::Legacy(managed) => wrap(py, managed),
    }
}

fn wrap<S: Names>(py: Python<'_>, managed: Managed<S>) -> Answer<Bound<'_, PyAny>> {
    let pointer = managed.into_raw();
    // SAFETY: the interpreter is attached, the name is static, and the destructor knows what is
    // in the capsule. The call gives a new reference or null with an exception set.
    let made = unsafe {
        let capsule =
            PyCapsule_New(pointer.as_ptr().cast(), S::FRESH.as_ptr(), Some(forget_capsule::<S>));
        Bound::from_owned_ptr_or_err(py, capsule)
    };
    if made.is_err() {
        // SAFETY: no capsule has it, so it is ours again.
        drop(unsafe { Managed::from_raw(pointer.as_ptr()) });
    }
    Ok(made?)
}

/// Runs when a capsule of ours dies: what nobody took is given back.
unsafe extern "C" fn forget_capsule<S: Names>(capsule: *mut PyObject) {
    // SAFETY: Python calls this once, attached, with a capsule that `wrap` made; under the fresh
    // name the structure is still the capsule's.
    unsafe {
        if PyCapsule_IsValid(capsule, S::FRESH.as_ptr()) == 1 {
            let pointer = PyCapsule_GetPointer(capsule, S::FRESH.as_ptr());
            drop(Managed::<S>::from_raw(pointer.cast()));
        }
    }
}

/// What a capsule of another library has.
pub(crate) enum Taken {
    Versioned(Versioned),
    Legacy(Legacy),
}

/// Takes the structure out of a capsule, once, also if several threads want it.
pub(crate) fn take(capsule: &Bound<'_, PyCapsule>) -> Answer<Taken> {
    with_critical_section(capsule, || take_held(capsule))
}

/// The same for whoever keeps other threads away.
fn take_held(capsule: &Bound<'_, PyCapsule>) -> Answer<Taken> {
    if let Some(managed) = take_as(capsule)? {
        return Ok(Taken::Versioned(managed));
    }
    if let Some(managed) = take_as(capsule)? {
        return Ok(Taken::Legacy(managed));
    }
    let message = "the capsule has no DLPack structure, or it was taken before: a capsule can be \
                   used once";
    Err(PyBufferError::new_err(message).into())
}

fn take_as<S: Names>(capsule: &Bound<'_, PyCapsule>) -> Answer<Option<Managed<S>>> {
    let object = capsule.as_ptr();
    // SAFETY: a live capsule, the interpreter is attached, and the names are static. A capsule of
    // this name has such a structure by the DLPack protocol; renaming it makes the structure ours.
    // Nothing in this package makes guards, so nothing conflicts with how others use the memory.
    unsafe {
        if PyCapsule_IsValid(object, S::FRESH.as_ptr()) != 1 {
            return Ok(None);
        }
        let pointer = PyCapsule_GetPointer(object, S::FRESH.as_ptr());
        if PyCapsule_SetName(object, S::USED.as_ptr()) != 0 {
            return Err(PyErr::fetch(capsule.py()).into());
        }
        Ok(Some(Managed::from_raw(pointer.cast())?))
    }
}

/// A capsule with a table that stays for as long as the process.
pub(crate) fn exchange<'py>(
    py: Python<'py>,
    table: &'static ExchangeTable,
) -> PyResult<Bound<'py, PyAny>> {
    let api: *const DLPackExchangeAPI = table.api();
    // SAFETY: the interpreter is attached; table and name are static, so there is no destructor.
    unsafe {
        let capsule = PyCapsule_New(api.cast_mut().cast(), EXCHANGE.as_ptr(), None);
        Bound::from_owned_ptr_or_err(py, capsule)
    }
}

/// The table in a capsule, if it is one.
pub(crate) fn table(capsule: &Bound<'_, PyAny>) -> Option<NonNull<DLPackExchangeAPI>> {
    let object = capsule.as_ptr();
    // SAFETY: a live object and a static name; the second call follows the first one's yes.
    let pointer = unsafe {
        if PyCapsule_IsValid(object, EXCHANGE.as_ptr()) != 1 {
            return None;
        }
        PyCapsule_GetPointer(object, EXCHANGE.as_ptr())
    };
    NonNull::new(pointer.cast())
}
