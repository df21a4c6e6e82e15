//! Another descriptor for what a descriptor stands for.

use std::os::fd::{AsFd, OwnedFd};

use crate::{Error, Result};

/// Another descriptor for the same object, closed on exec.
///
/// # Errors
/// If `fd` is closed or this process has no descriptors left.
pub(crate) fn duplicate(fd: impl AsFd) -> Result<OwnedFd> {
    rustix::io::fcntl_dupfd_cloexec(fd, 0)
        .map_err(|errno| Error::system("duplicating the descriptor", errno))
}
