//! tenferro's `LogicalMemorySpace` and its table of DLPack devices.

use tenure::memory::DlDevice;
use tenure::{DeviceVendor, LogicalMemorySpace, Tensor, TensorMemory};

const GPU: LogicalMemorySpace = LogicalMemorySpace::GpuMemory { device_id: 3 };

/// The variants, and that the device is a `usize`.
#[test]
fn variants() {
    let all = [
        LogicalMemorySpace::MainMemory,
        LogicalMemorySpace::PinnedMemory,
        LogicalMemorySpace::GpuMemory { device_id: usize::MAX },
        LogicalMemorySpace::ManagedMemory,
    ];
    for (index, space) in all.iter().enumerate() {
        assert!(!all[..index].contains(space));
    }
    // Copy, Eq and Hash: a key of maps.
    let map: std::collections::HashMap<LogicalMemorySpace, usize> =
        all.into_iter().zip(0..).collect();
    assert_eq!(map[&LogicalMemorySpace::ManagedMemory], 3);
}

/// kDLCPU 1, kDLCUDA 2, kDLCUDAHost 3, kDLROCM 10, kDLROCMHost 11, kDLCUDAManaged 13.
#[test]
fn dlpack_table() {
    use DeviceVendor::{Cuda, Rocm};
    use LogicalMemorySpace::{MainMemory, ManagedMemory, PinnedMemory};
    let rows = [
        (MainMemory, Cuda, 1, 0),
        (PinnedMemory, Cuda, 3, 0),
        (GPU, Cuda, 2, 3),
        (ManagedMemory, Cuda, 13, 0),
        (MainMemory, Rocm, 1, 0),
        (PinnedMemory, Rocm, 11, 0),
        (GPU, Rocm, 10, 3),
        (ManagedMemory, Rocm, 13, 0),
    ];
    for (space, vendor, device_type, device_id) in rows {
        let device = DlDevice { device_type, device_id };
        assert_eq!(space.dlpack(vendor), device, "{space:?} {vendor:?}");
        let (back, _) = LogicalMemorySpace::from_dlpack(device).unwrap();
        assert_eq!(back, space, "{device:?}");
    }
    // Others that DLPack names.
    let vendors = [
        (DeviceVendor::OpenCl, 4),
        (DeviceVendor::Vulkan, 7),
        (DeviceVendor::Metal, 8),
        (DeviceVendor::OneApi, 14),
        (DeviceVendor::WebGpu, 15),
        (DeviceVendor::Hexagon, 16),
    ];
    for (vendor, code) in vendors {
        assert_eq!(GPU.dlpack(vendor).device_type, code);
        let device = DlDevice { device_type: code, device_id: 3 };
        assert_eq!(LogicalMemorySpace::from_dlpack(device), Some((GPU, Some(vendor))));
    }
    let negative = DlDevice { device_type: 2, device_id: -1 };
    assert_eq!(LogicalMemorySpace::from_dlpack(negative), None);
}

/// A tensor tells its space; that of the heap and of shared memory is main memory.
#[test]
fn tensors_tell_their_space() {
    for memory in [TensorMemory::Mem, TensorMemory::Shm] {
        if let Ok(tensor) = Tensor::<u8>::new(&[4], Some(memory), None) {
            assert_eq!(tensor.space(), LogicalMemorySpace::MainMemory);
        }
    }
}
