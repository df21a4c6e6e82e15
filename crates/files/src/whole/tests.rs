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
