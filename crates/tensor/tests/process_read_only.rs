//! Memory that was sent for reading cannot be written by the receiver, whatever it tries: the
//! kernel refuses every way.
#![cfg(all(linux_like, not(miri)))]
#![expect(unsafe_code, reason = "tries to write what it may only read")]

use std::ffi::c_void;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::ptr;

use rustix::net::SocketType;
use tenure_memory::{Error as MemoryError, share};
use tenure_tensor::{Error, Sharing, Tensor, TensorMemory, receive, send};

#[path = "../../memory/tests/common/child.rs"]
mod child;
#[path = "common/sockets.rs"]
mod sockets;

const BYTES: usize = 8192;

/// Sends a tensor to the other process, which tries `attack`, and checks that nothing changed.
fn withstands(test: &str, attack: impl Fn(OwnedFd)) {
    if let Some(address) = child::part() {
        return attack(sockets::connected(&address));
    }
    let listener = sockets::Listener::new(SocketType::STREAM);
    let mut command = child::command(test, &listener.address(SocketType::STREAM));
    let attacker = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let socket = listener.accept();
    let tensor = Tensor::<u8>::new(&[BYTES], Some(TensorMemory::Shm), None).unwrap();
    tensor.fill(7).unwrap();
    send(&socket, &tensor, Sharing::ReadOnly).unwrap();
    child::succeeded(&attacker.wait_with_output().unwrap());
    assert_eq!(tensor.map_read().unwrap().as_slice(), [7; BYTES]);
    // The sender still writes.
    tensor.map().unwrap().as_mut_slice().fill(8);
}

/// The descriptor itself, as a receiver that does not use this library has it.
fn descriptor(socket: OwnedFd) -> OwnedFd {
    share::receive(&socket).unwrap().descriptors.remove(0)
}

fn map(fd: RawFd, protection: i32, flags: i32) -> io::Result<*mut c_void> {
    // SAFETY: maps where the kernel likes.
    let page = unsafe { libc::mmap(ptr::null_mut(), BYTES, protection, flags, fd, 0) };
    if page == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(page) }
}

/// Checks that a system call that answered `answer` was refused.
fn refused(answer: impl TryInto<i64>) {
    let error = io::Error::last_os_error();
    assert_eq!(answer.try_into().ok(), Some(-1));
    assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{error}");
}

#[test]
fn tensors_are_read_only() {
    withstands("tensors_are_read_only", |socket| {
        let tensor = receive(&socket).unwrap();
        assert_eq!(tensor.map_read().unwrap().as_slice(), [7; BYTES]);
        assert!(!tensor.is_writable().unwrap());
        for error in [tensor.map().err(), tensor.typed::<u8>().unwrap().fill(1).err()] {
            assert!(
                matches!(error, Some(Error::Memory(MemoryError::ReadOnly { .. }))),
                "{error:?}"
            );
        }
        // Nor through a descriptor that it makes itself.
        let again = Tensor::<u8>::from_fd(tensor.clone_fd().unwrap(), &[BYTES], None).unwrap();
        assert!(again.map().is_err());
    });
}

#[test]
fn writable_mappings_are_refused() {
    withstands("writable_mappings_are_refused", |socket| {
        let fd = descriptor(socket);
        for protection in [libc::PROT_WRITE, libc::PROT_READ | libc::PROT_WRITE] {
            let error = map(fd.as_raw_fd(), protection, libc::MAP_SHARED).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{error}");
        }
    });
}

#[test]
fn mappings_do_not_become_writable() {
    withstands("mappings_do_not_become_writable", |socket| {
        let fd = descriptor(socket);
        let page = map(fd.as_raw_fd(), libc::PROT_READ, libc::MAP_SHARED).unwrap();
        // SAFETY: our own mapping, whose protection is not used if it is given after all.
        refused(unsafe { libc::mprotect(page, BYTES, libc::PROT_READ | libc::PROT_WRITE) });
        // SAFETY: mapped for reading above.
        assert_eq!(unsafe { page.cast::<u8>().read() }, 7);
    });
}

#[test]
fn writing_by_call_is_refused() {
    withstands("writing_by_call_is_refused", |socket| {
        let fd = descriptor(socket);
        let (raw, bytes) = (fd.as_raw_fd(), [9u8; 16]);
        // SAFETY: valid bytes, or none.
        unsafe {
            refused(libc::write(raw, bytes.as_ptr().cast(), bytes.len()));
            refused(libc::pwrite(raw, bytes.as_ptr().cast(), bytes.len(), 0));
            refused(libc::ftruncate(raw, 0));
            refused(libc::ftruncate(raw, 2 * BYTES as libc::off_t));
            let hole = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
            refused(libc::fallocate(raw, hole, 0, 4096));
        }
    });
}

#[test]
fn reopening_does_not_help() {
    withstands("reopening_does_not_help", |socket| {
        let fd = descriptor(socket);
        let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
        let again = std::fs::OpenOptions::new().read(true).write(true).open(&path);
        // That it opens is up to the file's permissions; that it writes nothing, to the seals.
        if let Ok(again) = again {
            let raw = again.as_raw_fd();
            // SAFETY: valid bytes.
            unsafe { refused(libc::pwrite(raw, [9u8; 16].as_ptr().cast(), 16, 0)) };
            assert!(map(raw, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED).is_err());
            // SAFETY: no bytes are involved.
            refused(unsafe { libc::ftruncate(raw, 0) });
        }
        let cut = std::fs::OpenOptions::new().write(true).truncate(true).open(&path);
        assert!(cut.is_err());
    });
}

#[test]
fn seals_cannot_be_taken_off_or_added() {
    withstands("seals_cannot_be_taken_off_or_added", |socket| {
        let fd = descriptor(socket);
        for seal in [libc::F_SEAL_WRITE, libc::F_SEAL_SHRINK, 0] {
            // SAFETY: changes nothing but seals.
            refused(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_ADD_SEALS, seal) });
        }
    });
}

#[test]
fn a_private_copy_stays_private() {
    withstands("a_private_copy_stays_private", |socket| {
        let fd = descriptor(socket);
        let flags = libc::MAP_PRIVATE;
        let page = map(fd.as_raw_fd(), libc::PROT_READ | libc::PROT_WRITE, flags).unwrap();
        // SAFETY: a mapping of our own that may be written.
        unsafe { page.cast::<u8>().write_bytes(9, BYTES) };
    });
}
