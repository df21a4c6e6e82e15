//! What every real device must do: the one that `TENURE_TEST_DEVICE` names, or `vulkan:0`. With
//! `TENURE_TEST_QUEUED` its queue does every copy, also where the CPU could. `TENURE_TEST_PEER` names
//! another device of the same kind, such as `cuda:1`; without it the same one is opened twice.
//!
//! `cargo test -p tenure-gpu --test real -- --ignored` runs it on a machine that has one.
#![cfg(linux_like)]

use std::time::Duration;

use common::{numbers, part, values};
use real::{gpu, word};
use tenure_gpu::{Class, Gpu, open};
use tenure_memory::TensorMemory::{self, Device, Managed, Mem, Pinned, Shm};
use tenure_memory::{Allocator, Error, PoolLimits, Request};
use tenure_tensor::{DynTensor, PixelFormat, Tensor, TensorDyn, copy_all_later};

#[path = "common/devices.rs"]
mod common;
#[path = "common/real.rs"]
mod real;

fn peer_word() -> String {
    std::env::var("TENURE_TEST_PEER").unwrap_or_else(|_| word())
}

/// The memories to copy between.
fn memories(gpu: &Gpu) -> Vec<TensorMemory> {
    let own = [Pinned, Managed, Device].into_iter();
    let own = own.filter(|memory| gpu.properties().memories.contains(memory));
    [Mem, Shm].into_iter().chain(own).collect()
}

#[test]
#[ignore = "needs a device"]
fn copies_between_every_pair_of_memories() {
    let (gpu, other) = (gpu(), gpu());
    for size in [1, 33, 4097, 300_000] {
        let source = numbers(&[size]);
        for from in memories(&gpu) {
            let from = gpu.to(&source, from).unwrap();
            for to in memories(&gpu) {
                for gpu in [&gpu, &other] {
                    let copy = gpu.to(&from, to).unwrap();
                    assert!(values(&copy) == values(&source), "{size} {} {to}", from.memory());
                }
            }
        }
    }
}

#[test]
#[ignore = "needs a device"]
fn peers_copy_without_staging() {
    let (here, there) = (gpu().queued(), open(&peer_word()).unwrap().queued());
    let empty = |gpu: &Gpu| {
        let allocator = match gpu.properties().shares {
            true => gpu.shareable().unwrap(),
            false => gpu.allocator(Device).unwrap(),
        };
        Tensor::<u16>::builder(&[300_000]).allocator(&*allocator).build().unwrap()
    };
    let staged = |gpu: &Gpu| gpu.staging().hits + gpu.staging().misses;
    // CUDA and HIP reach all their devices; Vulkan the same one opened again, in memory that was made
    // to be shared or is main memory; OpenCL no other context's.
    let vulkan = word().starts_with("vulkan") && peer_word() == word();
    let always = word().starts_with("cuda") || word().starts_with("hip");
    let (source, target) = (empty(&here), empty(&there));
    source.copy_from(&numbers(&[300_000])).unwrap();
    let before = (staged(&here), staged(&there));
    target.copy_from(&source).unwrap();
    if always || (vulkan && here.properties().shares) {
        assert_eq!((staged(&here), staged(&there)), before);
        assert_eq!(there.imports().peers, 1, "{:?}", there.imports());
    }
    assert!(values(&target) == values(&numbers(&[300_000])));
    let source = here.to(&numbers(&[300_000]), Device).unwrap();
    let before = (staged(&here), staged(&there));
    let (copy, fence) = there.to_later(&source, Device).unwrap();
    assert!(fence.wait(Some(Duration::from_secs(30))).unwrap());
    if always || (vulkan && here.properties().class == Class::Software) {
        assert_eq!((staged(&here), staged(&there)), before);
    }
    assert!(values(&copy) == values(&numbers(&[300_000])));
    // What was reached goes when its device frees it.
    drop((source, here));
    assert!(values(&copy) == values(&numbers(&[300_000])));
}

