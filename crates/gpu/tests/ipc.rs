//! Memory of a device in another process, named by bytes: between two processes, and hostile bytes.
#![cfg(linux_like)]

use common::{device, numbers, quick, values};
use proptest::prelude::*;
use tenure_gpu::testing::Settings;
use tenure_gpu::{BadIpc, Gpu, IpcExported, open};
use tenure_memory::TensorMemory::{Device, Pinned};
use tenure_memory::{Buffer, DeviceVendor, RawBuffer, Result};
use tenure_tensor::{DType, Layout, Tensor};

#[path = "../../memory/tests/common/child.rs"]
mod child;
#[path = "common/devices.rs"]
mod common;

/// Where a child finds what its parent sent.
const SENT: &str = "TENURE_TEST_SENT";

fn import(gpu: &Gpu, exported: &IpcExported) -> Result<RawBuffer> {
    // SAFETY: what is imported here comes from the parent, which waits and keeps it; or it is made
    // up, and the test device looks before it believes.
    #[expect(unsafe_code, reason = "imports what another process exported")]
    unsafe {
        gpu.import_ipc(exported, Some("theirs"))
    }
}

fn tensor(raw: RawBuffer, len: usize) -> Tensor<u16> {
    let layout = Layout::contiguous(DType::U16, &[len]).unwrap();
    Tensor::<u16>::from_buffer(Buffer::from_raw(raw), layout).unwrap()
}

/// Sends a tensor to a child, which writes it; the same test is the child.
fn goes_to_another_process(name: &str, gpu: &Gpu) {
    if child::part().is_some() {
        let text = std::env::var(SENT).unwrap();
        let sent: Vec<u8> = text.split(',').map(|byte| byte.parse().unwrap()).collect();
        let exported = IpcExported::from_bytes(&sent).unwrap();
        assert_eq!(exported.bytes(), 20_000);
        let theirs = tensor(import(gpu, &exported).unwrap(), 10_000);
        assert_eq!((theirs.memory(), theirs.space()), (Device, gpu.properties().space(Device)));
        assert_eq!(values(&theirs), values(&numbers(&[10_000])));
        // Copies within the device, and from here.
        let own = gpu.to(&theirs, Device).unwrap();
        assert_eq!(values(&own), values(&theirs));
        theirs.fill(77).unwrap();
        // A second time, while the first is open.
        assert!(values(&tensor(import(gpu, &exported).unwrap(), 10_000))[9] == 77);
        return;
    }
    // Not the first in its block: the place goes with the handle.
    let before = gpu.to(&numbers(&[100]), Device).unwrap();
    let shared = gpu.to(&numbers(&[10_000]), Device).unwrap();
    let after = gpu.to(&numbers(&[100]), Device).unwrap();
    let sent = gpu.export_ipc(&shared).unwrap().to_bytes();
    let text: Vec<String> = sent.iter().map(u8::to_string).collect();
    let output = child::command(name, "import").env(SENT, text.join(",")).output().unwrap();
    child::succeeded(&output);
    assert!(values(&shared).iter().all(|value| *value == 77));
    for beside in [before, after] {
        assert_eq!(values(&beside), values(&numbers(&[100])));
    }
    // Here it is of no use, and says so.
    let own = import(gpu, &IpcExported::from_bytes(&sent).unwrap()).unwrap_err();
    assert!(own.to_string().contains("its own process"), "{own}");
    assert!(gpu.export_ipc(&numbers(&[10])).is_err());
    assert!(gpu.export_ipc(&gpu.to(&numbers(&[10]), Pinned).unwrap()).is_err());
}

#[test]
fn the_test_device_in_two_processes() {
    goes_to_another_process("the_test_device_in_two_processes", &quick().1);
}

/// On the device that `TENURE_TEST_DEVICE` names: CUDA and HIP have handles, Vulkan has descriptors.
#[test]
#[ignore = "needs a device"]
fn a_real_device_in_two_processes() {
    let word = std::env::var("TENURE_TEST_DEVICE").unwrap_or_else(|_| "vulkan:0".to_owned());
    let gpu = open(&word).unwrap();
    if word.starts_with("cuda") || word.starts_with("hip") {
        return goes_to_another_process("a_real_device_in_two_processes", &gpu);
    }
    let there = gpu.to(&numbers(&[10]), Device).unwrap();
    let words = gpu.export_ipc(&there).unwrap_err().to_string();
    assert!(words.contains("no handles for processes"), "{words}");
}

