//! Devices of Vulkan: loaded at run time, version 1.2 or later.
//!
//! A block is a buffer over memory of its own; work is command buffers on queues, each counted by a
//! timeline semaphore. Main memory is imported where the driver can, and DMA-BUFs.

use std::sync::Arc;

use tenure_memory::{DeviceFault, Error, Result};

use crate::{Gpu, Missing, Properties};

mod api;
mod blocks;
mod device;
mod found;
mod queue;
mod share;

pub use device::Vulkan;
pub use found::Found;

/// The library, for people.
const LIBRARY: &str = "libvulkan.so.1";

/// Every Vulkan device of this machine, or why there is none; for each, what it is, or why it
/// cannot be used.
///
/// # Errors
/// [`Missing`]: no library, driver too old, or no device.
pub fn survey() -> Result<Vec<Found>, Missing> {
    let loader = api::Loader::new()?;
    let all = loader.devices()?;
    if all.is_empty() {
        let detail = " (an installed driver that finds its hardware would be listed)".to_owned();
        return Err(Missing::NoDevice { library: LIBRARY.to_owned(), detail });
    }
    Ok(all.into_iter().map(|(_, found)| found).collect())
}

/// Opens the device with this number, as [`survey`] lists them.
///
/// # Errors
/// If there is no such device, or its driver cannot do what is needed.
pub fn open(number: u32) -> Result<Gpu> {
    let vulkan = Vulkan::open(number)?;
    Gpu::over_shared(Arc::new(vulkan))
}

/// An error before there is a device to name.
fn refused(fault: DeviceFault) -> Error {
    Error::from(tenure_memory::detail::Device {
        device: "Vulkan".into(),
        what: "opening a device",
        fault,
    })
}

fn missing(missing: &Missing) -> Error {
    refused(DeviceFault::Unusable(missing.to_string()))
}

/// What the driver answered, as an error of the device.
fn answer(properties: &Properties, what: &'static str, result: ash::vk::Result) -> Error {
    properties.fault(what, fault(result))
}

fn fault(result: ash::vk::Result) -> DeviceFault {
    match result {
        ash::vk::Result::ERROR_DEVICE_LOST => DeviceFault::Lost,
        other => {
            DeviceFault::Answer { code: i64::from(other.as_raw()), name: format!("{other:?}") }
        }
    }
}
