//! DMA-BUFs where the device reaches them: imported, not copied. Needs DMA-BUF and a Vulkan driver
//! that imports it: `tests/vm/test` has both.
#![cfg(all(linux_like, feature = "vulkan"))]

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use common::{numbers, values};
use tenure_camera::{Camera, FourCc, FrameMemory, Wanted, cameras};
use tenure_gpu::vulkan::Vulkan;
use tenure_gpu::{Device as _, FdKind, Gpu};
use tenure_memory::Access::{KernelRead, KernelWrite};
use tenure_memory::TensorMemory::{Device, Dma};
use tenure_memory::kind::allocator;
use tenure_memory::{Buffer, CpuAccess, Protection, Request, import};
use tenure_tensor::{DType, Layout, PixelFormat, Tensor};

#[path = "common/devices.rs"]
mod common;

#[test]
#[ignore = "needs DMA-BUF, and a driver that imports it"]
fn a_dma_buf_is_imported_once_and_not_copied() {
    let named = std::env::var("TENURE_TEST_DEVICE").ok();
    let gpu = tenure_gpu::open(named.as_deref().unwrap_or("vulkan:0")).unwrap();
    let frame = numbers(&[300, 1000]).to(Some(Dma)).unwrap();
    let there = gpu.to(&frame, Device).unwrap();
    if named.is_some() && !gpu.properties().imports_dma {
        // Whichever device was named: one that does not import them copies them all the same.
        assert_eq!(gpu.imports().imported, 0);
        assert_eq!(values(&there), values(&numbers(&[300, 1000])));
        return;
    }
    assert!(gpu.properties().imports_dma, "{:?}", gpu.properties());
    // Nothing went through staging memory, and the second time nothing is imported.
    let (imports, staging) = (gpu.imports(), gpu.staging());
    assert_eq!((imports.imported, imports.refused, staging.misses), (1, 0, 0), "{imports:?}");
    assert_eq!(imports.hits, 0);
    frame.fill(0).unwrap();
    frame.copy_from(&there).unwrap();
    assert_eq!(values(&frame), values(&numbers(&[300, 1000])));
    for value in 0..5 {
        there.fill(value).unwrap();
        frame.copy_from(&there).unwrap();
        assert!(frame.map_read().unwrap().as_slice().iter().all(|own| *own == value));
    }
    // Six copies, six times known.
    assert_eq!(gpu.imports(), tenure_gpu::ImportReport { hits: 6, ..imports });
    assert_eq!(gpu.staging().misses, 0);
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
fn a_dma_buf_without_an_address_is_copied_by_the_device() {
    let gpu = tenure_gpu::vulkan::open(0).unwrap();
    let request = Request::new(6000).unwrap().with_cpu(CpuAccess::None);
    let raw = allocator(Dma).unwrap().allocate(&request).unwrap();
    let layout = Layout::contiguous(DType::U16, &[3000]).unwrap();
    let frame = Tensor::<u16>::from_buffer(Buffer::from_raw(raw), layout).unwrap();
    assert!(frame.map_read().is_err());
    let there = gpu.to(&numbers(&[3000]), Device).unwrap();
    frame.copy_from(&there).unwrap();
    there.fill(0).unwrap();
    there.copy_from(&frame).unwrap();
    assert_eq!(values(&there), values(&numbers(&[3000])));
    assert_eq!((gpu.imports().imported, gpu.staging().misses), (1, 0));
}

#[test]
#[ignore = "needs DMA-BUF, and a driver that imports it"]
fn descriptors_that_are_no_memory_are_refused() {
    use std::os::fd::AsFd;
    let device = Vulkan::open(0).unwrap();
    let (reader, _writer) = rustix::pipe::pipe().unwrap();
    // SAFETY: DMA-BUFs are looked at.
    #[expect(unsafe_code, reason = "what is refused is what is tested")]
    let error = unsafe { device.import_fd(reader.as_fd(), FdKind::DmaBuf, 4096) }.unwrap_err();
    assert!(error.to_string().contains("size of a DMA-BUF"), "{error}");
    // Drivers in software take memory files too. Nothing is longer than it is.
    let file = rustix::fs::memfd_create("short", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
    rustix::fs::ftruncate(&file, 4096).unwrap();
    // SAFETY: as above.
    #[expect(unsafe_code, reason = "what is refused is what is tested")]
    let refused = unsafe { device.import_fd(file.as_fd(), FdKind::DmaBuf, 8192) };
    assert!(refused.is_err());
}

/// A camera with the planes of a picture in one buffer.
fn camera() -> Camera {
    let found = cameras().into_iter().filter(|found| found.capture.is_ok());
    let mut open = found.filter_map(|found| Camera::open(&found.path).ok());
    let several = |camera: &Camera| {
        let formats = camera.formats().unwrap();
        formats.iter().any(|format| format.fourcc == FourCc::new(b"NM12"))
    };
    open.find(|camera| !several(camera)).unwrap()
}

#[test]
#[ignore = "needs a camera, and a driver that imports DMA-BUF"]
fn a_frame_of_a_camera_is_a_vulkan_buffer() {
    let device = Arc::new(Vulkan::open(0).unwrap());
    let gpu = Gpu::over_shared(Arc::clone(&device) as _).unwrap();
    let mut camera = camera();
    let wanted = Wanted::pixels(PixelFormat::Nv12).size(320, 180).memory(FrameMemory::Exported);
    camera.negotiate(&wanted).unwrap();
    let mut stream = camera.stream().unwrap();
    let (mut slots, mut blocks) = (HashSet::new(), HashSet::new());
    for _ in 0..12 {
        let frame = stream.next(Duration::from_secs(20)).unwrap().unwrap();
        assert_eq!(frame.memory(), Dma);
        let reached = gpu.reach(frame.buffer(), KernelRead).unwrap();
        assert!(device.buffer_of(reached.place().block).is_some());
        assert_eq!(reached.len(), frame.buffer().len());
        slots.insert(frame.slot());
        blocks.insert(reached.place().block);
        // Nobody writes what the device reads; what it reads is the picture.
        assert!(gpu.reach(frame.buffer(), KernelWrite).is_err());
        drop(reached);
        let there = gpu.to(&frame, Device).unwrap();
        let mut flats = [vec![0; frame.flat_bytes()], vec![0; frame.flat_bytes()]];
        frame.copy_to_flat(&mut flats[0]).unwrap();
        there.copy_to_flat(&mut flats[1]).unwrap();
        assert!(flats[0] == flats[1] && flats[0].iter().any(|byte| *byte != flats[0][0]));
    }
    // Imported once for each of the camera's buffers, found again for every other frame, and
    // staged never.
    let imports = gpu.imports();
    assert_eq!((imports.imported, imports.refused), (slots.len(), 0));
    assert_eq!((blocks.len(), gpu.staging().misses), (slots.len(), 0));
    assert!(imports.hits >= 24 - slots.len() as u64, "{imports:?}");
}

#[test]
#[ignore = "needs DMA-BUF, and a driver that imports it"]
fn memory_of_the_device_is_a_dma_buf() {
    let gpu = tenure_gpu::vulkan::open(0).unwrap();
    let there =
        Tensor::<u16>::builder(&[3000]).allocator(&*gpu.shareable_dma().unwrap()).build().unwrap();
    there.copy_from(&numbers(&[3000])).unwrap();
    let exported = gpu.export(&there).unwrap();
    let here = import(&exported.fd, exported.bytes, Protection::Writable, None).unwrap();
    assert_eq!(here.memory(), Dma);
    let layout = Layout::contiguous(DType::U16, &[3000]).unwrap();
    let here = Tensor::<u16>::from_buffer(here, layout).unwrap();
    assert_eq!(values(&here), values(&numbers(&[3000])));
    // The same bytes, both ways.
    here.fill(9).unwrap();
    assert_eq!(values(&there), [9; 3000]);
    there.fill(4).unwrap();
    assert_eq!(values(&here), [4; 3000]);
}
