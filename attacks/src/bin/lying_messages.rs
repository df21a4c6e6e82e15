//! Messages whose head or description lies about lengths, shapes, strides, offsets, planes and
//! element types, with real memory that is much smaller than they say.
#![forbid(unsafe_code)]

use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use tenure::memory::{Error as MemoryError, MessageFault, share};
use tenure::tensor::wire::{Description, Fault, ImageDescription};
use tenure::{DType, PixelFormat, Tensor, TensorDyn, TensorMemory, receive, tensor::Error};
use tenure_attacks::{layout, memory, open_descriptors, refused};

const FAR: usize = usize::MAX;

fn honest() -> Description {
    Description {
        dtype: DType::U8,
        shape: vec![64, 64],
        strides: vec![64, 1],
        offset: 0,
        read_only: false,
        image: None,
        colour: None,
        quantization: None,
        name: None,
    }
}

fn picture(planes: &[(u8, usize, usize)], width: usize, height: usize) -> Description {
    let planes = planes.to_vec();
    let image = Some(ImageDescription { format: PixelFormat::Nv12, width, height, planes });
    Description { shape: vec![96, 32], strides: vec![32, 1], image, ..honest() }
}

/// What becomes of a description that comes with one page of memory, `copies` times.
fn told(description: &Description, copies: usize) -> Result<TensorDyn, Error> {
    let memory = Tensor::<u8>::new(&[4096], Some(TensorMemory::Shm), None).expect("a page");
    let fd = memory.clone_fd().expect("it has one");
    let (here, there) = UnixStream::pair().expect("a pair of sockets");
    share::send(&here, &description.encode(), &vec![fd.as_fd(); copies]).expect("sent");
    receive(&there)
}

/// What becomes of bytes that are no message at all.
fn raw(bytes: &[u8]) -> Result<share::Message, MemoryError> {
    let (mut here, there) = UnixStream::pair().expect("a pair of sockets");
    here.write_all(bytes).expect("sent");
    drop(here);
    share::receive(&there)
}

fn head(version: u16, descriptors: u16, len: u32) -> Vec<u8> {
    let mut head = b"TNUR".to_vec();
    head.extend(version.to_le_bytes());
    head.extend(descriptors.to_le_bytes());
    head.extend(len.to_le_bytes());
    head
}

fn main() {
    let before = open_descriptors();
    drop(told(&honest(), 1).expect("an honest description").map().expect("free"));
    let framed = told(&picture(&[(0, 0, 32), (0, 2048, 32)], 32, 64), 1).expect("honest");
    drop(framed.map().expect("free"));
    drop(framed);

    let larger = Description { shape: vec![65, 64], ..honest() };
    refused!(told(&larger, 1), layout!(OutOfBounds { .. }));
    let later = Description { offset: 1, ..honest() };
    refused!(told(&later, 1), layout!(OutOfBounds { .. }));
    let wider = Description { dtype: DType::F64, ..honest() };
    refused!(told(&wider, 1), layout!(OutOfBounds { .. }));
    let before_the_start = Description { strides: vec![-64, 1], ..honest() };
    refused!(told(&before_the_start, 1), layout!(Unaddressable { .. }));
    let around = Description { strides: vec![1 << 58, 1], ..honest() };
    refused!(told(&around, 1), layout!(OutOfBounds { .. } | Unaddressable { .. }));
    let endless = Description { shape: vec![FAR, FAR], ..honest() };
    refused!(told(&endless, 1), layout!(TooLarge { .. }));
    let broadcast = Description { shape: vec![1 << 42], strides: vec![0], ..honest() };
    refused!(told(&broadcast, 1), Error::Description(fault) if matches!(*fault, Fault::Packed { .. }));
    let windows = Description { shape: vec![3000, 64], strides: vec![1, 1], ..honest() };
    refused!(told(&windows, 1), Error::Description(fault) if matches!(*fault, Fault::Packed { .. }));
    let far = Description { offset: FAR, ..honest() };
    refused!(told(&far, 1), layout!(Unaddressable { .. }));
    let odd =
        Description { dtype: DType::U16, shape: vec![8], strides: vec![1], offset: 3, ..honest() };
    refused!(told(&odd, 1), layout!(Misaligned { .. }));

    for planes in [&[(0, 0, 32), (0, 4090, 32)][..], &[(0, 0, 32), (0, FAR - 31, 32)]] {
        let attack = told(&picture(planes, 32, 64), 1);
        refused!(attack, layout!(OutOfBounds { .. } | ImageTooLarge { .. }));
    }
    let thin = picture(&[(0, 0, 31), (0, 2048, 32)], 32, 64);
    refused!(told(&thin, 1), layout!(StrideTooShort { .. }));
    let huge = picture(&[(0, 0, 32), (0, 2048, 32)], FAR, FAR);
    refused!(told(&huge, 1), layout!(ImageTooLarge { .. }));
    let three = picture(&[(0, 0, 32), (0, 2048, 32), (0, 0, 32)], 32, 64);
    refused!(told(&three, 1), layout!(PlaneCount { .. }));
    let elsewhere = picture(&[(0, 0, 32), (1, 0, 32)], 32, 64);
    refused!(told(&elsewhere, 1), Error::Description(fault) if matches!(*fault, Fault::TooLarge { .. }));
    refused!(told(&elsewhere, 3), memory!(Message { .. }));
    refused!(told(&honest(), 0), memory!(Message { .. }));

    let fault = |reason: fn(&MessageFault) -> bool| move |error: &MemoryError| matches!(error, MemoryError::Message(it) if reason(&it.reason));
    let not_ours = fault(|reason| matches!(reason, MessageFault::NotOurs { .. }));
    refused!(raw(b"GET / HTTP/1.1"), error if not_ours(&error));
    let version = fault(|reason| matches!(reason, MessageFault::Version { found: 9, .. }));
    refused!(raw(&head(9, 0, 0)), error if version(&error));
    let length = fault(|reason| matches!(reason, MessageFault::Length { .. }));
    refused!(raw(&head(1, 0, u32::MAX)), error if length(&error));
    let missing = fault(|reason| matches!(reason, MessageFault::Descriptors { found: 0, .. }));
    refused!(raw(&head(1, 4, 0)), error if missing(&error));
    refused!(raw(&head(1, u16::MAX, 0)), error if missing(&error));
    refused!(raw(&head(1, 0, 100)), MemoryError::Closed { midway: true });
    refused!(raw(&head(1, 0, 100)[..7]), MemoryError::Closed { midway: true });
    refused!(raw(b""), MemoryError::Closed { midway: false });
    assert_eq!(open_descriptors(), before, "descriptors of refused messages must be closed");
}