#[test]
#[ignore = "needs a device"]
fn views_pictures_and_fills() {
    let gpu = gpu();
    let base = numbers(&[6, 80, 40]);
    let there = gpu.to(&base, Device).unwrap();
    for order in [[0, 1, 2], [2, 0, 1], [1, 2, 0]] {
        let view =
            |tensor: &Tensor<u16>| part(tensor, &[1..4, 3..70, 2..39]).permute(&order).unwrap();
        assert_eq!(values(&view(&there)), values(&view(&base)));
        let there = gpu.to(&base, Device).unwrap();
        let here = base.to(Some(Mem)).unwrap();
        let other = numbers(view(&base).shape());
        view(&there).copy_from(&other).unwrap();
        view(&here).copy_from(&other).unwrap();
        assert!(values(&there) == values(&here), "{order:?}");
    }
    let image = Tensor::<u8>::image(64, 48, PixelFormat::Nv12, Some(Mem), None).unwrap();
    image.fill(3).unwrap();
    image.plane(1).unwrap().fill(200).unwrap();
    let there = gpu.to(&image, Device).unwrap();
    let mut flat = vec![0; image.flat_bytes()];
    there.copy_to_flat(&mut flat).unwrap();
    assert!(flat[..64 * 48].iter().all(|byte| *byte == 3));
    assert!(flat[64 * 48..].iter().all(|byte| *byte == 200));
    for len in [1, 3, 4, 1001] {
        let bytes =
            Tensor::<u8>::builder(&[len + 4]).allocator(&*gpu.allocator(Device).unwrap()).build();
        let bytes = bytes.unwrap();
        bytes.slice(0, 1..len + 1).unwrap().fill(7).unwrap();
        let mut flat = vec![0; len + 4];
        bytes.copy_to_flat(&mut flat).unwrap();
        assert!(flat[1..=len].iter().all(|byte| *byte == 7), "{flat:?}");
        assert_eq!((flat[0], flat[len + 1]), (0, 0));
    }
}

#[test]
#[ignore = "needs a device"]
fn new_memory_is_zero_and_freed_memory_comes_again() {
    let gpu = gpu();
    let allocator = gpu.allocator(Device).unwrap();
    for round in 0..3 {
        let tensor = Tensor::<u16>::builder(&[100_000]).allocator(&*allocator).build().unwrap();
        assert!(values(&tensor).iter().all(|value| *value == 0), "{round}");
        tensor.fill(9).unwrap();
    }
    let pool = gpu.pool(Device, PoolLimits::default()).unwrap();
    let first = pool.allocate(&Request::new(5000).unwrap()).unwrap().identity().id();
    assert_eq!(pool.allocate(&Request::new(5000).unwrap()).unwrap().identity().id(), first);
    let aligned = Request::new(100).unwrap().with_align(2 << 20).unwrap();
    for memory in memories(&gpu).into_iter().filter(|memory| *memory != Mem && *memory != Shm) {
        let raw = gpu.allocator(memory).unwrap().allocate(&aligned).unwrap();
        assert_eq!((raw.size(), raw.memory()), (100, memory));
    }
}

#[test]
#[ignore = "needs a device"]
fn later_and_in_batches() {
    let gpu = gpu();
    let sources: Vec<_> = (1..20).map(|n| numbers(&[n * 10_000]).to_dyn()).collect();
    let allocator = gpu.allocator(Device).unwrap();
    let there: Vec<_> = sources
        .iter()
        .map(|one| {
            TensorDyn::builder(one.shape(), one.dtype()).allocator(&*allocator).build().unwrap()
        })
        .collect();
    let fences = copy_all_later(&there.iter().zip(&sources).collect::<Vec<_>>()).unwrap();
    assert!(fences.iter().all(|fence| fence.wait(Some(Duration::from_secs(30))).unwrap()));
    for (there, source) in there.iter().zip(&sources) {
        let (back, fence) = there.to_in_later(&*gpu.allocator(Pinned).unwrap()).unwrap();
        assert!(fence.wait(Some(Duration::from_secs(30))).unwrap());
        assert_eq!(values(&back.typed().unwrap()), values(&source.typed().unwrap()));
    }
}

#[test]
#[ignore = "needs a device"]
fn main_memory_is_imported_once() {
    let gpu = gpu().queued();
    let here = numbers(&[1 << 20]);
    let there = gpu.to(&here, Device).unwrap();
    let (imports, staging) = (gpu.imports(), gpu.staging());
    match gpu.properties().imports_host {
        Some(_) => assert_eq!((imports.imported, staging.misses), (1, 0), "{imports:?}"),
        None => assert_eq!(imports.imported, 0),
    }
    for _ in 0..3 {
        there.copy_from(&here).unwrap();
        here.copy_from(&there).unwrap();
    }
    let now = gpu.imports();
    assert_eq!(now, tenure_gpu::ImportReport { hits: now.hits, ..imports });
    assert_eq!((now.hits > 0, gpu.staging().misses), (imports.imported > 0, staging.misses));
    assert_eq!(values(&there), values(&numbers(&[1 << 20])));
    // What is gone was let go of before.
    drop(here);
    assert_eq!(gpu.imports().imported, 0);
    let _next = gpu.to(&numbers(&[1 << 20]), Device).unwrap();
    assert_eq!(gpu.imports().imported, 0);
}

