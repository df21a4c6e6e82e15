//! `__array_interface__`: the address of a tensor, in the words of numpy.

use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use tenure::{DType, TensorDyn};

use crate::buffer::Shown;
use crate::fail::Answer;

/// The word that numpy has for an element type; plain bytes for those that it does not have.
fn word(dtype: DType) -> Option<String> {
    let (order, kind) = match dtype {
        DType::Bool => ('|', 'b'),
        DType::U8 => ('|', 'u'),
        DType::I8 => ('|', 'i'),
        DType::U16 | DType::U32 | DType::U64 => (ORDER, 'u'),
        DType::I16 | DType::I32 | DType::I64 => (ORDER, 'i'),
        DType::F16 | DType::F32 | DType::F64 => (ORDER, 'f'),
        DType::Complex64 | DType::Complex128 => (ORDER, 'c'),
        // As the arrays of ml_dtypes say it.
        DType::Bf16 => (ORDER, 'V'),
        _ => ('|', 'V'),
    };
    Some(format!("{order}{kind}{}", dtype.size()?))
}

const ORDER: char = if cfg!(target_endian = "little") { '<' } else { '>' };

/// The dictionary for `shown`, which whoever has the tensor keeps.
pub(crate) fn describe<'py>(
    py: Python<'py>,
    tensor: &TensorDyn,
    shown: &Shown,
) -> Answer<Bound<'py, PyDict>> {
    let dtype = tensor.dtype();
    let (Some(word), Some(size)) = (word(dtype), dtype.size()) else {
        let message = format!("{dtype} elements share bytes, which numpy cannot describe");
        return Err(PyAttributeError::new_err(message).into());
    };
    // None for elements that follow each other: Pillow takes no others without a copy.
    let strides = match tensor.is_contiguous() {
        true => None,
        // In bytes, which fit: a layout sees to that.
        false => {
            let bytes = tensor.strides().iter().map(|stride| stride * size as isize);
            Some(PyTuple::new(py, bytes.collect::<Vec<_>>())?)
        }
    };
    let described = PyDict::new(py);
    described.set_item("version", 3)?;
    described.set_item("typestr", word)?;
    described.set_item("shape", PyTuple::new(py, tensor.shape())?)?;
    described.set_item("strides", strides)?;
    described.set_item("data", (shown.address().addr(), shown.read_only()))?;
    Ok(described)
}
