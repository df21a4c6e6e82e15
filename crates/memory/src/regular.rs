//! Regular files, and nothing else that has a name: devices are not touched, FIFOs are not waited for.
//!
//! Every file whose name a user, a folder or another file gives is opened here, in all crates.

use std::fs::{self, File, FileType, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::Path;

/// What a name that is not one of a regular file is. It is inside the [`io::Error`] of [`open`] and
/// [`check`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is {found}, and a regular file is needed")]
pub struct NotRegular {
    /// What it is: `"a pipe"`.
    pub found: &'static str,
}

/// Opens a regular file for reading; gives its size too.
///
/// It never blocks: opening a FIFO would wait for a writer.
///
/// ```
/// use tenure_memory::regular;
/// let folder = std::env::temp_dir();
/// let error = regular::open(&folder).unwrap_err();
/// assert_eq!(error.to_string(), "it is a folder, and a regular file is needed");
/// ```
///
/// # Errors
/// What the system says, and [`NotRegular`] if it is anything else.
pub fn open(path: impl AsRef<Path>) -> io::Result<(File, u64)> {
    let path = path.as_ref();
    // Looked at first: opening is an act on some devices.
    check(path)?;
    let mut options = OpenOptions::new();
    options.read(true);
    without_waiting(&mut options);
    let file = options.open(path)?;
    // And again: the name may be of something else now.
    let found = file.metadata()?;
    check_type(found.file_type())?;
    Ok((file, found.len()))
}

/// Checks that a name is one of a regular file, for those who have to open it by its name elsewhere.
///
/// # Errors
/// As [`open`].
pub fn check(path: impl AsRef<Path>) -> io::Result<()> {
    check_type(fs::metadata(path)?.file_type())
}

fn check_type(kind: FileType) -> io::Result<()> {
    if kind.is_file() {
        return Ok(());
    }
    Err(io::Error::new(ErrorKind::InvalidInput, NotRegular { found: words(kind) }))
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

    fn found(path: &Path) -> &'static str {
        let (opened, checked) = (open(path).unwrap_err(), check(path).unwrap_err());
        assert_eq!(opened.to_string(), checked.to_string());
        opened.downcast::<NotRegular>().unwrap().found
    }

    #[test]
    #[cfg_attr(miri, ignore = "asks the system for files")]
    fn regular_files_are_opened_with_their_size() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        assert_eq!(open(&path).unwrap_err().kind(), ErrorKind::NotFound);
        fs::write(&path, "12345").unwrap();
        assert_eq!(open(&path).unwrap().1, 5);
        assert_eq!(found(folder.path()), "a folder");
    }

    #[test]
    #[cfg(linux_like)]
    #[cfg_attr(miri, ignore = "asks the system for files")]
    fn devices_and_pipes_are_refused_without_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RUSR).unwrap();
        assert_eq!(found(&path), "a pipe");
        assert_eq!(found(Path::new("/dev/zero")), "a device");
    }
}
