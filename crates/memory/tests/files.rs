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

#[test]
fn what_is_written_to_an_export_stays_there() {
    // More than is dropped without asking which pages were written.
    let bytes = 300_000;
    let file = file(&vec![1; bytes]);
    let (buffer, again) = (open_file(file.path()).unwrap(), open_file(file.path()).unwrap());
    let guard = buffer.read().unwrap();
    for round in 0..3 {
        let export = buffer.hold(Access::ExportRead, 0..bytes).unwrap();
        // SAFETY: inside what is held; that it should not be written is what is tested.
        unsafe { export.address().as_ptr().write_bytes(9, bytes - 1) };
        // SAFETY: as above.
        let last = unsafe { export.address().as_ptr().add(bytes - 1).read() };
        assert_eq!(last, 1, "round {round}");
        let others = [
            guard.as_bytes().to_vec(),
            again.read().unwrap().as_bytes().to_vec(),
            open_file(file.path()).unwrap().read().unwrap().as_bytes().to_vec(),
            fs::read(file.path()).unwrap(),
        ];
        assert!(others.iter().all(|other| *other == vec![1; bytes]));
        // Exports of other openings neither, whichever came first.
        for other in [&again, &open_file(file.path()).unwrap()] {
            let beside = other.hold(Access::ExportRead, 0..bytes).unwrap();
            // SAFETY: inside what is held.
            let seen = unsafe { std::slice::from_raw_parts(beside.address().as_ptr(), bytes) };
            assert!(seen.iter().all(|byte| *byte == 1), "round {round}");
        }
        drop(export);
        let export = buffer.hold(Access::ExportRead, 0..bytes).unwrap();
        // SAFETY: inside what is held.
        let seen = unsafe { std::slice::from_raw_parts(export.address().as_ptr(), bytes) };
        assert!(seen.iter().all(|byte| *byte == 1), "round {round}");
    }
}

#[test]
fn an_export_outlives_the_bytes_of_its_file() {
    let bytes = 50_000;
    let file = file(&vec![1; bytes]);
    let buffer = open_file(file.path()).unwrap();
    let export = buffer.hold(Access::ExportRead, 0..bytes).unwrap();
    file.as_file().set_len(5000).unwrap();
    // SAFETY: inside what is held. A page that is gone reads as zeros, and can be written.
    let far = unsafe { export.address().as_ptr().add(40_000) };
    // SAFETY: as above.
    let (before, after) = unsafe {
        let before = far.read_volatile();
        far.write_volatile(7);
        (before, far.read_volatile())
    };
    assert_eq!((before, after), (0, 7));
    assert!(matches!(buffer.hold(Access::ExportRead, 0..bytes), Err(Error::Truncated)));
    drop(export);
    assert!(matches!(buffer.raw().unwrap().intact(), Err(Error::Truncated)));
    // Zeros or an error, and nothing of what was written.
    if let Ok(export) = buffer.hold(Access::ExportRead, 0..bytes) {
        // SAFETY: inside what is held.
        assert_eq!(unsafe { export.address().as_ptr().add(40_000).read_volatile() }, 0);
    }
}
