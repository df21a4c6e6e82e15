//! The owner of shared memory's bytes.
#![expect(unsafe_code, reason = "promises that the mapping is valid")]

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;

use rustix::fs::{self, SealFlags};
use rustix::io::Errno;

use crate::backend::ObjectKey;
use crate::bus::{Watch, ensure_sigbus_handler};
use crate::descriptor::still_has;
use crate::duplicate::duplicate;
use crate::kind::holes;
use crate::kind::room::Claim;
use crate::mapping::Mapping;
use crate::{Access, CpuAddress, Error, RawMemory, Result, TensorMemory};

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
    /// What reading it all would make anew.
    _holes: Option<Claim>,
}

impl Shared {
    /// Owns `mapping`, which covers `size` bytes of the object behind `fd` from its start. Refuses
    /// one with more holes than this process can afford.
    pub(crate) fn new(
        fd: OwnedFd,
        mapping: Mapping,
        size: usize,
        writable: bool,
        watch: Option<Watch>,
    ) -> Result<Shared> {
        let (key, holes) = holes::look(fd.as_fd(), size)?;
        Ok(Shared { watch, mapping, fd, size, writable, key, _holes: holes })
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
        if let Some(watch) = &self.watch {
            // The file is not looked at: a page that is missing is found out when it is touched.
            if watch.lost() {
                return Err(Error::Truncated);
            }
            ensure_sigbus_handler()?;
        }
        Ok(self.mapping.address())
    }

    fn intact(&self) -> Result<()> {
        match &self.watch {
            Some(watch) if watch.lost() || !still_has(self.fd.as_fd(), self.size as u64) => {
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

    fn move_away(&self) -> Result<Box<dyn RawMemory>> {
        let failed = |errno| Error::system("moving the memory file's pages", errno);
        // Pages of a reserve are not copied where there are no more of them.
        if self.watch.is_some() || !self.writable {
            return Err(failed(Errno::OPNOTSUPP));
        }
        // Everything that can fail comes before the move.
        let fd = duplicate(&self.fd)?;
        let mapping = self.mapping.move_away(fd.as_fd()).map_err(failed)?;
        let Shared { size, writable, key, .. } = *self;
        // Memory that this process made has no holes.
        Ok(Box::new(Shared { watch: None, mapping, fd, size, writable, key, _holes: None }))
    }

    fn copy_pages(&self) -> Result<()> {
        let failed = |errno| Error::system("copying what a view of a published frame shows", errno);
        self.mapping.copy_pages().map_err(failed)
    }
}
