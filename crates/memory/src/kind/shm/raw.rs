//! The owner of shared memory's bytes.
#![expect(unsafe_code, reason = "promises that the mapping is valid")]

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;

use rustix::fs::{self, SealFlags};

use crate::bus::Watch;
use crate::descriptor::{object_key, still_has};
use crate::mapping::Mapping;
use crate::{Access, CpuAddress, Error, ObjectKey, RawMemory, Result, TensorMemory};

/// A mapped memory file.
pub(crate) struct Shared {
    // Dropped in this order: nobody watches an address that is no longer ours.
    /// Set where another process could take bytes away.
    watch: Option<Watch>,
    mapping: Mapping,
    fd: OwnedFd,
    size: usize,
    writable: bool,
    key: ObjectKey,
}

impl Shared {
    /// Owns `mapping`, which covers `size` bytes of the object behind `fd` from its start.
    pub(crate) fn new(
        fd: OwnedFd,
        mapping: Mapping,
        size: usize,
        writable: bool,
        watch: Option<Watch>,
    ) -> Result<Shared> {
        let key = object_key(fd.as_fd())?;
        Ok(Shared { watch, mapping, fd, size, writable, key })
    }
}

// SAFETY: the mapping covers `size` bytes and stays until `self` is dropped. The file is sealed
// against shrinking, or watched: bytes taken away by another process are replaced by zeros.
unsafe impl RawMemory for Shared {
    fn memory(&self) -> TensorMemory {
        TensorMemory::Shm
    }

    fn size(&self) -> usize {
        self.size
    }

    fn address(&self) -> CpuAddress {
        CpuAddress::Fixed(self.mapping.address())
    }

    fn writable(&self) -> bool {
        self.writable
    }

    fn maintained(&self) -> bool {
        self.watch.is_some()
    }

    fn begin(&self, _access: Access) -> Result<NonNull<u8>> {
        match &self.watch {
            // No system call here: a page that is missing is found out when it is touched.
            Some(watch) if watch.lost() => Err(Error::Truncated),
            _ => Ok(self.mapping.address()),
        }
    }

    fn intact(&self) -> Result<()> {
        match &self.watch {
            Some(watch) if watch.lost() || !still_has(self.fd.as_fd(), self.size) => {
                Err(Error::Truncated)
            }
            _ => Ok(()),
        }
    }

    fn object(&self) -> Option<ObjectKey> {
        Some(self.key)
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.fd.as_fd())
    }

    fn seal_for_others(&self) -> Result<()> {
        let seals = fs::fcntl_get_seals(&self.fd)
            .map_err(|errno| Error::system("reading the seals", errno))?;
        if seals.intersects(SealFlags::FUTURE_WRITE | SealFlags::WRITE) {
            return Ok(());
        }
        if seals.contains(SealFlags::SEAL) {
            let reason = "it takes no more seals (named POSIX shared memory never does)";
            return Err(Error::NotSealable { memory: TensorMemory::Shm, reason });
        }
        let wanted = SealFlags::FUTURE_WRITE | SealFlags::SEAL;
        fs::fcntl_add_seals(&self.fd, wanted)
            .map_err(|errno| Error::system("sealing against writing", errno))
    }
}
