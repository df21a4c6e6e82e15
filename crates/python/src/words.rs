//! What Python says in words: element types, memories, pixel formats, whose a device is.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};
use tenure::memory::DeviceVendor;
use tenure::{DType, PixelFormat, TensorMemory};

use crate::fail::Answer;

/// The names that numpy has for our types.
const NUMPY: [(&str, DType); 17] = [
    ("uint8", DType::U8),
    ("int8", DType::I8),
    ("uint16", DType::U16),
    ("int16", DType::I16),
    ("uint32", DType::U32),
    ("int32", DType::I32),
    ("uint64", DType::U64),
    ("int64", DType::I64),
    ("float16", DType::F16),
    ("bfloat16", DType::Bf16),
    ("float32", DType::F32),
    ("float64", DType::F64),
    ("float8_e4m3fn", DType::F8E4M3),
    ("float8_e5m2", DType::F8E5M2),
    ("uint4", DType::U4),
    ("int4", DType::I4),
    ("float4_e2m1fn", DType::F4E2M1),
];

/// `"f32"`, `"float32"`, `numpy.dtype("float32")` or `numpy.float32`.
pub(crate) fn dtype(given: &Bound<'_, PyAny>) -> Answer<DType> {
    let word = if let Ok(word) = given.cast::<PyString>() {
        word.to_string()
    } else if let Ok(class) = given.cast::<PyType>() {
        class.name()?.to_string()
    } else if let Ok(name) = given.getattr("name") {
        name.str()?.to_string()
    } else {
        let kind = given.get_type().name()?.to_string();
        let message = format!("an element type is a word like \"f32\", not an object of {kind}");
        return Err(PyTypeError::new_err(message).into());
    };
    match NUMPY.iter().find(|row| row.0 == word) {
        Some(row) => Ok(row.1),
        None => Ok(word.parse()?),
    }
}

/// A word, or `None` for an automatic choice.
pub(crate) fn memory(word: Option<&str>) -> Answer<Option<TensorMemory>> {
    Ok(word.map(str::parse).transpose()?)
}

pub(crate) fn format(word: &str) -> Answer<PixelFormat> {
    Ok(word.parse()?)
}

/// Whose device it is, as `tenure.open_device` calls them.
pub(crate) fn vendor(vendor: DeviceVendor) -> &'static str {
    match vendor {
        DeviceVendor::Cuda => "cuda",
        DeviceVendor::Rocm => "hip",
        DeviceVendor::OpenCl => "opencl",
        DeviceVendor::Vulkan => "vulkan",
        DeviceVendor::Metal => "metal",
        DeviceVendor::OneApi => "oneapi",
        DeviceVendor::WebGpu => "webgpu",
        _ => "gpu",
    }
}
