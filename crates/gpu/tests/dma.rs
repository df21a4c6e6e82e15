//! DMA-BUFs where the device reaches them: imported, not copied. Needs DMA-BUF and a Vulkan driver
//! that imports it: `tests/vm/test` has both.
#![cfg(all(linux_like, feature = "vulkan"))]

use common::{numbers, values};
use tenure_gpu::vulkan;
use tenure_memory::TensorMemory::{Device, Dma};
use tenure_tensor::Tensor;

#[path = "common/devices.rs"]
mod common;

#[test]
#[ignore = "needs DMA-BUF, and a driver that imports it"]
fn a_dma_buf_is_imported_once_and_not_copied() {
    let gpu = vulkan::open(0).unwrap();
    assert!(gpu.properties().imports_dma, "{:?}", gpu.properties());
    let frame = numbers(&[300, 1000]).to(Some(Dma)).unwrap();
    let there = gpu.to(&frame, Device).unwrap();
    // Nothing went through staging memory, and the second time nothing is imported.
    let (imports, staging) = (gpu.imports(), gpu.staging());
    assert_eq!((imports.imported, imports.refused, staging.misses), (1, 0, 0), "{imports:?}");
    frame.fill(0).unwrap();
    frame.copy_from(&there).unwrap();
    assert_eq!(values(&frame), values(&numbers(&[300, 1000])));
    for value in 0..5 {
        there.fill(value).unwrap();
        frame.copy_from(&there).unwrap();
        assert!(frame.map_read().unwrap().as_slice().iter().all(|own| *own == value));
    }
    assert_eq!((gpu.imports(), gpu.staging().misses), (imports, 0));
    // Small ones too: they cost no more.
    let small = Tensor::<u16>::new(&[10], Some(Dma), None).unwrap();
    small.copy_from(&gpu.to(&numbers(&[10]), Device).unwrap()).unwrap();
    assert_eq!(values(&small), values(&numbers(&[10])));
    assert_eq!(gpu.imports().imported, 2);
    // A view of the frame is the same allocation.
    let part = frame.slice(0, 10..20).unwrap();
    gpu.to(&part, Device).unwrap();
    assert_eq!(gpu.imports().imported, 2);
}

#[test]
#[ignore = "needs DMA-BUF, and a driver that imports it"]
fn descriptors_that_are_no_memory_are_refused() {
    use std::os::fd::AsFd;
    use tenure_gpu::{Device as _, FdKind, vulkan::Vulkan};
    let device = Vulkan::open(0).unwrap();
    let (reader, _writer) = rustix::pipe::pipe().unwrap();
    let error = device.import_fd(reader.as_fd(), FdKind::DmaBuf, 4096).unwrap_err();
    assert!(error.to_string().contains("importing a descriptor"), "{error}");
}
