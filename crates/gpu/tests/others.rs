//! Device memory where others meet it: DLPack, and the arenas of plans.
#![cfg(linux_like)]

use common::{device, numbers, quick, values};
use tenure_gpu::testing::Settings;
use tenure_memory::TensorMemory::{Device, Managed, Pinned};
use tenure_memory::{Access, Buffer, DeviceVendor, Request};
use tenure_plan::{BufferSpec, Options, Packer, PlannerMode, Schedule, Step, plan};
use tenure_tensor::realize::realize;
use tenure_tensor::{DlDevice, Layout, Tensor, TensorDyn};

#[path = "common/devices.rs"]
mod common;

#[test]
fn dlpack_says_whose_memory_it_is() {
    // Code of device, pinned and managed memory.
    let vendors = [
        (DeviceVendor::Cuda, [2, 3, 13]),
        (DeviceVendor::Rocm, [10, 11, 13]),
        (DeviceVendor::OpenCl, [4, 1, 1]),
        (DeviceVendor::Vulkan, [7, 1, 1]),
        (DeviceVendor::OneApi, [14, 1, 1]),
        (DeviceVendor::Extension, [12, 1, 1]),
    ];
    for (vendor, codes) in vendors {
        let (_device, gpu) = device(Settings { vendor, id: 3, ..Settings::default() });
        for (memory, code) in [Device, Pinned, Managed].into_iter().zip(codes) {
            let tensor = gpu.to(&numbers(&[4, 6]), memory).unwrap();
            let id = if memory == Device { 3 } else { 0 };
            let expected = DlDevice { device_type: code, device_id: id };
            assert_eq!(tensor.dlpack_device().unwrap(), expected, "{vendor:?} {memory}");
            let view = tensor.slice(0, 1..3).unwrap();
            let lent = view.to_dlpack().unwrap();
            let raw = tensor.buffer().raw().unwrap();
            if let Some(address) = raw.device_address().filter(|_| memory == Device) {
                let fields = lent.tensor();
                let offset = match vendor.has_addresses() {
                    true => {
                        assert_eq!(fields.data.addr(), address.addr().get() + 12);
                        0
                    }
                    false => {
                        assert_eq!(fields.data.addr(), address.addr().get());
                        raw.device_place().unwrap().offset as u64 + 12
                    }
                };
                assert_eq!(fields.byte_offset, offset);
            }
            // And back: the same tensor.
            let back = TensorDyn::from_dlpack(lent).unwrap();
            assert_eq!(back.buffer_identity(), tensor.buffer_identity());
            assert_eq!(values(&back.typed().unwrap()), values(&numbers(&[4, 6]))[6..18]);
        }
    }
}

#[test]
fn arenas_of_a_plan_are_memory_of_a_device() {
    let (_device, gpu) = quick();
    let step = |name: &str, from, to| Step::new(name, [from], [to]);
    let schedule = Schedule {
        buffers: vec![
            BufferSpec { input: true, ..BufferSpec::new("in", 4096) },
            BufferSpec::new("a", 8192),
            BufferSpec::new("b", 8192),
            BufferSpec::new("c", 8192),
            BufferSpec { output: true, ..BufferSpec::new("out", 4096) },
        ],
        steps: vec![step("1", 0, 1), step("2", 1, 2), step("3", 2, 3), step("4", 3, 4)],
    };
    let plan = plan(&schedule, PlannerMode::Arena, Packer::Best, &Options::default()).unwrap();
    let allocator = gpu.allocator(Device).unwrap();
    let lazy = |spec: &BufferSpec| {
        let request = Request::new(spec.bytes as usize).unwrap();
        Buffer::lazy_in(std::sync::Arc::clone(&allocator), &request)
    };
    let buffers: Vec<Buffer> = schedule.buffers.iter().map(lazy).collect();
    let tensor = |n: usize| {
        let layout = Layout::contiguous(tenure_tensor::DType::U16, &[buffers[n].len() / 2]);
        Tensor::<u16>::from_buffer(buffers[n].clone(), layout.unwrap()).unwrap()
    };
    let (first, third) = (tensor(1), tensor(3));
    let arenas = realize(&schedule, &plan, &buffers).unwrap();
    assert!(arenas.iter().all(|arena| arena.memory() == Device));
    // Two buffers, one place, on the device.
    first.copy_from(&numbers(&[4096])).unwrap();
    assert!(first.aliases(&third));
    assert_eq!(values(&third), values(&numbers(&[4096])));
    // The ledger keeps uses of it apart at one time.
    let raw = std::sync::Arc::clone(buffers[1].raw().unwrap());
    let range = buffers[1].range_in_raw(0..8192).unwrap();
    let _kernel =
        tenure_memory::backend::DeviceHold::over(raw, Access::KernelWrite, range).unwrap();
    assert!(third.copy_from(&numbers(&[4096])).is_err());
    assert!(buffers[1].raw().unwrap().carrier().is_some_and(|own| own.number() == gpu.number()));
}
