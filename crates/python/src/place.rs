//! Where `to` puts a copy, and `load` tensors: a memory, a space, a device or a pool, as Python says it.

use std::sync::Arc;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyString;
use tenure::memory::allocator_in;
use tenure::{Allocator, LogicalMemorySpace, TensorDyn, TensorMemory, To};

use crate::device::Device;
use crate::fail::Answer;
use crate::pool::Pool;
use crate::{opened, words};

/// A place that lives for as long as the call that names it.
pub(crate) enum Place {
    Memory(Option<TensorMemory>),
    Made(Arc<dyn Allocator>),
}

impl Place {
    /// What Rust calls it.
    pub(crate) fn to(&self) -> To<'_> {
        match self {
            Place::Memory(memory) => To::Memory(*memory),
            Place::Made(allocator) => To::Allocator(allocator.as_ref()),
        }
    }
}

/// A memory by its word. That of devices is of the device that `near` is on, or of one that is open.
pub(crate) fn memory(word: Option<&str>, near: Option<&TensorDyn>) -> Answer<Place> {
    let memory = words::memory(word)?;
    let made = memory
        .filter(|&memory| opened::is_devices(memory))
        .and_then(|memory| opened::memory_of_one(memory, near));
    Ok(made.map_or(Place::Memory(memory), Place::Made))
}

/// `"shm"`, `"cpu"`, `"vulkan:0"`, `"gpu:0"`, a `Device` or a `Pool`; and which memory of a device.
pub(crate) fn place(
    given: Option<&Bound<'_, PyAny>>,
    wanted: Option<&str>,
    near: Option<&TensorDyn>,
) -> Answer<Place> {
    let Some(given) = given else { return memory(wanted, near) };
    if let Ok(device) = given.cast::<Device>() {
        return Ok(Place::Made(device.get().allocator(wanted)?));
    }
    if let Ok(word) = given.cast::<PyString>() {
        let word = word.to_str()?;
        if opened::is_device(word) {
            let (word, gpu) = opened::open(given.py(), word)?;
            return Ok(Place::Made(Device::new(word, gpu).allocator(wanted)?));
        }
        return match wanted {
            None => named(word, near),
            Some(wanted) => Err(two(word, wanted)),
        };
    }
    match (given.cast::<Pool>(), wanted) {
        (Ok(pool), None) => Ok(pool.get().place()),
        (Ok(_), Some(wanted)) => Err(two("a pool", wanted)),
        _ => {
            let kind = given.get_type().name()?.to_string();
            let message = format!(
                "a place is a word like \"mem\" or \"vulkan:0\", a Device or a Pool, not an \
                 object of {kind}"
            );
            Err(PyTypeError::new_err(message).into())
        }
    }
}

/// What is no device.
fn named(word: &str, near: Option<&TensorDyn>) -> Answer<Place> {
    match word {
        "cpu" => Ok(Place::Memory(Some(TensorMemory::Mem))),
        "main" => Ok(Place::Memory(None)),
        _ => match word.split_once(':') {
            None => memory(Some(word), near),
            Some(("gpu", number)) => {
                let device_id = number.parse().map_err(|_| opened::no_device(word))?;
                let raw = near.and_then(|tensor| tensor.buffer().raw_if_placed());
                let carrier = raw.and_then(|raw| raw.carrier());
                let space = LogicalMemorySpace::GpuMemory { device_id };
                Ok(Place::Made(allocator_in(space, carrier)?))
            }
            Some(_) => Err(opened::no_device(word)),
        },
    }
}

fn two(place: &str, memory: &str) -> crate::fail::Fail {
    let message = format!("{place} and memory {memory:?} are two places: memory= is of a device");
    PyValueError::new_err(message).into()
}
