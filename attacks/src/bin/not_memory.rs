//! Descriptors that are not memory, or not enough of it, or open in the wrong way.
#![forbid(unsafe_code)]

use std::fs::{File, OpenOptions};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use rustix::fs::{MemfdFlags, OFlags, memfd_create};
use tenure::memory::{Error, Protection, import};
use tenure::{DType, DynTensor, TensorDyn};
use tenure_attacks::{memory, refused};

fn main() {
    let (socket, _) = UnixStream::pair().expect("a pair of sockets");
    let (pipe, _end) = rustix::pipe::pipe().expect("a pipe");
    let folder = File::open("/tmp").expect("a folder");
    let null = File::open("/dev/null").expect("a device");
    for fd in [socket.as_fd(), pipe.as_fd(), folder.as_fd(), null.as_fd()] {
        refused!(import(fd, 0, Protection::AsAllowed, None), Error::NotMemory { .. });
    }
    let file = tempfile::NamedTempFile::new().expect("a file");
    file.as_file().set_len(100).expect("our own file");
    let blind = OpenOptions::new().write(true).open(file.path()).expect("our own file");
    refused!(import(&blind, 0, Protection::AsAllowed, None), Error::WrongMode { .. });
    let path = OFlags::PATH | OFlags::CLOEXEC;
    let by_path = rustix::fs::open(file.path(), path, rustix::fs::Mode::empty());
    let by_path = by_path.expect("our own file");
    refused!(import(&by_path, 0, Protection::AsAllowed, None), Error::WrongMode { .. });
    refused!(TensorDyn::from_fd(file.as_file(), &[101], DType::U8, None), memory!(TooShort { .. }));

    // Huge and empty: the size is believed, and there is no room to map it.
    let huge = memfd_create("huge", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING);
    let huge = huge.expect("a memory file");
    rustix::fs::ftruncate(&huge, 1 << 60).expect("sparse");
    refused!(import(&huge, 0, Protection::AsAllowed, None), Error::System { .. });
    let folder = tempfile::tempdir().expect("a folder");
    refused!(TensorDyn::open(folder.path()), memory!(NotMemory { .. }));
    refused!(TensorDyn::open("/dev/zero"), memory!(NotMemory { .. }));
    refused!(TensorDyn::open(folder.path().join("missing")), memory!(Open { .. }));
    let empty = TensorDyn::open("/proc/self/maps").expect("a file without a size");
    assert!(empty.map_read().expect("nothing to read").as_slice().is_empty());
}
