//! What a real device must do where processes begin, end and meet: see `real.rs`.
//!
//! `cargo test -p tenure-gpu --test real_processes -- --ignored` runs it on a machine that has one.
#![cfg(linux_like)]

use common::{numbers, values};
use real::gpu;
use tenure_memory::TensorMemory::{Device, Pinned};
use tenure_tensor::Tensor;

#[path = "../../memory/tests/common/child.rs"]
mod child;
#[path = "common/devices.rs"]
mod common;
#[path = "common/real.rs"]
mod real;

#[test]
#[ignore = "needs a device"]
fn a_forked_process_is_told() {
    const NAME: &str = "a_forked_process_is_told";
    child::alone(NAME, || {
        let gpu = gpu();
        let there = gpu.to(&numbers(&[10]), Device).unwrap();
        let pinned = gpu.to(&numbers(&[10]), Pinned).unwrap();
        // SAFETY: the child asks for what it is refused without a lock, and ends.
        #[expect(unsafe_code, reason = "forks")]
        unsafe {
            match libc::fork() {
                0 => {
                    let told = pinned.map_read().is_err() && there.fill(3).is_err();
                    libc::_exit(i32::from(!told));
                }
                process => {
                    let mut status = 0;
                    libc::waitpid(process, &mut status, 0);
                    assert_eq!((libc::WIFEXITED(status), libc::WEXITSTATUS(status)), (true, 0));
                }
            }
        }
        assert_eq!(pinned.map_read().unwrap().as_slice()[1], 10);
        assert_eq!(values(&there), values(&numbers(&[10])));
    });
}

/// The libraries that this process has loaded.
fn libraries() -> Vec<String> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let mut files: Vec<String> = maps
        .lines()
        .filter_map(|line| line.split_whitespace().nth(5))
        .filter(|path| path.contains(".so"))
        .map(str::to_owned)
        .collect();
    files.dedup();
    files
}

#[test]
#[ignore = "needs a device"]
fn drivers_stay_until_the_process_ends() {
    // What a driver left to be done at the end must be there then, whichever thread closes the last
    // device.
    child::alone("drivers_stay_until_the_process_ends", || {
        for _ in 0..2 {
            let gpu = gpu();
            let open = libraries();
            drop(gpu);
            let closed = libraries();
            let gone: Vec<_> = open.iter().filter(|file| !closed.contains(file)).collect();
            assert!(gone.is_empty(), "unloaded: {gone:?}");
        }
    });
}

#[test]
#[ignore = "needs a device"]
fn memory_goes_to_another_process() {
    const NAME: &str = "memory_goes_to_another_process";
    let gpu = gpu();
    if !gpu.properties().shares {
        assert!(gpu.shareable().is_err());
        return;
    }
    if child::part().is_some() {
        // The descriptor is inherited: 0 is where the parent put it.
        let stdin = std::os::fd::AsFd::as_fd(&std::io::stdin()).try_clone_to_owned().unwrap();
        let (bytes, uuid) = (20_000, gpu.properties().uuid);
        let hardware = [0; 16];
        let mut exported = tenure_gpu::Exported { fd: stdin, bytes, room: bytes, uuid, hardware };
        exported.uuid[3] ^= 1;
        // SAFETY: refused before the descriptor is looked at.
        #[expect(unsafe_code, reason = "imports what another process exported")]
        let other = unsafe { gpu.import(&exported, None) };
        assert!(other.unwrap_err().to_string().contains("not this device's"));
        exported.uuid[3] ^= 1;
        // SAFETY: exported by the parent, with these numbers.
        #[expect(unsafe_code, reason = "imports what another process exported")]
        let raw = unsafe { gpu.import(&exported, Some("theirs")) }.unwrap();
        let layout = tenure_tensor::Layout::contiguous(tenure_tensor::DType::U16, &[10_000]);
        let buffer = tenure_memory::Buffer::from_raw(raw);
        let tensor = Tensor::<u16>::from_buffer(buffer, layout.unwrap()).unwrap();
        assert_eq!(values(&tensor), values(&numbers(&[10_000])));
        tensor.fill(77).unwrap();
        return;
    }
    let tensor =
        Tensor::<u16>::builder(&[10_000]).allocator(&*gpu.shareable().unwrap()).build().unwrap();
    tensor.copy_from(&numbers(&[10_000])).unwrap();
    let exported = gpu.export(&tensor).unwrap();
    assert_eq!(exported.bytes, 20_000);
    let output = child::command(NAME, "import").stdin(exported.fd).output().unwrap();
    child::succeeded(&output);
    assert!(values(&tensor).iter().all(|value| *value == 77));
    // What was not made to be shared is not.
    assert!(gpu.export(&gpu.to(&tensor, Device).unwrap()).is_err());
    assert!(gpu.export(&numbers(&[10])).is_err());
}
