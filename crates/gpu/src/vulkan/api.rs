//! The library and what it finds: everything before a device is open.
#![expect(unsafe_code, reason = "calls Vulkan, which is loaded at run time")]

use std::ffi::CStr;
use std::sync::OnceLock;

use ash::vk;

use super::{Found, LIBRARY};
use crate::{Class, Missing, Region};

/// The library, and an instance of it.
pub(super) struct Loader {
    pub(super) instance: ash::Instance,
}

/// The library, loaded once and never unloaded: drivers leave threads behind, which would go on in
/// what is gone.
fn entry() -> Result<&'static ash::Entry, Missing> {
    static ENTRY: OnceLock<ash::Entry> = OnceLock::new();
    if let Some(entry) = ENTRY.get() {
        return Ok(entry);
    }
    // SAFETY: loading the system's Vulkan runs its initialisers, as every program does that uses it.
    let entry = unsafe { ash::Entry::load() }.map_err(|error| Missing::NoLibrary {
        library: LIBRARY.to_owned(),
        reason: error.to_string(),
    })?;
    Ok(ENTRY.get_or_init(|| entry))
}

/// What this crate needs of a device.
const NEEDED: u32 = vk::API_VERSION_1_2;

impl Loader {
    pub(super) fn new() -> Result<Loader, Missing> {
        let entry = entry()?;
        // SAFETY: the library is loaded.
        let version = unsafe { entry.try_enumerate_instance_version() };
        let version = version.ok().flatten().unwrap_or(vk::API_VERSION_1_0);
        if version < NEEDED {
            return Err(Missing::TooOld {
                library: LIBRARY.to_owned(),
                needed: version_words(NEEDED),
                found: version_words(version),
            });
        }
        let application = vk::ApplicationInfo::default()
            .application_name(c"tenure")
            .engine_name(c"tenure")
            .api_version(vk::API_VERSION_1_2);
        let wanted = vk::InstanceCreateInfo::default().application_info(&application);
        // SAFETY: everything that `wanted` points to lives until the call returns.
        let instance = unsafe { entry.create_instance(&wanted, None) }.map_err(|error| {
            let library = LIBRARY.to_owned();
            match error {
                // The loader found no driver at all.
                vk::Result::ERROR_INCOMPATIBLE_DRIVER => {
                    Missing::NoDevice { library, detail: " (no driver is installed)".to_owned() }
                }
                other => Missing::Failed {
                    library,
                    what: "vkCreateInstance",
                    code: format!("{other:?}"),
                },
            }
        })?;
        Ok(Loader { instance })
    }

    /// Every device, and what it is.
    pub(super) fn devices(&self) -> Result<Vec<(vk::PhysicalDevice, Found)>, Missing> {
        // SAFETY: the instance exists.
        let all = unsafe { self.instance.enumerate_physical_devices() };
        let all = all.map_err(|error| Missing::Failed {
            library: LIBRARY.to_owned(),
            what: "vkEnumeratePhysicalDevices",
            code: format!("{error:?}"),
        })?;
        let look = |(number, device): (usize, vk::PhysicalDevice)| {
            (device, self.look(number as u32, device))
        };
        Ok(all.into_iter().enumerate().map(look).collect())
    }

