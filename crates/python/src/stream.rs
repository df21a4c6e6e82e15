//! Tensors to and from other processes, as they come: `subscribe`, `Publisher`.

use std::os::fd::{AsRawFd, RawFd};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pyo3::exceptions::{PyRuntimeError, PyStopIteration, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use tenure::stream::{self, Meta, Spec};
use tenure::{DType, TensorDyn};

use crate::fail::Answer;
use crate::mapped::Mapped;
use crate::tensor::{Shape, Tensor};
use crate::words;

/// How long Python's signals wait while nothing comes.
const PATIENCE: Duration = Duration::from_millis(100);

/// A stream that is listened to. Iterating gives tensors until the producer ends the stream.
///
/// Made by `tenure.subscribe`. The memory of a frame goes back to the producer when the last
/// handle to its tensor is gone: arrays made of it count.
#[pyclass(module = "tenure", frozen)]
pub(crate) struct Subscriber(Mutex<stream::Subscriber>);

/// Listens to a stream of tensors that another process publishes.
///
/// name: the stream's.
/// credits: how many frames may be held at one time; frames that come meanwhile are dropped.
/// wait: seconds to wait for the producer, if it is not there yet.
/// directory: of the sockets, if not that of the system.
#[pyfunction]
#[pyo3(signature = (name, *, credits=None, wait=0.0, directory=None))]
pub(crate) fn subscribe(
    py: Python<'_>,
    name: &str,
    credits: Option<u32>,
    wait: f64,
    directory: Option<PathBuf>,
) -> Answer<Subscriber> {
    let mut builder = stream::Subscriber::builder(name).wait(seconds(wait)?);
    if let Some(credits) = credits {
        builder = builder.credits(credits);
    }
    if let Some(directory) = directory {
        builder = builder.directory(directory);
    }
    Ok(Subscriber(Mutex::new(py.detach(|| builder.open())?)))
}

/// The names of the streams that are published here.
#[pyfunction]
#[pyo3(signature = (*, directory=None))]
pub(crate) fn streams(directory: Option<PathBuf>) -> Answer<Vec<String>> {
    let all = match directory {
        Some(directory) => stream::list_in(directory),
        None => stream::list(),
    };
    Ok(all?.into_iter().filter(|listed| listed.alive).map(|listed| listed.name).collect())
}

/// Seconds as Python says them.
pub(crate) fn seconds(given: f64) -> Answer<Duration> {
    Duration::try_from_secs_f64(given).map_err(|_| {
        let message = format!("{given} is no time to wait: seconds from 0 on are");
        PyValueError::new_err(message).into()
    })
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Subscriber {
    /// The next frame, for which Python's signals may be raised in between; none after `timeout`.
    fn wait_for(&self, py: Python<'_>, timeout: Option<Duration>) -> Answer<Option<stream::Frame>> {
        let mut left = timeout;
        loop {
            let now = left.map_or(PATIENCE, |left| left.min(PATIENCE));
            if let Some(frame) = py.detach(|| locked(&self.0).next(now))? {
                return Ok(Some(frame));
            }
            py.check_signals()?;
            if let Some(rest) = &mut left {
                *rest = rest.saturating_sub(now);
                if rest.is_zero() {
                    return Ok(None);
                }
            }
        }
    }
}

#[pymethods]
impl Subscriber {
    /// The stream's name.
    #[getter]
    fn name(&self) -> String {
        locked(&self.0).name().to_owned()
    }

    /// Frames that may be held at one time: what the producer granted.
    #[getter]
    fn credits(&self) -> usize {
        locked(&self.0).credits()
    }

    /// Frames that did not come because no credit was left.
    #[getter]
    fn dropped(&self) -> u64 {
        locked(&self.0).dropped()
    }

    /// The next frame; None if none comes in `timeout` seconds, which is forever if it is None.
    #[pyo3(signature = (timeout=None))]
    fn next(&self, py: Python<'_>, timeout: Option<f64>) -> Answer<Option<Frame>> {
        let timeout = timeout.map(seconds).transpose()?;
        self.wait_for(py, timeout)?.map(|frame| Frame::new(py, frame)).transpose()
    }

    /// The newest frame that is there; None if there is none. Older ones are given back.
    fn latest(&self, py: Python<'_>) -> Answer<Option<Frame>> {
        let frame = py.detach(|| locked(&self.0).latest())?;
        frame.map(|frame| Frame::new(py, frame)).transpose()
    }

    /// The socket, which can be read from when a frame is there: for select, poll and asyncio.
    fn fileno(&self) -> RawFd {
        locked(&self.0).as_raw_fd()
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> Answer<Tensor> {
        match self.wait_for(py, None) {
            Ok(Some(frame)) => Ok(Tensor::new(frame.into_tensor())),
            Ok(None) => Err(PyStopIteration::new_err(()).into()),
            Err(fail) if fail.is_end(py) => Err(PyStopIteration::new_err(()).into()),
            Err(fail) => Err(fail),
        }
    }
}

/// A tensor that came, and what the producer said of it.
#[pyclass(module = "tenure", frozen, get_all)]
pub(crate) struct Frame {
    /// The tensor, to be read only.
    tensor: Py<Tensor>,
    /// The frame's number in the stream.
    sequence: u64,
    /// When it was taken, in seconds of the producer's choice; None if it did not say.
    timestamp: Option<f64>,
    /// Seconds since it was published.
    age: f64,
    /// Frames before this one that did not come.
    dropped: u64,
    /// What else the producer sent.
    blob: Py<PyBytes>,
}

impl Frame {
    fn new(py: Python<'_>, frame: stream::Frame) -> Answer<Frame> {
        Ok(Frame {
            sequence: frame.sequence(),
            timestamp: frame.timestamp().map(|time| time.as_secs_f64()),
            age: frame.age().as_secs_f64(),
            dropped: frame.dropped(),
            blob: PyBytes::new(py, frame.blob()).unbind(),
            tensor: Py::new(py, Tensor::new(frame.into_tensor()))?,
        })
    }
}

/// Publishes tensors to every process that subscribes, without a copy.
///
/// name: the stream's; it has one producer at a time.
/// shape, dtype: of the frames; or like: a tensor that they look like.
/// memory: "shm" or "dma".
/// claims: how many frames may be filled at one time.
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
        py.detach(|| locked(&self.0).as_mut().map(work))
            .ok_or_else(|| PyRuntimeError::new_err("the publisher is closed"))?
            .map_err(Into::into)
    }
}

#[pymethods]
impl Publisher {
    #[new]
    #[pyo3(signature = (
        name, shape=None, dtype=None, *, like=None, memory=None, claims=None, directory=None
    ))]
    #[pyo3(
        text_signature = "(name, shape=None, dtype='f32', *, like=None, memory=None, claims=None, directory=None)"
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
        directory: Option<PathBuf>,
    ) -> Answer<Publisher> {
        let mut builder = stream::Publisher::builder(name);
        builder = match (shape, like) {
            (Some(_), Some(_)) => {
                return Err(PyValueError::new_err("give a shape or like, not both").into());
            }
            (Some(shape), None) => {
                let dtype = dtype.map_or(Ok(DType::F32), words::dtype)?;
                builder.spec(Spec::tensor(dtype, &shape.0)?)
            }
            (None, Some(like)) => builder.spec(Spec::like(&like.get().tensor)?),
            (None, None) => builder,
        };
        if let Some(memory) = words::memory(memory)? {
            builder = builder.memory(memory);
        }
        if let Some(claims) = claims {
            builder = builder.claims(claims);
        }
        if let Some(directory) = directory {
            builder = builder.directory(directory);
        }
        Ok(Publisher(Mutex::new(Some(py.detach(|| builder.open())?))))
    }

    /// A frame to fill in a `with` block, which gets a memoryview of it; the end of the block
    /// publishes it, an exception gives it up.
    ///
    /// timestamp: when it was taken, in seconds.
    /// blob: bytes that go along.
    #[pyo3(signature = (*, timestamp=None, blob=None))]
    fn frame(&self, py: Python<'_>, timestamp: Option<f64>, blob: Option<Vec<u8>>) -> Answer<Slot> {
        let timestamp = timestamp.map(seconds).transpose()?;
        let slot = self.with(py, stream::Publisher::claim)?;
        Ok(Slot::new(slot, timestamp, blob.unwrap_or_default()))
    }

    /// Publishes a tensor as it is, if it is in memory that can be shared ("shm", "dma"), or a copy
    /// of it. Says to how many consumers it went.
    #[pyo3(signature = (tensor, *, copy=false, timestamp=None, blob=None))]
    fn publish(
        &self,
        py: Python<'_>,
        tensor: &Bound<'_, Tensor>,
        copy: bool,
        timestamp: Option<f64>,
        blob: Option<Vec<u8>>,
    ) -> Answer<usize> {
        let (tensor, blob) = (tensor.get().tensor.share(), blob.unwrap_or_default());
        let meta = meta(timestamp.map(seconds).transpose()?, &blob);
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
        py.detach(|| drop(locked(&self.0).take()));
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, py: Python<'_>, _error: &Bound<'_, PyTuple>) {
        self.close(py);
    }
}

