//! The class `Tensor`. It never changes, so that threads need no lock; what it shows of itself is
//! here, and what it does in the files named after it.
#![expect(unsafe_code, reason = "passes on a view that Python wants filled in")]

use std::ffi::c_int;
use std::os::fd::RawFd;
use std::sync::OnceLock;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::ffi::Py_buffer;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use tenure::{DType, TensorDyn};

use crate::buffer::{self, Shown};
use crate::dlpack::{self, Device};
use crate::fail::Answer;
use crate::mapped::Mapped;
use crate::{capsule, exchange, index, interface, share, words};

/// Elements of one type in some memory.
///
/// shape: one number for each dimension, or one number alone.
/// dtype: "f32" and the like; numpy's names and types are understood.
/// memory: "mem", "shm", "dma", …; None takes the first that serves of dma, shm and mem.
/// name: for reports and messages.
///
/// A tensor is a handle: slices and views show the same bytes. Elements are zero at first.
#[pyclass(module = "tenure", frozen, weakref)]
pub(crate) struct Tensor {
    pub(crate) tensor: TensorDyn,
    /// What `__array_interface__` gave an address of, which holds for as long as the object.
    addressed: OnceLock<Shown>,
}

impl Tensor {
    pub(crate) fn new(tensor: TensorDyn) -> Tensor {
        Tensor { tensor, addressed: OnceLock::new() }
    }
}

/// A shape as Python gives it: a sequence of numbers, or one.
pub(crate) struct Shape(pub(crate) Vec<usize>);

impl<'py> FromPyObject<'_, 'py> for Shape {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Shape> {
        if let Ok(dim) = given.extract::<i64>() {
            return Ok(Shape(vec![dimension(dim)?]));
        }
        let dims: Vec<i64> = given.extract().map_err(|_| {
            PyTypeError::new_err(format!("a shape is a sequence of numbers, not {given:?}"))
        })?;
        Ok(Shape(dims.into_iter().map(dimension).collect::<PyResult<_>>()?))
    }
}

fn dimension(dim: i64) -> PyResult<usize> {
    let wrong = |_| PyValueError::new_err(format!("{dim} is no dimension: 0 and more are"));
    usize::try_from(dim).map_err(wrong)
}

#[pymethods]
impl Tensor {
    #[new]
    #[pyo3(signature = (shape, dtype=None, memory=None, name=None))]
    #[pyo3(text_signature = "(shape, dtype='f32', memory=None, name=None)")]
    fn make(
        py: Python<'_>,
        shape: Shape,
        dtype: Option<&Bound<'_, PyAny>>,
        memory: Option<&str>,
        name: Option<&str>,
    ) -> Answer<Tensor> {
        let dtype = dtype.map_or(Ok(DType::F32), words::dtype)?;
        let memory = words::memory(memory)?;
        Ok(Tensor::new(py.detach(|| TensorDyn::new(&shape.0, dtype, memory, name))?))
    }

    /// A picture: rows as far apart as the memory needs them.
    #[staticmethod]
    #[pyo3(signature = (width, height, format, dtype=None, memory=None, name=None))]
    #[pyo3(text_signature = "(width, height, format, dtype='u8', memory=None, name=None)")]
    fn image(
        py: Python<'_>,
        width: usize,
        height: usize,
        format: &str,
        dtype: Option<&Bound<'_, PyAny>>,
        memory: Option<&str>,
        name: Option<&str>,
    ) -> Answer<Tensor> {
        let dtype = dtype.map_or(Ok(DType::U8), words::dtype)?;
        let (format, memory) = (words::format(format)?, words::memory(memory)?);
        let made = py.detach(|| TensorDyn::image(width, height, format, dtype, None, memory, name));
        Ok(Tensor::new(made?))
    }

