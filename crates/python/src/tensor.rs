//! The class `Tensor`. It never changes, so that threads need no lock; what it shows of itself is
//! here, and what it does in the files named after it.
#![expect(unsafe_code, reason = "passes on a view that Python wants filled in")]

use std::ffi::c_int;
use std::os::fd::RawFd;
use std::sync::OnceLock;

use pyo3::exceptions::PyTypeError;
use pyo3::ffi::Py_buffer;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMemoryView, PyTuple};
use tenure::memory::Refusal;
use tenure::{Language, LogicalMemorySpace, Region, TensorDyn};

use crate::buffer::{self, Shown};
use crate::create::{self, How};
use crate::dlpack::{self, Device};
use crate::fail::Answer;
use crate::fence::Fence;
use crate::lent::Lent;
use crate::mapped::Mapped;
use crate::shape::Shape;
use crate::{
    capsule, colour, exchange, flattened, gate, index, interface, opened, pending, place,
    quantization, share, words,
};

/// Elements of one type in some memory.
///
/// shape: one number for each dimension, or one number alone.
/// dtype: "f32" and the like; numpy's names and types are understood.
/// memory: "mem", "shm", "dma", …; None takes the first that serves of dma, shm and mem. That of
/// devices ("pinned", …) is of the first device that is open: `Device.tensor` names one.
/// name: for reports and messages.
/// lazy: allocate the memory when it is first touched.
///
/// A tensor is a handle: slices and views show the same bytes. Elements are zero at first.
#[pyclass(module = "tenure", frozen, weakref)]
pub(crate) struct Tensor {
    pub(crate) tensor: TensorDyn,
    /// What `__array_interface__` gave an address of, which holds for as long as the object.
    addressed: OnceLock<Shown>,
    /// The same for buffers that were released.
    pub(crate) lent: Lent,
}

impl Tensor {
    pub(crate) fn new(tensor: TensorDyn) -> Tensor {
        Tensor { tensor, addressed: OnceLock::new(), lent: Lent::default() }
    }
}

#[pymethods]
impl Tensor {
    #[new]
    #[pyo3(signature = (shape, dtype=None, memory=None, name=None, *, lazy=false))]
    #[pyo3(text_signature = "(shape, dtype='f32', memory=None, name=None, *, lazy=False)")]
    fn make(
        py: Python<'_>,
        shape: Shape,
        dtype: Option<&Bound<'_, PyAny>>,
        memory: Option<&str>,
        name: Option<&str>,
        lazy: bool,
    ) -> Answer<Tensor> {
        let place = place::memory(memory, None)?;
        create::tensor(py, &shape, dtype, &place, How { name, lazy, ..How::default() })
    }

