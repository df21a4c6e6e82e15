//! Descriptors that are not memory, or not memory that can be trusted: each is refused with the
//! error that names its fault, and nothing of it stays open or mapped.
#![cfg(all(linux_like, not(miri)))]
#![expect(unsafe_code, reason = "borrows descriptors that are not open, makes an eventfd")]

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

use rustix::fs::{MemfdFlags, Mode, OFlags, SealFlags};
use tenure_memory::{Buffer, Error, PlaneDescriptor, Protection, TensorMemory, import, open_file};

#[path = "common/child.rs"]
mod child;
#[path = "common/resources.rs"]
mod resources;

use Protection::{AsAllowed, ReadOnly, Writable};

/// Runs a test in a process of its own, checking that it leaves nothing open or mapped.
macro_rules! test {
    ($name:ident, $body:block) => {
        #[test]
        fn $name() {
            child::alone(stringify!($name), || {
                resources::nothing_left(stringify!($name), || $body)
            });
        }
    };
}

/// The error of an import, for every protection.
fn refused(fd: impl AsFd, at_least: usize) -> Vec<Error> {
    [AsAllowed, ReadOnly, Writable]
        .map(|protection| import(&fd, at_least, protection, Some("bad")).map(drop).unwrap_err())
        .into()
}

/// Checks that every protection is refused because the descriptor is `found`.
fn not_memory(fd: impl AsFd, found: &str) {
    for error in refused(fd, 0) {
        let words = error.to_string();
        assert!(matches!(error, Error::NotMemory { .. }), "{error:?}");
        assert!(words.contains(found) && words.contains("not memory"), "{words}");
    }
}

fn memory_file(bytes: u64, flags: MemfdFlags) -> OwnedFd {
    let fd = rustix::fs::memfd_create("bad", flags | MemfdFlags::CLOEXEC).unwrap();
    rustix::fs::ftruncate(&fd, bytes).unwrap();
    fd
}

fn sealable(bytes: u64) -> OwnedFd {
    memory_file(bytes, MemfdFlags::ALLOW_SEALING)
}

/// The same file opened again in another mode.
fn reopened(fd: &OwnedFd, flags: OFlags) -> OwnedFd {
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    rustix::fs::open(path, flags | OFlags::CLOEXEC, Mode::empty()).unwrap()
}

test!(a_closed_descriptor, {
    // SAFETY: not open, which is what is tested; nothing opens so many descriptors meanwhile.
    let fd = unsafe { BorrowedFd::borrow_raw(19_999) };
    for error in refused(fd, 0) {
        let words = error.to_string();
        assert!(matches!(error, Error::System { .. }), "{error:?}");
        assert!(words.contains("Bad file descriptor"), "{words}");
    }
    let words = PlaneDescriptor::new(fd).unwrap_err().to_string();
    assert!(words.contains("duplicating") && words.contains("Bad file descriptor"), "{words}");
});

test!(pipes_and_sockets, {
    let (reader, writer) = std::io::pipe().unwrap();
    not_memory(reader, "a pipe");
    not_memory(writer, "a pipe");
    let (here, _there) = UnixStream::pair().unwrap();
    not_memory(here, "a socket");
});

test!(directories_and_devices, {
    not_memory(File::open("/tmp").unwrap(), "a directory");
    not_memory(File::open("/dev/null").unwrap(), "a character device");
    let zero = OpenOptions::new().read(true).write(true).open("/dev/zero").unwrap();
    not_memory(zero, "a character device");
    assert!(matches!(open_file("/dev/zero"), Err(Error::NotMemory { .. })));
    assert!(matches!(open_file("/tmp"), Err(Error::NotMemory { found: "a directory" })));
});

test!(an_eventfd, {
    // SAFETY: makes a descriptor that is ours alone.
    let fd = unsafe { OwnedFd::from_raw_fd(libc::eventfd(0, libc::EFD_CLOEXEC)) };
    not_memory(fd, "without bytes");
});

