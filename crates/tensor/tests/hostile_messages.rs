//! Messages that are not what they say: refused for the right reason, their descriptors closed,
//! and what follows them understood.
#![cfg(all(linux_like, not(miri)))]

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::SocketType;
use tenure_memory::share::LONGEST_BODY;
use tenure_memory::{Error as MemoryError, MessageFault};
use tenure_tensor::wire::Description;
use tenure_tensor::{DType, Error, Sharing, TensorDyn, receive, send};

#[path = "common/cases.rs"]
#[expect(dead_code, reason = "one of the tensors is enough here")]
mod cases;
#[path = "../../memory/tests/common/child.rs"]
mod child;
#[path = "common/raw.rs"]
mod raw;
#[path = "../../memory/tests/common/resources.rs"]
mod resources;
#[path = "common/sockets.rs"]
mod sockets;

use MessageFault::{Descriptors, DescriptorsLost, Length, NoHead, NotOurs, Version};

/// A tensor, the body of the message that describes it, and its memory.
fn honest() -> (TensorDyn, Vec<u8>, OwnedFd) {
    let tensor = cases::numbered(&[4, 100], DType::U8);
    let description = Description {
        dtype: DType::U8,
        shape: vec![4, 100],
        strides: vec![100, 1],
        offset: 0,
        read_only: false,
        image: None,
        colour: None,
        quantization: None,
        name: None,
    };
    let fd = tensor.clone_fd().unwrap();
    (tensor, description.encode(), fd)
}

/// Runs a test for both types of socket, in a process of its own that must keep nothing.
fn each_kind(test: &str, check: impl Fn(SocketType, (OwnedFd, OwnedFd))) {
    child::alone(test, || {
        for kind in sockets::KINDS {
            resources::nothing_left(test, || check(kind, sockets::pair(kind)));
        }
    });
}

fn fault(socket: impl AsFd) -> MessageFault {
    match receive(socket).unwrap_err() {
        Error::Memory(MemoryError::Message(message)) => message.reason,
        other => panic!("{other:?}"),
    }
}

/// Checks that an honest message gets through.
fn goes_on((here, there): &(OwnedFd, OwnedFd)) {
    let (tensor, ..) = honest();
    send(here, &tensor, Sharing::ReadWrite).unwrap();
    cases::assert_same(&tensor, &receive(there).unwrap());
}

#[test]
fn messages_by_hand_are_understood() {
    each_kind("messages_by_hand_are_understood", |_, ends| {
        let (tensor, body, fd) = honest();
        raw::send(&ends.0, &raw::message(&body, 1), &[fd.as_fd()]);
        cases::assert_same(&tensor, &receive(&ends.1).unwrap());
    });
}

#[test]
fn heads_that_are_not_ours() {
    let (mark, version) = (*b"TNUR", 1);
    let too_long = LONGEST_BODY as u32 + 1;
    let heads = [
        (raw::head(b"RUNT", version, 1, 10), NotOurs { found: u32::from_le_bytes(*b"RUNT") }),
        (raw::head(&[0; 4], 0, 0, 0), NotOurs { found: 0 }),
        (raw::head(&mark, 2, 1, 10), Version { found: 2, known: 1 }),
        (raw::head(&mark, 0, 1, 10), Version { found: 0, known: 1 }),
        (
            raw::head(&mark, version, 1, too_long),
            Length { said: too_long as usize, limit: LONGEST_BODY },
        ),
        (
            raw::head(&mark, version, 1, u32::MAX),
            Length { said: u32::MAX as usize, limit: LONGEST_BODY },
        ),
    ];
    each_kind("heads_that_are_not_ours", |kind, _| {
        let (_, _, fd) = honest();
        for (head, expected) in &heads {
            let (here, there) = sockets::pair(kind);
            raw::send(&here, head, &[fd.as_fd()]);
            assert_eq!(fault(&there), *expected);
        }
    });
}

#[test]
fn packets_of_another_length_than_they_say() {
    child::alone("packets_of_another_length_than_they_say", || {
        let ends = sockets::pair(SocketType::SEQPACKET);
        let (_, body, fd) = honest();
        for lie in [0, 1, body.len() - 1, body.len() + 1, LONGEST_BODY] {
            let mut packet = raw::head(b"TNUR", 1, 1, lie as u32);
            packet.extend(&body);
            raw::send(&ends.0, &packet, &[fd.as_fd()]);
            assert_eq!(fault(&ends.1), Length { said: lie, limit: body.len() });
        }
        for short in 1..12 {
            raw::send(&ends.0, &raw::message(&body, 1)[..short], &[fd.as_fd()]);
            assert_eq!(fault(&ends.1), NoHead { found: short, head: 12 });
        }
        goes_on(&ends);
    });
}

