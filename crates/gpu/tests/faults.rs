//! What goes wrong with devices.
#![cfg(linux_like)]

use std::os::unix::process::ExitStatusExt;

use common::{device, numbers, quick, values};
use tenure_gpu::testing::{Settings, TestDevice};
use tenure_memory::TensorMemory::{Device, Managed, Mem, Pinned};
use tenure_memory::{Allocator, DeviceFault, Error, PoolLimits, Request};
use tenure_tensor::Tensor;

#[path = "../../memory/tests/common/child.rs"]
mod child;
#[path = "common/devices.rs"]
mod common;

fn fault<T>(result: tenure_tensor::Result<T>) -> DeviceFault {
    match result.map(drop).unwrap_err() {
        tenure_tensor::Error::Memory(Error::Device(device)) => device.fault,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_lost_device_is_an_error_and_nothing_hangs() {
    let (device, gpu) = quick();
    let there = gpu.to(&numbers(&[1000]), Device).unwrap();
    let pinned = gpu.to(&numbers(&[1000]), Pinned).unwrap();
    let back = Tensor::<u16>::new(&[1000], Some(Mem), None).unwrap();
    device.pause();
    let fence = back.copy_from_later(&there).unwrap();
    let direct = pinned.copy_from_later(&there).unwrap();
    device.lose();
    assert!(fence.wait(None).is_err());
    assert!(direct.wait(None).is_err());
    // What was held is free again, and memory that the CPU reaches is still there.
    assert_eq!(pinned.map().unwrap().as_slice()[1], 10);
    drop(back.map().unwrap());
    assert_eq!(fault(there.copy_from(&back)), DeviceFault::Lost);
    assert_eq!(fault(gpu.to(&back, Device)), DeviceFault::Lost);
    let words = there.copy_from(&back).unwrap_err().to_string();
    assert!(words.contains("test device 0") && words.contains("open it again"), "{words}");
    // Other memories and other devices go on.
    let (_other, other) = quick();
    assert_eq!(values(&other.to(&numbers(&[10]), Device).unwrap()), values(&numbers(&[10])));
    drop((there, pinned, gpu));
    assert_eq!(device.allocated(), (0, 0));
}

#[test]
fn a_full_device_refuses_and_leaks_nothing() {
    let (device, gpu) = device(Settings {
        device_bytes: 10 << 20,
        block_bytes: 4 << 20,
        delay: std::time::Duration::ZERO,
        ..Settings::default()
    });
    let allocator = gpu.allocator(Device).unwrap();
    let mut kept = vec![];
    let refused = loop {
        match allocator.allocate(&Request::new(1 << 20).unwrap()) {
            Ok(raw) => kept.push(raw),
            Err(error) => break error,
        }
        assert!(kept.len() <= 10);
    };
    // The last ones in blocks of their own: less than a whole block was left.
    assert!(kept.len() >= 8, "{}", kept.len());
    let Error::OutOfMemory(full) = &refused else { panic!("{refused}") };
    assert_eq!((full.memory, full.bytes), (Device, 1 << 20));
    assert!(full.available.unwrap() < 4 << 20, "{refused}");
    // Nothing else minds.
    gpu.to(&numbers(&[100_000]), Pinned).unwrap();
    let too_large = numbers(&[6 << 20]);
    assert!(gpu.to(&too_large, Device).is_err());
    assert_eq!(gpu.to(&too_large, Managed).unwrap().len(), 6 << 20);
    drop(kept);
    let whole = allocator.allocate(&Request::new(5 << 20).unwrap()).unwrap();
    drop((whole, allocator, gpu));
    assert_eq!(device.allocated(), (0, 0));
}

#[test]
fn blocks_are_divided_and_given_back() {
    let (device, gpu) = quick();
    let allocator = gpu.allocator(Device).unwrap();
    let request = |bytes| Request::new(bytes).unwrap();
    let parts: Vec<_> = (0..100).map(|_| allocator.allocate(&request(70_000)).unwrap()).collect();
    assert_eq!(device.allocated().0, 1);
    let mut places: Vec<_> = parts.iter().map(|raw| raw.device_place().unwrap()).collect();
    places.sort_by_key(|place| place.offset);
    assert!(places.windows(2).all(|two| two[0].offset + 70_000 <= two[1].offset));
    assert!(places.iter().all(|place| place.offset.is_multiple_of(256)));
    let aligned = request(100).with_align(2 << 20).unwrap();
    let aligned = allocator.allocate(&aligned).unwrap();
    assert!(aligned.device_place().unwrap().offset.is_multiple_of(2 << 20));
    let large = allocator.allocate(&request(100 << 20)).unwrap();
    assert_eq!(device.allocated().0, 2);
    drop(large);
    assert_eq!(device.allocated().0, 1);
    let report = gpu.heaps().into_iter().find(|heap| heap.memory == Device).unwrap();
    assert_eq!((report.blocks, report.allocations), (1, 101));
    drop((parts, aligned));
    let report = gpu.heaps().into_iter().find(|heap| heap.memory == Device).unwrap();
    assert_eq!((report.blocks, report.used, report.allocations), (1, 0, 0));
}

#[test]
fn a_pool_of_device_memory_keeps_identities() {
    let (_device, gpu) = quick();
    let pool = gpu.pool(Device, PoolLimits::default()).unwrap();
    let first = pool.allocate(&Request::new(5000).unwrap()).unwrap().identity().id();
    let again = pool.allocate(&Request::new(5000).unwrap()).unwrap();
    assert_eq!((again.identity().id(), pool.report().hits), (first, 1));
    let aligned = Request::new(5000).unwrap().with_align(1 << 20).unwrap();
    drop(pool.allocate(&aligned).unwrap());
    assert!(pool.allocate(&aligned).is_ok());
    assert_eq!(pool.report().hits, 2);
}

#[test]
fn memory_of_another_device_is_not_confused() {
    let ((_first, here), (_second, there)) = (quick(), quick());
    let (a, b) = (gpu_tensor(&here), gpu_tensor(&there));
    let places = [&a, &b].map(|tensor| tensor.buffer().raw().unwrap().device_place().unwrap());
    // The same block and the same byte of it, on two devices.
    assert_eq!(places[0].block, places[1].block);
    assert_ne!(places[0].device, places[1].device);
    a.fill(5).unwrap();
    assert_eq!(values(&b), [0; 10]);
    b.copy_from(&a).unwrap();
    assert_eq!(values(&b), [5; 10]);
}

fn gpu_tensor(gpu: &tenure_gpu::Gpu) -> Tensor<u16> {
    Tensor::<u16>::builder(&[10]).allocator(&*gpu.allocator(Device).unwrap()).build().unwrap()
}

#[test]
fn a_stray_dereference_faults() {
    const NAME: &str = "a_stray_dereference_faults";
    if child::part().is_some() {
        let (_device, gpu) = quick();
        let there = gpu.to(&numbers(&[10]), Device).unwrap();
        let address = there.buffer().raw().unwrap().device_address().unwrap();
        // SAFETY: none: that is what must not go well.
        #[expect(unsafe_code, reason = "the test is that this is impossible")]
        let value = unsafe { address.as_ptr().read_volatile() };
        panic!("read {value}");
    }
    let output = child::command(NAME, "dereference").output().unwrap();
    assert_eq!(output.status.signal(), Some(11), "{:?}", child::words(&output));
}

#[test]
fn a_forked_process_is_told() {
    const NAME: &str = "a_forked_process_is_told";
    child::alone(NAME, || {
        let (device, gpu) = quick();
        let there = gpu.to(&numbers(&[10]), Device).unwrap();
        let pinned = gpu.to(&numbers(&[10]), Pinned).unwrap();
        let main = numbers(&[10]);
        // A copy that goes on by itself, so that there is a thread that waits for copies.
        there.copy_from_later(&main).unwrap().wait(None).unwrap();
        // And a device that nobody opened, whose thread the child would have to wait for.
        let alone = TestDevice::new();
        let mut all = Some((device, gpu.clone(), there.clone(), pinned.clone(), alone));
        // SAFETY: the child touches only what a forked process may: memory, no locks that others
        // hold; this process has one other thread, the device's, which waits.
        #[expect(unsafe_code, reason = "forks")]
        let code = unsafe {
            fork(|| {
                let told = matches!(fault(there.copy_from(&main)), DeviceFault::Forked { .. });
                let told =
                    told && matches!(fault(gpu.to(&main, Device)), DeviceFault::Forked { .. });
                drop((there.clone(), gpu.clone()));
                // Drivers do not leave their memory to children: it is not handed out to fault.
                let pinned = matches!(fault(pinned.map_read()), DeviceFault::Forked { .. });
                i32::from(!(told && pinned))
            })
        };
        assert_eq!(code, 0);
        // SAFETY: the same. There is nobody left but those that go here.
        #[expect(unsafe_code, reason = "forks")]
        let code = unsafe {
            drop((gpu, there, pinned));
            fork(|| {
                drop(all.take());
                0
            })
        };
        assert_eq!(code, 0);
        let (_device, _, there, pinned, _) = all.unwrap();
        assert_eq!(values(&there), values(&main));
        assert_eq!(pinned.map_read().unwrap().as_slice()[1], 10);
    });
}

/// The exit code of a child that does `work`.
///
/// # Safety
/// `work` may do only what is safe after a fork of this process.
#[expect(unsafe_code, reason = "forks")]
unsafe fn fork(work: impl FnOnce() -> i32) -> i32 {
    // SAFETY: by the caller's promise.
    match unsafe { libc::fork() } {
        0 => {
            let code = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or(99);
            // SAFETY: ends this process without running anybody's destructors.
            unsafe { libc::_exit(code) }
        }
        child => {
            let mut status = 0;
            // SAFETY: a child of this process and a place for its status.
            unsafe { libc::waitpid(child, &mut status, 0) };
            libc::WEXITSTATUS(status)
        }
    }
}
