//! Tensors to other processes: `Publisher`, and frames that are being filled.

use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use tenure::stream::{self, Meta, Spec};
use tenure::{DType, TensorDyn, memory};

use crate::fail::Answer;
use crate::fence::Fence;
use crate::gate;
use crate::list::Blob;
use crate::mapped::Mapped;
use crate::shape::Shape;
use crate::stream::{locked, seconds};
use crate::tensor::Tensor;
use crate::words;

/// Publishes tensors to every process that subscribes, without a copy.
///
/// name: the stream's; it has one producer at a time.
/// shape, dtype: of the frames; or like: a tensor that they look like. Others are a ValueError,
/// unless strict is False: then these are what the first frames look like. Without shape and like,
/// frames may look like anything, and there can be no dtype.
/// memory: "shm" or "dma".
/// claims: how many frames may be filled at one time.
/// credits: how many frames all consumers together may hold at one time, and credits_each: one of
/// them.
/// evict_after: seconds after which a consumer that holds all its frames is put out.
/// directory: of the sockets, if not that of the system.
#[pyclass(module = "tenure", frozen)]
pub(crate) struct Publisher(Mutex<Option<stream::Publisher>>);

impl Publisher {
    fn with<T>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut stream::Publisher) -> stream::Result<T> + Send,
    ) -> Answer<T>
    where
        T: Send,
    {
        gate::detach(py, || locked(&self.0).as_mut().map(work))
            .ok_or_else(|| PyRuntimeError::new_err("the publisher is closed"))?
            .map_err(Into::into)
    }
}

#[pymethods]
impl Publisher {
    #[new]
    #[pyo3(signature = (
        name, shape=None, dtype=None, *, like=None, memory=None, claims=None, credits=None,
        credits_each=None, evict_after=None, directory=None, strict=true
    ))]
    #[pyo3(
        text_signature = "(name, shape=None, dtype='f32', *, like=None, memory=None, claims=None, credits=None, credits_each=None, evict_after=None, directory=None, strict=True)"
    )]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn make(
        py: Python<'_>,
        name: &str,
        shape: Option<Shape>,
        dtype: Option<&Bound<'_, PyAny>>,
        like: Option<Bound<'_, Tensor>>,
        memory: Option<&str>,
        claims: Option<usize>,
        credits: Option<usize>,
        credits_each: Option<usize>,
        evict_after: Option<f64>,
        directory: Option<PathBuf>,
        strict: bool,
    ) -> Answer<Publisher> {
        let mut builder = stream::Publisher::builder(name);
        let spec = match (shape, like) {
            (Some(_), Some(_)) => {
                return Err(PyValueError::new_err("give a shape or like, not both").into());
            }
            (Some(shape), None) => {
                let dtype = dtype.map_or(Ok(DType::F32), words::dtype)?;
                Some(Spec::tensor(dtype, &shape.0)?)
            }
            (None, Some(_)) if dtype.is_some() => {
                let message = "give a dtype with a shape or like, not both";
                return Err(PyValueError::new_err(message).into());
            }
            (None, Some(like)) => Some(Spec::like(&like.get().tensor)?),
            (None, None) if dtype.is_some() => {
                let message = "dtype says nothing without a shape: give both, or like, or neither \
                               for frames of any shape and element type";
                return Err(PyValueError::new_err(message).into());
            }
            (None, None) => None,
        };
        builder = match spec {
            Some(spec) if strict => builder.spec(spec),
            Some(spec) => builder.initial_spec(spec),
            None => builder,
        };
        if let Some(memory) = words::memory(memory)? {
            builder = builder.memory(memory);
        }
        if let Some(claims) = claims {
            builder = builder.claims(claims);
        }
        if let Some(credits) = credits {
            builder = builder.credits(credits);
        }
        if let Some(credits) = credits_each {
            builder = builder.credits_each(credits);
        }
        if let Some(patience) = evict_after {
            builder = builder.evict_after(seconds(patience)?);
        }
        if let Some(directory) = directory {
            builder = builder.directory(directory);
        }
        Ok(Publisher(Mutex::new(Some(gate::detach(py, || builder.open())?))))
    }

    /// A frame to fill in a `with` block, which gets a memoryview of it; the end of the block
    /// publishes it, an exception gives it up. Arrays made of the view can be kept: from then on
    /// they are private copies, and nothing that is written to them reaches the frame.
    ///
    /// timestamp: when it was taken, in seconds.
    /// blob: bytes that go along.
    #[pyo3(signature = (*, timestamp=None, blob=None))]
    fn frame(&self, py: Python<'_>, timestamp: Option<f64>, blob: Option<Blob>) -> Answer<Slot> {
        let timestamp = timestamp.map(seconds).transpose()?;
        let slot = self.with(py, stream::Publisher::claim)?;
        Ok(Slot::new(slot, timestamp, blob.map(|Blob(bytes)| bytes).unwrap_or_default()))
    }

    /// Publishes a tensor as it is, if it is in memory that can be shared ("shm", "dma"), or a copy
    /// of it. Says to how many consumers it went. While there are arrays of the tensor that can
    /// write to it, a copy is published; those made while consumers have it are to be read only. To
    /// code that keeps an address and no buffer (torch.frombuffer) it is an array for as long as the
    /// tensor object exists; torch.from_dlpack is one for as long as its result.
    ///
    /// fence: done when the tensor is complete: a device still writes it.
    #[pyo3(signature = (tensor, *, copy=false, timestamp=None, blob=None, fence=None))]
    fn publish(
        &self,
        py: Python<'_>,
        tensor: &Bound<'_, Tensor>,
        copy: bool,
        timestamp: Option<f64>,
        blob: Option<Blob>,
        fence: Option<&Bound<'_, Fence>>,
    ) -> Answer<usize> {
        let fence = fence.map(|fence| fence.get().duplicate()).transpose()?;
        let (tensor, Blob(blob)) = (tensor.get().tensor.clone(), blob.unwrap_or(Blob(vec![])));
        let meta = meta(timestamp.map(seconds).transpose()?, &blob, fence.as_ref());
        let receipt = self.with(py, |publisher| match copy {
            true => publisher.publish_copy(&tensor, meta),
            false => publisher.publish_tensor(&tensor, meta),
        })?;
        Ok(receipt.consumers)
    }

    /// How many consumers there are.
    #[getter]
    fn consumers(&self, py: Python<'_>) -> Answer<usize> {
        self.with(py, |publisher| Ok(publisher.consumers()))
    }

    /// Ends the stream; what consumers hold stays theirs.
    fn close(&self, py: Python<'_>) {
        gate::detach(py, || drop(locked(&self.0).take()));
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, py: Python<'_>, _error: &Bound<'_, PyTuple>) {
        self.close(py);
    }
}

