//! Copies that go on by themselves: who holds what until when.
#![cfg(linux_like)]

use std::time::Duration;

use common::{device, numbers, part, quick, values};
use tenure_gpu::testing::Settings;
use tenure_memory::TensorMemory::{Device, Managed, Mem, Pinned, Shm};
use tenure_tensor::{DynTensor, Tensor, copy_all, copy_all_later};

#[path = "common/devices.rs"]
mod common;

#[test]
fn both_sides_are_held_until_the_fence_is_done() {
    let (device, gpu) = quick();
    for memory in [Mem, Shm, Pinned, Managed] {
        let here = gpu.to(&numbers(&[1000]), memory).unwrap();
        let there = Tensor::<u16>::builder(&[1000])
            .allocator(&*gpu.allocator(Device).unwrap())
            .build()
            .unwrap();
        device.pause();
        let fence = there.copy_from_later(&here).unwrap();
        assert!(!fence.is_done().unwrap());
        // Reading what is read is allowed, writing it is not; the destination is nobody's.
        assert!(here.map_read().is_ok());
        let busy = |error: tenure_tensor::Error| matches!(error, tenure_tensor::Error::Memory(error) if error.is_busy());
        assert!(busy(here.map().unwrap_err()), "{memory}");
        assert!(busy(there.copy_from(&numbers(&[1000])).unwrap_err()));
        assert!(busy(numbers(&[1000]).copy_from(&there).unwrap_err()));
        assert!(!fence.wait(Some(Duration::from_millis(5))).unwrap());
        device.resume();
        assert!(fence.wait(None).unwrap());
        drop(here.map().unwrap());
        assert_eq!(values(&there), values(&numbers(&[1000])));
    }
}

#[test]
fn whoever_does_not_wait_gets_old_bytes() {
    let (device, gpu) = quick();
    let there = gpu.to(&numbers(&[64]), Device).unwrap();
    let back =
        Tensor::<u16>::builder(&[64]).allocator(&*gpu.allocator(Pinned).unwrap()).build().unwrap();
    // Past the ledger, as somebody could who does not ask it.
    // SAFETY: pinned memory of the test device is mapped while `back` exists; the device may
    // write meanwhile, which volatile reads of single elements survive.
    #[expect(unsafe_code, reason = "looks at bytes that the ledger keeps from it")]
    let look = || unsafe { back.buffer().as_ptr().unwrap().cast::<u16>().read_volatile() };
    device.pause();
    let fence = back.copy_from_later(&there).unwrap();
    assert_eq!(look(), 0);
    device.resume();
    fence.wait(None).unwrap();
    assert_eq!(look(), 3);
}

#[test]
fn tensors_may_go_before_their_copy_is_done() {
    let (device, gpu) = quick();
    let here = gpu.to(&numbers(&[50_000]), Pinned).unwrap();
    let there = Tensor::<u16>::builder(&[50_000])
        .allocator(&*gpu.allocator(Device).unwrap())
        .build()
        .unwrap();
    let view = there.clone();
    device.pause();
    let fence = there.copy_from_later(&here).unwrap();
    let weak = here.buffer_identity().weak();
    drop((here, there, gpu));
    assert!(weak.upgrade().is_some());
    device.resume();
    fence.wait(None).unwrap();
    assert_eq!(values(&view), values(&numbers(&[50_000])));
    drop(view);
    // The last tensor was the last user.
    for _ in 0..1000 {
        if device.allocated() == (0, 0) {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("{:?}", device.allocated());
}

#[test]
fn overlapping_copies_are_refused_and_others_go_together() {
    let (device, gpu) = quick();
    let all = gpu.to(&numbers(&[4, 100]), Device).unwrap();
    let row = |n| part(&all, &[n..n + 1, 0..100]);
    device.pause();
    let first = row(0).copy_from_later(&row(1)).unwrap();
    // One side of each is in use; rows that nobody uses are free.
    for (to, from) in [(1, 2), (0, 2), (2, 0)] {
        let error = row(to).copy_from_later(&row(from)).unwrap_err();
        assert!(error.to_string().contains("held for"), "{error}");
    }
    let second = row(3).copy_from_later(&row(2)).unwrap();
    // Two may read one row.
    let other = Tensor::<u16>::new(&[1, 100], Some(Mem), None).unwrap();
    let third = other.copy_from_later(&row(1)).unwrap();
    device.resume();
    assert!([first, second, third].iter().all(|fence| fence.wait(None).unwrap()));
    let (now, then) = (values(&all), values(&numbers(&[4, 100])));
    assert_eq!(now[..100], then[100..200]);
    assert_eq!(now[300..], then[200..300]);
    // Bytes onto themselves, and a source that is a destination too.
    assert!(row(0).copy_from(&row(0)).is_err());
}

#[test]
fn batches_are_one_piece_of_work() {
    let (device, gpu) = quick();
    let sources: Vec<_> = (1..9).map(|n| numbers(&[n * 100]).to_dyn()).collect();
    let make = |source: &tenure_tensor::TensorDyn| {
        let allocator = gpu.allocator(Device).unwrap();
        tenure_tensor::TensorDyn::builder(source.shape(), source.dtype())
            .allocator(&*allocator)
            .build()
            .unwrap()
    };
    let there: Vec<_> = sources.iter().map(make).collect();
    let pairs: Vec<_> = there.iter().zip(&sources).collect();
    device.pause();
    let fences = copy_all_later(&pairs).unwrap();
    assert_eq!(fences.len(), 1);
    assert!(there.iter().all(|tensor| tensor.buffer().raw().unwrap().held() == 1));
    device.resume();
    fences[0].wait(None).unwrap();
    let back: Vec<_> = sources
        .iter()
        .map(|one| {
            tenure_tensor::TensorDyn::new(one.shape(), one.dtype(), Some(Mem), None).unwrap()
        })
        .collect();
    copy_all(&back.iter().zip(&there).collect::<Vec<_>>()).unwrap();
    for (back, source) in back.iter().zip(&sources) {
        assert_eq!(values(&back.typed().unwrap()), values(&source.typed().unwrap()));
    }
    // One tensor twice in a batch, once to be written: refused, and nothing stays held.
    assert!(copy_all(&[(&there[0], &sources[0]), (&sources[0], &there[0])]).is_err());
    assert_eq!(there[0].buffer().raw().unwrap().held(), 0);
}

#[test]
fn delayed_work_is_in_order() {
    let (_device, gpu) =
        device(Settings { delay: Duration::from_millis(5), ..Settings::default() });
    let there =
        Tensor::<u16>::builder(&[10]).allocator(&*gpu.allocator(Device).unwrap()).build().unwrap();
    for n in 0..5 {
        there.fill(n).unwrap();
        let (copy, fence) = gpu.to_later(&there, Device).unwrap();
        fence.wait(None).unwrap();
        assert_eq!(values(&copy), [n; 10]);
    }
}
