//! Memory that another library has on a device, by DLPack: copied by the device where it is open, and
//! copies that a consumer asks for.
#![cfg(linux_like)]
#![expect(unsafe_code, reason = "plays another library, which makes structures by hand")]

use common::{device, numbers, values};
use std::ffi::c_void;
use std::ptr::NonNull;
use tenure_gpu::testing::Settings;
use tenure_memory::TensorMemory::{Device, Managed, Mem, Pinned};
use tenure_memory::{DeviceFault, DeviceVendor, DlDevice, Error, LogicalMemorySpace};
use tenure_tensor::dlpack::ffi::DLManagedTensorVersioned;
use tenure_tensor::dlpack::{ExportRequest, Exported, Fault, Versioned};
use tenure_tensor::{Tensor, TensorDyn};

#[path = "common/devices.rs"]
mod common;

/// The same structure as if another library had made it: with a deleter that is not ours.
fn of_somebody_else(tensor: &Tensor<u16>) -> Versioned {
    unsafe extern "C" fn delete(pointer: *mut DLManagedTensorVersioned) {
        // SAFETY: made below, and deleted once.
        unsafe {
            let own = Box::from_raw(pointer);
            drop(Versioned::from_raw(own.manager_ctx.cast()));
        }
    }
    let lent = tensor.to_dlpack().unwrap().into_raw();
    // SAFETY: a structure that is whole; what it points to stays until it is deleted.
    unsafe {
        let mut copy = Box::new(std::ptr::read(lent.as_ptr()));
        copy.manager_ctx = lent.as_ptr().cast::<c_void>();
        copy.deleter = Some(delete);
        Versioned::from_raw(Box::into_raw(copy)).unwrap()
    }
}

fn numbered(id: u32, vendor: DeviceVendor) -> Settings {
    Settings { id, vendor, ..Settings::default() }
}

#[test]
fn an_open_device_copies_memory_of_another_library() {
    for (id, vendor) in [(40, DeviceVendor::Cuda), (41, DeviceVendor::Extension)] {
        let (_device, gpu) = device(numbered(id, vendor));
        let own = gpu.to(&numbers(&[20, 500]), Device).unwrap();
        let view = own.slice(0, 3..9).unwrap();
        let foreign = Tensor::<u16>::from_dlpack(of_somebody_else(&view)).unwrap();
        assert_ne!(foreign.buffer_identity(), own.buffer_identity());
        assert_eq!(foreign.space(), LogicalMemorySpace::GpuMemory { device_id: id as usize });
        let expected = values(&numbers(&[20, 500]).slice(0, 3..9).unwrap());
        // Here, there, and back, at once and later.
        assert_eq!(values(&foreign.to(Some(Mem)).unwrap()), expected);
        assert_eq!(values(&gpu.to(&foreign, Device).unwrap()), expected);
        assert_eq!(values(&foreign.permute(&[1, 0]).unwrap()).len(), expected.len());
        let (copy, fence) = gpu.to_later(&foreign, Pinned).unwrap();
        assert!(fence.wait(None).unwrap());
        assert_eq!(values(&copy), expected);
        foreign.copy_from(&numbers(&[6, 500])).unwrap();
        assert_eq!(values(&foreign), values(&numbers(&[6, 500])));
        foreign.fill(9).unwrap();
        assert_eq!(values(&foreign), [9; 3000]);
        // It is imported once, and let go of before its owner has it back.
        assert_eq!(gpu.imports().imported, 1);
        drop(foreign);
        assert_eq!(gpu.imports().imported, 0);
        assert_eq!(values(&view), [9; 3000]);
    }
}

#[test]
fn a_device_that_is_not_open_is_named_with_the_call_that_opens_it() {
    let here = numbers(&[4]);
    let mut lent = here.to_dlpack().unwrap().into_raw();
    // SAFETY: a structure of ours, which nobody else has.
    unsafe { lent.as_mut().dl_tensor.device.device_type.0 = 2 };
    // SAFETY: as above; what it says of its device is what is tested, and nobody follows it.
    let strange = of_device(unsafe { Versioned::from_raw(lent.as_ptr()) }.unwrap(), 77);
    let foreign = Tensor::<u16>::from_dlpack(strange).unwrap();
    assert!(foreign.map_read().is_err());
    for error in [foreign.to(Some(Mem)).unwrap_err(), here.copy_from(&foreign).unwrap_err()] {
        let words = error.to_string();
        assert!(words.contains("tenure::gpu::open(\"cuda:77\")"), "{words}");
        let tenure_tensor::Error::Memory(Error::NotOpen(closed)) = error else {
            panic!("{error:?}")
        };
        assert_eq!(closed.vendor, DeviceVendor::Cuda);
    }
}

