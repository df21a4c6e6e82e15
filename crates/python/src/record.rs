//! Streams into folders and back: `Recorder` and `replay`.

use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use pyo3::exceptions::{PyMemoryError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use tenure::memory::available_memory;
use tenure::stream::recording::{self, Recording};
use tenure::stream::{self, Meta};

use crate::fail::Answer;
use crate::frame::Frame;
use crate::gate;
use crate::stream::{Subscriber, locked, seconds};

/// How long Python's signals wait while nothing is to be done.
const PATIENCE: Duration = Duration::from_millis(100);
/// Lines of an index between two looks at Python's signals.
const LINES: u64 = 4096;
/// Frames up to this size are replayed without asking how much memory there is.
const SMALL: u64 = 16 << 20;
/// The largest frame that is replayed where nobody says how much memory there is.
const UNKNOWN: u64 = 1 << 30;

/// Writes every frame of a stream into a folder, which `replay` and `tenure stream replay` publish
/// again. What was written can be read whatever ends it.
///
/// path: of the folder, which must not be there yet.
/// subscriber: where the frames come from. Frames that somebody else takes from it are not written.
#[pyclass(module = "tenure", frozen)]
pub(crate) struct Recorder {
    subscriber: Py<Subscriber>,
    writing: Mutex<Option<Writing>>,
}

struct Writing {
    recorder: recording::Recorder,
    frames: u64,
    bytes: u64,
}

impl Recorder {
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Writing) -> T + Send,
    ) -> Answer<T> {
        // Another thread may be in the middle of a frame.
        let done = gate::detach(py, || locked(&self.writing).as_mut().map(work));
        Ok(done.ok_or_else(|| PyRuntimeError::new_err("the recorder is closed"))?)
    }

    /// The next frame, written; none after `timeout`.
    fn take(&self, py: Python<'_>, timeout: Option<Duration>) -> Answer<Option<stream::Frame>> {
        // Before a frame is taken that cannot be written.
        self.with(py, |_| ())?;
        let Some(frame) = self.subscriber.get().wait_for(py, timeout)? else { return Ok(None) };
        let frame = self.with(py, |writing| {
            writing.bytes += writing.recorder.add(&frame)?;
            writing.frames += 1;
            Ok::<_, recording::Error>(frame)
        })??;
        Ok(Some(frame))
    }
}

#[pymethods]
impl Recorder {
    #[new]
    fn make(py: Python<'_>, path: PathBuf, subscriber: Py<Subscriber>) -> Answer<Recorder> {
        let recorder = gate::detach(py, || recording::Recorder::create(&path))?;
        let writing = Writing { recorder, frames: 0, bytes: 0 };
        Ok(Recorder { subscriber, writing: Mutex::new(Some(writing)) })
    }

    /// Frames written so far.
    #[getter]
    fn frames(&self, py: Python<'_>) -> Answer<u64> {
        self.with(py, |writing| writing.frames)
    }

    /// Bytes of their elements.
    #[getter]
    fn nbytes(&self, py: Python<'_>) -> Answer<u64> {
        self.with(py, |writing| writing.bytes)
    }

    /// The next frame, which is written before it is given; None if none comes in `timeout`
    /// seconds, which is forever if it is None. Ends as `Subscriber.next` does.
    #[pyo3(signature = (timeout=None))]
    fn next(&self, py: Python<'_>, timeout: Option<f64>) -> Answer<Option<Frame>> {
        let timeout = timeout.map(seconds).transpose()?;
        self.take(py, timeout)?.map(|frame| Frame::new(py, frame)).transpose()
    }

    /// Writes frames until the stream ends, so many are written, or so many seconds are over,
    /// whichever comes first. Says how many it has written.
    #[pyo3(signature = (frames=None, seconds=None))]
    fn run(&self, py: Python<'_>, frames: Option<u64>, seconds: Option<f64>) -> Answer<u64> {
        let (began, most) = (Instant::now(), seconds.map(self::seconds).transpose()?);
        let mut written = 0;
        while frames.is_none_or(|frames| written < frames) {
            let left = most.map(|most| most.saturating_sub(began.elapsed()));
            match self.take(py, left) {
                Ok(Some(frame)) => gate::detach(py, || drop(frame)),
                Ok(None) => break,
                Err(fail) if fail.is_end(py) => break,
                Err(fail) => return Err(fail),
            }
            written += 1;
            if left.is_some_and(|left| left.is_zero()) {
                break;
            }
        }
        Ok(written)
    }

