//! Tensors on disk: `open`, `save`, and the file that is open.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::ops::ControlFlow;
use std::path::PathBuf;

use pyo3::exceptions::{PyKeyError, PyRuntimeWarning, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyMapping, PyString};
use tenure::files::safetensors::{self, Save};
use tenure::files::{self, Entry, TensorFile, npy};
use tenure::{DType, Language, TensorDyn};

use crate::fail::Answer;
use crate::list::List;
use crate::place::{self, Place};
use crate::shape::Shape;
use crate::tensor::Tensor;
use crate::{gate, words};

/// Tensors of a file, by name: views of it, of which nothing is read until it is touched.
///
/// Made by `tenure.open`. Works as a mapping: `file["weight"]`, `list(file)`, `len(file)`.
#[pyclass(module = "tenure", frozen, mapping)]
pub(crate) struct File(TensorFile);

/// Opens safetensors, GGUF, npy, npz, and folders of safetensors with an index.
///
/// Nothing is read but what says where tensors are. Raises OSError if there is no such file, and
/// ValueError for one that is not what it says.
#[pyfunction]
pub(crate) fn open(py: Python<'_>, path: PathBuf) -> Answer<File> {
    Ok(File(gate::detach(py, || files::open(path))?))
}

/// Opens any file as one tensor, which has the name of the file without its ending. Its elements
/// begin at byte `offset` and are in the byte order of this machine: nothing in the file says
/// another.
///
/// Raises OSError if there is no such file, and ValueError for one with fewer bytes.
#[pyfunction]
#[pyo3(signature = (path, shape, dtype=None, offset=0))]
#[pyo3(text_signature = "(path, shape, dtype='f32', offset=0)")]
pub(crate) fn open_raw(
    py: Python<'_>,
    path: PathBuf,
    shape: Shape,
    dtype: Option<&Bound<'_, PyAny>>,
    offset: u64,
) -> Answer<File> {
    let dtype = dtype.map_or(Ok(DType::F32), words::dtype)?;
    Ok(File(gate::detach(py, || files::open_raw(path, dtype, &shape.0, offset))?))
}

/// Writes tensors into a file, which is there as a whole or not at all: one tensor as npy, or a
/// mapping of names to tensors as safetensors. Says how many bytes the file has.
///
/// metadata: what else a safetensors file says, words by words.
#[pyfunction]
#[pyo3(signature = (path, tensors, metadata=None))]
pub(crate) fn save(
    path: PathBuf,
    tensors: &Bound<'_, PyAny>,
    metadata: Option<BTreeMap<String, String>>,
) -> Answer<u64> {
    let py = tensors.py();
    if let Ok(tensor) = tensors.cast::<Tensor>() {
        let tensor = &tensor.get().tensor;
        return py.detach(|| Ok(npy::save(path, tensor)?));
    }
    let Ok(tensors) = tensors.cast::<PyMapping>() else {
        let message = "save a tensor, or a mapping of names to tensors";
        return Err(PyTypeError::new_err(message).into());
    };
    let mut named: Vec<(String, TensorDyn)> = vec![];
    for item in tensors.items()?.iter() {
        let (name, tensor): (String, Bound<'_, Tensor>) = item.extract()?;
        named.push((name, tensor.get().tensor.clone()));
    }
    let mut how = Save::default();
    how.metadata = metadata.unwrap_or_default().into_iter().collect();
    py.detach(|| {
        let named: Vec<_> =
            named.iter().map(|(name, tensor)| (name.as_str(), tensor.clone())).collect();
        Ok(safetensors::save(path, &named, &how)?)
    })
}

impl File {
    /// A load of all tensors that are not all members says so.
    fn warn_of_what_is_left_out(&self, py: Python<'_>) -> PyResult<()> {
        let Some(first) = self.0.refused().first() else { return Ok(()) };
        let text = format!(
            "{}: left out {} of its members, which cannot be tensors: `{}`: {}; see check()",
            self.0.path().display(),
            self.0.refused().len(),
            first.name,
            first.why
        );
        let text = CString::new(text).unwrap_or_default();
        PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &text, 1)
    }
}

#[pymethods]
impl File {
    /// The path it was opened with.
    #[getter]
    fn path(&self) -> PathBuf {
        self.0.path().to_owned()
    }

