//! The class `Frame`. It is an array too: whatever takes a tensor takes a frame, and gets the
//! frame's tensor.
#![expect(unsafe_code, reason = "passes on a view that Python wants filled in")]

use std::ffi::c_int;
use std::sync::Mutex;
use std::time::Instant;

use pyo3::exceptions::PyRuntimeError;
use pyo3::ffi::Py_buffer;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use tenure::stream::{self, Guarded};

use crate::buffer::{self, Shown};
use crate::dlpack::{self, Device};
use crate::fail::Answer;
use crate::fence::Fence;
use crate::flattened;
use crate::stream::locked;
use crate::tensor::Tensor;

/// A tensor that came, and what the producer said of it. Taken as an array it is its tensor:
/// `numpy.asarray(frame)`, `torch.from_dlpack(frame)`.
#[pyclass(module = "tenure", frozen)]
pub(crate) struct Frame {
    /// The tensor, to be read only.
    #[pyo3(get)]
    tensor: Py<Tensor>,
    /// The frame's number in the stream.
    #[pyo3(get)]
    sequence: u64,
    /// When it was taken, in seconds of the clock `CLOCK_MONOTONIC`; None if the producer did not say.
    #[pyo3(get)]
    timestamp: Option<f64>,
    /// Seconds from when it was published until it was received here.
    #[pyo3(get)]
    latency: f64,
    received: Instant,
    /// Frames before this one that did not come.
    #[pyo3(get)]
    dropped: u64,
    /// What else the producer sent.
    #[pyo3(get)]
    blob: Py<PyBytes>,
    /// Which slot of the stream it is in.
    #[pyo3(get)]
    slot: usize,
    /// Which memory of the slot it is in.
    #[pyo3(get)]
    generation: u32,
    /// Tells one life of the producer from the next.
    #[pyo3(get)]
    incarnation: u64,
    /// What keeps others from writing to it: "sealed" and "read-only" are the kernel, "open" is
    /// nothing but good manners.
    #[pyo3(get)]
    guarded: &'static str,
    /// Dropped after the tensor, so that the slot goes back at once if nobody else has that.
    frame: Mutex<Option<stream::Frame>>,
}

impl Frame {
    pub(crate) fn new(py: Python<'_>, frame: stream::Frame) -> Answer<Frame> {
        Ok(Frame {
            sequence: frame.sequence(),
            timestamp: frame.timestamp().map(|time| time.as_secs_f64()),
            latency: frame.age().as_secs_f64(),
            received: Instant::now(),
            dropped: frame.dropped(),
            blob: PyBytes::new(py, frame.blob()).unbind(),
            slot: frame.slot(),
            generation: frame.generation(),
            incarnation: frame.incarnation(),
            guarded: match frame.guarded() {
                Guarded::Sealed => "sealed",
                Guarded::ReadOnly => "read-only",
                _ => "open",
            },
            tensor: Py::new(py, Tensor::new(frame.tensor().clone()))?,
            frame: Mutex::new(Some(frame)),
        })
    }
}

#[pymethods]
impl Frame {
    /// Seconds since it was published, at this moment.
    #[getter]
    fn age(&self) -> f64 {
        self.latency + self.received.elapsed().as_secs_f64()
    }

    /// What the frame is complete after, if the producer said so and the subscriber waits for fences
    /// itself (`explicit_fences`); None otherwise.
    #[getter]
    fn fence(&self) -> Answer<Option<Fence>> {
        let frame = locked(&self.frame);
        frame.as_ref().and_then(stream::Frame::fence).map(Fence::another).transpose()
    }

    /// Says that something reads the frame until a `Fence` is done: a device, say. The memory goes
    /// back to the producer as usual, when the last handle to the tensor is gone, and is written
    /// again after the fence only. This can be said once.
    fn release_after(&self, fence: &Bound<'_, Fence>) -> Answer<()> {
        let fence = fence.get().duplicate()?;
        let said = || PyRuntimeError::new_err("the frame is released after another fence already");
        let frame = locked(&self.frame).take().ok_or_else(said)?;
        frame.release_after(fence);
        Ok(())
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
