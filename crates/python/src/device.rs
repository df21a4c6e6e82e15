//! The class `Device`: a device that is open, and tensors in its memory.

use std::collections::HashMap;
use std::sync::Arc;

use pyo3::prelude::*;
use tenure::gpu::{self, Class, Gpu, Region};
use tenure::{Allocator, TensorMemory};

use crate::create::{self, How};
use crate::fail::Answer;
use crate::place::Place;
use crate::pool::Pool;
use crate::shape::Shape;
use crate::tensor::Tensor;
use crate::{gate, opened, words};

/// A device that is open: a GPU, or a program that is one. Made by `tenure.open_device`.
///
/// Its memory keeps it open. Handles of one device are equal.
#[pyclass(module = "tenure", frozen)]
pub(crate) struct Device {
    word: String,
    gpu: Gpu,
}

/// Opens a device by its word, a backend and a number: "vulkan:0". `tenure.devices()` lists them.
///
/// A device that is open already is not opened again. It stays open until it is closed.
#[pyfunction]
pub(crate) fn open_device(py: Python<'_>, word: &str) -> Answer<Device> {
    let (word, gpu) = opened::open(py, word)?;
    Ok(Device::new(word, gpu))
}

/// One heap of a device: bytes, whether it is the device's own, whether the CPU reaches it.
type Heap = (u64, bool, bool);

fn heap(region: &Region) -> Heap {
    (region.bytes, region.local, region.mappable)
}

fn kind(class: Class) -> &'static str {
    match class {
        Class::Discrete => "discrete",
        Class::Integrated => "integrated",
        Class::Virtual => "virtual",
        Class::Software => "software",
        _ => "other",
    }
}

/// A device as `tenure.devices()` has it: word, name, driver, kind, heaps, abilities, and why it
/// cannot be used.
type Found = (String, String, String, &'static str, Vec<Heap>, Vec<&'static str>, Option<String>);

/// What `tenure.devices()` makes its answer of: the devices found, and why a backend has none.
#[pyfunction]
pub(crate) fn survey(py: Python<'_>) -> (Vec<Found>, Vec<(&'static str, String)>) {
    gate::detach(py, || {
        let (mut found, mut missing) = (vec![], vec![]);
        for backend in gpu::backends() {
            match backend.devices() {
                Ok(devices) => found.extend(devices.into_iter().map(|device| {
                    let word = format!("{}:{}", backend.name, device.number);
                    let heaps = device.heaps.iter().map(heap).collect();
                    let (kind, abilities) = (kind(device.class), device.abilities);
                    (word, device.name, device.driver, kind, heaps, abilities, device.unusable)
                })),
                Err(why) => missing.push((backend.name, why.to_string())),
            }
        }
        (found, missing)
    })
}

impl Device {
    pub(crate) fn new(word: String, gpu: Gpu) -> Device {
        Device { word, gpu }
    }

    /// The allocator of a memory of the device, its own if none is said.
    pub(crate) fn allocator(&self, memory: Option<&str>) -> Answer<Arc<dyn Allocator>> {
        let memory = words::memory(memory)?.unwrap_or(TensorMemory::Device);
        Ok(self.gpu.allocator(memory)?)
    }

    fn with(&self, gpu: Gpu) -> Device {
        Device { word: self.word.clone(), gpu }
    }
}

#[pymethods]
impl Device {
    /// What it is opened by: "vulkan:0".
    #[getter]
    fn word(&self) -> &str {
        &self.word
    }

    /// Its name, for people.
    #[getter]
    fn name(&self) -> &str {
        &self.gpu.properties().name
    }

    /// Its driver and the driver's version.
    #[getter]
    fn driver(&self) -> &str {
        &self.gpu.properties().driver
    }

