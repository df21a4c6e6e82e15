//! The class `Pool`: memory that is kept when it is freed, and handed out again.

use std::collections::HashMap;
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tenure::memory::{self, kind};
use tenure::{Allocator, PoolLimits};

use crate::create::{self, How};
use crate::fail::Answer;
use crate::place::Place;
use crate::shape::Shape;
use crate::tensor::Tensor;
use crate::{gate, opened, words};

/// Freed memory that is kept and handed out again. Any thread may use it; tensors outlive it.
///
/// memory: "shm", "mem", …; that of devices is of the first that is open. `Device.pool` names one.
/// bytes: how much is in use and kept together at most; asking for more is a MemoryError. Without
/// it the pool is not limited, and keeps 256 MiB at most.
/// buffers: how many are kept at most, 64 if not said.
#[pyclass(module = "tenure", frozen)]
pub(crate) struct Pool(memory::Pool);

impl Pool {
    pub(crate) fn over(
        allocator: Arc<dyn Allocator>,
        bytes: Option<usize>,
        buffers: Option<usize>,
    ) -> Pool {
        Pool(memory::Pool::over(allocator, limits(bytes, buffers)))
    }

    pub(crate) fn place(&self) -> Place {
        Place::Made(Arc::new(self.0.clone()))
    }
}

/// The usual ones where nothing is said.
fn limits(bytes: Option<usize>, buffers: Option<usize>) -> PoolLimits {
    let usual = PoolLimits::default();
    let buffers = buffers.unwrap_or(usual.buffers);
    bytes.map_or(PoolLimits { buffers, ..usual }, |bytes| PoolLimits::new(bytes, buffers))
}

#[pymethods]
impl Pool {
    #[new]
    #[pyo3(signature = (memory, *, bytes=None, buffers=None))]
    fn make(memory: &str, bytes: Option<usize>, buffers: Option<usize>) -> Answer<Pool> {
        let Some(memory) = words::memory(Some(memory))? else {
            return Err(PyValueError::new_err("a pool is of one memory: \"shm\", say").into());
        };
        let of_device = opened::is_devices(memory).then(|| opened::memory_of_one(memory, None));
        match of_device.flatten() {
            Some(allocator) => Ok(Pool::over(allocator, bytes, buffers)),
            None => {
                let pool = memory::Pool::new(kind::allocator(memory)?);
                Ok(Pool(pool.with_limits(limits(bytes, buffers))))
            }
        }
    }

    /// A tensor of zeros from the pool.
    ///
    /// lazy: take memory from the pool when the tensor is first touched.
    /// without_zeroing: leave what the last user of the memory left, for tensors that are written
    /// whole before they are read; it saves writing zeros.
    #[pyo3(signature = (shape, dtype=None, name=None, *, lazy=false, without_zeroing=false))]
    #[pyo3(
        text_signature = "(self, shape, dtype='f32', name=None, *, lazy=False, without_zeroing=False)"
    )]
    fn tensor(
        &self,
        py: Python<'_>,
        shape: Shape,
        dtype: Option<&Bound<'_, PyAny>>,
        name: Option<&str>,
        lazy: bool,
        without_zeroing: bool,
    ) -> Answer<Tensor> {
        create::tensor(py, &shape, dtype, &self.place(), How { name, lazy, without_zeroing })
    }

    /// A picture from the pool. What the words mean is as in `tensor`.
    #[pyo3(signature = (width, height, format, dtype=None, name=None, *, lazy=false,
        without_zeroing=false))]
    #[pyo3(
        text_signature = "(self, width, height, format, dtype='u8', name=None, *, lazy=False, without_zeroing=False)"
    )]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn image(
        &self,
        py: Python<'_>,
        width: usize,
        height: usize,
        format: &str,
        dtype: Option<&Bound<'_, PyAny>>,
        name: Option<&str>,
        lazy: bool,
        without_zeroing: bool,
    ) -> Answer<Tensor> {
        let how = How { name, lazy, without_zeroing };
        create::image(py, (width, height, format), dtype, &self.place(), how)
    }

    /// What the pool did and holds, in numbers: requests that were hits and misses, buffers that were
    /// given up, what is kept and used now, and at most at one time ("peak" and "peak_bytes").
    fn report(&self) -> HashMap<&'static str, u64> {
        let now = self.0.report();
        HashMap::from([
            ("hits", now.hits),
            ("misses", now.misses),
            ("given_up", now.given_up),
            ("kept", now.kept as u64),
            ("kept_bytes", now.kept_bytes as u64),
            ("used", now.used as u64),
            ("used_bytes", now.used_bytes as u64),
            ("peak", now.peak as u64),
            ("peak_bytes", now.peak_bytes as u64),
        ])
    }

    /// Gives up everything that is kept.
    fn trim(&self, py: Python<'_>) {
        gate::detach(py, || self.0.trim());
    }
}
