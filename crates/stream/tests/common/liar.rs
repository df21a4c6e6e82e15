//! A producer that lies, and the packets it needs for that.
#![allow(dead_code, reason = "every test program uses what it needs")]

use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Duration;

use tenure_stream::wire::{Answer, Fault, FrameHead, NO_COUNT};
use tenure_stream::{Error, Frame, Result, Subscriber, SubscriberBuilder};
use tenure_tensor::wire::Description;
use tenure_tensor::{DType, DynTensor, Sharing, TensorDyn, TensorMemory};

use crate::raw;
use crate::stage::{SOON, Stage};

/// A producer played by hand.
pub(crate) struct Liar {
    stage: Stage,
    pub(crate) listener: OwnedFd,
}

impl Liar {
    pub(crate) fn new() -> Liar {
        let stage = Stage::new();
        let listener = raw::listener(stage.path(), "s");
        Liar { stage, listener }
    }

    /// The directory that it is in.
    pub(crate) fn path(&self) -> &std::path::Path {
        self.stage.path()
    }

    /// What a subscriber makes of this first answer.
    pub(crate) fn greet(&self, answer: &[u8]) -> (Result<Subscriber>, OwnedFd) {
        self.greet_with(|builder| builder, answer)
    }

    fn greet_with(
        &self,
        options: impl FnOnce(SubscriberBuilder) -> SubscriberBuilder,
        answer: &[u8],
    ) -> (Result<Subscriber>, OwnedFd) {
        let builder = options(self.stage.subscriber("s").answer_within(Duration::from_secs(5)));
        let joining = std::thread::spawn(move || builder.open());
        let socket = raw::accept(&self.listener);
        assert!(!raw::receive(&socket).is_empty());
        raw::send(&socket, answer, &[]);
        (joining.join().unwrap(), socket)
    }

    pub(crate) fn welcome(&self) -> (Subscriber, OwnedFd) {
        self.welcome_with(|builder| builder)
    }

    /// A subscriber with options.
    pub(crate) fn welcome_with(
        &self,
        options: impl FnOnce(SubscriberBuilder) -> SubscriberBuilder,
    ) -> (Subscriber, OwnedFd) {
        let welcome = Answer::Welcome { incarnation: 1, consumer: 1, credits: 3, count: NO_COUNT };
        let (subscriber, socket) = self.greet_with(options, &welcome.encode());
        (subscriber.unwrap(), socket)
    }

    /// What a subscriber makes of these packets: the answer to the last.
    pub(crate) fn tell(&self, packets: &[(Vec<u8>, Vec<BorrowedFd<'_>>)]) -> Result<Option<Frame>> {
        let (mut subscriber, socket) = self.welcome();
        for (packet, descriptors) in packets {
            assert!(raw::send(&socket, packet, descriptors));
        }
        for _ in 1..packets.len() {
            subscriber.next(SOON).unwrap().unwrap();
        }
        let answer = subscriber.next(SOON);
        let lost = |error: &Error| match error {
            Error::Packet(packet) => matches!(
                packet.fault,
                Fault::DescriptorsLost | Fault::Memory { .. } | Fault::Unsealed { .. }
            ),
            Error::MemoryLimit { .. } => true,
            Error::Memory(tenure_memory::Error::Sparse { .. }) => true,
            _ => false,
        };
        if answer.as_ref().is_err_and(|error| !lost(error)) {
            // Nothing more is heard from whoever talks nonsense.
            assert!(matches!(subscriber.next(SOON), Err(Error::Ended { .. })));
        }
        answer
    }

    pub(crate) fn fault(&self, packet: &[u8], descriptors: &[BorrowedFd<'_>]) -> Fault {
        match self.tell(&[(packet.to_vec(), descriptors.to_vec())]) {
            Err(Error::Packet(packet)) => packet.fault,
            other => panic!("{other:?}"),
        }
    }
}

pub(crate) fn description(bytes: usize) -> Vec<u8> {
    let tensor = TensorDyn::new(&[bytes], DType::U8, Some(TensorMemory::Mem), None).unwrap();
    Description::of(&tensor, Sharing::ReadOnly).unwrap().encode()
}

pub(crate) fn head(memories: u8, description: usize) -> FrameHead {
    FrameHead {
        slot: 0,
        generation: 1,
        sequence: 0,
        dropped: 0,
        captured: 0,
        published: 0,
        memories,
        fence: false,
        description: description as u32,
        blob: 0,
    }
}

pub(crate) fn packet(head: FrameHead, description: &[u8]) -> Vec<u8> {
    [&head.encode()[..], description].concat()
}

pub(crate) fn frame(bytes: usize) -> Vec<u8> {
    let description = description(bytes);
    packet(head(1, description.len()), &description)
}