#[test]
fn another_number_of_descriptors_than_said() {
    each_kind("another_number_of_descriptors_than_said", |_, ends| {
        let (_, body, fd) = honest();
        for (said, sent) in [(0, 1), (1, 0), (2, 1), (1, 2), (4, 3), (3, 4), (65_535, 1)] {
            let descriptors = vec![fd.as_fd(); sent];
            let mut bytes = raw::message(&body, said);
            bytes[6..8].copy_from_slice(&(said as u16).to_le_bytes());
            raw::send(&ends.0, &bytes, &descriptors);
            assert_eq!(fault(&ends.1), Descriptors { found: sent, expected: said });
        }
        goes_on(&ends);
    });
}

#[test]
fn too_many_descriptors() {
    each_kind("too_many_descriptors", |_, ends| {
        let (_, body, fd) = honest();
        for many in [5, 6, 100, 253] {
            for said in [1, 4, many] {
                let descriptors = vec![fd.as_fd(); many];
                raw::send(&ends.0, &raw::message(&body, said), &descriptors);
                assert!(matches!(fault(&ends.1), Descriptors { found: 5.., expected: ..=4 }));
            }
        }
        goes_on(&ends);
    });
}

#[test]
fn a_flood_of_descriptors_is_not_kept() {
    child::alone("a_flood_of_descriptors_is_not_kept", || {
        let (here, there) = sockets::pair(SocketType::STREAM);
        let (_, body, fd) = honest();
        // Few are on their way at a time: that is limited too, for all processes of a user.
        rustix::net::sockopt::set_socket_send_buffer_size(&here, 4096).unwrap();
        // A few with every byte: a receiver that kept them would soon have no room for others.
        let sender = std::thread::spawn(move || {
            for byte in raw::message(&[body, vec![0; 2000]].concat(), 1) {
                raw::send(&here, &[byte], &[fd.as_fd(); 4]);
            }
            here
        });
        let before = resources::descriptors().len();
        let watch = std::thread::spawn(move || {
            let mut most = 0;
            while !sender.is_finished() {
                most = most.max(resources::descriptors().len());
            }
            (most, sender.join().unwrap())
        });
        let found = match fault(&there) {
            Descriptors { found, expected: 1 } => found,
            other => panic!("{other:?}"),
        };
        assert!(found > 8000, "{found}");
        let (most, _here) = watch.join().unwrap();
        assert!(most < before + 50, "{before} {most}");
    });
}

#[test]
fn streams_that_end_in_the_middle() {
    let (_, body, fd) = honest();
    let whole = raw::message(&body, 1);
    for end in 0..whole.len() {
        // Closed, and closed by a peer that has not read what it was sent.
        for unread in [false, true] {
            let (here, there) = sockets::pair(SocketType::STREAM);
            if end > 0 {
                raw::send(&here, &whole[..end], &[fd.as_fd()]);
            }
            if unread {
                raw::send(&there, b"unread", &[]);
            }
            drop(here);
            match receive(&there).unwrap_err() {
                Error::Memory(MemoryError::Closed { midway }) => assert_eq!(midway, end > 0),
                other => panic!("{end}: {other:?}"),
            }
        }
    }
}

#[test]
fn streams_that_come_byte_by_byte() {
    let (here, there) = sockets::pair(SocketType::STREAM);
    let (tensor, body, fd) = honest();
    let receiver = std::thread::spawn(move || receive(&there).unwrap());
    for (n, byte) in raw::message(&body, 1).into_iter().enumerate() {
        let descriptors: &[BorrowedFd<'_>] = if n == 0 { &[fd.as_fd()] } else { &[] };
        raw::send(&here, &[byte], descriptors);
        std::thread::yield_now();
    }
    cases::assert_same(&tensor, &receiver.join().unwrap());
}

#[test]
fn descriptors_that_are_not_memory() {
    each_kind("descriptors_that_are_not_memory", |_, ends| {
        let (_, body, _) = honest();
        let (pipe, _writer) = std::io::pipe().unwrap();
        let null = std::fs::File::open("/dev/null").unwrap();
        for fd in [pipe.as_fd(), null.as_fd(), ends.0.as_fd()] {
            raw::send(&ends.0, &raw::message(&body, 1), &[fd]);
            let error = receive(&ends.1).unwrap_err();
            assert!(matches!(error, Error::Memory(MemoryError::NotMemory { .. })), "{error:?}");
        }
        goes_on(&ends);
    });
}

#[test]
fn empty_messages() {
    child::alone("empty_messages", || {
        let ends = sockets::pair(SocketType::STREAM);
        raw::send(&ends.0, &raw::message(&[], 0), &[]);
        let error = receive(&ends.1).unwrap_err();
        assert!(matches!(error, Error::Description(_)), "{error:?}");
        goes_on(&ends);
    });
}

#[test]
fn nothing_here_is_lost() {
    // The fault of a full table of descriptors is for that alone.
    each_kind("nothing_here_is_lost", |_, ends| {
        let (_, body, fd) = honest();
        raw::send(&ends.0, &raw::message(&body, 1), &[fd.as_fd(); 9]);
        assert_ne!(fault(&ends.1), DescriptorsLost);
    });
}
