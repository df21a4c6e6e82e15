//! Files that the command reads. Every file that a command line, a folder or a configuration names
//! is opened here: without waiting for anybody, checked to be a regular file, and read up to a limit.
//!
//! `pipe` is for the few places that read pipes and the standard input too.

#[cfg(unix)]
pub(crate) mod pipe;

use std::fs::{self, File, FileType, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use crate::units;

/// The largest picture or array file that is read whole.
pub(crate) const MOST_PICTURE: u64 = 1 << 30;

/// Opens a regular file for reading; says how many bytes it has.
///
/// Never blocks: opening a FIFO would wait for a writer, and a command that listens for signals
/// could not be ended meanwhile.
pub(crate) fn open(path: &Path) -> io::Result<(File, u64)> {
    // Looked at first: opening is an act on some devices.
    check(fs::metadata(path)?.file_type())?;
    let mut options = OpenOptions::new();
    options.read(true);
    without_waiting(&mut options);
    let file = options.open(path)?;
    // And again: the name may be of something else now.
    let found = file.metadata()?;
    check(found.file_type())?;
    Ok((file, found.len()))
}

/// Checks that a name is one of a regular file, for readers in other crates that open it by name.
pub(crate) fn check_path(path: &Path) -> io::Result<()> {
    check(fs::metadata(path)?.file_type())
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

fn check(kind: FileType) -> io::Result<()> {
    if kind.is_file() {
        return Ok(());
    }
    let text = format!("it is {}, and a regular file is needed", words(kind));
    Err(io::Error::new(ErrorKind::InvalidInput, text))
}

#[cfg(unix)]
fn without_waiting(options: &mut OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt;
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    options.custom_flags(flags.bits().cast_signed());
}

#[cfg(not(unix))]
fn without_waiting(_options: &mut OpenOptions) {}

#[cfg(unix)]
fn words(kind: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    if kind.is_dir() {
        "a folder"
    } else if kind.is_fifo() {
        "a pipe"
    } else if kind.is_socket() {
        "a socket"
    } else if kind.is_char_device() || kind.is_block_device() {
        "a device"
    } else {
        "no file"
    }
}

#[cfg(not(unix))]
fn words(kind: FileType) -> &'static str {
    if kind.is_dir() { "a folder" } else { "no file" }
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
    #[cfg(unix)]
    fn devices_and_pipes_are_refused_without_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RUSR).unwrap();
        assert!(open(&path).unwrap_err().to_string().contains("it is a pipe"));
        assert!(check_path(&path).is_err());
        assert!(open(Path::new("/dev/zero")).unwrap_err().to_string().contains("it is a device"));
    }
}
