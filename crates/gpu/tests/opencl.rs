//! What is OpenCL's own: which memory is whose, what DLPack may say of it, and why there is none.
//!
//! `tests/gpu/test` gets the drivers: Intel's for processors, which `OCL_ICD_FILENAMES` names, and
//! in `TENURE_TEST_POCL` one that has no unified shared memory.
#![cfg(all(linux_like, feature = "opencl"))]

use std::time::Duration;

use common::{numbers, values};
use tenure_gpu::{Address, Device as _, FdKind, Missing, Task, Work, opencl};
use tenure_memory::TensorMemory::{Device, Managed, Mem, Pinned};
use tenure_memory::{LogicalMemorySpace, Request};
use tenure_tensor::{DlDevice, TensorDyn};

#[path = "../../memory/tests/common/child.rs"]
mod child;
#[path = "common/devices.rs"]
mod common;

#[test]
#[ignore = "needs a driver"]
fn every_memory_is_what_the_driver_calls_it() {
    let (device, gpu) = opencl::open_shared(0).unwrap();
    assert!(!device.context().is_null());
    for memory in [Device, Pinned, Managed] {
        for align in [1, 64, 4096, 64 << 10] {
            let request = Request::new(1000).unwrap().with_align(align).unwrap();
            let raw = gpu.allocator(memory).unwrap().allocate(&request).unwrap();
            let place = raw.device_place().unwrap();
            let first = device.address_of(place.block).unwrap();
            let address = Address(first.0.map_addr(|first| first.saturating_add(place.offset)));
            assert_eq!(address.0.addr().get() % align, 0, "{memory} {align}");
            assert_eq!(device.memory_at(address), Some(memory), "{align}");
        }
    }
    let mut here = 0u8;
    assert_eq!(device.memory_at(Address((&mut here).into())), None);
    assert_eq!(device.address_of(u64::MAX), None);
}

#[test]
#[ignore = "needs a driver"]
fn dlpack_says_nothing_that_is_not_so() {
    let gpu = opencl::open(0).unwrap();
    let source = numbers(&[4, 6]);
    let there = gpu.to(&source, Device).unwrap();
    assert_eq!(there.space(), LogicalMemorySpace::GpuMemory { device_id: 0 });
    assert_eq!(there.dlpack_device().unwrap(), DlDevice { device_type: 4, device_id: 0 });
    // It is OpenCL's, and no buffer of OpenCL, which is what that code promises.
    let error = there.to_dlpack().unwrap_err().to_string();
    assert!(error.contains("no address that other libraries could use"), "{error}");
    assert_eq!(values(&there), values(&source));
    // What the CPU reaches is lent as what it is for everybody: main memory.
    for memory in [Pinned, Managed] {
        let tensor = gpu.to(&source, memory).unwrap();
        let cpu = DlDevice { device_type: 1, device_id: 0 };
        assert_eq!(tensor.dlpack_device().unwrap(), cpu, "{memory}");
        let back = TensorDyn::from_dlpack(tensor.to_dlpack().unwrap()).unwrap();
        assert_eq!(back.buffer_identity(), tensor.buffer_identity());
    }
    let copy = gpu.to(&there, Mem).unwrap();
    assert_eq!(values(&copy), values(&source));
}

#[test]
#[ignore = "needs a driver"]
fn queues_work_side_by_side_each_in_its_order() {
    let device = opencl::OpenCl::open(0).unwrap();
    const BYTES: usize = 8 << 20;
    let queues = device.properties().queues;
    assert!(queues > 1);
    let mut works = vec![];
    for queue in 0..queues {
        let far = device.allocate(Device, BYTES).unwrap();
        let near = device.allocate(Pinned, BYTES).unwrap();
        // Each overwrites what the one before wrote: only the order makes the last one win.
        for round in 0..10u8 {
            let pattern = [round + queue as u8; 4];
            let fill = Task::Fill { to: (far.id, 0), bytes: BYTES, pattern };
            let copy = Task::Copy { to: (near.id, 0), from: (far.id, 0), bytes: BYTES };
            for task in [fill, copy] {
                // SAFETY: inside blocks that exist until the work was waited for.
                #[expect(unsafe_code, reason = "submits work to a device of its own")]
                let work = unsafe { device.submit(queue, &[task]) }.unwrap();
                works.push((work, near.host.unwrap(), queue));
            }
        }
    }
    for (work, near, queue) in works.iter().rev().step_by(20) {
        assert_eq!(work.queue, *queue);
        while !device.wait(*work, Some(Duration::from_millis(1))).unwrap() {}
        // SAFETY: the block's bytes, which no work uses any more.
        #[expect(unsafe_code, reason = "reads what the device wrote")]
        let bytes = unsafe { std::slice::from_raw_parts(near.0.as_ptr(), BYTES) };
        assert!(bytes.iter().all(|byte| usize::from(*byte) == 9 + queue), "{queue}");
        // What is done is done, however often it is asked.
        assert!(device.wait(*work, None).unwrap());
    }
    assert!(device.wait(Work { queue: queues, number: 1 }, None).is_err());
}

