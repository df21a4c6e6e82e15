//! Writing to memory that is read-only: a mapped file, and shared memory that was received for
//! reading, by every way there is.
#![forbid(unsafe_code)]

use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use tenure::memory::kind::mem::Mem;
use tenure::memory::{Access, Error, Protection, import};
use tenure::{Sharing, Tensor, TensorDyn, TensorMemory, receive, send};
use tenure_attacks::{memory, refused};

fn cannot_be_written(tensor: &TensorDyn) {
    let typed = tensor.typed::<u8>().expect("bytes");
    let other = Tensor::<u8>::new(tensor.shape(), None, None).expect("memory");
    assert!(!tensor.is_writable().expect("mapped"));
    refused!(tensor.map(), memory!(ReadOnly { .. }));
    refused!(tensor.map_strided(), memory!(ReadOnly { .. }));
    refused!(tensor.slice(0, 1..2).expect("inside").map(), memory!(ReadOnly { .. }));
    refused!(typed.fill(1), memory!(ReadOnly { .. }));
    refused!(typed.copy_from(&other), memory!(ReadOnly { .. }));
    refused!(tensor.buffer().write(), Error::ReadOnly { .. });
    refused!(tensor.buffer().hold(Access::ExportWrite, 0..1), Error::ReadOnly { .. });
    // Something lazy that is placed in it does not become writable either.
    let lazy = Tensor::<u8>::builder(&[16]).allocator(&Arc::new(Mem)).lazy().build().expect("lazy");
    lazy.buffer().place_in(tensor.buffer(), 0).expect("room");
    refused!(lazy.map(), memory!(ReadOnly { .. }));
    assert_eq!(tensor.map_read().expect("free").as_slice()[..3], [7; 3]);
}

fn main() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), [7; 4096]).expect("written");
    cannot_be_written(&TensorDyn::open(file.path()).expect("a file"));
    let writable = OpenOptions::new().read(true).write(true).open(file.path()).expect("a file");
    cannot_be_written(&Tensor::<u8>::from_fd(&writable, &[4096], None).expect("a file").to_dyn());
    refused!(import(&writable, 0, Protection::Writable, None), Error::Unsealed { .. });

    let (here, there) = UnixStream::pair().expect("a pair of sockets");
    let tensor = Tensor::<u8>::new(&[4096], Some(TensorMemory::Shm), None).expect("a page");
    tensor.fill(7).expect("free");
    send(&here, &tensor, Sharing::ReadOnly).expect("sent");
    let received = receive(&there).expect("received");
    cannot_be_written(&received);

    // The kernel sees to it, whatever the receiver does with the descriptor.
    let fd = received.clone_fd().expect("it has one");
    refused!(import(&fd, 0, Protection::Writable, None), Error::WrongMode { .. });
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    let again = OpenOptions::new().read(true).write(true).open(path).expect("our own descriptor");
    for file in [&File::from(fd), &again] {
        refused!(file.write_at(&[1], 0), error if error.raw_os_error() == Some(1));
        refused!(file.set_len(0), error if error.raw_os_error() == Some(1));
        refused!(import(file, 0, Protection::Writable, None), Error::WrongMode { .. });
    }
    assert_eq!(received.map_read().expect("free").as_slice(), [7; 4096]);
    // The sender goes on writing.
    tensor.fill(8).expect("free");
    assert_eq!(received.map_read().expect("free").as_slice(), [8; 4096]);
}
