//! Refusals as Python exceptions: the kind that Python expects, the message of the library.

use std::fmt::Display;
use std::io;

use pyo3::exceptions::{
    PyBufferError, PyConnectionError, PyFileExistsError, PyFileNotFoundError, PyMemoryError,
    PyOSError, PyPermissionError, PyRuntimeError, PyTimeoutError, PyTypeError, PyValueError,
};
use pyo3::{PyErr, Python};
use tenure::memory::DeviceFault;
use tenure::{files, image, layout, memory, stream};

/// Result of what Python calls.
pub(crate) type Answer<T> = Result<T, Fail>;

/// An exception to raise.
pub(crate) struct Fail(PyErr);

impl Fail {
    /// Whether the other side has gone.
    pub(crate) fn is_end(&self, py: Python<'_>) -> bool {
        self.0.is_instance_of::<PyConnectionError>(py)
    }
}

impl From<Fail> for PyErr {
    fn from(fail: Fail) -> PyErr {
        fail.0
    }
}

impl From<PyErr> for Fail {
    fn from(error: PyErr) -> Fail {
        Fail(error)
    }
}

/// `OSError` with the system's number, so that it becomes `FileNotFoundError` and the like.
fn system(message: String, cause: Option<&io::Error>) -> PyErr {
    match cause.and_then(io::Error::raw_os_error) {
        Some(number) => PyOSError::new_err((number, message)),
        None => PyOSError::new_err(message),
    }
}

fn layout_error(error: &layout::Error) -> PyErr {
    match error {
        // Met only in what other libraries describe.
        layout::Error::UnknownDTypeCode { .. } => PyBufferError::new_err(error.to_string()),
        _ => PyValueError::new_err(error.to_string()),
    }
}

/// What the library says of its own calls, in the calls of Python.
const CALLS: [(&str, &str); 3] = [
    ("open one with tenure::gpu", "open one with tenure.open_device()"),
    ("tenure::gpu::open", "tenure.open_device"),
    ("to(Some(TensorMemory::Mem))", "to('mem')"),
];

fn words(error: &impl Display) -> String {
    CALLS.iter().fold(error.to_string(), |text, (rust, python)| text.replace(rust, python))
}

fn memory_error(error: &memory::Error) -> PyErr {
    use memory::Error;
    let message = words(error);
    match error {
        Error::Busy { .. } | Error::ReadOnly { .. } | Error::NotMappable { .. } => {
            PyBufferError::new_err(message)
        }
        Error::OutOfMemory { .. } | Error::PoolFull { .. } | Error::NoneServed { .. } => {
            PyMemoryError::new_err(message)
        }
        Error::Open { cause, .. } | Error::System { cause, .. } => system(message, Some(cause)),
        Error::Closed { .. } => PyConnectionError::new_err(message),
        Error::Unavailable { .. }
        | Error::NoDescriptor { .. }
        | Error::NotDma { .. }
        | Error::NotSealable { .. }
        | Error::NotMemory { .. }
        | Error::Unsealed { .. }
        | Error::WrongMode { .. }
        | Error::NoSpace { .. }
        | Error::NotOpen { .. }
        | Error::Truncated => system(message, None),
        Error::Device { fault: DeviceFault::NoQueue { .. }, .. } => PyValueError::new_err(message),
        Error::Device { .. } => system(message, None),
        _ => PyValueError::new_err(message),
    }
}

fn tensor_error(error: &tenure::Error) -> PyErr {
    use tenure::Error;
    match error {
        Error::Layout(error) => layout_error(error),
        Error::Memory(error) => memory_error(error),
        Error::WrongElement { .. } | Error::NoRustType { .. } => {
            PyTypeError::new_err(error.to_string())
        }
        Error::Dlpack(_)
        | Error::NotContiguous { .. }
        | Error::NotWhole { .. }
        | Error::Overlapping { .. }
        | Error::MisalignedAddress { .. }
        | Error::SeveralBuffers { .. } => PyBufferError::new_err(words(error)),
        _ => PyValueError::new_err(error.to_string()),
    }
}

