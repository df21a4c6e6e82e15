//! Where data lives, apart from what computes on it, in DLPack's terms.

use std::fmt;

/// Where the bytes of a tensor live.
///
/// ```
/// use tenure_memory::{DeviceVendor, LogicalMemorySpace};
/// let gpu = LogicalMemorySpace::GpuMemory { device_id: 0 };
/// let device = gpu.dlpack(DeviceVendor::Cuda);
/// assert_eq!((device.device_type, device.device_id), (2, 0));
/// assert_eq!(LogicalMemorySpace::from_dlpack(device), Some((gpu, Some(DeviceVendor::Cuda))));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LogicalMemorySpace {
    /// Ordinary memory of the CPU.
    MainMemory,
    /// Main memory that a GPU can reach directly and that is never paged out.
    PinnedMemory,
    /// Memory of one GPU, or of another device that the CPU does not reach into.
    GpuMemory {
        /// Which one, counted as its driver counts.
        device_id: usize,
    },
    /// Memory that moves between CPU and GPU by itself.
    ManagedMemory,
}

/// Whose driver a device belongs to: DLPack has codes of its own for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DeviceVendor {
    /// NVIDIA.
    Cuda,
    /// AMD.
    Rocm,
    /// OpenCL; memory is named by the handle of a buffer, not by an address. Unified shared memory
    /// has addresses and no such handle: DLPack has no name for it.
    OpenCl,
    /// Vulkan; a handle.
    Vulkan,
    /// Apple's Metal; a handle.
    Metal,
    /// A Verilog simulator.
    Vpi,
    /// Somebody's experiment.
    Extension,
    /// Intel's oneAPI: unified shared memory.
    OneApi,
    /// WebGPU; a handle.
    WebGpu,
    /// Qualcomm's Hexagon processor.
    Hexagon,
    /// Microsoft's MAIA.
    Maia,
    /// Amazon's Trainium.
    Trainium,
    /// A DLPack device type that the specification did not name when this was written.
    Other(i32),
}

/// A device in DLPack's codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DlDevice {
    /// `DLDeviceType`.
    pub device_type: i32,
    /// Which device of that type; 0 for main, pinned and managed memory.
    pub device_id: i32,
}

const CPU: i32 = 1;
const CUDA_HOST: i32 = 3;
const ROCM_HOST: i32 = 11;
const CUDA_MANAGED: i32 = 13;

/// Devices with memory of their own, and the codes of that memory.
const DEVICES: [(DeviceVendor, i32); 12] = [
    (DeviceVendor::Cuda, 2),
    (DeviceVendor::OpenCl, 4),
    (DeviceVendor::Vulkan, 7),
    (DeviceVendor::Metal, 8),
    (DeviceVendor::Vpi, 9),
    (DeviceVendor::Rocm, 10),
    (DeviceVendor::Extension, 12),
    (DeviceVendor::OneApi, 14),
    (DeviceVendor::WebGpu, 15),
    (DeviceVendor::Hexagon, 16),
    (DeviceVendor::Maia, 17),
    (DeviceVendor::Trainium, 18),
];

impl DeviceVendor {
    /// DLPack's code for a device of this kind.
    fn code(self) -> i32 {
        match (self, DEVICES.iter().find(|row| row.0 == self)) {
            (DeviceVendor::Other(code), _) => code,
            (_, Some(row)) => row.1,
            // Every other vendor has a row; `device_codes_go_both_ways` looks at each.
            (_, None) => 0,
        }
    }

    /// Whether memory of these devices is named by addresses that can be counted up from.
    /// Elsewhere a name is a handle, and an offset goes beside it.
    pub fn has_addresses(self) -> bool {
        matches!(self, DeviceVendor::Cuda | DeviceVendor::Rocm | DeviceVendor::OneApi)
    }
}