/// What CUDA makes of memory that Vulkan exported on the same hardware.
#[test]
#[cfg(feature = "vulkan")]
#[ignore = "needs a device"]
fn memory_of_vulkan_is_reached_by_cuda() {
    let word = std::env::var("TENURE_TEST_DEVICE").unwrap_or_else(|_| "vulkan:0".to_owned());
    let gpu = open(&word).unwrap();
    let vulkan = match tenure_gpu::vulkan::open(0) {
        Ok(vulkan) => vulkan,
        Err(why) => return eprintln!("not tested, there is no Vulkan here: {why}"),
    };
    let there =
        Tensor::<u16>::builder(&[5000]).allocator(&*vulkan.shareable().unwrap()).build().unwrap();
    there.copy_from(&numbers(&[5000])).unwrap();
    let exported = vulkan.export(&there).unwrap();
    let known = [exported.uuid, exported.hardware].contains(&gpu.properties().uuid);
    // SAFETY: exported just now, with these numbers.
    #[expect(unsafe_code, reason = "imports what another device exported")]
    let raw = unsafe { gpu.import(&exported, None) };
    match raw {
        Ok(raw) => {
            let same = tensor(raw, 5000);
            assert_eq!(values(&same), values(&numbers(&[5000])));
            same.fill(5).unwrap();
            assert!(values(&there).iter().all(|value| *value == 5));
        }
        Err(error) => assert!(!known && error.to_string().contains("not this device's"), "{error}"),
    }
}

/// A message that is right, but for the process: as if from another one.
fn message() -> ([u8; IpcExported::BYTES], Gpu) {
    let (_device, gpu) = quick();
    let there = gpu.to(&numbers(&[1000]), Device).unwrap();
    let mut sent = gpu.export_ipc(&there).unwrap().to_bytes();
    sent[24] ^= 1;
    (sent, gpu)
}

#[test]
fn what_is_wrong_is_named() {
    let (sent, _gpu) = message();
    let with = |at: usize, value: u8| {
        let mut other = sent;
        other[at] = value;
        IpcExported::from_bytes(&other)
    };
    assert_eq!(IpcExported::from_bytes(&sent).unwrap().to_bytes(), sent);
    assert_eq!(IpcExported::from_bytes(&sent[..119]), Err(BadIpc::Length { found: 119 }));
    assert_eq!(IpcExported::from_bytes(&[]), Err(BadIpc::Length { found: 0 }));
    assert_eq!(with(0, b'x'), Err(BadIpc::NotOurs { found: *b"xnIP" }));
    assert_eq!(with(4, 2), Err(BadIpc::Version { found: 2 }));
    assert_eq!(with(5, 7), Err(BadIpc::Vendor { found: 7 }));
    assert_eq!(with(7, 1), Err(BadIpc::Reserved { found: [0, 1] }));
    for (at, value) in [(47, 0xff), (55, 0xff), (39, 0xff), (54, 1), (35, 0)] {
        assert!(matches!(with(at, value), Err(BadIpc::Outside { .. })), "{at}");
    }
    let words = with(55, 0xff).unwrap_err().to_string();
    assert!(words.contains("not inside a block of 16777216"), "{words}");
    let mut none = sent;
    none[48..56].fill(0);
    assert!(matches!(IpcExported::from_bytes(&none), Err(BadIpc::Outside { bytes: 0, .. })));
}

#[test]
fn the_device_looks_before_it_believes() {
    let (sent, gpu) = message();
    let tried = |sent: &[u8]| import(&gpu, &IpcExported::from_bytes(sent).unwrap());
    let words = |sent: &[u8]| tried(sent).unwrap_err().to_string();
    // Its tensor is gone, and its block: the handle names nothing, or something else.
    let before = gpu.heaps();
    let mut other = sent;
    other[20] ^= 1;
    assert!(words(&other).contains("not this device's"));
    for at in [56, 64, 80, 88, 119] {
        let mut other = sent;
        other[at] ^= 0x5a;
        assert!(words(&other).contains("has this handle"), "{at}");
    }
    // More bytes than the block has.
    let mut other = sent;
    other[35] = 7;
    assert!(words(&other).contains("has this handle"));
    assert_eq!(gpu.heaps(), before);
    let (_device, cuda) = device(Settings { vendor: DeviceVendor::Cuda, ..Settings::default() });
    let refused = import(&cuda, &IpcExported::from_bytes(&sent).unwrap()).unwrap_err();
    assert!(refused.to_string().contains("not this device's"), "{refused}");
    let (_device, vulkan) =
        device(Settings { vendor: DeviceVendor::Vulkan, ..Settings::default() });
    let there = vulkan.to(&numbers(&[10]), Device).unwrap();
    assert!(vulkan.export_ipc(&there).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn any_bytes_are_an_answer(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(IpcExported::from_bytes(&bytes).is_err());
    }

    /// A message with some bytes changed is refused, or is inside its block and sent as it came.
    #[test]
    fn a_message_with_other_bytes(
        changes in proptest::collection::vec((0..IpcExported::BYTES, any::<u8>()), 1..6),
        far in proptest::collection::vec((24..56usize, any::<u8>()), 0..6),
    ) {
        let (mut sent, gpu) = message();
        for (at, value) in changes.into_iter().chain(far) {
            sent[at] = value;
        }
        let number = |at: usize| {
            let bytes: [u8; 8] = sent[at..at + 8].try_into().unwrap();
            u128::from(u64::from_le_bytes(bytes))
        };
        if let Ok(exported) = IpcExported::from_bytes(&sent) {
            prop_assert_eq!(exported.to_bytes(), sent);
            prop_assert!(number(40) + number(48) <= number(32) && number(48) > 0);
            // The device may know the handle still; whatever it opens is as long as was said.
            if let Ok(raw) = import(&gpu, &exported) {
                prop_assert_eq!(raw.size(), exported.bytes());
            }
        }
    }
}