fn meta<'a>(
    timestamp: Option<Duration>,
    blob: &'a [u8],
    fence: Option<&'a memory::Fence>,
) -> Meta<'a> {
    let mut meta = Meta::new().blob(blob);
    if let Some(timestamp) = timestamp {
        meta = meta.timestamp(timestamp);
    }
    if let Some(fence) = fence {
        meta = meta.fence(fence);
    }
    meta
}

/// A frame that is being filled: `with publisher.frame() as view: …`.
#[pyclass(module = "tenure", frozen)]
pub(crate) struct Slot {
    slot: Mutex<Option<stream::Slot>>,
    /// What the block has, while it runs.
    mapped: Mutex<Option<Py<Mapped>>>,
    timestamp: Option<Duration>,
    blob: Vec<u8>,
    fence: Mutex<Option<memory::Fence>>,
}

impl Slot {
    fn new(slot: stream::Slot, timestamp: Option<Duration>, blob: Vec<u8>) -> Slot {
        let (slot, mapped, fence) = (Mutex::new(Some(slot)), Mutex::default(), Mutex::default());
        Slot { slot, mapped, timestamp, blob, fence }
    }

    fn share(&self) -> Answer<TensorDyn> {
        let slot = locked(&self.slot);
        let over = || PyRuntimeError::new_err("the frame is published or given up");
        Ok(slot.as_ref().ok_or_else(over)?.tensor().clone())
    }
}

#[pymethods]
impl Slot {
    /// The tensor, for what writes into tensors. Kept past the end of the block it is a private
    /// copy; copies into it that are under way must have ended.
    #[getter]
    fn tensor(&self) -> Answer<Tensor> {
        Ok(Tensor::new(self.share()?))
    }

    /// Says that the frame is complete when a `Fence` is done, and not before: a device still writes
    /// it when it is published. The last fence that is said counts.
    fn complete_after(&self, fence: &Bound<'_, Fence>) -> Answer<()> {
        self.share()?;
        *locked(&self.fence) = Some(fence.get().duplicate()?);
        Ok(())
    }

    fn __enter__<'py>(&self, py: Python<'py>) -> Answer<Bound<'py, PyAny>> {
        let mapped = Py::new(py, Mapped::new(self.share()?, false))?;
        let view = mapped.call_method0(py, "__enter__")?;
        *locked(&self.mapped) = Some(mapped);
        Ok(view.into_bound(py))
    }

    #[pyo3(signature = (*error))]
    fn __exit__(&self, py: Python<'_>, error: &Bound<'_, PyTuple>) -> Answer<()> {
        if let Some(mapped) = locked(&self.mapped).take() {
            mapped.call_method1(py, "__exit__", error)?;
        }
        let Some(slot) = locked(&self.slot).take() else { return Ok(()) };
        let failed = error.get_item(0).is_ok_and(|kind| !kind.is_none());
        if failed {
            gate::detach(py, || slot.discard());
            return Ok(());
        }
        let fence = locked(&self.fence).take();
        let meta = meta(self.timestamp, &self.blob, fence.as_ref());
        gate::detach(py, || slot.publish(meta))?;
        Ok(())
    }
}
