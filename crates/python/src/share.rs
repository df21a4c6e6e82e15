//! Tensors and file descriptors: to other processes and back.
#![expect(unsafe_code, reason = "Python names descriptors by number")]

use std::os::fd::{BorrowedFd, IntoRawFd, RawFd};

use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use tenure::memory::PlaneDescriptor;
use tenure::{DType, DynTensor, Sharing, TensorDyn};

use crate::fail::Answer;
use crate::list::List;
use crate::shape::Shape;
use crate::tensor::Tensor;
use crate::{gate, pending, words};

/// A new descriptor for the tensor's memory; whoever asked closes it.
pub(crate) fn fd(tensor: &TensorDyn) -> Answer<RawFd> {
    Ok(tensor.clone_fd()?.into_raw_fd())
}

/// The descriptor of a number, or of an object with `fileno()`, and whether it is open.
fn descriptor(given: &Bound<'_, PyAny>) -> Answer<RawFd> {
    let number = match given.extract::<RawFd>() {
        Ok(number) => number,
        Err(_) => given.call_method0(intern!(given.py(), "fileno"))?.extract()?,
    };
    if number < 0 {
        let message = format!("{number} is no file descriptor: it is closed, or never was one");
        return Err(PyValueError::new_err(message).into());
    }
    Ok(number)
}

/// Runs `work` with the descriptor of a number or an object.
pub(crate) fn with_descriptor<T>(
    given: &Bound<'_, PyAny>,
    work: impl FnOnce(BorrowedFd<'_>) -> Answer<T>,
) -> Answer<T> {
    let number = descriptor(given)?;
    // SAFETY: not -1; that it stays open meanwhile is up to whoever passed it, as with every
    // descriptor in Python, and the kernel refuses it otherwise.
    work(unsafe { BorrowedFd::borrow_raw(number) })
}

/// Sends a tensor over a connected Unix socket (an object with `fileno()`, or a descriptor). Its
/// bytes are not copied: the receiver maps the same memory, which must have a descriptor (shm,
/// dma, file).
///
/// read_only: the receiver may only read, and the kernel sees to it, for good: nobody can map the
/// memory for writing any more. This process goes on writing.
#[pyfunction]
#[pyo3(signature = (socket, tensor, *, read_only=false))]
pub(crate) fn send(
    socket: &Bound<'_, PyAny>,
    tensor: &Bound<'_, Tensor>,
    read_only: bool,
) -> Answer<()> {
    let number = descriptor(socket)?;
    let sharing = if read_only { Sharing::ReadOnly } else { Sharing::ReadWrite };
    let tensor = tensor.get().tensor.clone();
    // The receiver knows nothing of copies that are under way here.
    pending::settle(socket.py(), &tensor, false, None)?;
    socket.py().detach(|| {
        // SAFETY: not -1; that it stays open meanwhile is up to whoever passed it, as with every
        // descriptor in Python, and the kernel refuses it otherwise.
        let socket = unsafe { BorrowedFd::borrow_raw(number) };
        Ok(tenure::send(socket, &tensor, sharing)?)
    })
}

/// Receives a tensor that another process sent with `send`. Waits until one comes.
///
/// Raises ConnectionError when the other side is gone, and ValueError for a message that is not
/// what it says.
#[pyfunction]
pub(crate) fn receive(socket: &Bound<'_, PyAny>) -> Answer<Tensor> {
    let number = descriptor(socket)?;
    // SAFETY: as in `send`.
    let descriptor = unsafe { BorrowedFd::borrow_raw(number) };
    wait_for_message(socket.py(), descriptor)?;
    Ok(Tensor::new(socket.py().detach(|| tenure::receive(descriptor))?))
}

/// Waits until there is something to receive, or somebody presses Ctrl-C.
fn wait_for_message(py: Python<'_>, socket: BorrowedFd<'_>) -> Answer<()> {
    loop {
        let mut wanted = [PollFd::new(&socket, PollFlags::IN)];
        match py.detach(|| poll(&mut wanted, None)) {
            Err(Errno::INTR) => py.check_signals()?,
            Err(error) => return Err(PyErr::from(std::io::Error::from(error)).into()),
            Ok(_) => return Ok(()),
        }
    }
}

/// A tensor over memory that a descriptor stands for, from its first byte. The descriptor stays
/// the caller's.
#[pyfunction]
#[pyo3(signature = (fd, shape, dtype=None, name=None))]
#[pyo3(text_signature = "(fd, shape, dtype='f32', name=None)")]
pub(crate) fn from_fd(
    fd: &Bound<'_, PyAny>,
    shape: Shape,
    dtype: Option<&Bound<'_, PyAny>>,
    name: Option<&str>,
) -> Answer<Tensor> {
    let dtype = dtype.map_or(Ok(DType::F32), words::dtype)?;
    with_descriptor(fd, |fd| Ok(Tensor::new(TensorDyn::from_fd(fd, &shape.0, dtype, name)?)))
}

/// Descriptor, offset of the first row, and bytes from row to row if they are not the fewest.
type Plane<'py> = (Bound<'py, PyAny>, usize, Option<usize>);

/// A picture in memory that descriptors stand for: of a camera, a decoder, another process.
///
/// planes: (descriptor, offset, stride) of each plane, or of the first one if the others follow it;
/// bytes, and None for rows without gaps. Planes may be in one memory or in several, and the
/// descriptors stay the caller's.
///
/// Nothing is copied, so what somebody else writes there is seen.
#[pyfunction]
#[pyo3(signature = (planes, width, height, format, dtype=None))]
#[pyo3(text_signature = "(planes, width, height, format, dtype='u8')")]
pub(crate) fn from_planes(
    py: Python<'_>,
    planes: List<Plane<'_>>,
    width: usize,
    height: usize,
    format: &str,
    dtype: Option<&Bound<'_, PyAny>>,
) -> Answer<Tensor> {
    let dtype = dtype.map_or(Ok(DType::U8), words::dtype)?;
    let format = words::format(format)?;
    let place = |(fd, offset, stride): &Plane<'_>| {
        let plane = with_descriptor(fd, |fd| Ok(PlaneDescriptor::new(fd)?))?.with_offset(*offset);
        Ok(match stride {
            Some(stride) => plane.with_stride(*stride),
            None => plane,
        })
    };
    let planes = planes.0.iter().map(place).collect::<Answer<Vec<_>>>()?;
    let made = gate::detach(py, || TensorDyn::from_planes(&planes, width, height, format, dtype))?;
    Ok(Tensor::new(made))
}
