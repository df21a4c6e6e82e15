//! Tensors between processes: the other one is this program again, which plays the part it is
//! told.
#![cfg(all(linux_like, not(miri)))]

use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};

use rustix::net::SocketType;
use tenure_memory::{Error as MemoryError, share};
use tenure_tensor::{DType, Error, Sharing, Tensor, TensorDyn, TensorMemory, receive, send};

#[path = "common/cases.rs"]
mod cases;
#[path = "../../memory/tests/common/child.rs"]
mod child;
#[path = "common/raw.rs"]
mod raw;
#[path = "common/sockets.rs"]
mod sockets;

use cases::{assert_same, numbered, shared};

/// Another process that runs the same test, and the connection to it.
struct Other {
    child: Child,
    socket: OwnedFd,
}

impl Other {
    fn start(test: &str, kind: SocketType) -> Other {
        let listener = sockets::Listener::new(kind);
        let mut command: Command = child::command(test, &listener.address(kind));
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        Other { child, socket: listener.accept() }
    }

    /// Hangs up, and checks that the other process ended well.
    fn end(self) {
        drop(self.socket);
        child::succeeded(&self.child.wait_with_output().unwrap());
    }
}

/// Runs a test between two processes: `here` in this one, `there` in the other.
fn between(test: &str, kinds: &[SocketType], here: impl Fn(&mut Other), there: impl Fn(OwnedFd)) {
    if let Some(address) = child::part() {
        return there(sockets::connected(&address));
    }
    for &kind in kinds {
        let mut other = Other::start(test, kind);
        here(&mut other);
        other.end();
    }
}

fn closed(error: &Error, midway: bool) -> bool {
    matches!(error, Error::Memory(MemoryError::Closed { midway: said }) if *said == midway)
}

#[test]
fn everything_survives_the_way_there_and_back() {
    between(
        "everything_survives_the_way_there_and_back",
        &sockets::KINDS,
        |other| {
            for tensor in cases::all() {
                send(&other.socket, &tensor, Sharing::ReadWrite).unwrap();
                let back = receive(&other.socket).unwrap();
                assert_same(&tensor, &back);
                assert!(back.is_empty() || back.aliases(&tensor), "{tensor:?}");
            }
        },
        |socket| loop {
            match receive(&socket) {
                Ok(tensor) => send(&socket, &tensor, Sharing::ReadWrite).unwrap(),
                Err(error) if closed(&error, false) => return,
                Err(error) => panic!("{error}"),
            }
        },
    );
}

#[test]
fn both_write_the_same_bytes() {
    between(
        "both_write_the_same_bytes",
        &sockets::KINDS,
        |other| {
            let tensor = Tensor::<u32>::new(&[1000], shared(), Some("counted")).unwrap();
            for round in 0..20 {
                tensor.map().unwrap().as_mut_slice().fill(round);
                send(&other.socket, &tensor, Sharing::ReadWrite).unwrap();
                let back = receive(&other.socket).unwrap();
                assert_eq!(back.buffer_identity(), tensor.buffer_identity());
                let map = tensor.map_read().unwrap();
                assert!(map.as_slice().iter().all(|value| *value == round + 1000));
            }
        },
        |socket| {
            let mut identity = None;
            while let Ok(tensor) = receive(&socket) {
                // The same memory again, known again while somebody keeps it.
                let kept = identity.get_or_insert_with(|| tensor.clone());
                assert_eq!(tensor.buffer_identity(), kept.buffer_identity());
                assert_eq!(tensor.name(), Some("counted"));
                let tensor = tensor.typed::<u32>().unwrap();
                tensor.map().unwrap().as_mut_slice().iter_mut().for_each(|value| *value += 1000);
                send(&socket, &tensor, Sharing::ReadWrite).unwrap();
            }
        },
    );
}

#[test]
fn memory_outlives_its_maker() {
    between(
        "memory_outlives_its_maker",
        &sockets::KINDS,
        |other| {
            let tensor = receive(&other.socket).unwrap();
            let end = receive(&other.socket).unwrap_err();
            assert!(closed(&end, false), "{end:?}");
            other.child.wait().unwrap();
            assert!(tensor.map_read().unwrap().as_slice().iter().all(|byte| *byte == 3));
            tensor.map().unwrap().as_mut_slice().fill(4);
        },
        |socket| {
            let tensor = Tensor::<u8>::new(&[100_000], shared(), None).unwrap();
            tensor.fill(3).unwrap();
            send(&socket, &tensor, Sharing::ReadWrite).unwrap();
        },
    );
}