    /// Ends the recording. The subscriber stays open.
    fn close(&self, py: Python<'_>) {
        gate::detach(py, || drop(locked(&self.writing).take()));
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, py: Python<'_>, _error: &Bound<'_, PyTuple>) {
        self.close(py);
    }
}

/// Publishes what was recorded in a folder, at the times it was, and waits until that is done. Says
/// how many frames were published. The time at which a frame was taken is now.
///
/// path: of the folder.
/// name: of the stream.
/// fps: frames in a second, instead of the times of the recording.
/// wait_for: begin when there are so many consumers.
/// directory: of the sockets, if not that of the system.
/// memory_limit: the most bytes of one frame; a quarter of the available memory if not said. A
/// larger one is a MemoryError.
///
/// All of the recording is checked before anything is published: a damaged one is refused as a
/// whole, with a ValueError. Nothing in it is believed, so it may come from anybody.
#[pyfunction]
#[pyo3(signature = (path, name, *, fps=None, wait_for=0, directory=None, memory_limit=None))]
pub(crate) fn replay(
    py: Python<'_>,
    path: PathBuf,
    name: &str,
    fps: Option<f64>,
    wait_for: usize,
    directory: Option<PathBuf>,
    memory_limit: Option<u64>,
) -> Answer<u64> {
    let between = fps.map(interval).transpose()?;
    let mut recording = gate::detach(py, || Recording::open(&path))?;
    check(py, &mut recording)?;
    let mut builder = stream::Publisher::builder(name);
    if let Some(directory) = directory {
        builder = builder.directory(directory);
    }
    let mut publisher = gate::detach(py, || builder.open())?;
    while publisher.consumers() < wait_for {
        pause(py, Instant::now() + Duration::from_millis(5))?;
    }
    let (began, mut frames, mut first) = (Instant::now(), 0u32, None);
    while let Some(entry) = gate::detach(py, || recording.next())? {
        let first = *first.get_or_insert(entry.published());
        let after = match between {
            Some(between) => between.saturating_mul(frames),
            None => entry.published().saturating_sub(first),
        };
        pause(py, began.checked_add(after).unwrap_or(began))?;
        check_bytes(entry.spec().bytes() as u64, memory_limit)?;
        let now: u64 = py.import("time")?.call_method0("monotonic_ns")?.extract()?;
        gate::detach(py, || -> Answer<()> {
            let slot = publisher.claim_as(entry.spec())?;
            recording.read(&entry, slot.tensor())?;
            let meta = Meta::new().timestamp(Duration::from_nanos(now)).blob(entry.blob());
            slot.publish(meta)?;
            Ok(())
        })?;
        frames = frames.saturating_add(1);
    }
    gate::detach(py, || drop(publisher));
    Ok(frames.into())
}

/// From one frame to the next.
fn interval(fps: f64) -> Answer<Duration> {
    let wrong = || PyValueError::new_err(format!("fps must be above 0, got {fps}"));
    let between = Duration::try_from_secs_f64(fps.recip()).ok().filter(|_| fps > 0.0);
    Ok(between.ok_or_else(wrong)?)
}

/// Reads all lines of the index, in which Python's signals may be raised.
fn check(py: Python<'_>, recording: &mut Recording) -> Answer<()> {
    let mut signal = None;
    let checked = gate::detach(py, || {
        let mut lines = 0;
        recording.check(|| {
            lines += 1;
            if lines % LINES == 0 {
                signal = Python::attach(|py| py.check_signals()).err();
            }
            signal.is_some()
        })
    });
    if let Some(signal) = signal {
        return Err(signal.into());
    }
    checked?;
    Ok(())
}

/// Waits until then, for which Python's signals may be raised in between.
fn pause(py: Python<'_>, until: Instant) -> Answer<()> {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        py.detach(|| std::thread::sleep(left.min(PATIENCE)));
        py.check_signals()?;
    }
}

/// Whether there is memory for a frame of so many bytes.
fn check_bytes(bytes: u64, limit: Option<u64>) -> Answer<()> {
    let usual = || match bytes {
        0..=SMALL => SMALL,
        _ => available_memory().map_or(UNKNOWN, |available| available / 4),
    };
    let most = limit.unwrap_or_else(usual);
    if bytes <= most {
        return Ok(());
    }
    let message = format!(
        "a frame of the recording must have at most {most} bytes, got {bytes}: memory_limit= sets \
         another limit"
    );
    Err(PyMemoryError::new_err(message).into())
}