test!(a_missing_file, {
    let error = open_file("/nonexistent/weights.bin").unwrap_err();
    assert!(matches!(error, Error::Open { .. }), "{error:?}");
    let words = error.to_string();
    assert!(
        words.contains("/nonexistent/weights.bin") && words.contains("No such file"),
        "{words}"
    );
});

test!(a_path_only_descriptor, {
    let file = tempfile::NamedTempFile::new().unwrap();
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    for path in [file.path(), Path::new("/tmp")] {
        let fd = rustix::fs::open(path, flags, Mode::empty()).unwrap();
        for error in refused(&fd, 0) {
            assert!(
                matches!(&error, Error::WrongMode(it) if matches!(**it, tenure_memory::detail::WrongMode { mode: "by path only", .. })),
                "{error:?}"
            );
            assert!(error.to_string().contains("reading is needed"), "{error}");
        }
    }
});

test!(write_only_memory, {
    let fd = sealable(4096);
    let error = refused(reopened(&fd, OFlags::WRONLY), 0).remove(0);
    assert!(
        matches!(&error, Error::WrongMode(it) if matches!(**it, tenure_memory::detail::WrongMode { mode: "for writing only", .. })),
        "{error:?}"
    );
    assert!(error.to_string().contains("reading is needed"), "{error}");
});

test!(memory_that_is_too_short, {
    for (bytes, need) in [(4096, 4097), (0, 1), (100, usize::MAX)] {
        for fd in [sealable(bytes), memory_file(bytes, MemfdFlags::empty())] {
            for error in refused(&fd, need) {
                match error {
                    Error::TooShort { have, need: named } => {
                        assert_eq!((have, named), (bytes, need as u64));
                        let words = error.to_string();
                        assert!(words.contains(&format!("{bytes} bytes, {need}")), "{words}");
                    }
                    other => panic!("{other:?}"),
                }
            }
        }
    }
});

test!(empty_memory_is_memory_without_bytes, {
    let fd = sealable(0);
    let buffer = import(&fd, 0, AsAllowed, None).unwrap();
    assert_eq!((buffer.len(), buffer.memory()), (0, TensorMemory::Shm));
    assert!(buffer.write().unwrap().as_bytes().is_empty());
    let file = tempfile::tempfile().unwrap();
    let buffer = import(&file, 0, AsAllowed, None).unwrap();
    assert_eq!((buffer.len(), buffer.memory()), (0, TensorMemory::File));
    assert!(buffer.read().unwrap().as_bytes().is_empty());
});

test!(unsealed_memory_is_sealed, {
    let fd = sealable(8192);
    let buffer = import(&fd, 8192, AsAllowed, None).unwrap();
    assert!(rustix::fs::fcntl_get_seals(&fd).unwrap().contains(SealFlags::SHRINK));
    assert!(rustix::fs::ftruncate(&fd, 4096).is_err());
    buffer.write().unwrap().as_bytes_mut().fill(1);
    // Its maker may still let it grow, which takes nothing away.
    rustix::fs::ftruncate(&fd, 12_288).unwrap();
    assert_eq!(buffer.read().unwrap().as_bytes(), [1; 8192]);
});

test!(memory_that_refuses_to_be_sealed, {
    // Sealed against more seals, but not against shrinking.
    let fd = sealable(4096);
    rustix::fs::fcntl_add_seals(&fd, SealFlags::GROW | SealFlags::SEAL).unwrap();
    for error in refused(&fd, 0) {
        assert!(matches!(error, Error::Unsealed { .. }), "{error:?}");
        let words = error.to_string();
        assert!(words.contains("refuses to be sealed") && words.contains("shrink"), "{words}");
    }
    // Open for reading only, which does not let us seal it.
    let fd = reopened(&sealable(4096), OFlags::RDONLY);
    for protection in [AsAllowed, ReadOnly] {
        let error = import(&fd, 0, protection, None).unwrap_err();
        assert!(matches!(error, Error::Unsealed { .. }), "{error:?}");
    }
});

