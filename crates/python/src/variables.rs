//! Who has an object: a variable of the code that is running, or somebody else.
#![expect(unsafe_code, reason = "asks for the number of references, and for the running frame")]

use pyo3::ffi::{Py_REFCNT, PyEval_GetFrame};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// The flag of code whose variables are not in a dictionary.
const OPTIMIZED: u32 = 1;

fn references(object: &Bound<'_, PyAny>) -> usize {
    // SAFETY: a live object, and attached.
    usize::try_from(unsafe { Py_REFCNT(object.as_ptr()) }).unwrap_or(usize::MAX)
}

/// Whether nobody has an object but `object` itself, which must be a reference of its own, and at
/// most one local variable of the function (or module) that calls: the variable of a `with` block.
/// A reference from elsewhere may be code that kept an address.
pub(crate) fn one_at_most(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    match references(object) {
        0 | 1 => Ok(true),
        2 => is_variable(object),
        _ => Ok(false),
    }
}

/// Whether a local variable of the code that calls is this object.
fn is_variable(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = object.py();
    // SAFETY: attached; the answer is null or a live object, which gets a reference of its own.
    let frame = unsafe { Bound::from_borrowed_ptr_or_opt(py, PyEval_GetFrame().cast()) };
    let Some(frame) = frame else { return Ok(false) };
    let code = frame.getattr(intern!(py, "f_code"))?;
    let flags: u32 = code.getattr(intern!(py, "co_flags"))?.extract()?;
    let of_function = flags & OPTIMIZED != 0;
    let variables = frame.getattr(intern!(py, "f_locals"))?;
    if let Ok(variables) = variables.cast_exact::<PyDict>() {
        // A list, because threads change the variables of a module.
        let found = variables.values().iter().any(|value| value.is(object));
        // Before Python 3.13 this is a copy of the function's variables, which stays with the frame
        // and would keep the objects. If somebody else looks at it, it is not ours to empty.
        if of_function && references(variables) == 2 {
            variables.clear();
        }
        return Ok(found);
    }
    // Since Python 3.13 a function shows its variables. Anything else is a namespace of somebody's
    // own making, in a class or `exec`.
    if !of_function {
        return Ok(false);
    }
    let values = variables.call_method0(intern!(py, "values"))?;
    let values = values.cast_into_exact::<PyList>();
    Ok(values.is_ok_and(|values| values.iter().any(|value| value.is(object))))
}
