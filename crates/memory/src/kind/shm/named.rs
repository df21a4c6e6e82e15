//! POSIX shared memory: found by name in `/dev/shm`, without seals.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{self, Mode};
use rustix::shm;

use super::Shared;
use crate::bus::Watch;
use crate::descriptor::addressable;
use crate::mapping::Mapping;
use crate::{Error, RawBuffer, Result};

/// Makes memory of a name that does not exist yet.
pub(super) fn create(name: &str) -> Result<OwnedFd> {
    let flags = shm::OFlags::CREATE | shm::OFlags::EXCL | shm::OFlags::RDWR;
    shm::open(name, flags, Mode::RUSR | Mode::WUSR)
        .map_err(|errno| Error::system("making named shared memory", errno))
}

/// Removes the name of half-made memory, unless it is kept.
pub(super) struct Undo<'a>(Option<&'a str>);

impl<'a> Undo<'a> {
    pub(super) fn new(name: &'a str) -> Undo<'a> {
        Undo(Some(name))
    }

    pub(super) fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for Undo<'_> {
    fn drop(&mut self) {
        if let Some(name) = self.0 {
            let _ = shm::unlink(name);
        }
    }
}

/// Opens named POSIX shared memory that another process made.
///
/// # Errors
/// If there is none of that name, or it may not be opened in the mode asked for.
pub fn open_named(name: &str, writable: bool) -> Result<RawBuffer> {
    let mode = if writable { shm::OFlags::RDWR } else { shm::OFlags::RDONLY };
    let fd = shm::open(name, mode, Mode::empty())
        .map_err(|errno| Error::system("opening named shared memory", errno))?;
    let size = fs::fstat(&fd).map_err(|errno| Error::system("asking for the size", errno))?.st_size;
    let size = addressable(u64::try_from(size).unwrap_or(0))?;
    let mapping = Mapping::shared(fd.as_fd(), size, writable)
        .map_err(|errno| Error::system("mapping named shared memory", errno))?;
    let watch = Some(Watch::new(&mapping, fd.as_fd(), writable)?);
    Ok(RawBuffer::new(Shared::new(fd, mapping, size, writable, watch)?, Some(name)))
}

/// Removes the name of POSIX shared memory; the memory lives on while it is mapped.
///
/// # Errors
/// If there is no memory of that name.
pub fn remove_named(name: &str) -> Result<()> {
    shm::unlink(name).map_err(|errno| Error::system("removing the shared memory's name", errno))
}
