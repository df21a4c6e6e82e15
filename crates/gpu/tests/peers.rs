//! Copies between two devices that reach each other: by the queue of one, through no staging memory.
#![cfg(linux_like)]

use std::time::Duration;

use common::{device, numbers, part, quick, values};
use tenure_gpu::Gpu;
use tenure_gpu::testing::Settings;
use tenure_memory::TensorMemory::{Device, Managed, Mem, Pinned};
use tenure_tensor::{Tensor, copy_all_later};

#[path = "common/devices.rs"]
mod common;

/// How often staging memory was asked for.
fn staged(gpu: &Gpu) -> u64 {
    gpu.staging().hits + gpu.staging().misses
}

fn empty(gpu: &Gpu, len: usize) -> Tensor<u16> {
    Tensor::<u16>::builder(&[len]).allocator(&*gpu.allocator(Device).unwrap()).build().unwrap()
}

fn busy(error: &tenure_tensor::Error) -> bool {
    matches!(error, tenure_tensor::Error::Memory(error) if error.is_busy())
}

#[test]
fn nothing_is_staged_between_peers() {
    let late = Settings { delay: Duration::from_millis(2), ..Settings::default() };
    let ((_first, here), (_second, there)) = (device(late.clone()), device(late));
    let source = here.to(&numbers(&[40, 500]), Device).unwrap();
    let before = staged(&here);
    let copy = there.to(&source, Device).unwrap();
    assert_eq!(copy.space(), source.space());
    // Back into part of it, by the queue of the other device, and in pieces.
    let rows = part(&source, &[5..10, 100..200]);
    rows.copy_from(&part(&copy, &[0..5, 0..100])).unwrap();
    for memory in [Pinned, Managed] {
        let pinned = there.to(&source, memory).unwrap();
        assert_eq!(values(&pinned)[0], 3, "{memory}");
        source.copy_from(&pinned).unwrap();
    }
    assert_eq!((staged(&here), staged(&there)), (before, 0));
    assert_eq!(values(&copy), values(&numbers(&[40, 500])));
    assert_eq!(values(&rows), values(&part(&copy, &[0..5, 0..100])));
    assert!(here.imports().peers > 0 && there.imports().peers > 0);
}

#[test]
fn devices_that_do_not_reach_each_other_stage() {
    let alone = Settings { peers: false, ..Settings::default() };
    let ((_first, here), (_second, there)) = (device(alone.clone()), device(alone));
    let source = here.to(&numbers(&[1000]), Device).unwrap();
    let before = staged(&here);
    let copy = there.to(&source, Device).unwrap();
    assert!(staged(&here) > before);
    assert_eq!(values(&copy), values(&source));
    assert_eq!((here.imports().peers, there.imports().peers), (0, 0));
    // One that reaches the other is enough, whichever way the bytes go.
    let (_third, able) = quick();
    let before = (staged(&here), staged(&able));
    let copy = able.to(&source, Device).unwrap();
    source.copy_from(&copy).unwrap();
    assert_eq!((staged(&here), staged(&able)), before);
    assert_eq!(values(&copy), values(&source));
}

#[test]
fn both_sides_are_held_until_the_peer_is_done() {
    let ((first, here), (second, there)) = (quick(), quick());
    let source = here.to(&numbers(&[1000]), Device).unwrap();
    let target = empty(&there, 1000);
    second.pause();
    let fence = target.copy_from_later(&source).unwrap();
    // The first device has nothing to do, and its queue is free; its bytes are not.
    assert!(busy(&source.copy_from(&numbers(&[1000])).unwrap_err()));
    assert!(busy(&target.copy_from(&numbers(&[1000])).unwrap_err()));
    assert!(busy(&here.to(&target, Device).unwrap_err()));
    assert_eq!(values(&source), values(&numbers(&[1000])));
    assert!(!fence.wait(Some(Duration::from_millis(5))).unwrap());
    first.pause();
    second.resume();
    assert!(fence.wait(None).unwrap());
    first.resume();
    assert_eq!(values(&target), values(&numbers(&[1000])));
    source.copy_from(&target).unwrap();
}

