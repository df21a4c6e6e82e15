//! Memory from descriptors and files on systems where it could be taken away under a guard: the
//! same calls as elsewhere, which answer why not.
//!
//! Mapping what others can shorten is safe only where the fault that follows can be survived, and
//! taking shared memory only where the kernel seals it. Neither is implemented here.

#[cfg(unix)]
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use crate::{Buffer, Error, Result, TensorMemory, Why};
#[cfg(unix)]
use crate::{Protection, duplicate::duplicate};

fn unavailable<T>(memory: TensorMemory, what: &'static str) -> Result<T> {
    Err(crate::detail::Unavailable { memory, why: Why::NotOnThisSystem(what) }.into())
}

/// What memory a descriptor stands for, without mapping it.
///
/// # Errors
/// If it is closed; otherwise [`Error::Unavailable`] on this system.
#[cfg(unix)]
pub fn recognise(fd: impl AsFd) -> Result<TensorMemory> {
    duplicate(fd)?;
    unavailable(TensorMemory::Shm, "telling what memory a descriptor stands for")
}

/// Takes memory from a descriptor.
///
/// # Errors
/// If it is closed; otherwise [`Error::Unavailable`] on this system.
#[cfg(unix)]
pub fn import(
    fd: impl AsFd,
    _at_least: usize,
    _protection: Protection,
    _name: Option<&str>,
) -> Result<Buffer> {
    duplicate(fd)?;
    unavailable(TensorMemory::Shm, "memory of others by descriptor")
}

/// Maps a whole file for reading.
///
/// # Errors
/// If it cannot be opened; otherwise [`Error::Unavailable`] on this system.
pub fn open_file(path: impl AsRef<Path>) -> Result<Buffer> {
    let path = path.as_ref();
    let failed = |cause| Error::from(crate::detail::Open { path: path.into(), cause });
    std::fs::metadata(path).map_err(failed)?;
    unavailable(TensorMemory::File, "mapped files")
}

#[cfg(unix)]
impl Buffer {
    /// Another descriptor for the memory, to give to another process or library.
    ///
    /// # Errors
    /// [`Error::NoDescriptor`]: no memory of this system has one.
    pub fn clone_descriptor(&self) -> Result<OwnedFd> {
        Err(Error::NoDescriptor { memory: self.memory() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "asks the system for files")]
    fn answers_instead_of_being_absent() {
        let missing = open_file("there is no such file").unwrap_err();
        assert!(matches!(missing, Error::Open { .. }), "{missing}");
        let here = open_file(std::env::current_exe().unwrap()).unwrap_err();
        let Error::Unavailable(unavailable) = &here else { panic!("{here}") };
        assert_eq!(unavailable.memory, TensorMemory::File);
    }
}