    /// A picture, whose rows follow each other without gaps. What the words mean is as in `Tensor`.
    #[staticmethod]
    #[pyo3(signature = (width, height, format, dtype=None, memory=None, name=None, *, lazy=false))]
    #[pyo3(
        text_signature = "(width, height, format, dtype='u8', memory=None, name=None, *, lazy=False)"
    )]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn image(
        py: Python<'_>,
        width: usize,
        height: usize,
        format: &str,
        dtype: Option<&Bound<'_, PyAny>>,
        memory: Option<&str>,
        name: Option<&str>,
        lazy: bool,
    ) -> Answer<Tensor> {
        let place = place::memory(memory, None)?;
        let how = How { name, lazy, ..How::default() };
        create::image(py, (width, height, format), dtype, &place, how)
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

    /// The device that the bytes are on, as `to` and `open_device` call it: "cpu", "vulkan:0".
    /// Pinned and managed memory is where the CPU reaches it: "cpu", and `space` tells them apart.
    /// Where nobody says whose device it is, and of a lazy tensor that has no memory yet, it is the
    /// space: "gpu:0".
    #[getter]
    fn device(&self) -> String {
        match self.tensor.space() {
            LogicalMemorySpace::GpuMemory { device_id } => opened::word(&self.tensor, device_id),
            _ => "cpu".to_owned(),
        }
    }

    /// Whether there is memory already: for a lazy tensor, once it was touched.
    #[getter]
    fn placed(&self) -> bool {
        self.tensor.buffer().is_placed()
    }

    /// Which memories an automatic choice tried before the one that served, each with the reason
    /// why it did not. Empty if the memory was named, and of a lazy tensor that has none yet.
    #[getter]
    fn refusals(&self) -> Vec<(&'static str, String)> {
        let refusals = self.tensor.refusals().iter();
        let why = |refusal: &Refusal| Language::Python.say(refusal.error.as_ref());
        refusals.map(|refusal| (refusal.memory.name(), why(refusal))).collect()
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

    /// Matrix and range of the picture, ("bt709", "limited") say, if it carries them. Luma and
    /// chroma without are read as JPEG has them: BT.601 of full range.
    #[getter]
    fn colour(&self) -> Option<colour::Words> {
        self.tensor.colour().map(colour::words)
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
        Ok(Tensor::new(self.tensor.clone().with_format(words::format(format)?)?))
    }

    /// The same tensor with a colour description.
    ///
    /// matrix: "bt601", "bt709" or "bt2020".
    /// range: "limited" or "full". What is not said of both stays as it is; a tensor that carried
    /// none has BT.601 and full range, as JPEG.
    #[pyo3(signature = (matrix=None, range=None))]
    fn with_colour(&self, matrix: Option<&str>, range: Option<&str>) -> Answer<Tensor> {
        Ok(Tensor::new(colour::with(&self.tensor, matrix, range)?))
    }

    /// What integers stand for, real = (stored - zero point) * scale: scale, zero point and None;
    /// or a list of scales, one of zero points, and the axis whose indices they are for. None if
    /// nothing is said.
    #[getter]
    fn quantization<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        self.tensor.quantization().map(|known| quantization::told(py, known)).transpose()
    }

    /// The same integers with what they stand for.
    ///
    /// scale: a number; or one for each index of an axis.
    /// zero_point: a number, or one for each of the same indices.
    /// axis: whose indices have scales of their own.
    #[pyo3(signature = (scale, zero_point=None, axis=None))]
    #[pyo3(text_signature = "(self, scale, zero_point=0, axis=None)")]
    fn with_quantization(
        &self,
        scale: &Bound<'_, PyAny>,
        zero_point: Option<&Bound<'_, PyAny>>,
        axis: Option<usize>,
    ) -> Answer<Tensor> {
        Ok(Tensor::new(quantization::with(&self.tensor, scale, zero_point, axis)?))
    }

    /// One plane of a picture, over the same bytes.
    fn plane(&self, plane: usize) -> Answer<Tensor> {
        Ok(Tensor::new(self.tensor.plane(plane)?))
    }

    /// One picture of a batch, or one element of the first dimension of what is no picture.
    fn batch(&self, index: usize) -> Answer<Tensor> {
        Ok(Tensor::new(self.tensor.batch(index)?))
    }

    /// A rectangle of a picture, over the same bytes: a picture too. In formats with subsampled
    /// chroma it must begin and end where chroma samples do.
    fn region(&self, x: usize, y: usize, width: usize, height: usize) -> Answer<Tensor> {
        Ok(Tensor::new(self.tensor.view(Region::new(x, y, width, height))?))
    }

    /// The same elements in another shape, without a copy.
    fn reshape(&self, shape: Shape) -> Answer<Tensor> {
        Ok(Tensor::new(self.tensor.reshape(&shape.0)?))
    }

    /// The dimensions in another order, without a copy.
    fn permute(&self, axes: Shape) -> Answer<Tensor> {
        Ok(Tensor::new(self.tensor.permute(&axes.0)?))
    }

    /// Dimensions of 1 repeated, and leading ones added, to reach this shape: without a copy, so the
    /// result can only be read.
    fn broadcast_to(&self, shape: Shape) -> Answer<Tensor> {
        Ok(Tensor::new(self.tensor.broadcast_to(&shape.0)?))
    }

    /// Whether some byte belongs to elements of both tensors. The left and the right half of a
    /// picture share none, although their rows lie between each other.
    fn aliases(&self, other: &Bound<'_, Tensor>) -> bool {
        self.tensor.aliases(&other.get().tensor)
    }

    /// A copy without gaps.
    ///
    /// place: a memory ("mem", "shm", …), "cpu", a device ("vulkan:0", which is opened, or a
    /// `Device`) or a `Pool`; None takes the first memory that serves.
    /// memory: of a device, "device", "pinned" or "managed".
    #[pyo3(signature = (place=None, memory=None))]
    fn to(
        &self,
        py: Python<'_>,
        place: Option<&Bound<'_, PyAny>>,
        memory: Option<&str>,
    ) -> Answer<Tensor> {
        let place = place::place(place, memory, Some(&self.tensor))?;
        Ok(Tensor::new(gate::detach(py, || self.tensor.to(place.to()))?))
    }

    /// As `to`, while the program goes on: a tensor, and a `Fence` that is done when the tensor has
    /// its elements. Views of it wait for that.
    #[pyo3(signature = (place=None, memory=None))]
    fn to_later(
        &self,
        py: Python<'_>,
        place: Option<&Bound<'_, PyAny>>,
        memory: Option<&str>,
    ) -> Answer<(Tensor, Fence)> {
        let place = place::place(place, memory, Some(&self.tensor))?;
        let (copy, fence) = gate::detach(py, || self.tensor.to_later(place.to()))?;
        let fence = Fence::of_copies(&[(copy.clone(), self.tensor.clone())], fence)?;
        Ok((Tensor::new(copy), fence))
    }

    /// Copies the elements of another tensor (or of any array with `__dlpack__`), of the same
    /// shape and element type, into this one. Either may be on a device.
    fn copy_from(&self, py: Python<'_>, source: &Bound<'_, PyAny>) -> Answer<()> {
        let source = dlpack::from_dlpack(source, None, None)?;
        Ok(gate::detach(py, || self.tensor.copy_from(&source.tensor))?)
    }

    /// Begins `copy_from`, and gives a `Fence` that is done when the elements are copied. Views of
    /// both tensors that are made meanwhile wait for that; those made before must be left alone.
    /// Between memories that the CPU reaches the copy is done at once.
    fn copy_from_later(&self, py: Python<'_>, source: &Bound<'_, PyAny>) -> Answer<Fence> {
        let source = dlpack::from_dlpack(source, None, None)?;
        let fence = gate::detach(py, || self.tensor.copy_from_later(&source.tensor))?;
        Fence::of_copies(&[(self.tensor.clone(), source.tensor.clone())], fence)
    }

    /// A new file descriptor for the memory, which the caller closes. It stands for the whole
    /// allocation, of which this tensor may be a part.
    fn fd(&self) -> Answer<RawFd> {
        share::fd(&self.tensor)
    }

    /// Memory to read and write, as a memoryview for a with block.
    ///
    /// timeout: how many seconds to wait for a copy of these elements that is under way; None waits
    /// until it is done.
    #[pyo3(signature = (*, timeout=None))]
    fn map(&self, timeout: Option<f64>) -> Answer<Mapped> {
        if self.readonly()? {
            let memory = self.tensor.memory();
            return Err(tenure::memory::Error::ReadOnly { memory }.into());
        }
        Mapped::of(&self.tensor, false, timeout)
    }

    /// Memory to read, as a memoryview for a with block.
    ///
    /// timeout: as in `map`.
    #[pyo3(signature = (*, timeout=None))]
    fn map_read(&self, timeout: Option<f64>) -> Answer<Mapped> {
        Mapped::of(&self.tensor, true, timeout)
    }

    /// A copy of the elements as bytes, in the order of their indices and without gaps.
    fn tobytes<'py>(&self, py: Python<'py>) -> Answer<Bound<'py, PyAny>> {
        let mapped = Bound::new(py, Mapped::of(&self.tensor, true, None)?)?;
        let bytes = PyMemoryView::from(mapped.as_any())?.call_method0(intern!(py, "tobytes"))?;
        // A mapped file that was cut off meanwhile has zeros for its end.
        self.tensor.intact()?;
        Ok(bytes)
    }

    /// Type and number of the device that the memory is on, in DLPack's codes.
    fn __dlpack_device__(&self) -> Answer<Device> {
        dlpack::device(&self.tensor)
    }

    #[classattr]
    fn __dlpack_c_exchange_api__(py: Python<'_>) -> PyResult<Py<PyAny>> {
        capsule::exchange(py, &exchange::TABLE).map(Bound::unbind)
    }

    /// Address and layout for numpy and others, valid for as long as this object lives, which the
    /// dictionary keeps.
    #[getter]
    fn __array_interface__<'py>(slf: &Bound<'py, Self>) -> Answer<Bound<'py, PyDict>> {
        let (py, this) = (slf.py(), slf.get());
        // Also for an address that was given before.
        pending::settle(py, &this.tensor, true, None)?;
        let shown = match this.addressed.get() {
            Some(shown) => shown,
            None => {
                let shown = Shown::anything(py, &this.tensor, false, None)?;
                this.addressed.get_or_init(|| shown)
            }
        };
        let described = interface::describe(py, &this.tensor, shown)?;
        // Whoever passes the dictionary on under another object has no other hold on the memory.
        described.set_item("owner", slf)?;
        Ok(described)
    }

    /// # Safety
    /// Python calls this with a view to fill in.
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut Py_buffer,
        flags: c_int,
    ) -> Answer<()> {
        let Tensor { tensor, lent, .. } = slf.get();
        flattened::warn(slf.py(), tensor.dtype(), tensor.rank(), flags)?;
        let shown = Shown::elements(slf.py(), tensor, false, None)?;
        lent.buffer(tensor, shown.read_only(), flags)?;
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
        let device = self.device();
        if device != "cpu" {
            text += &format!(", device='{device}'");
        }
        if let Some(format) = tensor.format() {
            text += &format!(", format='{format}'");
        }
        if let Some((matrix, range)) = self.colour() {
            text += &format!(", colour=('{matrix}', '{range}')");
        }
        if let Some(name) = tensor.name() {
            text += &format!(", name={name:?}");
        }
        text + ")"
    }
}