#[test]
fn what_one_device_still_writes_is_not_read_by_another() {
    let ((first, here), (_second, there)) = (quick(), quick());
    let source = empty(&here, 1000);
    let new = here.to(&numbers(&[1000]), Pinned).unwrap();
    first.pause();
    let written = source.copy_from_later(&new).unwrap();
    let error = there.to(&source, Device).unwrap_err();
    assert!(busy(&error), "{error}");
    first.resume();
    assert!(written.wait(None).unwrap());
    // New bytes, however late: the second queue began when the first was done.
    assert_eq!(values(&there.to(&source, Device).unwrap()), values(&numbers(&[1000])));
}

#[test]
fn batches_over_two_devices() {
    let ((first, here), (second, there)) = (quick(), quick());
    let source = here.to(&numbers(&[300]), Device).unwrap();
    let (far, own) = (empty(&there, 300), empty(&here, 300));
    let before = (staged(&here), staged(&there));
    first.pause();
    second.pause();
    let pairs = [(&far.to_dyn(), &source.to_dyn()), (&own.to_dyn(), &source.to_dyn())];
    let fences = copy_all_later(&pairs).unwrap();
    assert_eq!((fences.len(), staged(&here), staged(&there)), (2, before.0, before.1));
    first.resume();
    second.resume();
    assert!(fences.iter().all(|fence| fence.wait(None).unwrap()));
    assert_eq!(values(&far), values(&source));
    assert_eq!(values(&own), values(&source));
}

#[test]
fn a_block_is_imported_once_and_goes_with_its_device() {
    let ((first, here), (second, there)) = (quick(), quick());
    let (one, two) = (here.to(&numbers(&[100]), Device), here.to(&numbers(&[200]), Device));
    let (one, two) = (one.unwrap(), two.unwrap());
    // Two tensors of one block.
    let copies = [there.to(&one, Device).unwrap(), there.to(&two, Device).unwrap()];
    assert_eq!(there.imports().peers, 1);
    // One that is as large as to have a block of its own, which goes with it.
    let large = here.to(&numbers(&[6 << 20]), Device).unwrap();
    let copy = there.to(&large, Device).unwrap();
    assert_eq!(there.imports().peers, 2);
    let blocks = first.allocated().0;
    drop(large);
    assert_eq!((there.imports().peers, first.allocated().0), (1, blocks - 1));
    assert!(values(&copy) == values(&numbers(&[6 << 20])));
    // Whoever opened it may go, and then the device.
    drop((one, here));
    assert_eq!(values(&there.to(&two, Device).unwrap()), values(&numbers(&[200])));
    drop(two);
    assert_eq!((there.imports().peers, first.allocated()), (0, (0, 0)));
    assert_eq!(values(&copies[1]), values(&numbers(&[200])));
    // The other way round: who imported goes first.
    let (third, last) = quick();
    let kept = last.to(&copies[0], Device).unwrap();
    drop((copies, copy, there));
    assert_eq!(second.allocated(), (0, 0));
    assert_eq!((last.imports().peers, values(&kept)), (0, values(&numbers(&[100]))));
    drop((kept, last));
    assert_eq!(third.allocated(), (0, 0));
}

#[test]
fn many_threads_between_two_devices() {
    let ((_first, here), (_second, there)) = (quick(), quick());
    std::thread::scope(|scope| {
        for thread in 0..4u16 {
            let (here, there) = if thread % 2 == 0 { (&here, &there) } else { (&there, &here) };
            scope.spawn(move || {
                for round in 0..20 {
                    let source = empty(here, 500);
                    source.fill(thread * 100 + round).unwrap();
                    let copy = there.to(&source, Device).unwrap();
                    let (back, fence) = here.to_later(&copy, Device).unwrap();
                    fence.wait(None).unwrap();
                    assert!(values(&back).iter().all(|value| *value == thread * 100 + round));
                }
            });
        }
    });
}

#[test]
fn a_lost_peer_fails_the_copy_and_nothing_else() {
    let ((first, here), (_second, there)) = (quick(), quick());
    let source = here.to(&numbers(&[100]), Device).unwrap();
    let target = empty(&there, 100);
    target.copy_from(&source).unwrap();
    first.lose();
    let words = target.copy_from(&source).unwrap_err().to_string();
    assert!(words.contains("lost"), "{words}");
    assert!(target.copy_from_later(&source).is_err());
    // Nothing stays held, and the other device goes on.
    target.copy_from(&numbers(&[100])).unwrap();
    assert_eq!(values(&target.to(Some(Mem)).unwrap()), values(&numbers(&[100])));
}
