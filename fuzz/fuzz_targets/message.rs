//! Whole messages, with and without descriptors of real memory: whatever is received can be
//! touched, and everything else is refused without losing a descriptor.
#![no_main]

use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, send, socketpair};
use tenure::memory::share;
use tenure::tensor::wire::Description;
use tenure::{Tensor, TensorDyn, TensorMemory};

#[derive(Debug, Arbitrary)]
struct Input<'a> {
    kind: Kind,
    bytes: &'a [u8],
}

#[derive(Debug, Arbitrary)]
enum Kind {
    /// Bytes on a stream, head and all.
    Stream,
    /// One packet, head and all.
    Packet,
    /// A body with a right head and some descriptors of one page of memory.
    Body { descriptors: u8, packet: bool },
}

fn pair(kind: SocketType) -> (OwnedFd, OwnedFd) {
    socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None).expect("a pair of sockets")
}

fuzz_target!(|input: Input<'_>| {
    // More than a socket takes without a reader would block for ever.
    let bytes = &input.bytes[..input.bytes.len().min(32 << 10)];
    match input.kind {
        Kind::Stream => {
            let (mut here, there) = UnixStream::pair().expect("a pair of sockets");
            here.write_all(bytes).expect("room");
            drop(here);
            while let Ok(message) = share::receive(&there) {
                assert!(message.descriptors.is_empty());
            }
        }
        Kind::Packet => {
            let (here, there) = pair(SocketType::SEQPACKET);
            send(&here, bytes, SendFlags::empty()).expect("room");
            drop(here);
            if let Ok(message) = share::receive(&there) {
                assert_eq!(message.body, bytes[12..]);
            }
        }
        Kind::Body { descriptors, packet } => {
            let kind = if packet { SocketType::SEQPACKET } else { SocketType::STREAM };
            let (here, there) = pair(kind);
            let memory = Tensor::<u8>::new(&[4096], Some(TensorMemory::Shm), None).expect("memory");
            let fd = memory.clone_fd().expect("it has one");
            let count = usize::from(descriptors) % (share::MOST_DESCRIPTORS + 1);
            share::send(&here, bytes, &vec![fd.as_fd(); count]).expect("a message");
            drop(here);
            if let Ok(tensor) = tenure::receive(&there) {
                assert!(Description::decode(bytes).is_ok_and(
                    |said| said.shape == tensor.shape() || tensor.image_layout().is_some()
                ));
                touch(&tensor);
            }
        }
    }
});

/// Reads and writes every byte that the tensor can give.
fn touch(tensor: &TensorDyn) {
    let _ = (tensor.aliases(tensor), format!("{tensor:?}"));
    let _ = tensor.map_strided_read().map(|read| read.as_ptr());
    if let Ok(read) = tensor.map_rows_read()
        && tensor.size_bytes() <= 1 << 16
    {
        assert!(read.row_len() <= 4096);
        std::hint::black_box(read.rows().flatten().fold(0u8, |all, byte| all ^ byte));
    }
    if let Ok(mut map) = tensor.map() {
        map.as_mut_slice().fill(7);
    }
    if let Ok(mut map) = tensor.map_rows() {
        map.rows_mut().for_each(|row| row.fill(8));
    }
    if tensor.flat_bytes() <= 1 << 16 {
        let mut flat = vec![0; tensor.flat_bytes()];
        let _ = tensor.copy_to_flat(&mut flat);
        let _ = tensor.to(Some(TensorMemory::Mem)).map(|copy| copy.copy_from(tensor));
    }
    for plane in 0..tensor.plane_count() {
        if let Ok(mut map) = tensor.plane(plane).and_then(|plane| plane.map_rows()) {
            map.rows_mut().for_each(|row| row.fill(9));
        }
    }
    for axis in 0..tensor.rank() {
        let _ = tensor.index(axis, 0).and_then(|view| view.map_strided_read().map(drop));
        let _ = tensor.slice(axis, 0..1).and_then(|view| view.map_strided().map(drop));
    }
    let _ = tensor.batch(0).and_then(|one| one.map_read().map(drop));
}