test!(memory_made_without_seals_is_a_file, {
    // Nothing keeps its maker from shrinking it, so it is read-only, and watched.
    let fd = memory_file(4096, MemfdFlags::empty());
    rustix::io::pwrite(&fd, &[5; 4096], 0).unwrap();
    let buffer = import(&fd, 4096, AsAllowed, None).unwrap();
    assert_eq!(buffer.memory(), TensorMemory::File);
    assert!(matches!(buffer.write(), Err(Error::ReadOnly { memory: TensorMemory::File })));
    assert_eq!(buffer.read().unwrap().as_bytes(), [5; 4096]);
    let error = import(&fd, 0, Writable, None).unwrap_err();
    assert!(matches!(error, Error::Unsealed { .. }), "{error:?}");
});

test!(read_only_memory_is_not_written, {
    let fd = sealable(4096);
    rustix::fs::fcntl_add_seals(&fd, SealFlags::SHRINK).unwrap();
    let fd = reopened(&fd, OFlags::RDONLY);
    let error = import(&fd, 0, Writable, None).unwrap_err();
    assert!(
        matches!(&error, Error::WrongMode(it) if matches!(**it, tenure_memory::detail::WrongMode { mode: "for reading only", .. })),
        "{error:?}"
    );
    let buffer = import(&fd, 0, AsAllowed, None).unwrap();
    let error = buffer.write().unwrap_err();
    assert!(matches!(error, Error::ReadOnly { memory: TensorMemory::Shm }), "{error:?}");
    assert!(error.to_string().contains("read-only"), "{error}");
    assert_eq!(buffer.read().unwrap().as_bytes(), [0; 4096]);
});

test!(memory_sealed_against_writing, {
    for seal in [SealFlags::WRITE, SealFlags::FUTURE_WRITE] {
        let fd = sealable(4096);
        rustix::fs::fcntl_add_seals(&fd, SealFlags::SHRINK | seal).unwrap();
        let error = import(&fd, 0, Writable, None).unwrap_err();
        assert!(matches!(error, Error::WrongMode { .. }), "{error:?}");
        assert!(error.to_string().contains("sealed against writing"), "{error}");
        let buffer = import(&fd, 0, AsAllowed, None).unwrap();
        assert!(matches!(buffer.write(), Err(Error::ReadOnly { .. })));
    }
});

/// Regular files are read, never written: on a disk, and on tmpfs.
fn files_are_read_only(folder: &str) {
    let mut file = tempfile::tempfile_in(folder).unwrap();
    file.write_all(&[7; 5000]).unwrap();
    let error = import(&file, 0, Writable, None).unwrap_err();
    assert!(matches!(error, Error::Unsealed { found: "a regular file" }), "{error:?}");
    assert!(error.to_string().contains("shrink"), "{error}");
    let read = |buffer: Buffer| {
        assert_eq!((buffer.memory(), buffer.len()), (TensorMemory::File, 5000));
        assert!(matches!(buffer.write(), Err(Error::ReadOnly { .. })));
        assert_eq!(buffer.read().unwrap().as_bytes(), [7; 5000]);
    };
    read(import(&file, 5000, AsAllowed, None).unwrap());
    read(import(&file, 0, ReadOnly, None).unwrap());
}

test!(a_regular_file_for_writing, {
    files_are_read_only("/tmp");
});

test!(a_file_on_tmpfs, {
    files_are_read_only("/dev/shm");
});

test!(memory_larger_than_the_address_space, {
    let fd = sealable(i64::MAX as u64);
    for error in refused(&fd, 0) {
        assert!(matches!(error, Error::System { .. }), "{error:?}");
        assert!(error.to_string().starts_with("mapping"), "{error}");
    }
});
