//! Mapped files: what is opened is what is there now, and nothing is written back.
#![cfg(all(linux_like, not(miri)))]
#![expect(unsafe_code, reason = "foreign code that ignores that a file is read-only")]

use std::fs::{self, OpenOptions};
use std::io::Write;

use tenure_memory::{Access, Error, Protection, TensorMemory, import, open_file};

fn file(bytes: &[u8]) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    file
}

#[test]
fn a_file_is_its_bytes_and_its_name() {
    let file = file(&[3; 10_000]);
    let buffer = open_file(file.path()).unwrap();
    assert_eq!(buffer.name(), file.path().file_name().and_then(|name| name.to_str()));
    assert_eq!((buffer.len(), buffer.memory()), (10_000, TensorMemory::File));
    assert_eq!(buffer.read().unwrap().as_bytes(), [3; 10_000]);
    assert!(matches!(buffer.hold(Access::KernelWrite, 0..1), Err(Error::ReadOnly { .. })));
}

#[test]
fn opened_twice_it_is_one_mapping() {
    let file = file(&[3; 10_000]);
    let (first, second) = (open_file(file.path()).unwrap(), open_file(file.path()).unwrap());
    assert_eq!(first.identity(), second.identity());
    assert!(first.aliases(&second));
    let address = |buffer: &tenure_memory::Buffer| buffer.read().unwrap().as_bytes().as_ptr();
    assert_eq!(address(&first), address(&second));
}

#[test]
fn a_file_that_grew_is_opened_whole() {
    let mut file = file(&[1; 5000]);
    let before = open_file(file.path()).unwrap();
    file.write_all(&[2; 5000]).unwrap();
    let after = open_file(file.path()).unwrap();
    assert_eq!((before.len(), after.len()), (5000, 10_000));
    assert_eq!(after.read().unwrap().as_bytes()[9_999], 2);
    // Still one object, so still one ledger.
    assert_eq!(before.identity(), after.identity());
    assert!(before.aliases(&after));
}

#[test]
fn a_file_that_was_cut_is_opened_as_it_is() {
    let file = file(&[1; 50_000]);
    let before = open_file(file.path()).unwrap();
    file.as_file().set_len(5000).unwrap();
    let after = open_file(file.path()).unwrap();
    assert_eq!((before.len(), after.len()), (50_000, 5000));
    assert_eq!(after.read().unwrap().as_bytes(), [1; 5000]);
}

#[test]
fn a_replaced_file_is_another_one() {
    let file = file(&[1; 5000]);
    let before = open_file(file.path()).unwrap();
    let replacement = file.path().with_extension("new");
    fs::write(&replacement, [2; 5000]).unwrap();
    fs::rename(&replacement, file.path()).unwrap();
    let after = open_file(file.path()).unwrap();
    assert_ne!(before.identity(), after.identity());
    assert_eq!(before.read().unwrap().as_bytes(), [1; 5000]);
    assert_eq!(after.read().unwrap().as_bytes(), [2; 5000]);
}

#[test]
fn foreign_code_that_writes_changes_a_copy() {
    let file = file(&[1; 5000]);
    let buffer = open_file(file.path()).unwrap();
    // SAFETY: nobody else uses the buffer, and its pages are private to this process. That the
    // caller should not write is what is tested.
    unsafe { buffer.as_ptr().unwrap().write(9) };
    assert_eq!(fs::read(file.path()).unwrap()[0], 1);
}

#[test]
fn a_writable_descriptor_does_not_make_a_file_writable() {
    let file = file(&[1; 5000]);
    let both = OpenOptions::new().read(true).write(true).open(file.path()).unwrap();
    let buffer = import(&both, 5000, Protection::AsAllowed, None).unwrap();
    assert!(!buffer.raw().unwrap().writable());
    assert!(matches!(buffer.write(), Err(Error::ReadOnly { .. })));
}
