//! The class `Fence`: work that goes on while the program does something else.

use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;
use std::time::Instant;

use pyo3::prelude::*;
use tenure::{TensorDyn, memory};

use crate::fail::Answer;
use crate::{pending, share, stream};

/// Becomes done when the work behind it is, and stays so: a copy, a conversion, or what a device does
/// with a frame. Any thread may use it.
#[pyclass(module = "tenure", frozen)]
pub(crate) struct Fence(Arc<memory::Fence>);

impl Fence {
    /// The fence of copies that were begun, of pairs (to, from). Of several fences each stands for all
    /// pairs: which device has which is not said.
    pub(crate) fn of_copies(
        pairs: &[(TensorDyn, TensorDyn)],
        fence: memory::Fence,
    ) -> Answer<Fence> {
        let fence = Arc::new(fence);
        pending::remember(pairs, &fence)?;
        Ok(Fence(fence))
    }

    /// A handle of its own to a fence of somebody else.
    pub(crate) fn another(fence: &memory::Fence) -> Answer<Fence> {
        Ok(Fence(Arc::new(memory::Fence::from_fd(fence.fd())?)))
    }

    /// The fence for whoever takes it away.
    pub(crate) fn duplicate(&self) -> Answer<memory::Fence> {
        Ok(memory::Fence::from_fd(self.0.fd())?)
    }
}

#[pymethods]
impl Fence {
    /// A fence of another library or process, by its descriptor (an object with `fileno()`, or a
    /// number), which stays the caller's: a sync file, or whatever can be read once the work is
    /// done, such as a pipe.
    #[staticmethod]
    fn from_fd(fd: &Bound<'_, PyAny>) -> Answer<Fence> {
        let fence = share::with_descriptor(fd, |fd| Ok(memory::Fence::from_fd(fd)?))?;
        Ok(Fence(Arc::new(fence)))
    }

    /// Whether the work is done. Raises OSError if it failed.
    #[getter]
    fn done(&self) -> Answer<bool> {
        Ok(self.0.is_done()?)
    }

    /// Waits until the work is done, at most so many seconds; None waits without end. Says whether
    /// it is done. Raises OSError if it failed.
    #[pyo3(signature = (timeout=None))]
    fn wait(&self, py: Python<'_>, timeout: Option<f64>) -> Answer<bool> {
        let timeout = timeout.map(stream::seconds).transpose()?;
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        pending::wait(py, &self.0, deadline)
    }

    /// A descriptor that can be read when the work is done: for select, and for asyncio's
    /// `add_reader`. It stays the fence's.
    fn fileno(&self) -> RawFd {
        self.0.fd().as_raw_fd()
    }

    fn __repr__(&self) -> &'static str {
        match self.0.is_done() {
            Ok(true) => "Fence(done)",
            Ok(false) => "Fence(under way)",
            Err(_) => "Fence(failed)",
        }
    }
}
