//! Files that the command reads. Every file that a command line, a folder or a configuration names
//! is opened here: without waiting for anybody, checked to be a regular file, and read up to a limit.
//!
//! `pipe` is for the few places that read pipes and the standard input too.

#[cfg(unix)]
pub(crate) mod pipe;

use std::fs;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use crate::units;

/// The largest picture or array file that is read whole.
pub(crate) const MOST_PICTURE: u64 = 1 << 30;
/// The most files of a folder that are looked at.
const MOST_NAMES: usize = 1_000_000;

pub(crate) use tenure::memory::regular::{check as check_path, open};

/// The files of a folder that `pick` chooses by their paths, in the order of their names.
pub(crate) fn files_of(folder: &Path, pick: impl Fn(&Path) -> bool) -> io::Result<Vec<PathBuf>> {
    files_of_at_most(folder, MOST_NAMES, pick)
}

fn files_of_at_most(
    folder: &Path,
    most: usize,
    pick: impl Fn(&Path) -> bool,
) -> io::Result<Vec<PathBuf>> {
    let mut files = vec![];
    for (count, entry) in fs::read_dir(folder)?.enumerate() {
        // Others are counted too: a folder without an end is read without one.
        if count == most {
            let text = format!("it must have at most {most} files, and has more");
            return Err(io::Error::new(ErrorKind::FileTooLarge, text));
        }
        let path = entry?.path();
        if pick(&path) && path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// The content of a regular file of at most so many bytes.
pub(crate) fn bytes(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let (file, size) = open(path)?;
    if size > most {
        return Err(too_large(Some(size), most));
    }
    read_all(file, most)
}

/// The content of a regular file of text.
#[cfg(any(linux_like, test))]
pub(crate) fn text(path: &Path, most: u64) -> io::Result<String> {
    let bytes = bytes(path, most)?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        io::Error::new(ErrorKind::InvalidData, format!("byte {at} is not UTF-8 text"))
    })
}

/// Everything that a reader gives, if that is at most so much. Memory that cannot be had is an
/// error.
pub(crate) fn read_all(from: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![];
    // One byte more shows that there is more. `read_to_end` allocates fallibly.
    from.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { Err(too_large(None, most)) } else { Ok(bytes) }
}

fn too_large(size: Option<u64>, most: u64) -> io::Error {
    let limit = units::bytes(most);
    let text = match size {
        Some(size) => format!("it must have at most {limit}, and has {}", units::bytes(size)),
        None => format!("it must have at most {limit}, and has more"),
    };
    io::Error::new(ErrorKind::FileTooLarge, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_within_the_limit_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "12345").unwrap();
        assert_eq!(bytes(&path, 5).unwrap(), b"12345");
        assert_eq!(bytes(&path, 4).unwrap_err().kind(), ErrorKind::FileTooLarge);
        assert_eq!(read_all(&b"12345"[..], 4).unwrap_err().kind(), ErrorKind::FileTooLarge);
        let error = bytes(folder.path(), 5).unwrap_err();
        assert_eq!(error.to_string(), "it is a folder, and a regular file is needed");
        fs::write(&path, [b'a', 0xff]).unwrap();
        assert_eq!(text(&path, 5).unwrap_err().to_string(), "byte 1 is not UTF-8 text");
    }

    #[test]
    fn a_folder_of_too_many_files_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["c.png", "a.png", "b.txt"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        fs::create_dir(folder.path().join("d.png")).unwrap();
        let pictures = |most| {
            files_of_at_most(folder.path(), most, |path| path.extension() == Some("png".as_ref()))
        };
        let found = pictures(4).unwrap();
        assert_eq!(found, ["a.png", "c.png"].map(|name| folder.path().join(name)));
        let error = pictures(3).unwrap_err();
        assert_eq!(error.to_string(), "it must have at most 3 files, and has more");
        assert_eq!(files_of(folder.path(), |_| true).unwrap().len(), 3);
    }
}
