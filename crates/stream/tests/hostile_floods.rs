//! A producer that sends more than it may: frames, memory, words. A consumer takes no more than it
//! was granted and asked for, and every call comes back.
#![cfg(all(target_os = "linux", not(miri)))]

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use tenure_stream::wire::{Answer, Fault, FrameHead};
use tenure_stream::{Error, Frame};
use tenure_tensor::wire::{Description, Fault as Described};

#[path = "../../memory/tests/common/child.rs"]
mod child;
#[path = "common/liar.rs"]
mod liar;
#[path = "common/raw.rs"]
mod raw;
#[path = "../../memory/tests/common/resources.rs"]
mod resources;
#[path = "common/stage.rs"]
mod stage;

use liar::{Liar, description, frame, head, packet};
use stage::{SOON, Stage, publish};

/// More than any socket holds.
const FLOOD: usize = 200_000;

fn memory_file(bytes: u64) -> OwnedFd {
    let fd = memfd_create("lie", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
    ftruncate(&fd, bytes).unwrap();
    let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::FUTURE_WRITE | SealFlags::SEAL;
    fcntl_add_seals(&fd, seals).unwrap();
    fd
}

/// A frame of so many bytes that all lie in the first one.
fn broadcast(bytes: usize) -> Vec<u8> {
    let mut described = Description::decode(&description(16)).unwrap();
    (described.shape, described.strides) = (vec![bytes], vec![0]);
    described.encode()
}

/// A frame in a slot that was sent before.
fn known(slot: u32, sequence: u64, description: &[u8]) -> Vec<u8> {
    let head = FrameHead { slot, sequence, memories: 0, ..head(0, description.len()) };
    packet(head, description)
}

fn new_memory(slot: u32, generation: u32) -> Vec<u8> {
    let words = description(16);
    packet(FrameHead { slot, generation, ..head(1, words.len()) }, &words)
}

#[test]
fn elements_that_the_memory_has_no_bytes_for_are_refused() {
    let liar = Liar::new();
    let memory = memory_file(4096);
    let refused = |packets: &[Vec<u8>]| {
        let with = |(index, packet): (usize, &Vec<u8>)| {
            (packet.clone(), if index == 0 { vec![memory.as_fd()] } else { vec![] })
        };
        let packets: Vec<_> = packets.iter().enumerate().map(with).collect();
        match liar.tell(&packets) {
            Err(Error::Tensor(tenure_tensor::Error::Description(fault))) => *fault,
            other => panic!("{other:?}"),
        }
    };
    for packed in [4097, 1 << 42] {
        let words = broadcast(packed);
        let whole = packet(head(1, words.len()), &words);
        assert_eq!(refused(&[whole]), Described::Packed { packed, memory: 4096 });
        // Also in memory that is there already.
        let later = known(0, 1, &words);
        assert_eq!(refused(&[frame(16), later]), Described::Packed { packed, memory: 4096 });
    }
    // As many as there are bytes are fine.
    let words = broadcast(4096);
    let whole = packet(head(1, words.len()), &words);
    let frame = liar.tell(&[(whole, vec![memory.as_fd()])]).unwrap().unwrap();
    assert_eq!((frame.shape(), frame.strides()), (&[4096][..], &[0][..]));
}

#[test]
fn more_frames_than_credits_end_the_connection() {
    let liar = Liar::new();
    let (mut subscriber, socket) = liar.welcome();
    let memory = memory_file(4096);
    let words = description(16);
    assert!(raw::send(&socket, &frame(16), &[memory.as_fd()]));
    for sequence in 1..6 {
        assert!(raw::send(&socket, &known(0, sequence, &words), &[]));
    }
    let held: Vec<Frame> = (0..3).map(|_| subscriber.next(SOON).unwrap().unwrap()).collect();
    assert_eq!(subscriber.held(), 3);
    let refused = subscriber.next(SOON).unwrap_err();
    let fault = Fault::NoCredit { found: 4, credits: 3 };
    assert!(matches!(&refused, Error::Packet(packet) if packet.fault == fault), "{refused}");
    // What is held stays valid, and nothing more is heard.
    assert!(held.iter().all(|frame| frame.shape() == [16]));
    assert!(matches!(subscriber.next(SOON), Err(Error::Ended { .. })));
}

#[test]
fn releases_that_nobody_hears_do_not_pile_up() {
    let liar = Liar::new();
    let (mut subscriber, socket) = liar.welcome();
    let memory = memory_file(4096);
    let words = description(16);
    assert!(raw::send(&socket, &frame(16), &[memory.as_fd()]));
    let mut frames = 0u64;
    // It never reads what is given back. The kernel keeps some hundreds of packets for it.
    let refused = loop {
        match subscriber.next(SOON) {
            Ok(frame) => drop(frame.unwrap()),
            Err(error) => break error,
        }
        frames += 1;
        assert!(frames < 20_000, "it takes frames without end");
        raw::send(&socket, &known(0, frames, &words), &[]);
    };
    let fault = |error: &Error| matches!(&error, Error::Packet(it) if matches!(**it, tenure_stream::detail::Packet { fault: Fault::NoCredit { .. }, .. }));
    assert!(fault(&refused), "{refused}");
}

/// Sends without end until the other side hangs up. Says whether it ever did.
fn flood(socket: &OwnedFd, packet: &[u8]) -> bool {
    (0..FLOOD).any(|_| !raw::send(socket, packet, &[]))
}

type Call = fn(&mut tenure_stream::Subscriber) -> Result<Option<Frame>, Error>;

#[test]
fn words_without_frames_keep_nobody_busy() {
    let liar = Liar::new();
    let forget = Answer::Forget { slot: 0, generation: 1 }.encode();
    let calls: [Call; 3] =
        [tenure_stream::Subscriber::try_next, tenure_stream::Subscriber::latest, |subscriber| {
            subscriber.next(Duration::from_millis(1))
        }];
    for call in calls {
        let (mut subscriber, socket) = liar.welcome();
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            let flood = || {
                let hung_up = flood(&socket, &forget);
                over.store(true, Ordering::SeqCst);
                hung_up
            };
            let flooding = scope.spawn(flood);
            while !subscriber.wait(SOON).unwrap() {}
            let refused = call(&mut subscriber).unwrap_err();
            assert!(
                matches!(&refused, Error::Packet(it) if matches!(**it, tenure_stream::detail::Packet { fault: Fault::Forgets { .. }, .. }))
            );
            assert!(flooding.join().unwrap(), "it was heard to the end");
        });
    }
}

