//! `__dlpack__` and `from_dlpack`: tensors to and from other libraries of Python.

use pyo3::exceptions::{PyBufferError, PyOverflowError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use tenure::dlpack::{ExportRequest, VERSION};
use tenure::{DlDevice, TensorDyn, TensorMemory};

use crate::capsule::{self, Taken};
use crate::fail::Answer;
use crate::tensor::Tensor;
use crate::{exchange, gate, pending};

/// Type and number of a device.
pub(crate) type Device = (i32, i32);

/// A device as Python gives it. Numbers that no device can have are no devices that are there.
pub(crate) struct Asked(Device);

impl<'py> FromPyObject<'_, 'py> for Asked {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Asked> {
        given.extract().map(Asked).map_err(|error| {
            match error.is_instance_of::<PyOverflowError>(given.py()) {
                true => PyBufferError::new_err(format!("there is no device {given:?}")),
                false => error,
            }
        })
    }
}

const CPU: i32 = 1;
/// The stream of a consumer that does not want to be waited for.
const NO_SYNC: i64 = -1;

/// What `Tensor.__dlpack__` does.
pub(crate) fn export<'py>(
    py: Python<'py>,
    tensor: &TensorDyn,
    stream: Option<i64>,
    max_version: Option<(u32, u32)>,
    dl_device: Option<Device>,
    copy: Option<bool>,
) -> Answer<Bound<'py, PyAny>> {
    let request = ExportRequest::new().stream(stream);
    request.check_stream(device(tensor)?.0)?;
    // Copies that we began are the only work that the consumer would have to wait for.
    if stream != Some(NO_SYNC) {
        pending::settle(py, tensor, true, None)?;
    }
    let device = dl_device.map(|(device_type, device_id)| DlDevice { device_type, device_id });
    let request = request.max_version(max_version).device(device).copy(copy);
    let exported = match copy {
        Some(true) => gate::detach(py, || tensor.to_dlpack_for(&request))?,
        _ => tensor.to_dlpack_for(&request)?,
    };
    capsule::new(py, exported)
}

/// What `Tensor.__dlpack_device__` does.
pub(crate) fn device(tensor: &TensorDyn) -> Answer<Device> {
    let DlDevice { device_type, device_id } = tensor.dlpack_device()?;
    Ok((device_type, device_id))
}

/// A tensor over the memory of another library's array, without a copy.
///
/// Takes whatever has `__dlpack__` and `__dlpack_device__` (arrays of numpy, torch, jax, …), and
/// fresh capsules. The memory stays for as long as the tensor and everything made of it.
///
/// device: None, or the DLPack device that the memory is to be on.
/// copy: True for a copy in any case, False for none in any case.
///
/// Raises BufferError for what DLPack or Tenure cannot describe, and for devices that are not there.
///
/// An array that can only be read (of `bytes`, say) makes a tensor that can only be read. Libraries
/// that ignore this write to the array's own memory: take a copy where that matters.
#[pyfunction]
#[pyo3(signature = (x, /, *, device=None, copy=None))]
pub(crate) fn from_dlpack(
    x: &Bound<'_, PyAny>,
    device: Option<Asked>,
    copy: Option<bool>,
) -> Answer<Tensor> {
    let (py, device) = (x.py(), device.map(|Asked(device)| device));
    if let Ok(capsule) = x.cast::<PyCapsule>() {
        return arrived(py, adopt(capsule)?, device, copy);
    }
    if device.is_none() && copy != Some(true) {
        if let Ok(tensor) = x.cast_exact::<Tensor>() {
            return Ok(Tensor::new(tensor.get().tensor.clone()));
        }
        if let Some(tensor) = exchange::import(x)? {
            return Ok(Tensor::new(tensor));
        }
    }
    if !x.hasattr(intern!(py, "__dlpack__"))? {
        let kind = x.get_type().name()?.to_string();
        let message = format!("an object of {kind} has no __dlpack__: it is no array");
        return Err(PyTypeError::new_err(message).into());
    }
    let capsule = ask(x, device, copy)?;
    let capsule = capsule.cast::<PyCapsule>().map_err(|_| {
        PyTypeError::new_err("__dlpack__ gave something else than a capsule".to_owned())
    })?;
    // A producer that knows the keywords has done what they say.
    arrived(py, adopt(capsule)?, device, copy)
}

/// Calls `__dlpack__`, with fewer words if the producer is older than they are.
fn ask<'py>(
    x: &Bound<'py, PyAny>,
    device: Option<Device>,
    copy: Option<bool>,
) -> Answer<Bound<'py, PyAny>> {
    let py = x.py();
    let method = intern!(py, "__dlpack__");
    let words = PyDict::new(py);
    words.set_item(intern!(py, "max_version"), VERSION)?;
    if device.is_some() {
        words.set_item(intern!(py, "dl_device"), device)?;
    }
    if copy.is_some() {
        words.set_item(intern!(py, "copy"), copy)?;
    }
    match x.call_method(method, (), Some(&words)) {
        Err(error) if error.is_instance_of::<PyTypeError>(py) => Ok(x.call_method0(method)?),
        answer => Ok(answer?),
    }
}

fn adopt(capsule: &Bound<'_, PyCapsule>) -> Answer<(TensorDyn, bool)> {
    Ok(match capsule::take(capsule)? {
        Taken::Versioned(managed) => {
            let copied = managed.is_copied();
            (TensorDyn::from_dlpack(managed)?, copied)
        }
        Taken::Legacy(managed) => (TensorDyn::from_dlpack(managed)?, false),
    })
}

/// What came is what was asked for, or becomes it.
fn arrived(
    py: Python<'_>,
    (tensor, copied): (TensorDyn, bool),
    asked: Option<Device>,
    copy: Option<bool>,
) -> Answer<Tensor> {
    let have = device(&tensor)?;
    let elsewhere = asked.is_some_and(|asked| asked != have);
    if let Some((device_type, device_id)) = asked
        && elsewhere
        && (device_type != CPU || device_id != 0 || copy == Some(false))
    {
        let message = format!(
            "the array is on device {} of type {} and was not brought to device {device_id} of \
             type {device_type}",
            have.1, have.0
        );
        return Err(PyBufferError::new_err(message).into());
    }
    if elsewhere || (copy == Some(true) && !copied) {
        // torch copies and does not say so; one copy too many there, none too few elsewhere.
        return Ok(Tensor::new(gate::detach(py, || tensor.to(Some(TensorMemory::Mem)))?));
    }
    Ok(Tensor::new(tensor))
}
