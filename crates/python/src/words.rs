//! What Python says in words: element types, memories, pixel formats, whose a device is.

use std::borrow::Cow;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};
use tenure::memory::DeviceVendor;
use tenure::{DType, LogicalMemorySpace, PixelFormat, TensorMemory};

use crate::fail::Answer;

/// The names that numpy has for our types.
const NUMPY: [(&str, DType); 19] = [
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
    ("complex64", DType::Complex64),
    ("complex128", DType::Complex128),
];

/// `"f32"`, `"float32"`, `"<f4"`, `numpy.dtype("float32")` or `numpy.float32`. Elements are in the
/// byte order of this machine, and a type of the other one is refused.
pub(crate) fn dtype(given: &Bound<'_, PyAny>) -> Answer<DType> {
    let word = if let Ok(word) = given.cast::<PyString>() {
        let word = word.to_str()?;
        if let Some(dtype) = typestr(word)? {
            return Ok(dtype);
        }
        word.to_owned()
    } else if let Ok(class) = given.cast::<PyType>() {
        class.name()?.to_string()
    } else if let Ok(name) = given.getattr("name") {
        // A dtype of numpy says its byte order apart from its name.
        if let Ok(order) = given.getattr("byteorder")
            && let Ok(order) = order.extract::<char>()
        {
            check_order(order, &given.str()?.to_string_lossy())?;
        }
        name.str()?.to_string_lossy().into_owned()
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

/// The order of this machine and the other one, as numpy and Python's `struct` write them.
const ORDERS: [(char, &str); 2] = match cfg!(target_endian = "little") {
    true => [('<', "little-endian"), ('>', "big-endian")],
    false => [('>', "big-endian"), ('<', "little-endian")],
};

/// Refuses the byte order of other machines.
fn check_order(order: char, given: &str) -> Answer<()> {
    let [(_, ours), (other, theirs)] = ORDERS;
    // `!` is `struct`'s word for the order of networks, which is big-endian.
    let order = if order == '!' { '>' } else { order };
    if order != other {
        return Ok(());
    }
    let message = format!(
        "{given} is {theirs}, and elements are in the order of this machine, {ours}: convert the \
         array with a.astype(a.dtype.newbyteorder(\"=\"))"
    );
    Err(PyValueError::new_err(message).into())
}

/// The type that a word like `"<f4"` means, as `__array_interface__` and npy files have them;
/// `None` for other words.
fn typestr(word: &str) -> Answer<Option<DType>> {
    let mut letters = word.chars();
    let Some(order @ ('<' | '>' | '=' | '|' | '@' | '!')) = letters.next() else {
        return Ok(None);
    };
    check_order(order, &format!("{word:?}"))?;
    let dtype = match letters.as_str() {
        "b1" | "?" => DType::Bool,
        "u1" => DType::U8,
        "i1" => DType::I8,
        "u2" => DType::U16,
        "i2" => DType::I16,
        "u4" => DType::U32,
        "i4" => DType::I32,
        "u8" => DType::U64,
        "i8" => DType::I64,
        "f2" => DType::F16,
        "f4" => DType::F32,
        "f8" => DType::F64,
        "c8" => DType::Complex64,
        "c16" => DType::Complex128,
        _ => return Ok(None),
    };
    Ok(Some(dtype))
}

/// A word, or `None` for an automatic choice.
pub(crate) fn memory(word: Option<&str>) -> Answer<Option<TensorMemory>> {
    Ok(word.map(str::parse).transpose()?)
}

pub(crate) fn format(word: &str) -> Answer<PixelFormat> {
    Ok(word.parse()?)
}

/// Whose device it is, as `tenure.open_device` calls those that it opens.
pub(crate) fn vendor(vendor: DeviceVendor) -> Cow<'static, str> {
    Cow::Borrowed(match vendor {
        DeviceVendor::Cuda => "cuda",
        DeviceVendor::Rocm => "hip",
        DeviceVendor::OpenCl => "opencl",
        DeviceVendor::Vulkan => "vulkan",
        DeviceVendor::Metal => "metal",
        DeviceVendor::OneApi => "oneapi",
        DeviceVendor::WebGpu => "webgpu",
        DeviceVendor::Vpi => "vpi",
        DeviceVendor::Extension => "extension",
        DeviceVendor::Hexagon => "hexagon",
        DeviceVendor::Maia => "maia",
        DeviceVendor::Trainium => "trainium",
        // DLPack's number is all that is known of it.
        _ => {
            let code = LogicalMemorySpace::GpuMemory { device_id: 0 }.dlpack(vendor).device_type;
            return Cow::Owned(format!("dlpack-{code}"));
        }
    })
}