#[test]
fn a_producer_that_never_stops_lets_everybody_go() {
    let liar = Liar::new();
    let memory = memory_file(4096);
    let words = description(16);
    // With `latest`, and with a subscriber that is dropped while a frame is held.
    for latest in [true, false] {
        let (mut subscriber, socket) = liar.welcome();
        assert!(raw::send(&socket, &frame(16), &[memory.as_fd()]));
        let first = subscriber.next(SOON).unwrap().unwrap();
        thread::scope(|scope| {
            let flooding = scope.spawn(|| flood(&socket, &known(0, 1, &words)));
            while !subscriber.wait(SOON).unwrap() {}
            if latest {
                while subscriber.latest().is_ok() {}
            }
            drop(subscriber);
            drop(first);
            assert!(flooding.join().unwrap(), "it was heard to the end");
        });
    }
}

/// Neither a quick producer that does nothing wrong.
#[test]
fn the_latest_of_a_quick_producer_comes_back() {
    let stage = Stage::new();
    let mut publisher = stage.words("s", 1);
    let mut subscriber = stage.subscriber("s").open().unwrap();
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for sequence in 0.. {
                publish(&mut publisher, sequence).unwrap();
                if over.load(Ordering::SeqCst) {
                    return;
                }
            }
        });
        for _ in 0..200 {
            let before = subscriber.skipped();
            let newest = subscriber.latest().unwrap();
            // Three credits: one is given, two are passed over.
            assert!(subscriber.skipped() - before < 3, "{newest:?}");
        }
        over.store(true, Ordering::SeqCst);
    });
}

#[test]
fn memory_is_taken_up_to_the_limit() {
    child::alone("memory_is_taken_up_to_the_limit", || {
        let liar = Liar::new();
        // A terabyte that is not there.
        let sparse = memory_file(1 << 40);
        let refused = liar.tell(&[(frame(16), vec![sparse.as_fd()])]).unwrap_err();
        let sparse = matches!(refused, Error::Memory(tenure_memory::Error::Sparse { .. }));
        assert!(sparse, "{refused}");

        let (mut subscriber, socket) =
            liar.welcome_with(|builder| builder.memory_limit(10 * 4096).descriptor_limit(8));
        let before = resources::descriptors().len();
        let mut held: Vec<Frame> = vec![];
        let (mut taken, mut refused) = (0, 0);
        // New memory with every frame, in new slots and in the same ones.
        for round in 0..200u32 {
            let memory = memory_file(4096);
            assert!(raw::send(&socket, &new_memory(round % 50, 1 + round / 50), &[memory.as_fd()]));
            match subscriber.next(SOON) {
                Ok(frame) => {
                    taken += 1;
                    held.push(frame.unwrap());
                    if held.len() > 2 {
                        held.remove(0);
                    }
                }
                Err(error) => {
                    assert!(matches!(error, Error::MemoryLimit { .. }), "{error}");
                    refused += 1;
                }
            }
            assert!(resources::descriptors().len() <= before + 8 + 1);
        }
        assert!(taken >= 8 && refused > 100, "{taken} {refused}");
        // What is forgotten makes room.
        for slot in 0..50 {
            for generation in 1..5 {
                let forget = Answer::Forget { slot, generation }.encode();
                assert!(raw::send(&socket, &forget, &[]));
            }
        }
        let memory = memory_file(4096);
        assert!(raw::send(&socket, &new_memory(7, 9), &[memory.as_fd()]));
        drop(memory);
        assert!(subscriber.next(SOON).unwrap().is_some());
    });
}
