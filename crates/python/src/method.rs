//! `Tensor.__dlpack__` as Python calls it. PyO3 takes longer to read keywords than the export
//! takes, so this method reads them itself; it is put into the class when the module is made.
#![expect(unsafe_code, reason = "a method in Python's own calling convention, with raw pointers")]

use std::ptr;

use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::ffi::{
    METH_FASTCALL, METH_KEYWORDS, Py_ssize_t, PyDescr_NewMethod, PyMethodDef, PyMethodDefPointer,
    PyObject,
};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyString, PyTuple, PyType};

use crate::dlpack;
use crate::fail::{Answer, Fail};
use crate::tensor::Tensor;

/// Puts the method into the class.
pub(crate) fn put_into(class: &Bound<'_, PyType>) -> PyResult<()> {
    let py = class.py();
    // Python keeps the address for as long as there is the method, which is until it ends.
    let definition = Box::leak(Box::new(PyMethodDef {
        ml_name: c"__dlpack__".as_ptr(),
        ml_meth: PyMethodDefPointer { PyCFunctionFastWithKeywords: call },
        ml_flags: METH_FASTCALL | METH_KEYWORDS,
        ml_doc:
            c"__dlpack__($self, /, *, stream=None, max_version=None, dl_device=None, copy=None)\
            \n--\n\nA DLPack capsule, as the array API standard has it."
                .as_ptr(),
    }));
    // SAFETY: attached, with a live class and a definition that stays; the call gives a new
    // reference or null with an exception set.
    let method = unsafe {
        Bound::from_owned_ptr_or_err(py, PyDescr_NewMethod(class.as_type_ptr(), definition))
    }?;
    class.setattr(intern!(py, "__dlpack__"), method)
}

/// What the keywords were given.
#[derive(Default)]
struct Given<'a, 'py> {
    stream: Option<Borrowed<'a, 'py, PyAny>>,
    max_version: Option<Borrowed<'a, 'py, PyAny>>,
    dl_device: Option<Borrowed<'a, 'py, PyAny>>,
    copy: Option<Borrowed<'a, 'py, PyAny>>,
}

impl<'a, 'py> Given<'a, 'py> {
    /// The place of what has this name.
    fn place(
        &mut self,
        name: Borrowed<'_, 'py, PyString>,
    ) -> Answer<&mut Option<Borrowed<'a, 'py, PyAny>>> {
        let py = name.py();
        // Names in a program's text are interned, so most are found by where they are.
        if name.is(intern!(py, "max_version")) {
            return Ok(&mut self.max_version);
        }
        if name.is(intern!(py, "dl_device")) {
            return Ok(&mut self.dl_device);
        }
        if name.is(intern!(py, "copy")) {
            return Ok(&mut self.copy);
        }
        match name.to_str()? {
            "stream" => Ok(&mut self.stream),
            "max_version" => Ok(&mut self.max_version),
            "dl_device" => Ok(&mut self.dl_device),
            "copy" => Ok(&mut self.copy),
            other => Err(refused(format!(
                "__dlpack__ has no argument {other}: it has stream, max_version, dl_device and copy"
            ))),
        }
    }
}

fn refused(message: String) -> Fail {
    PyTypeError::new_err(message).into()
}

/// A value as what it has to be; `None` if it is not given, or Python's None.
fn read<'py, T>(
    value: Option<Borrowed<'_, 'py, PyAny>>,
    name: &str,
    wanted: &str,
) -> Answer<Option<T>>
where
    T: for<'a> FromPyObject<'a, 'py>,
{
    let Some(value) = value.filter(|value| !value.is_none()) else { return Ok(None) };
    let wrong = || refused(format!("{name} is {:?}: pass None or {wanted}", &*value));
    value.extract().map(Some).map_err(|_| wrong())
}