#[test]
#[ignore = "needs a driver"]
fn what_it_cannot_do_is_refused() {
    let device = opencl::OpenCl::open(0).unwrap();
    let task = Task::Copy { to: (77, 0), from: (78, 0), bytes: 1 };
    // SAFETY: refused, because there are no such blocks.
    #[expect(unsafe_code, reason = "submits what must be refused")]
    let error = unsafe { device.submit(0, &[task]) }.unwrap_err().to_string();
    assert!(error.contains("not this device's"), "{error}");
    assert!(device.allocate_shared(Device, 4096, FdKind::Opaque).is_err());
    let error = device.allocate(Device, usize::MAX).unwrap_err();
    assert!(matches!(error, tenure_memory::Error::OutOfMemory { .. }), "{error}");
    // And the device goes on.
    let block = device.allocate(Device, 4096).unwrap();
    let task = Task::Fill { to: (block.id, 0), bytes: 4096, pattern: [1; 4] };
    // SAFETY: inside a block that exists until the work was waited for.
    #[expect(unsafe_code, reason = "submits work to a device of its own")]
    let work = unsafe { device.submit(0, &[task]) }.unwrap();
    assert!(device.wait(work, None).unwrap());
}

/// Loaders read their environment once: a process for each.
#[test]
#[ignore = "needs a driver, and another without unified shared memory"]
fn drivers_that_are_missing_too_old_or_mixed() {
    const NAME: &str = "drivers_that_are_missing_too_old_or_mixed";
    let ask = || opencl::ask_loader("libOpenCL.so.1");
    match child::part().as_deref() {
        None => {}
        Some("none") => {
            let why = ask().unwrap_err();
            assert!(matches!(&why, Missing::NoDevice { .. }), "{why}");
            assert!(why.to_string().contains("no driver is installed"), "{why}");
            return;
        }
        Some("old") => {
            let why = ask().unwrap_err();
            assert!(matches!(&why, Missing::TooOld { .. }), "{why}");
            let (words, error) = (why.to_string(), opencl::open(0).unwrap_err().to_string());
            let needed = "needs a device with cl_intel_unified_shared_memory";
            for part in ["driver too old", needed, "Portable Computing Language"] {
                assert!(words.contains(part) && error.contains(part), "{words} {error}");
            }
            return;
        }
        Some(_) => {
            assert_eq!(ask().unwrap(), 1);
            let all = opencl::survey().unwrap();
            assert_eq!(all.len(), 2);
            for listed in all {
                let opened = opencl::open(listed.number);
                match &listed.unusable {
                    None => assert_eq!(&*opened.unwrap().properties().name, listed.name),
                    Some(why) => assert!(opened.unwrap_err().to_string().contains(why), "{why}"),
                }
            }
            return;
        }
    }
    let drivers = |name: &str| std::env::var(name).unwrap();
    let (intel, pocl) = (drivers("OCL_ICD_FILENAMES"), drivers("TENURE_TEST_POCL"));
    // What is installed besides is not looked at.
    let nothing = tempfile::tempdir().unwrap();
    for (part, names) in
        [("none", String::new()), ("old", pocl.clone()), ("mixed", format!("{pocl}:{intel}"))]
    {
        let mut command = child::command(NAME, part);
        command.env("OCL_ICD_VENDORS", nothing.path()).env("OCL_ICD_FILENAMES", names);
        child::succeeded(&command.output().unwrap());
    }
}