#[test]
#[ignore = "needs a device"]
fn staging_allocates_nothing_once_it_is_warm() {
    let gpu = gpu().queued();
    // Too short to be imported.
    let (here, back) = (numbers(&[50_000]), numbers(&[50_000]));
    let there = gpu.to(&here, Device).unwrap();
    back.copy_from(&there).unwrap();
    let (warm, heaps) = (gpu.staging(), gpu.heaps());
    for _ in 0..50 {
        there.copy_from(&here).unwrap();
        back.copy_from(&there).unwrap();
    }
    let now = gpu.staging();
    assert_eq!((now.misses, now.hits, now.given_up), (warm.misses, warm.hits + 100, 0));
    assert_eq!(gpu.heaps(), heaps);
}

#[test]
#[ignore = "needs a device"]
fn main_memory_is_reached_where_it_is() {
    use tenure_memory::Access::{KernelRead, KernelWrite};
    let gpu = gpu();
    let here = numbers(&[1000]);
    let own = gpu.to(&here, Device).unwrap();
    let place = own.buffer().raw().unwrap().device_place().unwrap();
    let part = own.slice(0, 10..20).unwrap();
    assert_eq!(gpu.reach(own.buffer(), KernelRead).unwrap().place(), place);
    assert!(part.map_read().is_err());
    match gpu.properties().imports_host {
        None => assert!(gpu.reach(here.buffer(), KernelRead).is_err()),
        Some(_) => {
            let reached = gpu.reach(here.buffer(), KernelWrite).unwrap();
            assert_eq!((reached.place().device, reached.len()), (gpu.number(), 2000));
            // The device has it: nobody else.
            assert!(here.map_read().is_err());
            let block = reached.place().block;
            drop(reached);
            drop(here.map().unwrap());
            let again = gpu.reach(here.buffer(), KernelRead).unwrap();
            assert_eq!((again.place().block, gpu.imports().hits), (block, 1));
        }
    }
}

#[test]
#[ignore = "needs a device"]
fn spaces_and_what_dlpack_calls_them() {
    use tenure_memory::{DeviceVendor, LogicalMemorySpace};
    let gpu = gpu();
    let (vendor, id) = (gpu.properties().vendor, gpu.properties().id);
    for memory in gpu.properties().memories.clone() {
        let tensor = gpu.to(&numbers(&[10]), memory).unwrap();
        let space = match memory {
            Device => LogicalMemorySpace::GpuMemory { device_id: id as usize },
            Managed => LogicalMemorySpace::ManagedMemory,
            _ => LogicalMemorySpace::PinnedMemory,
        };
        assert_eq!((tensor.space(), gpu.memory_in(space)), (space, Some(memory)));
        let device = tensor.dlpack_device().unwrap();
        let codes = match vendor {
            DeviceVendor::Cuda => (2, 3, 13),
            DeviceVendor::Rocm => (10, 11, 13),
            DeviceVendor::Vulkan => (7, 1, 1),
            DeviceVendor::OpenCl => (4, 1, 1),
            other => panic!("{other:?}"),
        };
        let (code, id) = match memory {
            Device => (codes.0, id.cast_signed()),
            Pinned => (codes.1, 0),
            _ => (codes.2, 0),
        };
        assert_eq!((device.device_type, device.device_id), (code, id), "{memory}");
        // What goes out comes back as itself; copies stay where they were.
        if vendor == DeviceVendor::OpenCl && memory == Device {
            assert!(tensor.to_dlpack().is_err());
            continue;
        }
        let back = Tensor::<u16>::from_dlpack(tensor.to_dlpack().unwrap()).unwrap();
        assert_eq!((back.memory(), back.buffer_identity()), (memory, tensor.buffer_identity()));
        drop(back);
        let request = tenure_tensor::dlpack::ExportRequest::new();
        let request = request.max_version(Some((1, 0))).copy(Some(true));
        let tenure_tensor::dlpack::Exported::Versioned(copy) =
            tensor.to_dlpack_for(&request).unwrap()
        else {
            unreachable!("a version was asked for")
        };
        let copy = Tensor::<u16>::from_dlpack(copy).unwrap();
        assert_eq!(copy.dlpack_device().unwrap(), device);
        assert_eq!(values(&copy), values(&numbers(&[10])));
    }
}

#[test]
#[ignore = "needs a device"]
fn a_map_during_a_copy_is_refused_or_waits() {
    let gpu = gpu().queued();
    let here = gpu.to(&numbers(&[8 << 20]), Pinned).unwrap();
    let there = Tensor::<u16>::builder(&[8 << 20])
        .allocator(&*gpu.allocator(Device).unwrap())
        .build()
        .unwrap();
    for _ in 0..5 {
        let fence = there.copy_from_later(&here).unwrap();
        // It may be done already, and is not half done: the ledger knows.
        match here.map() {
            Ok(_) => assert!(fence.wait(Some(Duration::from_secs(30))).unwrap()),
            Err(tenure_tensor::Error::Memory(error)) => assert!(error.is_busy(), "{error}"),
            Err(other) => panic!("{other}"),
        }
        drop(here.map_wait(Some(Duration::from_secs(60))).unwrap());
        assert!(fence.wait(Some(Duration::from_secs(30))).unwrap());
    }
    assert!(values(&there) == values(&numbers(&[8 << 20])));
}

