//! Lists and bytes that Python passes. PyO3 reserves as much as `__len__` of an object says, which
//! aborts the process if it is a lie; here nothing is believed that was not counted.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PySequence, PyString};

/// A sequence, but no text.
pub(crate) struct List<T>(pub(crate) Vec<T>);

impl<'py, T> FromPyObject<'_, 'py> for List<T>
where
    T: for<'a> FromPyObject<'a, 'py>,
{
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<List<T>> {
        if given.is_instance_of::<PyString>() || given.cast::<PySequence>().is_err() {
            let kind = given.get_type().name()?;
            let kind = kind.to_string_lossy();
            return Err(PyTypeError::new_err(format!("expected a sequence, got {kind}")));
        }
        let mut items = vec![];
        for item in given.try_iter()? {
            items.push(item?.extract().map_err(Into::into)?);
        }
        Ok(List(items))
    }
}

/// Bytes, or a sequence of numbers that are some.
pub(crate) struct Blob(pub(crate) Vec<u8>);

impl<'py> FromPyObject<'_, 'py> for Blob {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Blob> {
        if let Ok(bytes) = given.cast::<PyBytes>() {
            Ok(Blob(bytes.as_bytes().to_vec()))
        } else if let Ok(bytes) = given.cast::<PyByteArray>() {
            Ok(Blob(bytes.to_vec()))
        } else {
            Ok(Blob(given.extract::<List<u8>>()?.0))
        }
    }
}
