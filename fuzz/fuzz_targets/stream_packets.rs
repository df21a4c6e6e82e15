//! Packets of a stream from a producer or a consumer that lies: what is taken can be touched, and
//! the producer can go on whatever it is told.
#![no_main]

use std::cell::RefCell;
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::time::Duration;

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix,
    SocketFlags, SocketType, connect, sendmsg, socket_with, socketpair,
};
use tenure::stream::wire::{Answer, FrameHead, NO_COUNT, Request};
use tenure::stream::{Meta, Publisher, Spec, Subscriber};
use tenure::{DType, Tensor, TensorMemory};

#[derive(Debug, Arbitrary)]
struct Input<'a> {
    /// Whether the producer lies, or the consumer.
    producer: bool,
    packets: Vec<Packet<'a>>,
}

#[derive(Debug, Arbitrary)]
struct Packet<'a> {
    descriptors: u8,
    body: Body<'a>,
}

#[derive(Debug, Arbitrary)]
enum Body<'a> {
    Bytes(&'a [u8]),
    /// The head of a frame that says what follows.
    Frame {
        slot: u8,
        generation: u8,
        fence: bool,
        description: &'a [u8],
        blob: &'a [u8],
    },
    Release {
        slot: u8,
        sequence: u8,
        unknown: bool,
        fence: bool,
    },
    Consume(u8),
    Enough,
}

impl Packet<'_> {
    fn bytes(&self) -> Vec<u8> {
        match &self.body {
            Body::Bytes(bytes) => bytes.to_vec(),
            &Body::Frame { slot, generation, fence, description, blob } => {
                let head = FrameHead {
                    slot: slot.into(),
                    generation: generation.into(),
                    sequence: 0,
                    dropped: 0,
                    captured: 0,
                    published: 0,
                    memories: (self.descriptors % 6).saturating_sub(u8::from(fence)),
                    fence,
                    description: description.len() as u32,
                    blob: blob.len() as u32,
                };
                [&head.encode()[..], description, blob].concat()
            }
            &Body::Release { slot, sequence, unknown, fence } => {
                let (slot, sequence) = (slot.into(), sequence.into());
                Request::Release { slot, sequence, unknown, fence }.encode()
            }
            Body::Consume(credits) => Request::Consume { credits: (*credits).into() }.encode(),
            Body::Enough => Request::Enough.encode(),
        }
    }

    fn send(&self, socket: &OwnedFd, memory: BorrowedFd<'_>) {
        let bytes = self.bytes();
        if bytes.is_empty() || bytes.len() > 32 << 10 {
            return;
        }
        let descriptors = vec![memory; usize::from(self.descriptors % 6)];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(6))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !descriptors.is_empty() {
            assert!(ancillary.push(SendAncillaryMessage::ScmRights(&descriptors)));
        }
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        let _ = sendmsg(socket, &[IoSlice::new(&bytes)], &mut ancillary, flags);
    }
}

struct Scene {
    publisher: Publisher,
    socket: PathBuf,
}

thread_local! {
    static SCENE: RefCell<Scene> = RefCell::new({
        let directory = std::env::temp_dir().join(format!("tenure-fuzz-{}", std::process::id()));
        let publisher = Publisher::builder("s")
            .directory(&directory)
            .spec(Spec::tensor(DType::U8, &[64]).expect("a shape"))
            .without_thread()
            .open()
            .expect("a publisher");
        Scene { publisher, socket: directory.join("s.sock") }
    });
}

/// Memory as streams have it.
fn memory() -> Tensor<u8> {
    let memory = Tensor::<u8>::new(&[4096], Some(TensorMemory::Shm), None).expect("memory");
    memory.buffer().raw().expect("it is there").seal_for_others().expect("it can be sealed");
    memory
}

fuzz_target!(|input: Input<'_>| {
    let memory = memory();
    let fd = memory.clone_fd().expect("it has one");
    let packets = input.packets.iter().take(16);
    if input.producer {
        let pair = (SocketType::SEQPACKET, SocketFlags::CLOEXEC);
        let (here, there) = socketpair(AddressFamily::UNIX, pair.0, pair.1, None).expect("a pair");
        let welcome = Answer::Welcome { incarnation: 1, consumer: 1, credits: 3, count: NO_COUNT };
        rustix::net::send(&here, &welcome.encode(), SendFlags::empty()).expect("room");
        packets.for_each(|packet| packet.send(&here, fd.as_fd()));
        drop(here);
        let builder = Subscriber::builder("s").answer_within(Duration::from_millis(10));
        let Ok(mut subscriber) = builder.open_over(there) else { return };
        while let Ok(Some(frame)) = subscriber.next(Duration::ZERO) {
            assert!(frame.map().is_err());
            if let Ok(read) = frame.map_rows_read()
                && frame.size_bytes() <= 1 << 16
            {
                assert!(read.row_len() <= 4096);
                std::hint::black_box(read.rows().flatten().fold(0u8, |all, byte| all ^ byte));
            }
        }
    } else {
        SCENE.with_borrow_mut(|scene| {
            let flags = SocketFlags::CLOEXEC;
            let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None);
            let socket = socket.expect("a socket");
            connect(&socket, &SocketAddrUnix::new(&scene.socket).expect("a path"))
                .expect("it listens");
            for packet in packets {
                packet.send(&socket, fd.as_fd());
                scene.publisher.serve().expect("it goes on");
                let slot = scene.publisher.claim().expect("nobody keeps it from claiming");
                slot.publish(Meta::new()).expect("nobody keeps it from publishing");
            }
            drop(socket);
            scene.publisher.serve().expect("it goes on");
            scene.publisher.serve().expect("it goes on");
            assert_eq!(scene.publisher.stats().granted, 0);
        });
    }
});