/// A structure with another device, and a deleter that is not ours.
fn of_device(managed: Versioned, id: i32) -> Versioned {
    unsafe extern "C" fn delete(pointer: *mut DLManagedTensorVersioned) {
        // SAFETY: made below, and deleted once.
        unsafe {
            let own = Box::from_raw(pointer);
            drop(Versioned::from_raw(own.manager_ctx.cast()));
        }
    }
    let lent: NonNull<DLManagedTensorVersioned> = managed.into_raw();
    // SAFETY: as in `of_somebody_else`.
    unsafe {
        let mut copy = Box::new(std::ptr::read(lent.as_ptr()));
        copy.manager_ctx = lent.as_ptr().cast::<c_void>();
        copy.dl_tensor.device.device_id = id;
        copy.deleter = Some(delete);
        Versioned::from_raw(Box::into_raw(copy)).unwrap()
    }
}

fn asked(device: Option<DlDevice>, copy: Option<bool>) -> ExportRequest {
    ExportRequest::new().max_version(Some((1, 3))).device(device).copy(copy)
}

fn exported(tensor: &TensorDyn, request: &ExportRequest) -> TensorDyn {
    let Exported::Versioned(managed) = tensor.to_dlpack_for(request).unwrap() else {
        unreachable!("a version was asked for")
    };
    assert!(managed.is_copied());
    TensorDyn::from_dlpack(managed).unwrap()
}

#[test]
fn copies_that_a_consumer_asks_for_stay_on_the_device() {
    let (_device, gpu) = device(numbered(42, DeviceVendor::Cuda));
    for memory in [Device, Pinned, Managed] {
        let tensor = gpu.to(&numbers(&[100]), memory).unwrap().to_dyn();
        let copy = exported(&tensor, &asked(None, Some(true)));
        assert_eq!((copy.memory(), copy.space()), (memory, tensor.space()));
        assert_eq!(values(&copy.typed().unwrap()), values(&numbers(&[100])));
        assert_ne!(copy.buffer_identity(), tensor.buffer_identity());
    }
}

#[test]
fn a_tensor_of_the_cpu_goes_to_the_device_that_is_asked_for() {
    let (_device, gpu) = device(numbered(43, DeviceVendor::Cuda));
    let here = numbers(&[100]).to_dyn();
    let there = DlDevice { device_type: 2, device_id: 43 };
    let copy = exported(&here, &asked(Some(there), None));
    assert_eq!((copy.dlpack_device().unwrap(), copy.memory()), (there, Device));
    assert_eq!(values(&copy.typed().unwrap()), values(&numbers(&[100])));
    let fault = |device, copy| match here.to_dlpack_for(&asked(Some(device), copy)) {
        Err(tenure_tensor::Error::Dlpack(fault)) => fault,
        other => panic!("{other:?}"),
    };
    assert!(matches!(fault(there, Some(false)), Fault::CopyForbidden { .. }));
    let other = fault(DlDevice { device_id: 44, ..there }, None);
    assert!(matches!(other, Fault::Unreachable { .. }));
    assert!(other.to_string().contains("tenure::gpu::open"), "{other}");
    drop(gpu);
}

#[test]
fn a_copy_that_fails_on_its_way_says_why() {
    let (device, gpu) = device(numbered(45, DeviceVendor::Cuda));
    let there = gpu.to(&numbers(&[1000]), Device).unwrap();
    device.pause();
    let (_back, fence) = there.to_later(Some(Mem)).unwrap();
    device.lose();
    for _ in 0..2 {
        match fence.wait(None).unwrap_err() {
            Error::Device(device) => assert_eq!(device.fault, DeviceFault::Lost),
            other => panic!("{other:?}"),
        }
    }
}
