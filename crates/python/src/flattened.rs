//! A warning for those whom `torch.asarray` gives something else than they meant.
//!
//! torch asks everything that has a buffer for plain bytes, without a shape and a format, and makes a
//! flat row of `float32` of them. Before that it asks for nothing that a tensor could answer
//! otherwise. `file.write`, `file.readinto`, sockets and `hashlib` ask for bytes in the same way, so
//! that a refusal would be theirs too. Who asks is seen by one thing only: the code that is running
//! names `asarray`, and torch is there.

use std::ffi::{CStr, c_int};

use pyo3::exceptions::PyRuntimeWarning;
use pyo3::ffi::{PyBUF_FORMAT, PyBUF_ND};
use pyo3::prelude::*;
use tenure::DType;

use crate::fail::Answer;

const TEXT: &CStr =
    c"torch.asarray() makes a flat row of a tensor's bytes, whatever its shape and \
    type are: torch.from_dlpack() has the shape, the type and the same memory";

/// Warns if torch is about to flatten a tensor. The warning is an error where the program made it one.
pub(crate) fn warn(py: Python<'_>, dtype: DType, rank: usize, flags: c_int) -> Answer<()> {
    let plain = flags & (PyBUF_ND | PyBUF_FORMAT) == 0;
    // Such a row is what torch makes of it.
    if !plain || (dtype == DType::F32 && rank == 1) {
        return Ok(());
    }
    // torch asks for bytes to read with the refusal of bytes to write still pending.
    let pending = PyErr::take(py);
    if by_asarray(py)? {
        PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), TEXT, 1)?;
    }
    if let Some(error) = pending {
        error.restore(py);
    }
    Ok(())
}

/// Whether torch is imported, and the code that is running names `asarray`.
fn by_asarray(py: Python<'_>) -> PyResult<bool> {
    let sys = py.import("sys")?;
    if !sys.getattr("modules")?.contains("torch")? {
        return Ok(false);
    }
    // Without a frame nobody calls torch.
    let Ok(frame) = sys.call_method0("_getframe") else { return Ok(false) };
    frame.getattr("f_code")?.getattr("co_names")?.contains("asarray")
}