fn meta(timestamp: Option<Duration>, blob: &[u8]) -> Meta<'_> {
    let meta = Meta::new().blob(blob);
    match timestamp {
        Some(timestamp) => meta.timestamp(timestamp),
        None => meta,
    }
}

/// A frame that is being filled: `with publisher.frame() as view: …`.
#[pyclass(module = "tenure", frozen)]
pub(crate) struct Slot {
    slot: Mutex<Option<stream::Slot>>,
    /// What the block has, while it runs.
    mapped: Mutex<Option<Py<Mapped>>>,
    timestamp: Option<Duration>,
    blob: Vec<u8>,
}

impl Slot {
    fn new(slot: stream::Slot, timestamp: Option<Duration>, blob: Vec<u8>) -> Slot {
        Slot { slot: Mutex::new(Some(slot)), mapped: Mutex::new(None), timestamp, blob }
    }

    fn share(&self) -> Answer<TensorDyn> {
        let slot = locked(&self.slot);
        let over = || PyRuntimeError::new_err("the frame is published or given up");
        Ok(slot.as_ref().ok_or_else(over)?.tensor().share())
    }
}

#[pymethods]
impl Slot {
    /// The tensor, for what writes into tensors. No handle to it may be left when the block ends.
    #[getter]
    fn tensor(&self) -> Answer<Tensor> {
        Ok(Tensor::new(self.share()?))
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
            drop(slot);
            return Ok(());
        }
        let meta = meta(self.timestamp, &self.blob);
        py.detach(|| slot.publish(meta))?;
        Ok(())
    }
}
