//! A `Frame` as an array: whatever takes a tensor takes a frame, and gets the frame's tensor.
#![expect(unsafe_code, reason = "passes on a view that Python wants filled in")]

use std::ffi::c_int;

use pyo3::ffi::Py_buffer;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::buffer::{self, Shown};
use crate::dlpack::{self, Device};
use crate::fail::Answer;
use crate::flattened;
use crate::stream::Frame;
use crate::tensor::Tensor;

#[pymethods]
impl Frame {
    /// Seconds since it was published, at this moment.
    #[getter]
    fn age(&self) -> f64 {
        self.latency + self.received.elapsed().as_secs_f64()
    }

    /// A DLPack capsule of the tensor, as the array API standard has it.
    #[pyo3(signature = (*args, **words))]
    #[pyo3(text_signature = "(self, *, stream=None, max_version=None, dl_device=None, copy=None)")]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        words: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.tensor.bind(py).call_method(intern!(py, "__dlpack__"), args, words)
    }

    /// Type and number of the device that the memory is on, in DLPack's codes.
    fn __dlpack_device__(&self) -> Answer<Device> {
        dlpack::device(&self.tensor.get().tensor)
    }

    /// Address and layout for numpy and others, valid for as long as this object lives.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.tensor.bind(py).getattr(intern!(py, "__array_interface__"))
    }

    /// # Safety
    /// Python calls this with a view to fill in.
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut Py_buffer,
        flags: c_int,
    ) -> Answer<()> {
        // A frame keeps its tensor.
        let Tensor { tensor, lent, .. } = slf.get().tensor.get();
        flattened::warn(slf.py(), tensor.dtype(), tensor.rank(), flags)?;
        let shown = Shown::elements(slf.py(), tensor, false, None)?;
        lent.buffer(tensor, shown.read_only(), flags)?;
        // SAFETY: Python gives a view that may be written, as its protocol has it.
        unsafe { shown.give(slf.into_any(), view, flags) }
    }

    /// # Safety
    /// Python calls this once for each view that was filled in.
    unsafe fn __releasebuffer__(&self, view: *mut Py_buffer) {
        // SAFETY: Python releases only what `__getbuffer__` filled in, once.
        unsafe { buffer::release(view) }
    }
}
