//! Files that are put out of the system's cache, so that the next read is one of the disk.

use std::path::Path;

#[cfg(any(target_os = "linux", target_os = "android"))]
use crate::input;

/// Puts a file out of the cache; says whether it is.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn evict(path: &Path) -> bool {
    use rustix::fs::{Advice, fadvise, fsync};
    let Ok((file, _)) = input::open(path) else { return false };
    // What is not on the disk yet stays.
    if fsync(&file).is_err() || fadvise(&file, 0, None, Advice::DontNeed).is_err() {
        return false;
    }
    let Ok(mapped) = tenure::memory::open_file(path) else { return false };
    mapped.resident(0..mapped.len()).is_some_and(|bytes| bytes < mapped.len() / 10)
}

/// Other systems have no such request.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn evict(_path: &Path) -> bool {
    false
}

/// Opens a file for reads past the cache.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn open_direct(path: &Path) -> std::io::Result<std::fs::File> {
    use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
    let (file, _) = input::open(path)?;
    fcntl_setfl(&file, fcntl_getfl(&file)? | OFlags::DIRECT)?;
    Ok(file)
}

/// Reads from a position.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn read_at(file: &std::fs::File, at: u64, into: &mut [u8]) -> std::io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, into, at)
}

/// Other systems have no such files.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn open_direct(_path: &Path) -> std::io::Result<std::fs::File> {
    Err(std::io::ErrorKind::Unsupported.into())
}

/// Never called: there is no such file.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn read_at(_: &std::fs::File, _: u64, _: &mut [u8]) -> std::io::Result<usize> {
    Err(std::io::ErrorKind::Unsupported.into())
}