fn file_error(error: &files::Error) -> PyErr {
    use files::Error;
    match error.cause() {
        Error::Open(cause) | Error::Io(cause) | Error::Read { cause, .. } => {
            system(error.to_string(), Some(cause))
        }
        Error::CutOff { .. } | Error::NotAFile { .. } => system(error.to_string(), None),
        Error::NoSuchType { .. } => PyTypeError::new_err(error.to_string()),
        Error::Tensor(cause) => tensor_error(cause),
        _ => PyValueError::new_err(error.to_string()),
    }
}

fn image_error(error: &image::Error) -> PyErr {
    use image::Error;
    match error {
        Error::Layout(error) => layout_error(error),
        Error::Tensor(error) => tensor_error(error),
        Error::Memory(error) => memory_error(error),
        Error::Read { cause, .. } | Error::Write { cause, .. } | Error::Encoded(cause) => {
            system(error.to_string(), Some(cause))
        }
        Error::Threads { .. } => system(error.to_string(), None),
        _ => PyValueError::new_err(error.to_string()),
    }
}

/// What streams say of options, in the words of Python.
const OPTIONS: [(&str, &str); 3] = [
    ("`initial_spec` instead of `spec`, or without,", "strict=False, or without a shape,"),
    ("build the subscriber to `wait_when_full`", "subscribe with wait_when_full=True"),
    ("raise `memory_limit` or `descriptor_limit`", "raise memory_limit or descriptor_limit"),
];

fn stream_error(error: &stream::Error) -> PyErr {
    use stream::Error;
    let message = OPTIONS
        .iter()
        .fold(error.to_string(), |message, (rust, python)| message.replace(rust, python));
    match error {
        Error::Ended { .. } | Error::Evicted { .. } => PyConnectionError::new_err(message),
        Error::NoStream { .. } => PyFileNotFoundError::new_err(message),
        Error::Taken { .. } => PyFileExistsError::new_err(message),
        Error::NoAnswer { .. } => PyTimeoutError::new_err(message),
        Error::Refused { .. } | Error::Producer { .. } => PyPermissionError::new_err(message),
        Error::MemoryLimit { .. } => PyMemoryError::new_err(message),
        Error::Forked { .. } => PyRuntimeError::new_err(message),
        Error::StillHeld
        | Error::AllHeld { .. }
        | Error::NoSlot { .. }
        | Error::DevicesBusy { .. } => PyBufferError::new_err(message),
        // A directory that others can write, which the system itself would let pass.
        Error::Directory { cause, .. }
            if cause.kind() == io::ErrorKind::PermissionDenied
                && cause.raw_os_error().is_none() =>
        {
            PyPermissionError::new_err(message)
        }
        Error::Directory { cause, .. } | Error::System { cause, .. } => {
            system(message, Some(cause))
        }
        Error::Memory(error) => memory_error(error),
        Error::Tensor(error) => tensor_error(error),
        _ => PyValueError::new_err(message),
    }
}

impl From<stream::Error> for Fail {
    fn from(error: stream::Error) -> Fail {
        Fail(stream_error(&error))
    }
}

impl From<files::Error> for Fail {
    fn from(error: files::Error) -> Fail {
        Fail(file_error(&error))
    }
}

impl From<image::Error> for Fail {
    fn from(error: image::Error) -> Fail {
        Fail(image_error(&error))
    }
}

impl From<layout::Error> for Fail {
    fn from(error: layout::Error) -> Fail {
        Fail(layout_error(&error))
    }
}

impl From<memory::Error> for Fail {
    fn from(error: memory::Error) -> Fail {
        Fail(memory_error(&error))
    }
}

impl From<tenure::Error> for Fail {
    fn from(error: tenure::Error) -> Fail {
        Fail(tensor_error(&error))
    }
}