impl LogicalMemorySpace {
    /// The DLPack device of this space. The vendor decides between the codes for device and pinned
    /// memory; managed memory has one code only, CUDA's. Pinned and managed memory of vendors that
    /// have no codes for them is the CPU's: that is who reaches it.
    pub fn dlpack(self, vendor: DeviceVendor) -> DlDevice {
        let (device_type, device_id) = match (self, vendor) {
            (LogicalMemorySpace::MainMemory, _) => (CPU, 0),
            (LogicalMemorySpace::PinnedMemory, DeviceVendor::Rocm) => (ROCM_HOST, 0),
            (LogicalMemorySpace::PinnedMemory, DeviceVendor::Cuda) => (CUDA_HOST, 0),
            // DLPack has no code for it; to everybody else it is main memory like any other.
            (LogicalMemorySpace::PinnedMemory, _) => (CPU, 0),
            (LogicalMemorySpace::GpuMemory { device_id }, vendor) => (vendor.code(), device_id),
            (LogicalMemorySpace::ManagedMemory, DeviceVendor::Cuda | DeviceVendor::Rocm) => {
                (CUDA_MANAGED, 0)
            }
            (LogicalMemorySpace::ManagedMemory, _) => (CPU, 0),
        };
        // Drivers count devices from zero; an id beyond i32 cannot come from one.
        DlDevice { device_type, device_id: i32::try_from(device_id).unwrap_or(i32::MAX) }
    }

    /// The space of a DLPack device, and whose it is. Device types that DLPack has not named yet
    /// are memory of [`DeviceVendor::Other`]. `None` for devices with negative ids.
    pub fn from_dlpack(device: DlDevice) -> Option<(LogicalMemorySpace, Option<DeviceVendor>)> {
        let vendor = match device.device_type {
            // Memory of the host has no id of its own; some fill in that of a device.
            CPU => return Some((LogicalMemorySpace::MainMemory, None)),
            CUDA_HOST => {
                return Some((LogicalMemorySpace::PinnedMemory, Some(DeviceVendor::Cuda)));
            }
            ROCM_HOST => {
                return Some((LogicalMemorySpace::PinnedMemory, Some(DeviceVendor::Rocm)));
            }
            CUDA_MANAGED => {
                return Some((LogicalMemorySpace::ManagedMemory, Some(DeviceVendor::Cuda)));
            }
            code => {
                let named = DEVICES.iter().find(|row| row.1 == code);
                named.map_or(DeviceVendor::Other(code), |row| row.0)
            }
        };
        let device_id = usize::try_from(device.device_id).ok()?;
        Some((LogicalMemorySpace::GpuMemory { device_id }, Some(vendor)))
    }

    /// Whether the CPU can reach the bytes by address.
    pub fn cpu_reachable(self) -> bool {
        !matches!(self, LogicalMemorySpace::GpuMemory { .. })
    }
}

impl fmt::Display for LogicalMemorySpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LogicalMemorySpace::MainMemory => f.pad("main"),
            LogicalMemorySpace::PinnedMemory => f.pad("pinned"),
            LogicalMemorySpace::GpuMemory { device_id } => f.pad(&format!("gpu:{device_id}")),
            LogicalMemorySpace::ManagedMemory => f.pad("managed"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_codes_go_both_ways() {
        let spaces = [
            (LogicalMemorySpace::MainMemory, 1, 1),
            (LogicalMemorySpace::GpuMemory { device_id: 3 }, 2, 10),
            (LogicalMemorySpace::PinnedMemory, 3, 11),
            (LogicalMemorySpace::ManagedMemory, 13, 13),
        ];
        for (space, cuda, rocm) in spaces {
            for (vendor, code) in [(DeviceVendor::Cuda, cuda), (DeviceVendor::Rocm, rocm)] {
                let device = space.dlpack(vendor);
                assert_eq!(device.device_type, code);
                assert_eq!(LogicalMemorySpace::from_dlpack(device).unwrap().0, space);
            }
        }
        let negative = DlDevice { device_type: 2, device_id: -1 };
        assert_eq!(LogicalMemorySpace::from_dlpack(negative), None);
        let odd = DlDevice { device_type: CPU, device_id: -1 };
        assert_eq!(
            LogicalMemorySpace::from_dlpack(odd),
            Some((LogicalMemorySpace::MainMemory, None))
        );
    }

    #[test]
    fn every_device_type_comes_back_as_it_was() {
        for device_type in (0..=40).chain([99, -1, i32::MAX]) {
            let device_id = if [1, 3, 11, 13].contains(&device_type) { 0 } else { 5 };
            let device = DlDevice { device_type, device_id };
            let (space, vendor) = LogicalMemorySpace::from_dlpack(device).unwrap();
            assert_eq!(space.dlpack(vendor.unwrap_or(DeviceVendor::Cuda)), device);
            let named = [2, 4, 7, 8, 9, 10, 12, 14, 15, 16, 17, 18].contains(&device_type);
            let unknown = matches!(vendor, Some(DeviceVendor::Other(_)));
            assert_eq!(named || device_id == 0, !unknown, "{device_type}");
        }
    }
}
