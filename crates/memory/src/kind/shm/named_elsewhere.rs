//! Named shared memory on systems that have none: not served, and why.

use std::marker::PhantomData;
use std::os::fd::OwnedFd;

use crate::{Error, RawBuffer, Result, TensorMemory, Why};

fn refuse<T>() -> Result<T> {
    let why = Why::NotOnThisSystem("named POSIX shared memory");
    Err(Error::from(crate::detail::Unavailable { memory: TensorMemory::Shm, why }))
}

pub(super) fn create(_name: &str) -> Result<OwnedFd> {
    refuse()
}

/// There is never half-made memory to remove.
pub(super) struct Undo<'a>(PhantomData<&'a str>);

impl<'a> Undo<'a> {
    pub(super) fn new(_name: &'a str) -> Undo<'a> {
        Undo(PhantomData)
    }

    pub(super) fn keep(self) {}
}

/// Opens named POSIX shared memory, which this system does not have.
///
/// # Errors
/// Always.
pub fn open_named(_name: &str, _writable: bool) -> Result<RawBuffer> {
    refuse()
}

/// Removes the name of POSIX shared memory, which this system does not have.
///
/// # Errors
/// Always.
pub fn remove_named(_name: &str) -> Result<()> {
    refuse()
}
