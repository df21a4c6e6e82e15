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
    /// Memory of one GPU.
    GpuMemory {
        /// Which GPU, counted as its vendor's driver counts.
        device_id: u32,
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
const CUDA: i32 = 2;
const CUDA_HOST: i32 = 3;
const ROCM: i32 = 10;
const ROCM_HOST: i32 = 11;
const CUDA_MANAGED: i32 = 13;

impl LogicalMemorySpace {
    /// The DLPack device of this space. The vendor decides between the codes for GPU and pinned
    /// memory; managed memory has one code only, CUDA's.
    pub fn dlpack(self, vendor: DeviceVendor) -> DlDevice {
        let (device_type, device_id) = match (self, vendor) {
            (LogicalMemorySpace::MainMemory, _) => (CPU, 0),
            (LogicalMemorySpace::PinnedMemory, DeviceVendor::Cuda) => (CUDA_HOST, 0),
            (LogicalMemorySpace::PinnedMemory, DeviceVendor::Rocm) => (ROCM_HOST, 0),
            (LogicalMemorySpace::GpuMemory { device_id }, DeviceVendor::Cuda) => (CUDA, device_id),
            (LogicalMemorySpace::GpuMemory { device_id }, DeviceVendor::Rocm) => (ROCM, device_id),
            (LogicalMemorySpace::ManagedMemory, _) => (CUDA_MANAGED, 0),
        };
        // Drivers count devices from zero; an id beyond i32 cannot come from one.
        DlDevice { device_type, device_id: i32::try_from(device_id).unwrap_or(i32::MAX) }
    }

    /// The space of a DLPack device, and whose it is where DLPack says so. `None` for devices
    /// that none of the spaces describes, and for negative ids.
    pub fn from_dlpack(device: DlDevice) -> Option<(LogicalMemorySpace, Option<DeviceVendor>)> {
        let device_id = u32::try_from(device.device_id).ok()?;
        let gpu = LogicalMemorySpace::GpuMemory { device_id };
        Some(match device.device_type {
            CPU => (LogicalMemorySpace::MainMemory, None),
            CUDA => (gpu, Some(DeviceVendor::Cuda)),
            CUDA_HOST => (LogicalMemorySpace::PinnedMemory, Some(DeviceVendor::Cuda)),
            ROCM => (gpu, Some(DeviceVendor::Rocm)),
            ROCM_HOST => (LogicalMemorySpace::PinnedMemory, Some(DeviceVendor::Rocm)),
            CUDA_MANAGED => (LogicalMemorySpace::ManagedMemory, Some(DeviceVendor::Cuda)),
            _ => return None,
        })
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
        let unknown = DlDevice { device_type: 99, device_id: 0 };
        assert_eq!(LogicalMemorySpace::from_dlpack(unknown), None);
        let negative = DlDevice { device_type: CUDA, device_id: -1 };
        assert_eq!(LogicalMemorySpace::from_dlpack(negative), None);
    }
}
