//! Devices of OpenCL with unified shared memory, by the loader of drivers, `libOpenCL.so.1`.
//!
//! Memory of the device, of the host and shared between both (`cl_intel_unified_shared_memory`) is
//! `Device`, `Pinned` and `Managed`: it has addresses, unlike OpenCL's buffers. Work goes into
//! queues that keep its order, and events say when it is done. Where a device reaches all main
//! memory, that is used where it is.
//!
//! [`OpenCl::context`] and [`OpenCl::address_of`] are for whoever computes on it. DLPack has no
//! name for this memory, so that device memory is not lent but copied: its OpenCL means handles of
//! buffers, and its oneAPI addresses of SYCL's own context.

use std::sync::Arc;

use tenure_memory::{DeviceFault, Error, Result};

use crate::{Gpu, Listed, Missing};

mod answer;
mod api;
mod device;
mod found;
mod queue;

pub use device::OpenCl;

use api::Api;
use found::Found;

const LIBRARIES: [&str; 2] = ["libOpenCL.so.1", "libOpenCL.so"];
/// What a driver must be able to do.
const EXTENSION: &str = "cl_intel_unified_shared_memory";

/// Every OpenCL device of this machine, counted over all drivers; for each, what it is, or why it
/// cannot be used.
///
/// # Errors
/// Why there is none: no library, drivers without unified shared memory, no device.
pub fn survey() -> Result<Vec<Listed>, Missing> {
    let api = Api::load(&LIBRARIES)?;
    let all = found::all(&api)?;
    Ok(all.into_iter().map(Found::listed).collect())
}

/// Opens the device with this number, as [`survey`] lists them.
///
/// # Errors
/// If it is not there, or its driver cannot do what is needed.
pub fn open(number: u32) -> Result<Gpu> {
    Gpu::over(OpenCl::open(number)?)
}

/// As [`open`], of a device that the caller computes on too.
///
/// # Errors
/// As there.
pub fn open_shared(number: u32) -> Result<(Arc<OpenCl>, Gpu)> {
    let device = Arc::new(OpenCl::open(number)?);
    let gpu = Gpu::over_shared(Arc::clone(&device) as _)?;
    Ok((device, gpu))
}

/// How many devices that can be used a loader of drivers finds.
///
/// # Errors
/// Why there is none: no library, drivers without unified shared memory, no device.
pub fn ask_loader(library: &str) -> Result<u32, Missing> {
    let api = Api::load(&[library])?;
    let all = found::all(&api)?;
    Ok(all.iter().filter(|found| found.unusable.is_none()).count() as u32)
}

/// An error before there is a device to name.
fn opening(fault: DeviceFault) -> Error {
    Error::from(tenure_memory::detail::Device {
        device: "OpenCL".into(),
        what: "opening a device",
        fault,
    })
}
