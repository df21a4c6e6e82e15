//! The devices that are open. A device stays open until it is closed, as in every library that
//! computes on one: `to("vulkan:0")` in a loop opens it once, and whoever asks again gets the same.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tenure::gpu::{self, Gpu};
use tenure::{Allocator, LogicalMemorySpace, TensorDyn, TensorMemory};

use crate::fail::Answer;
use crate::{gate, words};

struct Opened {
    word: String,
    /// Drivers do not survive a fork.
    process: u32,
    gpu: Gpu,
}

/// Held for a moment only, and never while Python runs.
static OPEN: Mutex<Vec<Opened>> = Mutex::new(vec![]);

/// Those of this process.
fn open_here() -> MutexGuard<'static, Vec<Opened>> {
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    let here = std::process::id();
    if open.iter().any(|opened| opened.process != here) {
        // What they would call when they are dropped belongs to the other process.
        let (ours, theirs) = std::mem::take(&mut *open)
            .into_iter()
            .partition::<Vec<_>, _>(|opened| opened.process == here);
        std::mem::forget(theirs);
        *open = ours;
    }
    open
}

/// Whether a word is meant to be a device's.
pub(crate) fn is_device(word: &str) -> bool {
    let backend = word.split(':').next();
    gpu::backends().iter().any(|known| Some(known.name) == backend)
}

/// `vulkan:0`, of every way to say it.
fn canonical(word: &str) -> Answer<String> {
    let (backend, number) = word.split_once(':').unwrap_or((word, "0"));
    match (is_device(word), number.parse::<u32>()) {
        (true, Ok(number)) => Ok(format!("{backend}:{number}")),
        _ => Err(no_device(word)),
    }
}

/// The exception for a word that no device can have.
pub(crate) fn no_device(word: &str) -> crate::fail::Fail {
    let known: Vec<_> = gpu::backends().iter().map(|backend| backend.name).collect();
    let message = format!(
        "{word:?} is no device: a backend ({}) and a number would be right, such as \"vulkan:0\"",
        known.join(", ")
    );
    PyValueError::new_err(message).into()
}

/// The device of this word, opened if nobody has; and the word as everybody says it.
pub(crate) fn open(py: Python<'_>, word: &str) -> Answer<(String, Gpu)> {
    let word = canonical(word)?;
    let known = |open: &[Opened]| {
        open.iter().find(|opened| opened.word == word).map(|opened| opened.gpu.clone())
    };
    if let Some(gpu) = known(&open_here()) {
        return Ok((word, gpu));
    }
    let gpu = gate::detach(py, || gpu::open(&word))?;
    let mut open = open_here();
    // Another thread may have been quicker.
    if let Some(theirs) = known(&open) {
        return Ok((word, theirs));
    }
    open.push(Opened { word: word.clone(), process: std::process::id(), gpu: gpu.clone() });
    Ok((word, gpu))
}

/// The word for the device that a tensor is on: what it was opened by, or, if it is not open here,
/// whose it is and the number that its driver has for it. The space if nobody says whose it is.
pub(crate) fn word(tensor: &TensorDyn, device_id: usize) -> String {
    let Some(raw) = tensor.buffer().raw_if_placed() else { return format!("gpu:{device_id}") };
    if let Some(number) = raw.carrier().map(|carrier| carrier.number()) {
        let open = open_here();
        if let Some(opened) = open.iter().find(|opened| opened.gpu.number() == number) {
            return opened.word.clone();
        }
    }
    match raw.vendor() {
        Some(vendor) => format!("{}:{device_id}", words::vendor(vendor)),
        None => format!("gpu:{device_id}"),
    }
}

/// Keeps a device open no longer than its handles and its memory do.
pub(crate) fn close(gpu: &Gpu) {
    let closed: Vec<_> =
        open_here().extract_if(.., |opened| opened.gpu.number() == gpu.number()).collect();
    drop(closed);
}

/// Whether this is memory that belongs to a device.
pub(crate) fn is_devices(memory: TensorMemory) -> bool {
    matches!(memory, TensorMemory::Device | TensorMemory::Pinned | TensorMemory::Managed)
}

/// Memory of a device that is open: of the one that `near` is on, else of the first that was opened
/// and has it; `None` if none has.
pub(crate) fn memory_of_one(
    memory: TensorMemory,
    near: Option<&TensorDyn>,
) -> Option<Arc<dyn Allocator>> {
    let raw = near.and_then(|tensor| tensor.buffer().raw_if_placed());
    let space = match memory {
        TensorMemory::Pinned => Some(LogicalMemorySpace::PinnedMemory),
        TensorMemory::Managed => Some(LogicalMemorySpace::ManagedMemory),
        _ => raw.map(|raw| raw.space()).filter(|space| !space.cpu_reachable()),
    };
    let carrier = raw.and_then(|raw| raw.carrier());
    if let (Some(carrier), Some(space)) = (carrier, space)
        && let Some(allocator) = carrier.allocator(space)
    {
        return Some(allocator);
    }
    open_here().iter().find_map(|opened| opened.gpu.allocator(memory).ok())
}
