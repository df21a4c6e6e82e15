//! Memory that has a descriptor is the same memory however it comes back.

use std::fs::{self, File};
use std::os::fd::{AsFd, AsRawFd};

use rustix::fs::{SealFlags, fcntl_get_seals};
use tenure_memory::{Error, Protection, TensorMemory, import};

use super::variant::Variant;

pub(super) fn descriptors_give_the_same_memory(variant: &Variant) {
    if !variant.descriptors {
        return;
    }
    let buffer = variant.get(10_000);
    buffer.write().unwrap().as_bytes_mut().fill(6);
    let fd = buffer.clone_descriptor().unwrap();
    assert!(rustix::io::fcntl_getfd(&fd).unwrap().contains(rustix::io::FdFlags::CLOEXEC));
    let back = import(&fd, 10_000, Protection::AsAllowed, Some("back")).unwrap();
    assert_eq!(back.identity(), buffer.identity());
    assert_eq!((back.name(), buffer.name()), (Some("back"), None));
    assert_eq!(back.place().unwrap().allocation, buffer.place().unwrap().allocation);
    assert!(back.aliases(&buffer) && back.len() >= 10_000);
    back.write_range(0..1).unwrap().as_bytes_mut()[0] = 7;
    let bytes = buffer.read().unwrap();
    assert_eq!((bytes.as_bytes()[0], bytes.as_bytes()[9_999]), (7, 6));
}

pub(super) fn imports_share_the_ledger(variant: &Variant) {
    if !variant.descriptors {
        return;
    }
    let buffer = variant.get(10_000);
    let fd = buffer.clone_descriptor().unwrap();
    // A second way in, which no safe code can be kept from.
    let reopened = File::open(format!("/proc/self/fd/{}", fd.as_raw_fd()));
    let mut all = vec![import(&fd, 1, Protection::AsAllowed, None).unwrap()];
    all.push(import(&fd, 1, Protection::ReadOnly, None).unwrap());
    match reopened {
        Ok(reopened) => all.push(import(&reopened, 1, Protection::ReadOnly, None).unwrap()),
        // A DMA-BUF has no name to open it by.
        Err(error) => assert_eq!(variant.allocator.memory(), TensorMemory::Dma, "{error}"),
    }
    for import in &all {
        assert_eq!(import.identity(), buffer.identity());
        let writer = buffer.write_range(0..5000).unwrap();
        assert!(import.read_range(4999..5001).unwrap_err().is_busy());
        assert!(import.read_range(5000..10_000).is_ok());
        drop(writer);
        let _reader = import.read_range(0..10_000).unwrap();
        assert!(buffer.write().unwrap_err().is_busy());
    }
    for read_only in &all[1..] {
        assert!(matches!(read_only.write(), Err(Error::ReadOnly { .. })));
    }
    buffer.write().unwrap().as_bytes_mut().fill(4);
    assert!(all.iter().all(|import| import.read().unwrap().as_bytes()[9_999] == 4));
}

pub(super) fn memory_without_descriptor_says_so(variant: &Variant) {
    let answer = variant.get(100).clone_descriptor();
    match (variant.descriptors, answer) {
        (true, Ok(_)) => {}
        (false, Err(error @ Error::NoDescriptor { .. })) => {
            let words = error.to_string();
            assert!(words.starts_with(variant.allocator.memory().name()), "{words}");
            assert!(words.contains("shm"), "{words}");
        }
        (_, other) => panic!("{other:?}"),
    }
}

pub(super) fn descriptors_outlive_the_buffer(variant: &Variant) {
    if !variant.descriptors {
        return;
    }
    let buffer = variant.get(5000);
    let id = buffer.identity().id();
    buffer.write().unwrap().as_bytes_mut().fill(2);
    let fd = buffer.clone_descriptor().unwrap();
    drop(buffer);
    // A pool must not hand out again what others may hold.
    assert_ne!(variant.get(5000).identity().id(), id);
    let protection = Protection::ReadOnly;
    let back = import(&fd, 5000, protection, None).unwrap();
    assert_ne!(back.identity().id(), id);
    assert!(back.read_range(0..5000).unwrap().as_bytes().iter().all(|byte| *byte == 2));
}

pub(super) fn an_import_keeps_the_identity_alive(variant: &Variant) {
    if !variant.descriptors {
        return;
    }
    let buffer = variant.get(5000);
    let weak = buffer.identity().weak();
    let back = import(buffer.clone_descriptor().unwrap(), 0, Protection::ReadOnly, None).unwrap();
    drop(buffer);
    variant.let_go();
    assert!(weak.upgrade().is_some());
    drop(back);
    assert!(weak.upgrade().is_none());
}

pub(super) fn sealing_stops_new_writers(variant: &Variant) {
    if !variant.descriptors {
        return;
    }
    let buffer = variant.get(5000);
    let raw = buffer.raw().unwrap();
    let fd = buffer.clone_descriptor().unwrap();
    let word = if variant.name.contains("named") { "named" } else { "DMA-BUF" };
    if word == "named" || variant.allocator.memory() == TensorMemory::Dma {
        let error = raw.seal_for_others().unwrap_err();
        assert!(matches!(error, Error::NotSealable { .. }), "{error:?}");
        assert!(error.to_string().contains(word), "{error}");
        return;
    }
    raw.seal_for_others().unwrap();
    raw.seal_for_others().unwrap();
    let seals = fcntl_get_seals(fd.as_fd()).unwrap();
    assert!(seals.contains(SealFlags::SHRINK | SealFlags::GROW | SealFlags::FUTURE_WRITE));
    // The maker goes on writing.
    buffer.write().unwrap().as_bytes_mut().fill(1);
    assert!(fs::write(format!("/proc/self/fd/{}", fd.as_raw_fd()), [9; 10]).is_err());
    let error = import(&fd, 0, Protection::Writable, None).map(|again| again.write().map(drop));
    // The mapping that was there before is what comes back; a new one would be refused.
    assert!(matches!(error, Ok(Ok(())) | Err(Error::WrongMode { .. })), "{error:?}");
    assert_eq!(buffer.read().unwrap().as_bytes()[0], 1);
}
