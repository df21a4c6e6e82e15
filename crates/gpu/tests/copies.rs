//! Copies between all memories and at all strides give what copies in main memory give.
#![cfg(linux_like)]

use std::time::Duration;

use common::{device, numbers, part, quick, values};
use proptest::prelude::*;
use tenure_gpu::Gpu;
use tenure_gpu::testing::{Settings, TestDevice};
use tenure_memory::TensorMemory::{self, Device, Managed, Mem, Pinned, Shm};
use tenure_memory::{LogicalMemorySpace, statistics};
use tenure_tensor::{PixelFormat, Tensor};

#[path = "common/devices.rs"]
mod common;

const ALL: [TensorMemory; 5] = [Mem, Shm, Pinned, Managed, Device];

#[test]
fn every_pair_of_memories_on_two_devices() {
    for peers in [true, false] {
        every_pair(&Settings { peers, delay: Duration::ZERO, ..Settings::default() });
    }
}

fn every_pair(settings: &Settings) {
    let (_first, here) = device(settings.clone());
    let (_second, there) = device(settings.clone());
    let source = numbers(&[5, 33]);
    for from in ALL {
        let from = here.to(&source, from).unwrap();
        for to in ALL {
            for gpu in [&here, &there] {
                let copy = gpu.to(&from, to).unwrap();
                assert_eq!((copy.memory(), copy.shape()), (to, source.shape()));
                assert_eq!(values(&copy), values(&source), "{} {to}", from.memory());
            }
        }
    }
}

#[test]
fn spaces_and_places_are_right() {
    let (_device, gpu) = quick();
    let spaces = [
        (Device, LogicalMemorySpace::GpuMemory { device_id: 0 }),
        (Pinned, LogicalMemorySpace::PinnedMemory),
        (Managed, LogicalMemorySpace::ManagedMemory),
    ];
    for (memory, space) in spaces {
        let before = statistics::usage(memory).count;
        let tensor = gpu.to(&numbers(&[10]), memory).unwrap();
        assert_eq!((tensor.memory(), tensor.space()), (memory, space));
        assert_eq!(gpu.memory_in(space), Some(memory));
        assert!(statistics::usage(memory).count > before);
        let view = tensor.slice(0, 2..5).unwrap();
        assert_eq!(view.buffer_identity(), tensor.buffer_identity());
        assert!(view.aliases(&tensor));
        assert_eq!(values(&view), values(&numbers(&[10]))[2..5]);
        let place = tensor.buffer().raw().unwrap().device_place().unwrap();
        assert_eq!(place.device, gpu.number());
        let words = tensor.map_read().map(drop).map_err(|error| error.to_string());
        match memory {
            Device => assert!(words.unwrap_err().contains("to(Some(TensorMemory::Mem))")),
            _ => words.unwrap(),
        }
    }
    assert!(gpu.allocator(Shm).is_err());
}

#[test]
fn a_space_is_enough_to_say_where() {
    // Numbers that no other test opens.
    let make = |id| device(Settings { id, ..Settings::default() }).1;
    let (first, second) = (make(71), make(72));
    let here = numbers(&[3, 50]);
    for (gpu, id) in [(&first, 71), (&second, 72)] {
        let space = LogicalMemorySpace::GpuMemory { device_id: id };
        let there = here.to(space).unwrap();
        assert_eq!((there.space(), there.memory()), (space, Device));
        let number =
            |tensor: &Tensor<u16>| tensor.buffer().raw().unwrap().device_place().unwrap().device;
        assert_eq!(number(&there), gpu.number());
        // Where several devices have a space, the tensor's own is asked first.
        let pinned = there.to(LogicalMemorySpace::PinnedMemory).unwrap();
        assert_eq!((pinned.memory(), number(&pinned)), (Pinned, gpu.number()));
        let managed = there.to(LogicalMemorySpace::ManagedMemory).unwrap();
        assert_eq!((managed.memory(), number(&managed)), (Managed, gpu.number()));
        let (back, fence) = there.to_later(LogicalMemorySpace::MainMemory).unwrap();
        assert!(fence.wait(None).unwrap());
        assert_eq!((back.space(), values(&back)), (LogicalMemorySpace::MainMemory, values(&here)));
    }
    // A device is open while somebody has its handle or its memory.
    let space = LogicalMemorySpace::GpuMemory { device_id: 71 };
    let kept = here.to(space).unwrap();
    drop(first);
    assert_eq!(values(&here.to(space).unwrap()), values(&here));
    drop(kept);
    let words = here.to(space).unwrap_err().to_string();
    assert!(words.contains("gpu:71") && words.contains("open one"), "{words}");
}

#[test]
fn pictures_go_plane_by_plane() {
    let (_device, gpu) = quick();
    for format in [PixelFormat::Nv12, PixelFormat::I420, PixelFormat::Rgb, PixelFormat::PlanarRgb] {
        let here = Tensor::<u8>::image_builder(34, 18, format)
            .row_stride(128)
            .memory(Mem)
            .build()
            .unwrap();
        for (n, byte) in here.map_span().unwrap().as_mut_slice().iter_mut().enumerate() {
            *byte = (n % 251) as u8;
        }
        let there = gpu.to(&here, Device).unwrap();
        assert_eq!(there.format(), Some(format));
        let back = there.to(Some(Mem)).unwrap();
        let (mut first, mut second) = (vec![0; here.flat_bytes()], vec![0; here.flat_bytes()]);
        here.copy_to_flat(&mut first).unwrap();
        back.copy_to_flat(&mut second).unwrap();
        assert!(first == second, "{format}");
        there.fill(9).unwrap();
        there.copy_to_flat(&mut second).unwrap();
        assert!(second.iter().all(|byte| *byte == 9), "{format}");
    }
}

