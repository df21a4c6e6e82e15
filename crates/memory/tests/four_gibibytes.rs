//! Files and requests around 4 GiB, where addresses of 32 bits end: read at every place, or
//! refused with words, and never cut down to what fits. All of them are sparse.
#![cfg(all(linux_like, not(miri)))]

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;

use tenure_memory::backend::copy_from_cache;
use tenure_memory::kind::shm::{open_named, remove_named};
use tenure_memory::{Buffer, Error, Request, TensorMemory, kind, open_file};

const END: u64 = 1 << 32;
const NARROW: bool = usize::BITS == 32;

/// Sizes at and around the ends of signed and unsigned addresses.
const SIZES: [u64; 7] =
    [(END / 2) - 1, END / 2, (END / 2) + 4096, END - 1, END, END + 1, END + (5 << 20)];

/// A sparse file whose last byte is 9.
fn file(bytes: u64) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new_in("/var/tmp").unwrap();
    file.as_file().write_all_at(&[9], bytes - 1).unwrap();
    file
}

#[test]
fn files_are_mapped_whole_or_refused() {
    for bytes in SIZES {
        let file = file(bytes);
        match open_file(file.path()) {
            Ok(buffer) => {
                assert_eq!(buffer.len() as u64, bytes);
                let last = buffer.len() - 1;
                assert_eq!(buffer.read_range(last..last + 1).unwrap().as_bytes(), [9]);
                // What is cut there is noticed there.
                let guard = buffer.read().unwrap();
                file.as_file().set_len(bytes / 2).unwrap();
                assert_eq!(guard.as_bytes()[last], 0);
                assert!(guard.hold().raw().intact().is_err());
            }
            Err(error) => {
                let refused = matches!(&error, Error::System(it) if matches!(**it, tenure_memory::detail::System { what, .. } if what.contains("mapping")));
                assert!(NARROW && refused, "{bytes}: {error:?}");
            }
        }
    }
}

#[test]
fn parts_of_long_files_are_copied() {
    let file = file(END + (5 << 20));
    for at in [END / 2, END - 2, END - 1, END, END + 4097] {
        file.as_file().write_all_at(&[1, 2, 3], at).unwrap();
        let mut seen = [0; 3];
        copy_from_cache(file.as_file(), at, &mut seen).unwrap();
        assert_eq!(seen, [1, 2, 3], "{at}");
    }
    let mut seen = [0; 3];
    assert!(copy_from_cache(file.as_file(), END + (5 << 20) - 2, &mut seen).is_err());
}

#[test]
fn named_memory_is_mapped_whole_or_refused() {
    for bytes in SIZES {
        let name = format!("/tenure-test-long-{}-{bytes}", std::process::id());
        let path = format!("/dev/shm{name}");
        OpenOptions::new()
            .create_new(true)
            .write(true)
            .open(&path)
            .and_then(|file| file.set_len(bytes))
            .unwrap();
        let opened = open_named(&name, false);
        remove_named(&name).unwrap();
        match opened {
            Ok(raw) => assert_eq!(raw.size() as u64, bytes),
            // A small machine cannot afford to read it.
            Err(Error::Sparse(sparse)) => assert!(sparse.holes >= bytes),
            Err(error) => assert!(NARROW && error.to_string().contains("mapping"), "{error}"),
        }
        assert!(!fs::exists(&path).unwrap());
    }
}

#[test]
fn requests_are_served_whole_or_refused() {
    let allocator = kind::allocator(TensorMemory::Mem).unwrap();
    for bytes in SIZES.into_iter().filter_map(|bytes| usize::try_from(bytes).ok()) {
        let made = Request::new(bytes).and_then(|request| allocator.allocate(&request));
        match made {
            Ok(raw) => {
                assert_eq!(raw.size(), bytes);
                let buffer = Buffer::from_raw(raw);
                let mut guard = buffer.write_range(bytes - 1..bytes).unwrap();
                guard.as_bytes_mut()[0] = 1;
            }
            Err(Error::OutOfMemory(full)) => assert_eq!(full.bytes, bytes),
            Err(Error::BadRequest { bytes: named, .. }) => {
                assert!(NARROW && named == bytes);
            }
            Err(error) => panic!("{bytes}: {error:?}"),
        }
    }
}
