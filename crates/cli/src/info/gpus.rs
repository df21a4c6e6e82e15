//! Devices with memory of their own: every kind that this build knows, and why there is none.

use serde::Serialize;

#[cfg(linux_like)]
mod here;
#[cfg(not(linux_like))]
#[path = "gpus/elsewhere.rs"]
mod here;

pub(super) use here::{Opened, gpus};

/// One kind of device.
#[derive(Debug, Serialize)]
pub(super) struct Kind {
    /// Its word: `vulkan`, `cuda`, `hip`, `opencl`.
    pub(super) name: &'static str,
    /// Its name.
    pub(super) title: &'static str,
    /// Whether there is a device that can be used.
    pub(super) works: bool,
    /// Why there is none: no library, driver too old, no device.
    pub(super) reason: Option<String>,
    /// The devices.
    pub(super) devices: Vec<Gpu>,
}

/// One device.
#[derive(Debug, Serialize)]
pub(super) struct Gpu {
    /// What opens it, like `vulkan:0`.
    pub(super) word: String,
    /// Its name.
    pub(super) name: String,
    /// Its driver.
    pub(super) driver: String,
    /// What it is made of.
    pub(super) class: &'static str,
    /// Its memory.
    pub(super) heaps: Vec<Heap>,
    /// What it can do besides copying.
    pub(super) abilities: Vec<&'static str>,
    /// Whether it can be used.
    pub(super) works: bool,
    /// Why it cannot.
    pub(super) reason: Option<String>,
}

/// A heap of a device.
#[derive(Debug, Serialize)]
pub(super) struct Heap {
    /// Its bytes.
    pub(super) bytes: u64,
    /// Whether it is the device's own, not the CPU's.
    pub(super) local: bool,
    /// Whether the CPU reaches it.
    pub(super) mappable: bool,
}