#[test]
fn a_sender_killed_in_the_middle_of_a_message() {
    let test = "a_sender_killed_in_the_middle_of_a_message";
    if let Some(address) = child::part() {
        let socket = sockets::connected(&address);
        let tensor = numbered(&[100], DType::U8);
        send(&socket, &tensor, Sharing::ReadWrite).unwrap();
        let fd = tensor.clone_fd().unwrap();
        let half = &raw::message(&[0; 50], 1)[..40];
        raw::send(&socket, half, &[std::os::fd::AsFd::as_fd(&fd)]);
        let own = rustix::process::getpid();
        return rustix::process::kill_process(own, rustix::process::Signal::KILL).unwrap();
    }
    let Other { mut child, socket } = Other::start(test, SocketType::STREAM);
    assert_eq!(receive(&socket).unwrap().shape(), &[100]);
    let error = receive(&socket).unwrap_err();
    assert!(closed(&error, true), "{error:?}");
    assert!(error.to_string().contains("in the middle of a message"), "{error}");
    assert_eq!(child.wait().unwrap().signal(), Some(9));
    let error = receive(&socket).unwrap_err();
    assert!(closed(&error, false), "{error:?}");
}

#[test]
fn a_receiver_that_is_killed_takes_nothing_along() {
    let test = "a_receiver_that_is_killed_takes_nothing_along";
    if let Some(address) = child::part() {
        let socket = sockets::connected(&address);
        let tensor = receive(&socket).unwrap();
        let _held = tensor.map().unwrap();
        send(&socket, &tensor, Sharing::ReadWrite).unwrap();
        std::thread::park();
    }
    for kind in sockets::KINDS {
        let Other { mut child, socket } = Other::start(test, kind);
        let tensor = numbered(&[100], DType::U8);
        send(&socket, &tensor, Sharing::ReadWrite).unwrap();
        receive(&socket).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        let error = send(&socket, &tensor, Sharing::ReadWrite).unwrap_err();
        assert!(closed(&error, false), "{error:?}");
        tensor.map().unwrap().as_mut_slice().fill(1);
    }
}

#[test]
fn the_peer_is_the_other_process() {
    between(
        "the_peer_is_the_other_process",
        &sockets::KINDS,
        |other| {
            let peer = share::peer(&other.socket).unwrap();
            assert_eq!(peer.pid, other.child.id());
            assert_eq!(peer.uid, rustix::process::geteuid().as_raw());
            assert_eq!(peer.gid, rustix::process::getegid().as_raw());
        },
        |socket| {
            let parent = rustix::process::getppid().unwrap().as_raw_nonzero().get();
            assert_eq!(share::peer(&socket).unwrap().pid, parent as u32);
            drop(receive(&socket));
        },
    );
}

#[test]
fn a_stream_of_frames_through_a_pool() {
    between(
        "a_stream_of_frames_through_a_pool",
        &sockets::KINDS,
        |other| {
            let memory = shared().unwrap();
            let pool = tenure_tensor::Pool::new(tenure_memory::kind::allocator(memory).unwrap());
            // The kernel has no seals for DMA-BUFs.
            let sharing = match memory {
                TensorMemory::Dma => Sharing::ReadWrite,
                _ => Sharing::ReadOnly,
            };
            let mut ids = std::collections::HashSet::new();
            for n in 0..50u8 {
                let frame = Tensor::<u8>::builder(&[100, 100]).allocator(&pool).build().unwrap();
                // What the receiver may still look at is not given out again.
                assert!(ids.insert(frame.buffer_identity().id()));
                frame.map().unwrap().as_mut_slice().fill(n);
                send(&other.socket, &frame, sharing).unwrap();
            }
        },
        |socket| {
            let frames: Vec<TensorDyn> = (0..50).map(|_| receive(&socket).unwrap()).collect();
            for (n, frame) in frames.iter().enumerate() {
                assert!(frame.map_read().unwrap().as_slice().iter().all(|byte| *byte == n as u8));
            }
        },
    );
}
