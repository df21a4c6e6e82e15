//! Pictures as JPEG and PNG: files and bytes.

use std::ffi::CString;
use std::path::PathBuf;

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyRuntimeWarning, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tenure::image::codec;

use crate::fail::Answer;
use crate::tensor::Tensor;
use crate::{gate, words};

/// A JPEG or PNG file as a picture, in the memory named or the first that serves. A file with more
/// pictures after the first (motion JPEG) is a RuntimeWarning.
#[pyfunction]
#[pyo3(signature = (path, memory=None))]
pub(crate) fn read_image(py: Python<'_>, path: PathBuf, memory: Option<&str>) -> Answer<Tensor> {
    let memory = words::memory(memory)?;
    let (picture, more) = py.detach(|| codec::open_first(&path, memory))?;
    if more {
        let text = format!(
            "{} has more pictures after the first, which is the one that was read: `tenure run` \
             publishes all of them",
            path.display()
        );
        let text = CString::new(text).unwrap_or_default();
        PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &text, 1)?;
    }
    Ok(Tensor::new(picture))
}

/// Writes a picture as JPEG or PNG, as the name of the file says. Says how many bytes it has.
#[pyfunction]
pub(crate) fn save_image(
    py: Python<'_>,
    path: PathBuf,
    picture: &Bound<'_, Tensor>,
) -> Answer<u64> {
    let picture = &picture.get().tensor;
    Ok(py.detach(|| codec::save(&path, picture))?)
}

/// The picture in the bytes of a JPEG or PNG file: grey, rgb or rgba, in the memory named or the
/// first that serves. Of several pictures one after the other (motion JPEG) it is the first.
///
/// data: bytes, or whatever shows its memory as bytes: a bytearray, a memoryview, a numpy array.
#[pyfunction]
#[pyo3(signature = (data, memory=None))]
pub(crate) fn decode_image(
    py: Python<'_>,
    data: &Bound<'_, PyAny>,
    memory: Option<&str>,
) -> Answer<Tensor> {
    let memory = words::memory(memory)?;
    if let Ok(bytes) = data.cast::<PyBytes>() {
        let bytes = bytes.as_bytes();
        return Ok(Tensor::new(gate::detach(py, || codec::decode(bytes, memory))?));
    }
    // Others may change meanwhile, so the decoder gets a copy.
    let Ok(shown) = PyBuffer::<u8>::get(data) else {
        let kind = data.get_type().name()?.to_string();
        let message = format!("a picture is decoded from bytes, not from an object of {kind}");
        return Err(PyTypeError::new_err(message).into());
    };
    let bytes = shown.to_vec(py)?;
    Ok(Tensor::new(gate::detach(py, || codec::decode(&bytes, memory))?))
}

/// The bytes of a JPEG or PNG file with this picture.
///
/// format: "jpeg" or "png".
/// quality: of a JPEG, 1 to 100; 90 if None. From 90 on every pixel keeps its colour.
#[pyfunction]
#[pyo3(signature = (picture, format, *, quality=None))]
pub(crate) fn encode_image<'py>(
    py: Python<'py>,
    picture: &Bound<'py, Tensor>,
    format: &str,
    quality: Option<i64>,
) -> Answer<Bound<'py, PyBytes>> {
    let picture = &picture.get().tensor;
    let mut bytes = vec![];
    match (format, quality) {
        ("jpeg", quality) => {
            let quality = quality.unwrap_or(codec::QUALITY.into());
            let quality = u8::try_from(quality).map_err(|_| {
                PyValueError::new_err(format!("the quality must be 1 to 100, got {quality}"))
            })?;
            gate::detach(py, || codec::encode_jpeg(picture, quality, &mut bytes))?;
        }
        ("png", None) => gate::detach(py, || codec::encode_png(picture, &mut bytes))?,
        ("png", Some(_)) => {
            return Err(PyValueError::new_err("PNG is exact: it has no quality").into());
        }
        _ => {
            let message = format!("unknown picture format {format:?}: jpeg and png are known");
            return Err(PyValueError::new_err(message).into());
        }
    }
    Ok(PyBytes::new(py, &bytes))
}