    /// "safetensors", "gguf", "npy", "npz" or "raw".
    #[getter]
    fn format(&self) -> &'static str {
        self.0.format().name()
    }

    /// Bytes of the file, or of all files of a folder.
    #[getter]
    fn nbytes(&self) -> u64 {
        self.0.size()
    }

    /// What the file says besides its tensors.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let metadata = PyDict::new(py);
        for (key, value) in self.0.metadata() {
            metadata.set_item(key, value)?;
        }
        Ok(metadata)
    }

    /// The names of the tensors, in the order of the file.
    fn keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.0.entries().iter().map(Entry::name))
    }

    /// Raises OSError if somebody has cut the file off since it was opened. Says which members no
    /// tensors can be made of, and why: a dictionary, which is empty if all is well.
    fn check<'py>(&self, py: Python<'py>) -> Answer<Bound<'py, PyDict>> {
        self.0.intact()?;
        let refused = PyDict::new(py);
        for one in self.0.refused() {
            let name = one.name.strip_suffix(".npy").unwrap_or(&one.name);
            refused.set_item(name, &one.why)?;
        }
        Ok(refused)
    }

    /// Brings tensors into memory, all in one buffer, at the speed of the disk: a dictionary of
    /// names and tensors.
    ///
    /// names: which; all of them if None. A RuntimeWarning tells of members that cannot be tensors.
    /// memory: into which, as for Tensor.to: a device or a pool too.
    /// threads: how many read.
    /// progress: called with the bytes that are there and the bytes of all; False ends it.
    #[pyo3(signature = (names=None, memory=None, threads=None, progress=None))]
    fn load<'py>(
        &self,
        py: Python<'py>,
        names: Option<List<String>>,
        memory: Option<&Bound<'_, PyAny>>,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> Answer<Bound<'py, PyDict>> {
        let place = place::place(memory, None, None)?;
        let mut raised = None;
        let loaded = gate::detach(py, || {
            let mut load = self.0.load();
            if let Some(List(names)) = &names {
                load = load.only(names.iter().map(String::as_str))?;
            }
            load = match &place {
                Place::Memory(Some(memory)) => load.memory(*memory),
                Place::Memory(None) => load,
                Place::Made(allocator) => load.allocator(allocator.as_ref()),
            };
            if let Some(threads) = threads {
                load = load.threads(threads);
            }
            if let Some(progress) = &progress {
                load = load.progress(|at| {
                    Python::attach(|py| match progress.call1(py, (at.done, at.all)) {
                        Ok(answer) if answer.is(pyo3::types::PyBool::new(py, false)) => {
                            ControlFlow::Break(())
                        }
                        Ok(_) => ControlFlow::Continue(()),
                        Err(error) => {
                            raised = Some(error);
                            ControlFlow::Break(())
                        }
                    })
                });
            }
            load.run()
        });
        if let Some(error) = raised {
            return Err(error.into());
        }
        let loaded = loaded?;
        if names.is_none() {
            self.warn_of_what_is_left_out(py)?;
        }
        let tensors = PyDict::new(py);
        for (name, tensor) in loaded.into_tensors() {
            tensors.set_item(name, Py::new(py, Tensor::new(tensor))?)?;
        }
        Ok(tensors)
    }

    fn __getitem__(&self, py: Python<'_>, name: &str) -> Answer<Tensor> {
        match gate::detach(py, || self.0.tensor(name)) {
            Err(error) if matches!(error.cause(), files::Error::NoSuchTensor { .. }) => {
                Err(PyKeyError::new_err(Language::Python.say(&error)).into())
            }
            tensor => Ok(Tensor::new(tensor?)),
        }
    }

    fn __contains__(&self, name: &Bound<'_, PyAny>) -> bool {
        let name = name.cast::<PyString>().map(ToString::to_string);
        name.is_ok_and(|name| self.0.entry(&name).is_ok())
    }

    fn __len__(&self) -> usize {
        self.0.entries().len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.keys(py)?.call_method0("__iter__")
    }

    fn __repr__(&self) -> String {
        let (path, count) = (self.0.path().display(), self.0.entries().len());
        format!("<tenure.File '{path}': {}, {count} tensors>", self.0.format().name())
    }
}
