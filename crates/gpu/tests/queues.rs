//! Several queues: copies on one go on while another is stopped, and the ledger keeps them apart.
#![cfg(all(linux_like, feature = "plan"))]

use std::time::Duration;

use common::{device, numbers, quick, values};
use tenure_gpu::testing::Settings;
use tenure_memory::TensorMemory::{Device, Mem, Pinned};
use tenure_memory::{Buffer, Request};
use tenure_plan::{BufferSpec, Lane, Options, Packer, PlannerMode, Schedule, Step, plan};
use tenure_tensor::realize::realize_in;
use tenure_tensor::{Tensor, copy_all_later};

#[path = "common/devices.rs"]
mod common;

#[test]
fn a_queue_that_stands_still_holds_nobody_up() {
    let (device, gpu) = quick();
    let copies = gpu.on_queue(1).unwrap();
    assert_eq!((gpu.queue(), copies.queue(), copies.number()), (0, 1, gpu.number()));
    let here = numbers(&[1000]);
    let (first, second) = (gpu.to(&here, Device).unwrap(), copies.to(&here, Device).unwrap());
    device.pause_queue(0);
    let stopped = first.copy_from_later(&gpu.to_later(&here, Pinned).unwrap().0).unwrap();
    // Staged and direct copies of the other queue are done meanwhile.
    second.copy_from(&numbers(&[1000])).unwrap();
    let pinned = copies.to(&second, Pinned).unwrap();
    assert_eq!(*pinned.map_read().unwrap().as_slice(), *here.map_read().unwrap().as_slice());
    assert_eq!(values(&second), values(&here));
    assert!(!stopped.is_done().unwrap());
    // What the stopped queue writes is its own until it goes on, whichever queue asks.
    let words = second.copy_from(&first).unwrap_err().to_string();
    assert!(words.contains("held for"), "{words}");
    device.resume();
    assert!(stopped.wait(None).unwrap());
    second.copy_from(&first).unwrap();
    assert_eq!(values(&second), values(&here));
}

#[test]
fn queues_that_are_not_there_are_refused() {
    let (_device, gpu) = device(Settings { queues: 1, ..Settings::default() });
    let words = gpu.on_queue(1).unwrap_err().to_string();
    assert!(words.contains("1 queues") && words.contains("none is 1"), "{words}");
    // With one queue for everything, copies are on it.
    assert_eq!((gpu.for_copies().queue(), gpu.for_downloads().queue()), (0, 0));
    let (_device, gpu) = device(Settings { queues: 3, ..Settings::default() });
    assert_eq!((gpu.for_copies().queue(), gpu.for_downloads().queue()), (1, 2));
    assert_eq!(gpu.properties().queues, 3);
    // All queues have one heap, and a handle may be dropped before its memory.
    let there = gpu.on_queue(2).unwrap().to(&numbers(&[10]), Device).unwrap();
    assert_eq!(values(&gpu.to(&there, Device).unwrap()), values(&numbers(&[10])));
    assert_eq!(gpu.heaps().iter().find(|heap| heap.memory == Device).unwrap().blocks, 1);
}

#[test]
fn a_lost_device_ends_the_work_of_all_queues() {
    let (device, gpu) = quick();
    device.pause();
    let make = |queue| {
        let gpu = gpu.on_queue(queue).unwrap();
        let pinned = Tensor::<u16>::builder(&[64])
            .allocator(&*gpu.allocator(Pinned).unwrap())
            .build()
            .unwrap();
        (pinned.clone(), gpu.to_later(&pinned, Pinned))
    };
    // Pinned memory is copied by the processor, at once.
    assert!([0, 1].into_iter().all(|queue| make(queue).1.unwrap().1.is_done().unwrap()));
    device.resume();
    let there: Vec<_> = [0, 1]
        .map(|queue| gpu.on_queue(queue).unwrap().to(&numbers(&[64]), Device).unwrap())
        .into();
    device.pause();
    let back: Vec<_> = there.iter().map(|one| one.to_later(Some(Mem)).unwrap()).collect();
    device.lose();
    assert!(back.iter().all(|(_, fence)| fence.wait(None).is_err()));
    assert!(back.iter().all(|(tensor, _)| tensor.map().is_ok()));
}

