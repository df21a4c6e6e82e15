//! A process that has no descriptors left: clear errors, and everything works again afterwards.
#![cfg(all(linux_like, not(miri)))]
#![expect(unsafe_code, reason = "sockets that keep packets apart, a signal to ignore")]

use std::fs;
use std::os::fd::{AsFd, FromRawFd, OwnedFd};

use rustix::process::Resource;
use tenure_memory::kind::{self, shm};
use tenure_memory::share::{receive, send};
use tenure_memory::{
    Allocator, Buffer, Error, MessageFault, PlaneDescriptor, Protection, Request, TensorMemory,
    allocate, import, open_file,
};

#[path = "common/child.rs"]
mod child;
#[path = "common/limits.rs"]
mod limits;

use limits::Full;

const FULL: &str = "Too many open files";

fn request() -> Request<'static> {
    Request::new(5000).unwrap()
}

fn shared() -> Buffer {
    Buffer::from_raw(shm::Shm::new().allocate(&request()).unwrap())
}

#[test]
fn memory_files_are_refused_and_come_back() {
    child::alone("memory_files_are_refused_and_come_back", || {
        let mut full = Full::but(0);
        // Asked for the first time when there is none: that must not be remembered.
        let allocator = kind::allocator(TensorMemory::Shm).unwrap();
        for _ in 0..3 {
            let error = allocator.allocate(&request()).unwrap_err();
            assert!(matches!(error, Error::System { .. }), "{error:?}");
            let words = error.to_string();
            assert!(words.contains("making a memory file") && words.contains(FULL), "{words}");
        }
        full.free(1);
        let buffer = Buffer::from_raw(allocator.allocate(&request()).unwrap());
        buffer.write().unwrap().as_bytes_mut().fill(1);
        drop(buffer);
        Buffer::from_raw(kind::allocator(TensorMemory::Shm).unwrap().allocate(&request()).unwrap());
    });
}

#[test]
fn named_memory_is_refused_without_a_trace() {
    child::alone("named_memory_is_refused_without_a_trace", || {
        let name = format!("/tenure-full-{}", std::process::id());
        let named = shm::Shm::named(&name);
        let mut full = Full::but(0);
        let error = named.allocate(&request()).unwrap_err();
        assert!(error.to_string().contains(FULL), "{error}");
        let error = shm::open_named(&name, true).unwrap_err();
        assert!(error.to_string().contains(FULL), "{error}");
        assert!(!fs::exists(format!("/dev/shm{name}")).unwrap());
        full.free(1);
        named.allocate(&request()).unwrap();
        shm::remove_named(&name).unwrap();
    });
}

#[test]
fn the_automatic_choice_falls_back_and_returns() {
    child::alone("the_automatic_choice_falls_back_and_returns", || {
        let mut full = Full::but(0);
        let raw = allocate(None, &request()).unwrap();
        assert_eq!(raw.memory(), TensorMemory::Mem);
        let refused: Vec<_> = raw.refusals().iter().map(|refusal| refusal.memory).collect();
        assert_eq!(refused, [TensorMemory::Dma, TensorMemory::Shm]);
        assert!(raw.refusals()[1].error.to_string().contains(FULL));
        full.free(10);
        let raw = allocate(None, &request()).unwrap();
        assert_eq!(raw.memory(), TensorMemory::Shm);
        // What is said of the first memory is true now, not what was true then.
        let words = raw.refusals()[0].error.to_string();
        assert!(!words.contains(FULL), "{words}");
    });
}

#[test]
fn imports_are_refused_and_come_back() {
    child::alone("imports_are_refused_and_come_back", || {
        let buffer = shared();
        let fd = buffer.clone_descriptor().unwrap();
        let path = std::env::current_exe().unwrap();
        let mut full = Full::but(0);
        for error in [
            import(&fd, 0, Protection::AsAllowed, None).map(drop).unwrap_err(),
            buffer.clone_descriptor().map(drop).unwrap_err(),
            PlaneDescriptor::new(&fd).map(drop).unwrap_err(),
        ] {
            assert!(matches!(error, Error::System { .. }), "{error:?}");
            let words = error.to_string();
            assert!(words.contains("duplicating") && words.contains(FULL), "{words}");
        }
        let error = open_file(&path).unwrap_err();
        assert!(matches!(error, Error::Open { .. }), "{error:?}");
        assert!(error.to_string().contains(FULL), "{error}");
        full.free(1);
        let back = import(&fd, 0, Protection::AsAllowed, None).unwrap();
        assert_eq!(back.identity(), buffer.identity());
        full.free(1);
        open_file(&path).unwrap();
    });
}

/// Connected sockets of one type.
fn sockets(kind: i32) -> (OwnedFd, OwnedFd) {
    let mut ends = [0; 2];
    // SAFETY: two new descriptors that are ours alone.
    unsafe {
        let flags = kind | libc::SOCK_CLOEXEC;
        assert_eq!(libc::socketpair(libc::AF_UNIX, flags, 0, ends.as_mut_ptr()), 0);
        (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1]))
    }
}

fn a_message_is_lost_but_not_the_next(kind: i32) {
    let (here, there) = sockets(kind);
    let buffers = [shared(), shared(), shared()];
    let fds: Vec<_> = buffers.iter().map(|buffer| buffer.lend_descriptor().unwrap()).collect();
    for n in 0..4 {
        send(&here, &[n; 100], &fds).unwrap();
    }
    // No room at all, then for some of the descriptors only.
    let mut full = Full::but(0);
    for room in 0..3 {
        match receive(&there) {
            Err(Error::Message { reason: MessageFault::DescriptorsLost }) => {}
            other => panic!("{room}: {other:?}"),
        }
        full.free(1);
    }
    let message = receive(&there).unwrap();
    assert_eq!((message.body, message.descriptors.len()), (vec![3; 100], 3));
}

#[test]
fn a_message_of_a_stream_is_lost_but_not_the_next() {
    child::alone("a_message_of_a_stream_is_lost_but_not_the_next", || {
        a_message_is_lost_but_not_the_next(libc::SOCK_STREAM);
    });
}

#[test]
fn a_packet_is_lost_but_not_the_next() {
    child::alone("a_packet_is_lost_but_not_the_next", || {
        a_message_is_lost_but_not_the_next(libc::SOCK_SEQPACKET);
    });
}

#[test]
fn the_machine_is_asked_before_its_memory_is_taken() {
    child::alone("the_machine_is_asked_before_its_memory_is_taken", || {
        // Should it not be asked, the kernel refuses here instead of killing somebody.
        // SAFETY: a signal of this process to ignore.
        unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
        limits::limit(Resource::Fsize, Some(1 << 30));
        let _full = Full::but(1);
        let request = Request::new(1 << 45).unwrap();
        match shm::Shm::new().allocate(&request).unwrap_err() {
            Error::OutOfMemory { available: Some(available), .. } => assert!(available < 1 << 45),
            other => panic!("{other:?}"),
        }
    });
}

#[test]
fn a_descriptor_is_enough_for_a_buffer() {
    child::alone("a_descriptor_is_enough_for_a_buffer", || {
        let _full = Full::but(1);
        let buffer = shared();
        assert!(buffer.raw().unwrap().descriptor().is_ok());
        assert!(
            rustix::io::fcntl_dupfd_cloexec(buffer.lend_descriptor().unwrap().as_fd(), 0).is_err()
        );
        buffer.write().unwrap().as_bytes_mut().fill(3);
    });
}
