//! The class `Fence`: work that goes on while the program does something else.

use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;
use std::time::Instant;

use pyo3::prelude::*;
use tenure::{TensorDyn, memory};

use crate::fail::Answer;
use crate::{pending, stream};

/// Becomes done when the copy behind it is, and stays so. Any thread may use it.
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
}

#[pymethods]
impl Fence {
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
