//! Refusals as Python exceptions: the class that Python expects, the message of the library.
//!
//! The class follows from the error's kind. Where Python has several for one kind of ours, or had
//! another before, the package has classes of its own that are all of them.

use pyo3::exceptions::{
    PyBufferError, PyConnectionError, PyFileExistsError, PyFileNotFoundError, PyMemoryError,
    PyOSError, PyPermissionError, PyRuntimeError, PyTimeoutError, PyTypeError, PyValueError,
};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple, PyType};
use std::io;
use tenure::stream::recording;
use tenure::{ErrorKind, Language};

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

impl From<tenure::Error> for Fail {
    fn from(error: tenure::Error) -> Fail {
        Python::attach(|py| Fail(exception(py, &error)))
    }
}

/// Errors of the library, by way of the one that all of them become.
macro_rules! fails {
    ($($error:ty),* $(,)?) => {$(
        impl From<$error> for Fail {
            fn from(error: $error) -> Fail {
                tenure::Error::from(error).into()
            }
        }
    )*};
}

fails!(
    tenure::files::Error,
    tenure::image::Error,
    tenure::layout::Error,
    tenure::memory::Error,
    tenure::models::Error,
    tenure::plan::JsonError,
    tenure::stream::Error,
    tenure::tensor::Error,
);

impl From<recording::Error> for Fail {
    fn from(error: recording::Error) -> Fail {
        match &error {
            // With the number of the system's answer, so that a file that is not there says so.
            recording::Error::Write { cause, .. } | recording::Error::Read { cause, .. } => {
                Fail(system(Language::Python.say(&error), Some(cause)))
            }
            _ => tenure::Error::from(error).into(),
        }
    }
}

/// An exception class of this package.
pub(crate) struct Class {
    name: &'static str,
    doc: &'static str,
    bases: fn(Python<'_>) -> PyResult<Bound<'_, PyTuple>>,
    made: PyOnceLock<Py<PyType>>,
}

macro_rules! class {
    ($constant:ident, $name:literal, [$($base:ty),+], $doc:literal) => {
        static $constant: Class = Class {
            name: $name,
            doc: $doc,
            bases: |py| PyTuple::new(py, [$(py.get_type::<$base>()),+]),
            made: PyOnceLock::new(),
        };
    };
}

class!(
    BUSY,
    "BusyError",
    [PyBufferError],
    "Somebody uses the bytes in a way that excludes what was asked: release that, or wait."
);
class!(READ_ONLY, "ReadOnlyError", [PyBufferError], "The bytes are read-only.");
class!(
    UNSUPPORTED,
    "UnsupportedError",
    [PyBufferError, PyOSError, PyValueError],
    "It makes sense, but not for this tensor, memory or file."
);
class!(
    DAMAGED,
    "DamagedError",
    [PyOSError, PyValueError],
    "A file or a message is not what its format asks for, or has lost bytes."
);
class!(
    NOT_FOUND,
    "NotFoundError",
    [PyFileNotFoundError, PyValueError],
    "Nothing has this name or number."
);
class!(
    FORKED,
    "ForkedError",
    [PyRuntimeError, PyOSError],
    "It was made before this process was forked off: make it here."
);

class!(
    WRONG_TYPE,
    "WrongTypeError",
    [PyTypeError, PyValueError],
    "An element type that this cannot be done with."
);

/// Every class, to be put into the module.
pub(crate) const CLASSES: [(&str, &Class); 7] = [
    ("BusyError", &BUSY),
    ("DamagedError", &DAMAGED),
    ("ForkedError", &FORKED),
    ("NotFoundError", &NOT_FOUND),
    ("ReadOnlyError", &READ_ONLY),
    ("UnsupportedError", &UNSUPPORTED),
    ("WrongTypeError", &WRONG_TYPE),
];

impl Class {
    /// The class, made at its first use.
    pub(crate) fn get<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyType>> {
        let made = self.made.get_or_try_init(py, || {
            let inside = PyDict::new(py);
            inside.set_item("__module__", "tenure")?;
            inside.set_item("__doc__", self.doc)?;
            // A class statement: `PyErr::new_type` takes one base only.
            let made = py.get_type::<PyType>().call1((self.name, (self.bases)(py)?, inside))?;
            Ok::<_, PyErr>(made.cast_into::<PyType>()?.unbind())
        })?;
        Ok(made.bind(py).clone())
    }

    fn raise(&self, py: Python<'_>, message: String) -> PyErr {
        match self.get(py) {
            Ok(class) => PyErr::from_type(class, message),
            Err(error) => error,
        }
    }
}

/// `OSError` with the system's number, so that it becomes `FileNotFoundError` and the like.
fn system(message: String, cause: Option<&io::Error>) -> PyErr {
    match cause.and_then(io::Error::raw_os_error) {
        Some(number) => PyOSError::new_err((number, message)),
        // What the library itself found not to be allowed.
        None if cause.is_some_and(|cause| cause.kind() == io::ErrorKind::PermissionDenied) => {
            PyPermissionError::new_err(message)
        }
        None => PyOSError::new_err(message),
    }
}

fn exception(py: Python<'_>, error: &tenure::Error) -> PyErr {
    let message = Language::Python.say(error);
    match error.kind() {
        ErrorKind::WrongType => WRONG_TYPE.raise(py, message),
        ErrorKind::Busy => BUSY.raise(py, message),
        ErrorKind::ReadOnly => READ_ONLY.raise(py, message),
        ErrorKind::Unsupported => UNSUPPORTED.raise(py, message),
        ErrorKind::Unavailable => PyOSError::new_err(message),
        ErrorKind::OutOfMemory => PyMemoryError::new_err(message),
        ErrorKind::NotFound => NOT_FOUND.raise(py, message),
        ErrorKind::Exists => PyFileExistsError::new_err(message),
        ErrorKind::Damaged => DAMAGED.raise(py, message),
        ErrorKind::Closed | ErrorKind::Evicted => PyConnectionError::new_err(message),
        ErrorKind::Refused => PyPermissionError::new_err(message),
        ErrorKind::NoAnswer => PyTimeoutError::new_err(message),
        ErrorKind::Forked => FORKED.raise(py, message),
        ErrorKind::System => system(message, error.os_error()),
        // `Invalid`, a callback that stopped, and kinds of a later version.
        _ => PyValueError::new_err(message),
    }
}
