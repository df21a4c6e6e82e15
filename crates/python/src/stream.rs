//! Tensors of other processes, as they come: `subscribe`, and what streams there are.

use std::ffi::CString;
use std::os::fd::{AsRawFd, RawFd};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pyo3::exceptions::{PyRuntimeError, PyRuntimeWarning, PyStopIteration, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use tenure::stream::{self, StreamReport};

use crate::fail::Answer;
use crate::frame::Frame;
use crate::gate;
use crate::tensor::Tensor;

/// How long Python's signals wait while nothing comes.
const PATIENCE: Duration = Duration::from_millis(100);

/// A stream that is listened to. Iterating gives tensors until the producer ends the stream.
///
/// Made by `tenure.subscribe`. The memory of a frame goes back to the producer when the last
/// handle to its tensor is gone: arrays made of it count. At most `credits` are held at one time:
/// iterating, or `next()` without a timeout, while all of them are is a BufferError, because no
/// other frame can come (see `wait_when_full`).
#[pyclass(module = "tenure", frozen)]
pub(crate) struct Subscriber {
    stream: Mutex<Option<stream::Subscriber>>,
    wait_when_full: bool,
}

/// Listens to a stream of tensors that another process publishes.
///
/// name: the stream's.
/// credits: how many frames may be held at one time; frames that come meanwhile are dropped.
/// wait: seconds to wait for the producer, if it is not there yet.
/// follow: when the stream ends, wait for the next producer of that name.
/// directory: of the sockets, if not that of the system.
/// wait_when_full: wait for the next frame also while all credits are held, because another thread
/// lets go of frames.
/// producer_uid: a user whose streams are accepted, besides this user, root, the owner of the
/// directory and this group.
/// memory_limit: how many bytes of the producer's memory may be mapped at one time, and
/// descriptor_limit: how many memories; half of what the machine and this process have if not said.
/// explicit_fences: give frames out before devices are done with them; the program waits for
/// `Frame.fence` before it looks at one.
#[pyfunction]
#[pyo3(signature = (
    name, *, credits=None, wait=0.0, follow=false, directory=None, wait_when_full=false,
    producer_uid=None, memory_limit=None, descriptor_limit=None, explicit_fences=false
))]
#[expect(clippy::too_many_arguments, reason = "Python names them")]
pub(crate) fn subscribe(
    py: Python<'_>,
    name: &str,
    credits: Option<u32>,
    wait: f64,
    follow: bool,
    directory: Option<PathBuf>,
    wait_when_full: bool,
    producer_uid: Option<u32>,
    memory_limit: Option<usize>,
    descriptor_limit: Option<usize>,
    explicit_fences: bool,
) -> Answer<Subscriber> {
    let (wait, began) = (seconds(wait)?, Instant::now());
    let mut builder =
        // What there is to say when it is full is said here.
        stream::Subscriber::builder(name)
            .follow(follow)
            .wait_when_full(true)
            .explicit_fences(explicit_fences);
    if let Some(uid) = producer_uid {
        builder = builder.producer_uid(uid);
    }
    if let Some(bytes) = memory_limit {
        builder = builder.memory_limit(bytes);
    }
    if let Some(descriptors) = descriptor_limit {
        builder = builder.descriptor_limit(descriptors);
    }
    if let Some(credits) = credits {
        builder = builder.credits(credits);
    }
    if let Some(directory) = directory {
        builder = builder.directory(directory);
    }
    loop {
        let left = wait.saturating_sub(began.elapsed());
        let builder = builder.clone().wait(left.min(PATIENCE));
        match gate::detach(py, || builder.open()) {
            // Signals are Python's in between.
            Err(error) if error.is_over() && began.elapsed() < wait => py.check_signals()?,
            answer => {
                let stream = Mutex::new(Some(answer?));
                return Ok(Subscriber { stream, wait_when_full });
            }
        }
    }
}

/// What a stream tells about itself: frames, rate, memory, slots, consumers.
#[pyfunction]
#[pyo3(signature = (name, *, directory=None))]
pub(crate) fn stat<'py>(
    py: Python<'py>,
    name: &str,
    directory: Option<PathBuf>,
) -> Answer<Bound<'py, PyDict>> {
    let report = gate::detach(py, || match directory {
        Some(directory) => stream::stat_in(directory, name),
        None => stream::stat(name),
    })?;
    Ok(described(py, &report)?)
}

/// The report as Python has such things; the names are those of `tenure stream stat --json`.
fn described<'py>(py: Python<'py>, report: &StreamReport) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("name", &report.name)?;
    dict.set_item("pid", report.pid)?;
    dict.set_item("incarnation", report.incarnation)?;
    dict.set_item("seconds", report.seconds)?;
    dict.set_item("published", report.published)?;
    dict.set_item("dropped", report.dropped)?;
    dict.set_item("rate", report.rate)?;
    dict.set_item("memory", &report.memory)?;
    dict.set_item("claims", report.claims)?;
    dict.set_item("credits", report.credits)?;
    dict.set_item("granted", report.granted)?;
    dict.set_item("slots", report.slots.len())?;
    dict.set_item("bytes", report.bytes())?;
    let consumers = report.consumers.iter().map(|consumer| {
        let one = PyDict::new(py);
        one.set_item("id", consumer.id)?;
        one.set_item("pid", consumer.pid)?;
        one.set_item("uid", consumer.uid)?;
        one.set_item("credits", consumer.credits)?;
        one.set_item("held", consumer.held)?;
        one.set_item("sent", consumer.sent)?;
        one.set_item("dropped", consumer.dropped)?;
        one.set_item("evicted", consumer.evicted)?;
        Ok(one)
    });
    dict.set_item("consumers", consumers.collect::<PyResult<Vec<_>>>()?)?;
    Ok(dict)
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

pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Subscriber {
    fn with<T>(&self, work: impl FnOnce(&mut stream::Subscriber) -> T) -> Answer<T> {
        let closed = || PyRuntimeError::new_err("the subscriber is closed");
        Ok(locked(&self.stream).as_mut().map(work).ok_or_else(closed)?)
    }

    /// No frame can come until one is let go of: an error if that would be waited for without end,
    /// a warning if another thread may be about to do it.
    fn warn_full(&self, py: Python<'_>, timeout: Option<Duration>) -> Answer<()> {
        let (name, credits) = self.with(|it| (it.name().to_owned(), it.credits()))?;
        let full = stream::Error::from(tenure::stream::detail::AllHeld { name, credits });
        if timeout.is_none() {
            return Err(full.into());
        }
        let text = CString::new(tenure::Language::Python.say(&full)).unwrap_or_default();
        PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &text, 1)?;
        Ok(())
    }

    /// The next frame, for which Python's signals may be raised in between; none after `timeout`.
    pub(crate) fn wait_for(
        &self,
        py: Python<'_>,
        timeout: Option<Duration>,
    ) -> Answer<Option<stream::Frame>> {
        let mut left = timeout;
        if timeout != Some(Duration::ZERO) && !self.wait_when_full {
            // Then only the end of the stream can be here.
            let (here, full) = gate::detach(py, || self.with(|it| (it.try_next(), it.is_full())))?;
            match here? {
                Some(frame) => return Ok(Some(frame)),
                None if full => self.warn_full(py, timeout)?,
                None => {}
            }
        }
        loop {
            let now = left.map_or(PATIENCE, |left| left.min(PATIENCE));
            if timeout.is_none() && !self.wait_when_full && self.with(|it| it.is_full())? {
                // Another thread has taken the last frame that could come.
                return match gate::detach(py, || self.with(|it| it.try_next()))?? {
                    Some(frame) => Ok(Some(frame)),
                    None => self.warn_full(py, timeout).map(|()| None),
                };
            }
            if let Some(frame) = gate::detach(py, || self.with(|it| it.next(now)))?? {
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
    fn name(&self) -> Answer<String> {
        self.with(|it| it.name().to_owned())
    }

    /// Frames that may be held at one time: what the producer granted.
    #[getter]
    fn credits(&self) -> Answer<usize> {
        self.with(|it| it.credits())
    }

    /// Frames that are held at this moment: their tensors and what was made of them.
    #[getter]
    fn held(&self) -> Answer<usize> {
        self.with(|it| it.held())
    }

    /// Frames that did not come because no credit was left, up to this moment.
    #[getter]
    fn dropped(&self) -> Answer<u64> {
        self.with(|it| it.dropped())
    }

    /// The next frame; None if none comes in `timeout` seconds, which is forever if it is None.
    /// While all frames that may be held are, that is a BufferError without a timeout and a
    /// RuntimeWarning with one, unless the subscriber waits when it is full.
    #[pyo3(signature = (timeout=None))]
    fn next(&self, py: Python<'_>, timeout: Option<f64>) -> Answer<Option<Frame>> {
        let timeout = timeout.map(seconds).transpose()?;
        self.wait_for(py, timeout)?.map(|frame| Frame::new(py, frame)).transpose()
    }

    /// The newest frame that is there; None if there is none. Older ones are given back. While all
    /// frames that may be held are, none can be there: that is a RuntimeWarning, unless the
    /// subscriber waits when it is full.
    fn latest(&self, py: Python<'_>) -> Answer<Option<Frame>> {
        let (frame, full) = gate::detach(py, || self.with(|it| (it.latest(), it.is_full())))?;
        let frame = frame?;
        if frame.is_none() && full && !self.wait_when_full {
            self.warn_full(py, Some(Duration::ZERO))?;
        }
        frame.map(|frame| Frame::new(py, frame)).transpose()
    }

    /// A descriptor that is readable when a frame may be there: for select, poll and asyncio. It is
    /// to be waited for, not to be read from. It does not become readable while all frames that may
    /// be held are: to ask for it then is a RuntimeWarning, unless the subscriber waits when it is
    /// full.
    fn fileno(&self, py: Python<'_>) -> Answer<RawFd> {
        let (fd, full) = self.with(|it| (it.as_raw_fd(), it.is_full()))?;
        if full && !self.wait_when_full {
            self.warn_full(py, Some(Duration::ZERO))?;
        }
        Ok(fd)
    }

    /// Ends the subscription; frames that are held stay valid.
    fn close(&self, py: Python<'_>) {
        gate::detach(py, || drop(locked(&self.stream).take()));
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, py: Python<'_>, _error: &Bound<'_, PyTuple>) {
        self.close(py);
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