#[test]
fn fills_of_every_element_and_every_length() {
    let (_device, gpu) = quick();
    let device = gpu.allocator(Device).unwrap();
    for len in [1, 2, 3, 5, 64, 1001] {
        let bytes = Tensor::<u8>::builder(&[len + 4]).allocator(&*device).build().unwrap();
        let middle = bytes.slice(0, 1..len + 1).unwrap();
        middle.fill(7).unwrap();
        let mut flat = vec![0; len + 4];
        bytes.copy_to_flat(&mut flat).unwrap();
        assert!(flat[1..=len].iter().all(|byte| *byte == 7) && flat[0] == 0);
        assert!(flat[len + 1..].iter().all(|byte| *byte == 0));
    }
    let doubles = Tensor::<f64>::builder(&[77]).allocator(&*device).build().unwrap();
    doubles.fill(1.1).unwrap();
    let back = doubles.to(Some(Mem)).unwrap();
    assert!(back.map_read().unwrap().as_slice().iter().all(|value| *value == 1.1));
}

#[test]
fn large_copies_are_staged_in_lots_without_allocating() {
    let (device, gpu) = quick();
    // Lots of 4 MiB, and a rest.
    let here = numbers(&[(9 << 20) / 2 + 12345]);
    let there = gpu.to(&here, Device).unwrap();
    let back = Tensor::<u16>::new(here.shape(), Some(Mem), None).unwrap();
    back.copy_from(&there).unwrap();
    assert!(*back.map_read().unwrap().as_slice() == *here.map_read().unwrap().as_slice());
    let (warm, heaps, allocated) = (gpu.staging(), gpu.heaps(), device.allocated());
    for _ in 0..20 {
        there.copy_from(&here).unwrap();
        back.copy_from(&there).unwrap();
        back.copy_from_later(&there).unwrap().wait(None).unwrap();
    }
    // Neither the pool nor the heap nor the device was asked for more.
    let now = gpu.staging();
    assert_eq!((now.misses, now.given_up, now.kept), (warm.misses, 0, warm.kept));
    assert!(now.hits >= warm.hits + 60 && warm.misses <= 4, "{now:?}");
    assert_eq!((gpu.heaps(), device.allocated()), (heaps, allocated));
}

#[test]
fn large_pictures_that_are_turned_are_staged_without_allocating() {
    let (_, gpu) = quick();
    // More than staging memory keeps of what is not in use.
    let here = numbers(&[6000, 6000]);
    let turned = here.permute(&[1, 0]).unwrap();
    let there = Tensor::<u16>::builder(&[6000, 6000])
        .allocator(&*gpu.allocator(Device).unwrap())
        .build()
        .unwrap();
    let back = Tensor::<u16>::new(&[6000, 6000], Some(Mem), None).unwrap();
    let round = || {
        there.copy_from(&turned).unwrap();
        back.copy_from(&there.permute(&[1, 0]).unwrap()).unwrap();
    };
    round();
    assert!(*back.map_read().unwrap().as_slice() == *here.map_read().unwrap().as_slice());
    let warm = gpu.staging();
    round();
    round();
    let now = gpu.staging();
    assert_eq!((now.misses, now.given_up, now.kept), (warm.misses, 0, warm.kept), "{now}");
    assert!(now.kept_bytes > 64 << 20, "{now}");
    gpu.trim_staging();
    assert_eq!(gpu.staging().kept_bytes, 0);
}

/// A view of some tensor of six by eight by four elements, by numbers.
fn shape(tensor: &Tensor<u16>, turn: usize, (a, b): (usize, usize), thin: bool) -> Tensor<u16> {
    let orders: [[usize; 3]; 6] =
        [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    let view = part(tensor, &[a..a + 3, b..b + 4, 1..3]);
    // Every second of some, for bytes between that must stay.
    let view = if thin { view.slice_step(1, 0..4, 2).unwrap() } else { view };
    view.permute(&orders[turn % 6]).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn views_are_copied_like_in_main_memory(
        turns in (0..6usize, 0..6usize),
        places in ((0..3usize, 0..4usize), (0..3usize, 0..4usize)),
        thin in any::<bool>(),
        memories in (0..5usize, 0..5usize),
        same in any::<bool>(),
        peers in any::<bool>(),
    ) {
        let settings = Settings { peers, ..Settings::default() };
        let gpu = Gpu::over(TestDevice::with(settings.clone())).unwrap();
        let other = Gpu::over(TestDevice::with(settings)).unwrap();
        let base = numbers(&[6, 8, 4]);
        let canvas = Tensor::from_slice(&[9u16; 6 * 8 * 4], &[6, 8, 4]).unwrap();
        let from = gpu.to(&base, ALL[memories.0]).unwrap();
        let to = if same { &gpu } else { &other }.to(&canvas, ALL[memories.1]).unwrap();
        // The same axes in another order: so that shapes agree, turn the source as the target.
        let turn = |t: &Tensor<u16>, place| shape(t, turns.0, place, thin);
        turn(&canvas, places.1).copy_from(&turn(&base, places.0)).unwrap();
        turn(&to, places.1).copy_from(&turn(&from, places.0)).unwrap();
        prop_assert_eq!(values(&to), values(&canvas));
        let view = shape(&from, turns.1, places.0, thin);
        prop_assert_eq!(values(&view), values(&shape(&base, turns.1, places.0, thin)));
        let later = Tensor::<u16>::new(view.shape(), Some(Mem), None).unwrap();
        later.copy_from_later(&view).unwrap().wait(None).unwrap();
        prop_assert_eq!(values(&later), values(&view));
    }
}