/// Two buffers that a copy lane fills while the compute lane works on others.
fn two_lanes() -> Schedule {
    let step = |name: &str, from, to, lane| Step { lane, ..Step::new(name, [from], [to]) };
    Schedule {
        buffers: vec![
            BufferSpec { input: true, ..BufferSpec::new("in", 4096) },
            BufferSpec::new("arrived", 8192),
            BufferSpec::new("a", 8192),
            BufferSpec::new("b", 8192),
            BufferSpec { output: true, ..BufferSpec::new("out", 4096) },
        ],
        steps: vec![
            step("upload", 0, 1, Lane::Copy),
            step("1", 1, 2, Lane::Compute),
            step("2", 2, 3, Lane::Compute),
            step("3", 3, 4, Lane::Compute),
        ],
    }
}

#[test]
fn arenas_of_the_copy_lane_are_copied_on_a_copy_queue() {
    let (device, gpu) = quick();
    let schedule = two_lanes();
    let plan = plan(&schedule, PlannerMode::Arena, Packer::Best, &Options::default()).unwrap();
    let lanes = gpu.lanes(Device).unwrap();
    let request = |spec: &BufferSpec| Request::new(spec.bytes as usize).unwrap();
    let buffers: Vec<Buffer> = schedule
        .buffers
        .iter()
        .map(|spec| Buffer::lazy_in(lanes.compute(), &request(spec)))
        .collect();
    let arenas = realize_in(&schedule, &plan, &buffers, |arena| Ok(lanes.of(arena))).unwrap();
    assert_eq!(arenas.len(), plan.arenas.len());
    let tensor = |n: usize| {
        let layout =
            tenure_tensor::Layout::contiguous(tenure_tensor::DType::U16, &[buffers[n].len() / 2]);
        Tensor::<u16>::from_buffer(buffers[n].clone(), layout.unwrap()).unwrap()
    };
    let (arrived, work) = (tensor(1), tensor(2));
    // The compute queue stands still, and the upload of the next frame is done all the same.
    device.pause_queue(0);
    let busy = work.copy_from_later(&numbers(&[4096])).unwrap();
    arrived.copy_from(&numbers(&[4096])).unwrap();
    assert_eq!(values(&arrived), values(&numbers(&[4096])));
    assert!(!busy.wait(Some(Duration::from_millis(5))).unwrap());
    device.resume();
    assert!(busy.wait(None).unwrap());
    assert_eq!(values(&work), values(&numbers(&[4096])));
}

#[test]
fn new_memory_is_zeroed_by_the_queue_of_its_handle() {
    let (device, gpu) = quick();
    // A block is there, so that nothing but the zeros is waited for.
    let _block = gpu.to(&numbers(&[10]), Device).unwrap();
    device.pause_queue(0);
    let copies = gpu.for_copies().allocator(Device).unwrap();
    let tensor = Tensor::<u16>::builder(&[1000]).allocator(&*copies).build().unwrap();
    assert_eq!(values(&tensor), [0; 1000]);
    device.resume();
}

#[test]
fn batches_keep_the_queues_of_their_tensors() {
    let (device, gpu) = quick();
    let make = |gpu: &tenure_gpu::Gpu| gpu.to(&numbers(&[100]), Device).unwrap().to_dyn();
    let (first, second) = (make(&gpu), make(&gpu.for_copies()));
    let sources = [numbers(&[100]).to_dyn(), numbers(&[100]).to_dyn()];
    device.pause_queue(0);
    let fences = copy_all_later(&[(&first, &sources[0]), (&second, &sources[1])]).unwrap();
    assert_eq!(fences.len(), 2);
    // The one that stands still holds up its own share only.
    assert!(fences[1].wait(Some(Duration::from_secs(60))).unwrap());
    assert!(!fences[0].is_done().unwrap());
    device.resume();
    assert!(fences[0].wait(None).unwrap());
}