    /// The mechanism that the bytes were obtained with: "mem", "shm", "dma", …
    #[getter]
    fn memory(&self) -> &'static str {
        self.tensor.memory().name()
    }

    /// Where the bytes live: "main", "pinned", "gpu:0", "managed".
    #[getter]
    fn space(&self) -> String {
        self.tensor.space().to_string()
    }

    /// Elements per dimension.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.tensor.shape())
    }

    /// Elements (not bytes) between neighbours of each dimension.
    #[getter]
    fn strides<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.tensor.strides())
    }

    /// Number of dimensions.
    #[getter]
    fn ndim(&self) -> usize {
        self.tensor.rank()
    }

    /// Number of elements.
    #[getter]
    fn size(&self) -> usize {
        self.tensor.len()
    }

    /// The element type in a word: "f32".
    #[getter]
    fn dtype(&self) -> &'static str {
        self.tensor.dtype().name()
    }

    /// Bytes of all elements without gaps.
    #[getter]
    fn nbytes(&self) -> usize {
        self.tensor.size_bytes()
    }

    /// The pixel format, if the tensor is a picture.
    #[getter]
    fn format(&self) -> Option<String> {
        self.tensor.format().map(|format| format.to_string())
    }

    /// The name that the tensor was made with.
    #[getter]
    fn name(&self) -> Option<&str> {
        self.tensor.name()
    }

    /// Whether elements can only be read.
    #[getter]
    fn readonly(&self) -> Answer<bool> {
        Ok(!self.tensor.is_writable()?)
    }

    /// The same tensor as a picture of this pixel format, which its shape must allow.
    fn with_format(&self, format: &str) -> Answer<Tensor> {
        Ok(Tensor::new(self.tensor.share().with_format(words::format(format)?)?))
    }

    /// One plane of a picture, over the same bytes.
    fn plane(&self, plane: usize) -> Answer<Tensor> {
        Ok(Tensor::new(self.tensor.plane(plane)?))
    }

    /// The same elements in another shape, without a copy.
    fn reshape(&self, shape: Shape) -> Answer<Tensor> {
        Ok(Tensor::new(self.tensor.reshape(&shape.0)?))
    }

    /// The dimensions in another order, without a copy.
    fn permute(&self, axes: Shape) -> Answer<Tensor> {
        Ok(Tensor::new(self.tensor.permute(&axes.0)?))
    }

    /// A copy without gaps in the memory named, or in the first that serves.
    #[pyo3(signature = (memory=None))]
    fn to(&self, py: Python<'_>, memory: Option<&str>) -> Answer<Tensor> {
        let memory = words::memory(memory)?;
        Ok(Tensor::new(py.detach(|| self.tensor.to(memory))?))
    }

    /// Copies the elements of another tensor (or of any array with `__dlpack__`), of the same
    /// shape and element type, into this one.
    fn copy_from(&self, py: Python<'_>, source: &Bound<'_, PyAny>) -> Answer<()> {
        let source = dlpack::from_dlpack(source, None, None)?;
        Ok(py.detach(|| self.tensor.copy_from(&source.tensor))?)
    }

    /// A new file descriptor for the memory, which the caller closes. It stands for the whole
    /// allocation, of which this tensor may be a part.
    fn fd(&self) -> Answer<RawFd> {
        share::fd(&self.tensor)
    }

    /// Memory to read and write, as a memoryview for a with block.
    fn map(&self) -> Answer<Mapped> {
        if self.readonly()? {
            let memory = self.tensor.memory();
            return Err(tenure::memory::Error::ReadOnly { memory }.into());
        }
        Ok(Mapped::new(self.tensor.share(), false))
    }

    /// Memory to read, as a memoryview for a with block.
    fn map_read(&self) -> Mapped {
        Mapped::new(self.tensor.share(), true)
    }

    /// Type and number of the device that the memory is on, in DLPack's codes.
    fn __dlpack_device__(&self) -> Answer<Device> {
        dlpack::device(&self.tensor)
    }

    #[classattr]
    fn __dlpack_c_exchange_api__(py: Python<'_>) -> PyResult<Py<PyAny>> {
        capsule::exchange(py, &exchange::TABLE).map(Bound::unbind)
    }

    /// Address and layout for numpy and others, valid for as long as this object lives.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> Answer<Bound<'py, PyDict>> {
        let shown = match self.addressed.get() {
            Some(shown) => shown,
            None => {
                let shown = Shown::anything(&self.tensor, false)?;
                self.addressed.get_or_init(|| shown)
            }
        };
        interface::describe(py, &self.tensor, shown)
    }

    /// # Safety
    /// Python calls this with a view to fill in.
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut Py_buffer,
        flags: c_int,
    ) -> Answer<()> {
        let shown = Shown::elements(&slf.get().tensor, false)?;
        // SAFETY: by the caller's promise.
        unsafe { shown.give(slf.into_any(), view, flags) }
    }

    /// # Safety
    /// Python calls this once for each view that was filled in.
    unsafe fn __releasebuffer__(&self, view: *mut Py_buffer) {
        // SAFETY: by the caller's promise.
        unsafe { buffer::release(view) }
    }

    fn __getitem__(&self, key: &Bound<'_, PyAny>) -> Answer<Tensor> {
        Ok(Tensor::new(index::view(&self.tensor, key)?))
    }

    fn __len__(&self) -> PyResult<usize> {
        let first = self.tensor.shape().first().copied();
        first.ok_or_else(|| PyTypeError::new_err("a tensor without dimensions has no length"))
    }

    fn __reduce__(&self) -> PyResult<Py<PyAny>> {
        Err(PyTypeError::new_err(
            "a tensor's memory does not go into a file of pickles: multiprocessing passes it by \
             descriptor, and tenure.save writes it",
        ))
    }

    fn __repr__(&self) -> String {
        let tensor = &self.tensor;
        let shape = tensor.shape().iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
        let comma = if tensor.rank() == 1 { "," } else { "" };
        let mut text = format!(
            "Tensor(shape=({shape}{comma}), dtype='{}', memory='{}'",
            tensor.dtype(),
            tensor.memory()
        );
        if let Some(format) = tensor.format() {
            text += &format!(", format='{format}'");
        }
        if let Some(name) = tensor.name() {
            text += &format!(", name={name:?}");
        }
        text + ")"
    }
}
