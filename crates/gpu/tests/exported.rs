//! Memory of a device that others can map: one ledger, whichever way this process reaches it. Those who
//! have no DMA-BUF have a test device, which exports memory files.
#![cfg(linux_like)]

use common::{device, numbers, quick, values};
use tenure_gpu::testing::Settings;
use tenure_memory::TensorMemory::Shm;
use tenure_memory::{Buffer, Protection, import};
use tenure_tensor::{DType, Layout, Tensor};

#[path = "common/devices.rs"]
mod common;

fn tensor(buffer: Buffer, count: usize) -> Tensor<u16> {
    Tensor::from_buffer(buffer, Layout::contiguous(DType::U16, &[count]).unwrap()).unwrap()
}

#[test]
fn what_is_imported_again_answers_to_the_same_ledger() {
    let (device, gpu) = quick();
    let there =
        Tensor::<u16>::builder(&[3000]).allocator(&*gpu.shareable_dma().unwrap()).build().unwrap();
    there.copy_from(&numbers(&[3000])).unwrap();
    let exported = gpu.export(&there).unwrap();
    let here = import(&exported.fd, exported.bytes, Protection::Writable, None).unwrap();
    assert_eq!(here.memory(), Shm);
    let here = tensor(here, 3000);
    assert_eq!(values(&here), values(&numbers(&[3000])));
    assert_eq!(here.buffer_identity(), there.buffer_identity());
    // Whoever has a guard here keeps the device away, and the other way round.
    let writing = here.map().unwrap();
    assert!(there.copy_from(&numbers(&[3000])).unwrap_err().to_string().contains("held for"));
    assert!(there.slice(0, 10..20).unwrap().fill(1).is_err());
    drop(writing);
    device.pause();
    let fence = there.copy_from_later(&numbers(&[3000])).unwrap();
    assert!(here.map_read().is_err() && here.map().is_err());
    device.resume();
    assert!(fence.wait(None).unwrap());
    here.map().unwrap().as_mut_slice()[1] = 77;
    assert_eq!(values(&there)[1], 77);
    // Bytes onto themselves.
    assert!(there.copy_from(&here).is_err());
    // The other way round: the mapping outlives the tensor, and the tensor the mapping.
    drop(there);
    assert_eq!(here.map_read().unwrap().as_slice()[1], 77);
}

#[test]
fn devices_that_export_nothing_say_so() {
    let (_device, gpu) = device(Settings { exports: false, ..Settings::default() });
    assert!(gpu.shareable_dma().is_err() && gpu.shareable().is_err());
    let there = gpu.to(&numbers(&[10]), tenure_memory::TensorMemory::Device).unwrap();
    assert!(gpu.export(&there).is_err());
}

#[test]
fn descriptors_shorter_than_was_said_are_refused() {
    use std::os::fd::AsFd;
    use tenure_gpu::{Device as _, FdKind};
    let (device, _gpu) = quick();
    let file = rustix::fs::memfd_create("short", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
    rustix::fs::ftruncate(&file, 4096).unwrap();
    let (reader, _writer) = rustix::pipe::pipe().unwrap();
    // SAFETY: descriptors of this kind are looked at.
    #[expect(unsafe_code, reason = "what is refused is what is tested")]
    let import = |fd, bytes| unsafe { device.import_fd(fd, FdKind::DmaBuf, bytes) };
    assert!(import(file.as_fd(), 4096).is_ok());
    let words = import(file.as_fd(), 4097).unwrap_err().to_string();
    assert!(words.contains("4097") && words.contains("4096"), "{words}");
    assert!(import(reader.as_fd(), 10).is_err());
}