/// Two numbers of any size. Those that are too large for `T` are `None`.
fn pair<T>(
    value: Option<Borrowed<'_, '_, PyAny>>,
    name: &str,
    wanted: &str,
) -> Answer<Option<[Option<T>; 2]>>
where
    T: TryFrom<i64>,
{
    let Some((one, other)) = read::<(Bound<'_, PyInt>, Bound<'_, PyInt>)>(value, name, wanted)?
    else {
        return Ok(None);
    };
    let number = |given: Bound<'_, PyInt>| T::try_from(given.extract::<i64>().ok()?).ok();
    Ok(Some([number(one), number(other)]))
}

/// The newest version that the consumer reads. A number that does not fit is newer than all there
/// are, and one below zero is of no version.
fn version(value: Option<Borrowed<'_, '_, PyAny>>) -> Answer<Option<(u32, u32)>> {
    let wanted = "two numbers, as in (1, 0)";
    let number = |given: Option<i64>| match given {
        Some(number) if number < 0 => 0,
        number => number.and_then(|number| u32::try_from(number).ok()).unwrap_or(u32::MAX),
    };
    let pair = pair(value, "max_version", wanted)?;
    Ok(pair.map(|[major, minor]| (number(major), number(minor))))
}

/// The device that the consumer wants. No device has numbers that do not fit.
fn device(value: Option<Borrowed<'_, '_, PyAny>>) -> Answer<Option<dlpack::Device>> {
    let pair = pair::<i32>(value, "dl_device", "two numbers, type and index, as in (1, 0)")?;
    match (pair, value) {
        (None, _) => Ok(None),
        (Some([Some(device_type), Some(device_id)]), _) => Ok(Some((device_type, device_id))),
        (_, given) => {
            let given = given.map(|given| given.to_string()).unwrap_or_default();
            Err(PyBufferError::new_err(format!("there is no device {given}")).into())
        }
    }
}

/// # Safety
/// As Python calls a method of a [`Tensor`]: attached, with `args` as many arguments as `count` and
/// the names say, and `names` null or a tuple of strings.
unsafe extern "C" fn call(
    tensor: *mut PyObject,
    args: *const *mut PyObject,
    count: Py_ssize_t,
    names: *mut PyObject,
) -> *mut PyObject {
    // SAFETY: by the caller's promise; nothing made of it lives longer than this call.
    let py = unsafe { Python::assume_attached() };
    // SAFETY: by the caller's promise.
    match unsafe { export(py, tensor, args, count, names) } {
        Ok(capsule) => capsule.into_ptr(),
        Err(fail) => {
            PyErr::from(fail).restore(py);
            ptr::null_mut()
        }
    }
}

/// # Safety
/// As [`call`].
unsafe fn export<'py>(
    py: Python<'py>,
    tensor: *mut PyObject,
    args: *const *mut PyObject,
    count: Py_ssize_t,
    names: *mut PyObject,
) -> Answer<Bound<'py, PyAny>> {
    if count != 0 {
        let message = format!("__dlpack__ takes arguments by name only, and got {count} without");
        return Err(refused(message));
    }
    let mut given = Given::default();
    // SAFETY: null or a tuple, by the caller's promise.
    let names = unsafe {
        Borrowed::from_ptr_or_opt(py, names).map(|names| names.cast_unchecked::<PyTuple>())
    };
    for (index, name) in names.iter().flat_map(|names| names.iter_borrowed()).enumerate() {
        // SAFETY: names are strings, and each has a value that the caller keeps alive.
        let (name, value) = unsafe {
            (name.cast_unchecked::<PyString>(), Borrowed::from_ptr(py, *args.add(index)))
        };
        *given.place(name)? = Some(value);
    }
    // SAFETY: Python lets a method of the class have nothing else.
    let tensor = unsafe { Borrowed::from_ptr(py, tensor).cast_unchecked::<Tensor>() };
    dlpack::export(
        py,
        &tensor.get().tensor,
        read(given.stream, "stream", "a number")?,
        version(given.max_version)?,
        device(given.dl_device)?,
        read(given.copy, "copy", "True or False")?,
    )
}