    /// What it is made of: "discrete", "integrated", "virtual", "software", "other".
    #[getter]
    fn kind(&self) -> &'static str {
        kind(self.gpu.properties().class)
    }

    /// Where its own memory is, as `Tensor.space` says it: "gpu:0".
    #[getter]
    fn space(&self) -> String {
        self.gpu.properties().space(TensorMemory::Device).to_string()
    }

    /// Which memories it has: "device", "pinned", "managed".
    #[getter]
    fn memories(&self) -> Vec<&'static str> {
        self.gpu.properties().memories.iter().map(|memory| memory.name()).collect()
    }

    /// Its heaps, as (bytes, whether it is the device's own, whether the CPU reaches it).
    #[getter]
    fn heaps(&self) -> Vec<Heap> {
        self.gpu.properties().heaps.iter().map(heap).collect()
    }

    /// How many queues work side by side.
    #[getter]
    fn queues(&self) -> usize {
        self.gpu.properties().queues
    }

    /// The queue that memory of this handle is copied on.
    #[getter]
    fn queue(&self) -> usize {
        self.gpu.queue()
    }

    /// Which driver and device it is, the same in every process.
    #[getter]
    fn uuid(&self) -> String {
        self.gpu.properties().uuid.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Whether it reaches main memory where it is, without a copy to pinned memory.
    #[getter]
    fn reaches_main(&self) -> bool {
        self.gpu.properties().imports_host.is_some()
    }

    /// Whether it reaches DMA-BUFs where they are.
    #[getter]
    fn reaches_dma(&self) -> bool {
        self.gpu.properties().imports_dma
    }

    /// The same device with copies on another of its queues, for what is allocated through the
    /// handle that this gives.
    fn on_queue(&self, queue: usize) -> Answer<Device> {
        Ok(self.with(self.gpu.on_queue(queue)?))
    }

    /// The same device with every copy done by its queue. A device in software otherwise leaves
    /// copies that are waited for to the processor.
    fn queued(&self) -> Device {
        self.with(self.gpu.queued())
    }

    /// A tensor of zeros in its memory.
    ///
    /// memory: "device", "pinned" (main memory that it reaches) or "managed".
    /// lazy: allocate it when it is first touched.
    #[pyo3(signature = (shape, dtype=None, memory=None, name=None, *, lazy=false))]
    #[pyo3(
        text_signature = "(self, shape, dtype='f32', memory='device', name=None, *, lazy=False)"
    )]
    fn tensor(
        &self,
        py: Python<'_>,
        shape: Shape,
        dtype: Option<&Bound<'_, PyAny>>,
        memory: Option<&str>,
        name: Option<&str>,
        lazy: bool,
    ) -> Answer<Tensor> {
        let place = Place::Made(self.allocator(memory)?);
        create::tensor(py, &shape, dtype, &place, How { name, lazy, ..How::default() })
    }

    /// A picture in its memory. What the words mean is as in `tensor`.
    #[pyo3(signature = (width, height, format, dtype=None, memory=None, name=None, *, lazy=false))]
    #[pyo3(
        text_signature = "(self, width, height, format, dtype='u8', memory='device', name=None, *, lazy=False)"
    )]
    #[expect(clippy::too_many_arguments, reason = "as `Tensor.image`, which Python calls by name")]
    fn image(
        &self,
        py: Python<'_>,
        width: usize,
        height: usize,
        format: &str,
        dtype: Option<&Bound<'_, PyAny>>,
        memory: Option<&str>,
        name: Option<&str>,
        lazy: bool,
    ) -> Answer<Tensor> {
        let place = Place::Made(self.allocator(memory)?);
        let how = How { name, lazy, ..How::default() };
        create::image(py, (width, height, format), dtype, &place, how)
    }

    /// A pool of its memory: what was freed is handed out again. For loops, which would otherwise wait
    /// for new memory. Limited by bytes and buffers as `Pool` says.
    #[pyo3(signature = (memory=None, *, bytes=None, buffers=None))]
    #[pyo3(text_signature = "(self, memory='device', *, bytes=None, buffers=None)")]
    fn pool(
        &self,
        memory: Option<&str>,
        bytes: Option<usize>,
        buffers: Option<usize>,
    ) -> Answer<Pool> {
        Ok(Pool::over(self.allocator(memory)?, bytes, buffers))
    }

    /// How its memories are divided now: bytes that the driver gave, and bytes of them in use.
    fn usage(&self) -> HashMap<&'static str, (u64, u64)> {
        let heaps = self.gpu.heaps().into_iter();
        heaps.map(|heap| (heap.memory.name(), (heap.bytes, heap.used))).collect()
    }

    /// Keeps the device open no longer than its handles and its tensors do. Opening it again opens
    /// it anew: for one that was lost, say.
    fn close(&self) {
        opened::close(&self.gpu);
    }

    fn __eq__(&self, other: &Device) -> bool {
        self.gpu.number() == other.gpu.number()
    }

    fn __hash__(&self) -> u64 {
        self.gpu.number()
    }

    fn __str__(&self) -> &str {
        &self.word
    }

    fn __repr__(&self) -> String {
        format!("Device({:?}, name={:?})", self.word, self.name())
    }
}
