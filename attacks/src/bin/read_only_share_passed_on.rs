//! Memory that was imported for reading only, passed on for reading only: the third party gets a
//! descriptor, and must not be able to write through it, although nobody sealed the memory yet.
#![forbid(unsafe_code)]

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use tenure::memory::{Protection, import, share};
use tenure::{DType, Layout, Sharing, TensorDyn, send};
use tenure_attacks::refused;

fn main() {
    let (here, there) = UnixStream::pair().expect("a pair of sockets");
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let memory = memfd_create("theirs", flags).expect("a memory file");
    ftruncate(&memory, 4096).expect("its size");
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), [7; 4096]).expect("written");
    let writable = OpenOptions::new().read(true).write(true).open(file.path()).expect("a file");

    for fd in [&File::from(memory), &writable] {
        let buffer = import(fd, 4096, Protection::ReadOnly, None).expect("memory");
        let layout = Layout::contiguous(DType::U8, &[4096]).expect("a page");
        let tensor = TensorDyn::from_buffer(buffer, layout).expect("fits");
        // Refusing to share it is as good as sharing it sealed.
        if send(&here, &tensor, Sharing::ReadOnly).is_err() {
            continue;
        }
        let message = share::receive(&there).expect("received");
        let [theirs] = &message.descriptors[..] else { panic!("one descriptor") };
        let theirs = File::from(theirs.try_clone().expect("a descriptor"));
        let held = tensor.map_read().expect("free");
        let before = held.as_slice()[0];
        refused!(theirs.write_at(&[99], 0), error if matches!(error.raw_os_error(), Some(1 | 9)));
        assert_eq!(held.as_slice()[0], before);
    }
}
