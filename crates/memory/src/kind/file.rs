//! A mapped file, read-only: nothing is read until it is touched. Others call this the DISK device.
//!
//! Mapped privately and writable: foreign code that ignores "read-only" changes a copy of a page
//! instead of killing the process. A file that another process shortens reads as zeros where
//! bytes are gone, and the buffer says so from then on.
#![expect(unsafe_code, reason = "promises that the mapping is valid")]

use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;

use rustix::fs::{self, OFlags};
use rustix::process;

use crate::backend::ObjectKey;
use crate::bus::{Watch, ensure_sigbus_handler};
use crate::descriptor::still_has;
use crate::kind::holes;
use crate::kind::room::Claim;
use crate::mapping::Mapping;
use crate::{Access, CpuAddress, Error, RawMemory, Result, TensorMemory};

/// A file mapped for reading.
pub(crate) struct Mapped {
    // Dropped in this order: nobody watches an address that is no longer ours.
    watch: Watch,
    mapping: Mapping,
    fd: OwnedFd,
    size: usize,
    key: ObjectKey,
    /// What reading it all would make anew, of a file in memory.
    _holes: Option<Claim>,
}

impl Mapped {
    pub(crate) fn new(fd: OwnedFd, size: usize) -> Result<Mapped> {
        let mapping = Mapping::private(fd.as_fd(), size)
            .map_err(|errno| Error::system("mapping the file", errno))?;
        let watch = Watch::new(&mapping, fd.as_fd(), true)?;
        let (key, holes) = holes::look(fd.as_fd(), size)?;
        Ok(Mapped { watch, mapping, fd, size, key, _holes: holes })
    }
}

// SAFETY: the mapping covers `size` bytes and stays until `self` is dropped; it is watched, so
// bytes taken away by another process are replaced by zeros.
unsafe impl RawMemory for Mapped {
    fn memory(&self) -> TensorMemory {
        TensorMemory::File
    }

    fn size(&self) -> usize {
        self.size
    }

    fn address(&self) -> CpuAddress {
        CpuAddress::Fixed(self.mapping.address())
    }

    fn writable(&self) -> bool {
        false
    }

    fn maintained(&self) -> bool {
        true
    }

    fn begin(&self, _access: Access) -> Result<NonNull<u8>> {
        // The file is not looked at: a page that is missing is found out when it is touched.
        if self.watch.lost() {
            return Err(Error::Truncated);
        }
        ensure_sigbus_handler()?;
        Ok(self.mapping.address())
    }

    fn intact(&self) -> Result<()> {
        let intact = !self.watch.lost() && still_has(self.fd.as_fd(), self.size as u64);
        if intact { Ok(()) } else { Err(Error::Truncated) }
    }

    fn resident(&self, range: Range<usize>) -> Option<usize> {
        // The kernel tells others nothing, and calls all of it resident.
        let owner = fs::fstat(&self.fd).ok()?.st_uid;
        let asking = process::geteuid();
        let told = asking.is_root() || asking.as_raw() == owner;
        told.then(|| self.mapping.resident(range).ok()).flatten()
    }

    fn object(&self) -> Option<ObjectKey> {
        Some(self.key)
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.fd.as_fd())
    }

    fn seal_for_others(&self) -> Result<()> {
        // Files have no seals; what a descriptor for reading allows is up to their permissions.
        let flags =
            fs::fcntl_getfl(&self.fd).map_err(|errno| Error::system("reading the mode", errno))?;
        if flags & OFlags::ACCMODE == OFlags::RDONLY {
            return Ok(());
        }
        let reason = "the file is open for writing";
        Err(Error::NotSealable { memory: TensorMemory::File, reason })
    }
}
