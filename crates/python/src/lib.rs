//! The Python package `tenure`.
//!
//! The promise of this crate: nothing here makes a Rust reference to the bytes of a tensor. What
//! Python gets are addresses, entered in the ledger as exports, which exclude neither each other
//! nor kernels; so Python code never meets a guard that is in its way. Long work runs without the
//! interpreter's lock, and every refusal is a Python exception with the message of the library.
#![warn(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used
)]

mod buffer;
mod capsule;
mod colour;
mod copies;
mod create;
mod device;
mod dlpack;
mod exchange;
mod fail;
mod fence;
mod files;
mod flattened;
mod frame;
mod gate;
mod how;
mod image;
mod index;
mod interface;
mod lent;
mod list;
mod mapped;
mod method;
mod opened;
mod pending;
mod picture;
mod place;
mod plan;
mod pool;
mod publisher;
mod quantization;
mod record;
mod shape;
mod share;
mod statistics;
mod stream;
mod tensor;
mod variables;
mod words;

/// What `tenure/__init__.py` shows of this. A Python without the global lock stays without:
/// `scripts/test-free-threaded` runs the tests there.
#[pyo3::pymodule(gil_used = false)]
mod _tenure {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::copies::{copy_all, copy_all_later};
    #[pymodule_export]
    use crate::device::{Device, open_device, survey};
    #[pymodule_export]
    use crate::dlpack::from_dlpack;
    #[pymodule_export]
    use crate::fence::Fence;
    #[pymodule_export]
    use crate::files::{File, open, open_raw, save};
    #[pymodule_export]
    use crate::frame::Frame;
    #[pymodule_export]
    use crate::image::{ImageProcessor, Placement};
    #[pymodule_export]
    use crate::mapped::Mapped;
    #[pymodule_export]
    use crate::picture::{decode_image, encode_image, read_image, save_image};
    #[pymodule_export]
    use crate::plan::{plan_json, schedule_json};
    #[pymodule_export]
    use crate::pool::Pool;
    #[pymodule_export]
    use crate::publisher::{Publisher, Slot};
    #[pymodule_export]
    use crate::record::{Recorder, replay};
    #[pymodule_export]
    use crate::share::{from_fd, from_planes, receive, send};
    #[pymodule_export]
    use crate::statistics::{allocations, usage_of};
    #[pymodule_export]
    use crate::stream::{Subscriber, stat, streams, subscribe};
    #[pymodule_export]
    use crate::tensor::Tensor;

    #[pymodule_init]
    fn finish(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::gate::register(module)?;
        for (name, class) in crate::fail::CLASSES {
            module.add(name, class.get(module.py())?)?;
        }
        crate::method::put_into(&module.py().get_type::<Tensor>())
    }
}
