//! Devices by name: which kinds this build knows, what each has, and `vulkan:0` opened.

use std::fmt;

use tenure_memory::{DeviceFault, Error, Result};

use crate::{Class, Gpu, Missing, Region};

/// One kind of device that this build knows.
pub struct Backend {
    /// Its word: what stands before the colon.
    pub name: &'static str,
    /// What it is, for people.
    pub title: &'static str,
    survey: fn() -> Result<Vec<Listed>, Missing>,
    open: fn(u32) -> Result<Gpu>,
}

impl fmt::Debug for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Backend { name, title, .. } = self;
        f.debug_struct("Backend").field("name", name).field("title", title).finish_non_exhaustive()
    }
}

/// A device that a backend found.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Listed {
    /// Its number.
    pub number: u32,
    /// Its name.
    pub name: String,
    /// Its driver.
    pub driver: String,
    /// What it is made of.
    pub class: Class,
    /// Its memory.
    pub heaps: Vec<Region>,
    /// What it can do besides, in words.
    pub abilities: Vec<&'static str>,
    /// Why it cannot be used, if it cannot.
    pub unusable: Option<String>,
}

impl Backend {
    /// Its devices on this machine.
    ///
    /// # Errors
    /// Why there is none: no library, driver too old, no device.
    pub fn devices(&self) -> Result<Vec<Listed>, Missing> {
        (self.survey)()
    }

    /// Opens the device with this number.
    ///
    /// # Errors
    /// If it is not there, or cannot be used.
    pub fn open(&self, number: u32) -> Result<Gpu> {
        (self.open)(number)
    }
}

/// The kinds of device that this build knows.
pub fn backends() -> &'static [Backend] {
    &[
        #[cfg(feature = "cuda")]
        Backend {
            name: "cuda",
            title: "CUDA",
            survey: crate::cuda::survey,
            open: crate::cuda::open,
        },
        #[cfg(feature = "hip")]
        Backend { name: "hip", title: "HIP", survey: crate::hip::survey, open: crate::hip::open },
        #[cfg(feature = "opencl")]
        Backend {
            name: "opencl",
            title: "OpenCL",
            survey: crate::opencl::survey,
            open: crate::opencl::open,
        },
        #[cfg(feature = "vulkan")]
        Backend {
            name: "vulkan",
            title: "Vulkan",
            survey: vulkan_devices,
            open: crate::vulkan::open,
        },
    ]
}

/// Opens a device by its word: a backend and a number, such as `vulkan:0`.
///
/// # Errors
/// If there is no such backend or device, or it cannot be used.
pub fn open(word: &str) -> Result<Gpu> {
    let (name, number) = word.split_once(':').unwrap_or((word, "0"));
    let backend = backends().iter().find(|backend| backend.name == name);
    match (backend, number.parse()) {
        (Some(backend), Ok(number)) => backend.open(number),
        _ => {
            let known: Vec<_> = backends().iter().map(|backend| backend.name).collect();
            let name = format!(
                "no such device; a backend of this build ({}) and a number would be right, \
                 such as vulkan:0",
                known.join(", ")
            );
            let fault = DeviceFault::Unusable(name);
            Err(Error::from(tenure_memory::detail::Device {
                device: word.into(),
                what: "opening",
                fault,
            }))
        }
    }
}

#[cfg(feature = "vulkan")]
fn vulkan_devices() -> Result<Vec<Listed>, Missing> {
    let listed = |found: crate::vulkan::Found| {
        let abilities = [
            (found.imports_host, "reaches main memory"),
            (found.imports_dma, "reaches DMA-BUF"),
            (found.shares, "shares with other processes"),
        ];
        let (major, minor, patch) = found.version;
        Listed {
            number: found.number,
            name: found.name,
            driver: format!("{}, Vulkan {major}.{minor}.{patch}", found.driver),
            class: found.class,
            heaps: found.heaps,
            abilities: abilities
                .into_iter()
                .filter_map(|(has, what)| has.then_some(what))
                .collect(),
            unusable: found.unusable,
        }
    };
    Ok(crate::vulkan::survey()?.into_iter().map(listed).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backends_and_devices_say_what_they_are() {
        for backend in backends() {
            let words = format!("{backend:?}");
            assert!(words.contains(backend.name) && words.contains(backend.title), "{words}");
        }
        let words = format!("{:?}", crate::testing::TestDevice::new());
        assert_eq!(words, r#"TestDevice { name: "test device 0", id: 0, .. }"#);
    }
}
