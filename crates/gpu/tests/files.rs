//! Tensors of files in memory that the CPU does not reach.
#![cfg(linux_like)]

use std::time::Duration;

use tenure_files::{open, safetensors};
use tenure_gpu::testing::Settings;
use tenure_memory::TensorMemory;
use tenure_tensor::Tensor;

#[path = "common/devices.rs"]
mod common;

#[test]
fn a_file_is_loaded_into_a_device() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let small = common::numbers(&[3, 5]);
    // More than is carried at one time.
    let large = common::numbers(&[35 << 20]);
    let tensors = [("large", large.to_dyn()), ("small", small.to_dyn())];
    safetensors::save(&path, &tensors, &Default::default()).unwrap();
    // A device that is late shows what nobody waited for.
    let late = Settings { delay: Duration::from_millis(2), ..Settings::default() };
    let (_device, gpu) = common::device(late);
    let allocator = gpu.allocator(TensorMemory::Device).unwrap();
    let mut told = 0;
    let loaded = open(&path)
        .unwrap()
        .load()
        .allocator(&*allocator)
        .progress(|now| {
            told = now.done;
            std::ops::ControlFlow::Continue(())
        })
        .run()
        .unwrap();
    let bytes = (large.flat_bytes() + small.flat_bytes()) as u64;
    assert_eq!((loaded.bytes(), told), (bytes, bytes));
    for (name, expected) in [("large", &large), ("small", &small)] {
        let tensor: Tensor<u16> = loaded.tensor(name).unwrap().typed().unwrap();
        assert_eq!((tensor.memory(), tensor.shape()), (TensorMemory::Device, expected.shape()));
        assert!(common::values(&tensor) == common::values(expected), "{name}");
    }
}

#[test]
fn a_device_without_room_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let tensors = [("t", common::numbers(&[1 << 20]).to_dyn())];
    safetensors::save(&path, &tensors, &Default::default()).unwrap();
    let (_device, gpu) = common::device(Settings { device_bytes: 1 << 20, ..Settings::default() });
    let allocator = gpu.allocator(TensorMemory::Device).unwrap();
    let refused = open(&path).unwrap().load().allocator(&*allocator).run().unwrap_err();
    assert!(refused.to_string().contains("no room for 2097152 bytes"), "{refused}");
}
