//! `map()` and `map_read()`: a memoryview for the length of a `with` block.
#![expect(unsafe_code, reason = "passes on a view that Python wants filled in")]

use std::ffi::c_int;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pyo3::exceptions::{PyBufferError, PyRuntimeError};
use pyo3::ffi::Py_buffer;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyMemoryView;
use tenure::TensorDyn;
use tenure::memory::Access;

use crate::buffer::{self, Shown};
use crate::fail::Answer;
use crate::lent::Lent;
use crate::{stream, variables};

/// Memory of a tensor, for a `with` block: `with tensor.map() as view: …`.
#[pyclass(module = "tenure", frozen)]
pub(crate) struct Mapped {
    tensor: TensorDyn,
    read_only: bool,
    /// How long a copy that is under way is waited for; `None` for as long as it takes.
    timeout: Option<Duration>,
    /// What the block has, while it runs.
    view: Mutex<Option<Py<PyMemoryView>>>,
    /// Whether the next buffer is the one of that view, which holds it itself.
    own: AtomicBool,
    /// What is held for those that keep this object and an address.
    lent: Lent,
}

impl Mapped {
    pub(crate) fn new(tensor: TensorDyn, read_only: bool) -> Mapped {
        let (view, own) = (Mutex::new(None), AtomicBool::new(false));
        Mapped { tensor, read_only, timeout: None, view, own, lent: Lent::default() }
    }

    /// What `Tensor.map` gives; refused at once for what the CPU does not reach.
    pub(crate) fn of(tensor: &TensorDyn, read_only: bool, timeout: Option<f64>) -> Answer<Mapped> {
        let (memory, space) = (tensor.memory(), tensor.space());
        if !space.cpu_reachable() {
            return Err(tenure::memory::Error::NotMappable { memory, space }.into());
        }
        let timeout = timeout.map(stream::seconds).transpose()?;
        Ok(Mapped { timeout, ..Mapped::new(tensor.clone(), read_only) })
    }

    /// Leaves `view` in the place, and gives what was there.
    fn swap(&self, view: Option<Py<PyMemoryView>>) -> Answer<Option<Py<PyMemoryView>>> {
        let mut place = self.view.lock().map_err(|_| PyRuntimeError::new_err("poisoned"))?;
        Ok(std::mem::replace(&mut *place, view))
    }
}

#[pymethods]
impl Mapped {
    /// A memoryview of the elements; of their bytes, where Python has no format for them.
    fn __enter__<'py>(slf: &Bound<'py, Self>) -> Answer<Bound<'py, PyMemoryView>> {
        let Mapped { tensor, read_only, timeout, .. } = slf.get();
        // Of an object of its own: what others asked this one for does not hold what the block has.
        let inner = Mapped {
            timeout: *timeout,
            own: AtomicBool::new(true),
            ..Mapped::new(tensor.clone(), *read_only)
        };
        let view = PyMemoryView::from(Bound::new(slf.py(), inner)?.as_any())?;
        if let Some(before) = slf.get().swap(Some(view.clone().unbind()))? {
            slf.get().swap(Some(before))?;
            let message = "this map is in a with block already: call map() once for each";
            return Err(PyBufferError::new_err(message).into());
        }
        Ok(view)
    }

    /// Releases the memoryview, unless it is used elsewhere too. Arrays made of it keep the memory
    /// until they are gone.
    #[pyo3(signature = (*_error))]
    fn __exit__(&self, py: Python<'_>, _error: &Bound<'_, pyo3::types::PyTuple>) -> Answer<()> {
        let Some(view) = self.swap(None)? else { return Ok(()) };
        // torch.frombuffer keeps the view that it got an address of, but not the buffer, which would
        // be gone with the view.
        if !variables::one_at_most(view.bind(py))? {
            return Ok(());
        }
        match view.call_method0(py, intern!(py, "release")) {
            // An array over the view still lives; the view goes with it.
            Err(error) if error.is_instance_of::<PyBufferError>(py) => Ok(()),
            answer => Ok(answer.map(drop)?),
        }
    }

    /// # Safety
    /// Python calls this with a view to fill in.
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut Py_buffer,
        flags: c_int,
    ) -> Answer<()> {
        let mapped = slf.get();
        let Mapped { tensor, read_only, timeout, own, lent, .. } = mapped;
        let shown = Shown::anything(slf.py(), tensor, *read_only, *timeout)?;
        if shown.read_only() && !read_only && tensor.buffer().raw()?.is_published() {
            // To be written, which has to wait: raises that.
            let _ = tensor.buffer().hold(Access::ExportWrite, tensor.layout().span())?;
        }
        if !own.swap(false, Ordering::Relaxed) {
            lent.address(tensor, shown.read_only())?;
        }
        // SAFETY: by the caller's promise.
        unsafe { shown.give(slf.into_any(), view, flags) }
    }

    /// # Safety
    /// Python calls this once for each view that was filled in.
    unsafe fn __releasebuffer__(&self, view: *mut Py_buffer) {
        // SAFETY: by the caller's promise.
        unsafe { buffer::release(view) }
    }
}
