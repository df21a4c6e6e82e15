//! Files, and nothing else that has a name: devices are not touched, pipes are not waited for.

use std::fs::{self, FileType, OpenOptions};
use std::path::Path;

use crate::source::OpenFile;
use crate::{Error, Result};

/// Opens a regular file for reading.
pub(crate) fn open(path: &Path) -> Result<OpenFile> {
    // Looked at first: opening is an act on some devices.
    check(fs::metadata(path).map_err(Error::Open)?.file_type())?;
    let mut options = OpenOptions::new();
    options.read(true);
    without_waiting(&mut options);
    let file = options.open(path).map_err(Error::Open)?;
    // And again: the name may be of something else now.
    let found = file.metadata().map_err(Error::Open)?;
    check(found.file_type())?;
    Ok(OpenFile { file, size: found.len() })
}

fn check(kind: FileType) -> Result<()> {
    if kind.is_file() { Ok(()) } else { Err(Error::NotAFile { found: words(kind) }) }
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