    fn look(&self, number: u32, device: vk::PhysicalDevice) -> Found {
        let mut driver = vk::PhysicalDeviceDriverProperties::default();
        let mut properties = vk::PhysicalDeviceProperties2::default().push_next(&mut driver);
        // SAFETY: the device is one of this instance, and so below; the structures are chained
        // and live until the call returns.
        unsafe { self.instance.get_physical_device_properties2(device, &mut properties) };
        let properties = properties.properties;
        let version = properties.api_version;
        let (name, driver) = (words(&properties.device_name), driver_words(&driver));
        let mut timeline = vk::PhysicalDeviceTimelineSemaphoreFeatures::default();
        if version >= NEEDED {
            let mut features = vk::PhysicalDeviceFeatures2::default().push_next(&mut timeline);
            // SAFETY: as above.
            unsafe { self.instance.get_physical_device_features2(device, &mut features) };
        }
        let unusable = if version < NEEDED {
            let (needed, found) = (version_words(NEEDED), version_words(version));
            Some(format!("driver too old: it speaks {found}, and {needed} is needed"))
        } else if timeline.timeline_semaphore == vk::FALSE {
            Some("driver too old: it has no timeline semaphores".to_owned())
        } else {
            None
        };
        let has = |name: &CStr| self.has(device, name);
        let fds = has(ash::khr::external_memory_fd::NAME);
        Found {
            number,
            name,
            driver,
            version: parts(version),
            class: class(properties.device_type),
            heaps: self.heaps(device),
            imports_host: has(ash::ext::external_memory_host::NAME),
            imports_dma: fds && has(ash::ext::external_memory_dma_buf::NAME),
            shares: fds,
            unusable,
        }
    }

    /// Whether a device has an extension.
    pub(super) fn has(&self, device: vk::PhysicalDevice, name: &CStr) -> bool {
        // SAFETY: the device is one of this instance.
        let all = unsafe { self.instance.enumerate_device_extension_properties(device) };
        let is = |one: &vk::ExtensionProperties| {
            one.extension_name_as_c_str().is_ok_and(|found| found == name)
        };
        all.is_ok_and(|all| all.iter().any(is))
    }

    fn heaps(&self, device: vk::PhysicalDevice) -> Vec<Region> {
        // SAFETY: the device is one of this instance.
        let memory = unsafe { self.instance.get_physical_device_memory_properties(device) };
        let types = memory.memory_types_as_slice();
        let region = |(index, heap): (usize, &vk::MemoryHeap)| Region {
            bytes: heap.size,
            local: heap.flags.contains(vk::MemoryHeapFlags::DEVICE_LOCAL),
            mappable: types.iter().any(|kind| {
                kind.heap_index as usize == index
                    && kind.property_flags.contains(vk::MemoryPropertyFlags::HOST_VISIBLE)
            }),
        };
        memory.memory_heaps_as_slice().iter().enumerate().map(region).collect()
    }
}

/// An instance that stays: with the last one the library would unload the drivers, and whatever they
/// left to be done at the end of the process would be called in what is gone.
static KEPT: OnceLock<ash::Instance> = OnceLock::new();

impl Drop for Loader {
    fn drop(&mut self) {
        if KEPT.set(self.instance.clone()).is_err() {
            // SAFETY: whatever was made of the instance is gone: it is dropped last. It is not the
            // one that was kept.
            unsafe { self.instance.destroy_instance(None) };
        }
    }
}

fn class(kind: vk::PhysicalDeviceType) -> Class {
    match kind {
        vk::PhysicalDeviceType::DISCRETE_GPU => Class::Discrete,
        vk::PhysicalDeviceType::INTEGRATED_GPU => Class::Integrated,
        vk::PhysicalDeviceType::VIRTUAL_GPU => Class::Virtual,
        vk::PhysicalDeviceType::CPU => Class::Software,
        _ => Class::Other,
    }
}

fn words(text: &[std::ffi::c_char]) -> String {
    let bytes: Vec<u8> =
        text.iter().map(|byte| byte.to_ne_bytes()[0]).take_while(|b| *b != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn driver_words(driver: &vk::PhysicalDeviceDriverProperties<'_>) -> String {
    format!("{} {}", words(&driver.driver_name), words(&driver.driver_info)).trim().to_owned()
}

fn parts(version: u32) -> (u32, u32, u32) {
    (vk::api_version_major(version), vk::api_version_minor(version), vk::api_version_patch(version))
}

fn version_words(version: u32) -> String {
    let (major, minor, patch) = parts(version);
    format!("Vulkan {major}.{minor}.{patch}")
}
