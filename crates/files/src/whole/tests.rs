//! Whole files, failures on the way, and what is there already.

use super::*;
use std::io::Write;

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn files_are_whole_or_as_before() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.bin");
    for existing in [Existing::Replace, Existing::Keep] {
        let failed: io::Result<u64> = write(&path, existing, |out| {
            out.write_all(&[0; 100_000])?;
            assert_eq!(names(folder.path()).len(), 1, "under a hidden name");
            Err(ErrorKind::StorageFull.into())
        });
        assert_eq!(failed.unwrap_err().kind(), ErrorKind::StorageFull);
        assert!(names(folder.path()).is_empty());
    }
    let fill = |text: &'static str| move |out: &mut BufWriter<File>| out.write_all(text.as_bytes());
    assert_eq!(write(&path, Existing::Keep, fill("first")).unwrap(), 5);
    let refused = write(&path, Existing::Keep, fill("second")).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::AlreadyExists);
    assert_eq!(fs::read(&path).unwrap(), b"first");
    assert_eq!(write(&path, Existing::Replace, fill("second")).unwrap(), 6);
    assert_eq!(fs::read(&path).unwrap(), b"second");
    assert_eq!(names(folder.path()), ["a.bin"]);
}

#[test]
fn what_is_no_file_stays() {
    let folder = tempfile::tempdir().unwrap();
    let below = folder.path().join("below");
    fs::create_dir(&below).unwrap();
    let wrong: io::Result<u64> = write(&below, Existing::Replace, |_| Ok(()));
    assert_eq!(wrong.unwrap_err().kind(), ErrorKind::InvalidInput);
    let nowhere = folder.path().join("none/a.bin");
    let wrong: io::Result<u64> = write(&nowhere, Existing::Replace, |_| Ok(()));
    assert_eq!(wrong.unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(names(folder.path()), ["below"]);
}

#[test]
fn hidden_files_of_others_stay() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.bin");
    // Names of a process of this number in another container, as far as they can be guessed.
    let guessed = |number: usize| folder.path().join(format!(".{}-{number}.part", process::id()));
    (0..64).for_each(|number| fs::write(guessed(number), "theirs").unwrap());
    let written: io::Result<u64> = write(&path, Existing::Keep, |out| out.write_all(b"ours"));
    assert_eq!(written.unwrap(), 4);
    assert_eq!(fs::read(&path).unwrap(), b"ours");
    for number in 0..64 {
        assert_eq!(fs::read(guessed(number)).unwrap(), b"theirs", "{number}");
    }
}

#[test]
fn taken_names_are_passed_over_a_few_times() {
    use std::cell::Cell;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.bin");
    let next = Cell::new(0);
    let count = || next.replace(next.get() + 1);
    let hidden = |number| folder.path().join(format!(".{}-{number:016x}.part", process::id()));
    (0..3).for_each(|number| fs::write(hidden(number), "theirs").unwrap());
    let (part, file) = Part::create(&path, count).unwrap();
    assert_eq!(part.0, hidden(3));
    // Windows removes no file that is open.
    drop(file);
    drop(part);
    assert!(!hidden(3).exists());
    // The same name each time: an end, and the file of the other one is still there.
    let refused = Part::create(&path, || 1).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::AlreadyExists);
    assert_eq!(fs::read(hidden(1)).unwrap(), b"theirs");
    assert_eq!(names(folder.path()).len(), 3);
}