#[test]
#[ignore = "needs a device"]
fn every_queue_copies() {
    let gpu = gpu();
    for queue in 0..gpu.properties().queues {
        let own = gpu.on_queue(queue).unwrap().queued();
        let there = own.to(&numbers(&[100_000]), Device).unwrap();
        let (back, fence) = there.to_in_later(&*own.allocator(Pinned).unwrap()).unwrap();
        assert!(fence.wait(Some(Duration::from_secs(30))).unwrap());
        assert!(values(&back) == values(&numbers(&[100_000])), "{queue}");
    }
    assert!(gpu.on_queue(gpu.properties().queues).is_err());
}

#[test]
#[ignore = "needs a device"]
fn buffers_have_their_places_in_arenas() {
    use tenure_memory::Buffer;
    let gpu = gpu();
    let allocator = gpu.allocator(Device).unwrap();
    let arena = Buffer::from_raw(allocator.allocate(&Request::new(1 << 20).unwrap()).unwrap());
    let lazy = || Buffer::lazy_in(gpu.allocator(Device).unwrap(), &Request::new(20_000).unwrap());
    let (first, second) = (lazy(), lazy());
    // Off what it was asked to be aligned to, and outside.
    let unaligned = first.place_in(&arena, 100).unwrap_err();
    assert!(matches!(unaligned, Error::Misaligned { offset: 100, .. }), "{unaligned}");
    assert!(first.place_in(&arena, 1 << 20).is_err());
    first.place_in(&arena, 256).unwrap();
    second.place_in(&arena, 32 << 10).unwrap();
    let layout =
        || tenure_tensor::Layout::contiguous(tenure_tensor::DType::U16, &[10_000]).unwrap();
    let tensor = |buffer| Tensor::<u16>::from_buffer(buffer, layout()).unwrap();
    let (first, second) = (tensor(first), tensor(second));
    first.copy_from(&numbers(&[10_000])).unwrap();
    second.copy_from(&first).unwrap();
    first.fill(0).unwrap();
    assert_eq!(values(&second), values(&numbers(&[10_000])));
    assert_eq!(gpu.heaps().iter().find(|heap| heap.memory == Device).unwrap().allocations, 1);
}

#[test]
#[ignore = "needs a device"]
fn descriptors_of_somebody_else_are_refused() {
    let gpu = gpu();
    if !gpu.properties().shares {
        return;
    }
    // A memory file is no memory of any driver.
    let fd = rustix::fs::memfd_create("none", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
    rustix::fs::ftruncate(&fd, 8192).unwrap();
    let (bytes, uuid) = (4096, gpu.properties().uuid);
    let exported = tenure_gpu::Exported { fd, bytes, room: 8192, uuid, hardware: uuid };
    // SAFETY: it has as many bytes as is said, and those that a driver would look at are zero.
    #[expect(unsafe_code, reason = "imports what is refused")]
    let answer = unsafe { gpu.import(&exported, None) };
    assert!(answer.is_err());
    assert_eq!(values(&gpu.to(&numbers(&[10]), Device).unwrap()), values(&numbers(&[10])));
}

#[test]
#[ignore = "needs a device"]
fn absurd_sizes_are_refused() {
    let gpu = gpu();
    for memory in gpu.properties().memories.clone() {
        for bytes in [1 << 45, 1 << 60] {
            let answer = gpu.allocator(memory).unwrap().allocate(&Request::new(bytes).unwrap());
            match answer {
                Err(Error::OutOfMemory(full)) => assert_eq!(full.bytes, bytes),
                other => panic!("{memory} {bytes}: {other:?}"),
            }
        }
    }
    assert_eq!(values(&gpu.to(&numbers(&[10]), Device).unwrap()), values(&numbers(&[10])));
    let (backend, _) = word().split_once(':').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    let error = open(&format!("{backend}:99")).unwrap_err().to_string();
    assert!(error.contains("there is no device 99: "), "{error}");
    assert!(open("direct3d:0").unwrap_err().to_string().contains("vulkan:0"));
    assert!(open("vulkan:first").is_err());
}

#[test]
#[ignore = "needs a device"]
fn tensors_outlive_whoever_opened_the_device() {
    let gpu = gpu();
    let there = gpu.to(&numbers(&[1000]), Device).unwrap();
    let pinned = gpu.to(&numbers(&[1000]), Pinned).unwrap();
    drop(gpu);
    pinned.copy_from(&there).unwrap();
    drop(there);
    assert_eq!(pinned.map_read().unwrap().as_slice()[1], 10);
}
