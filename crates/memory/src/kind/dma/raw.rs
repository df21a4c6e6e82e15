//! The owner of a DMA-BUF's bytes.
#![expect(unsafe_code, reason = "promises that the mapping is valid")]

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;

use rustix::io::Errno;

use super::request;
use crate::allocator::CpuAccess;
use crate::backend::ObjectKey;
use crate::descriptor::object_key;
use crate::mapping::Mapping;
use crate::{Access, CpuAddress, Error, RawMemory, Request, Result, TensorMemory};

/// A DMA-BUF, mapped for the CPU unless nobody asked for that.
pub(crate) struct DmaBuf {
    mapping: Option<Mapping>,
    fd: OwnedFd,
    size: usize,
    writable: bool,
    key: ObjectKey,
}

impl DmaBuf {
    /// One that was made for a request.
    pub(super) fn made(fd: OwnedFd, request: &Request<'_>) -> Result<DmaBuf> {
        let size = request.bytes();
        let mapping = match request.cpu() {
            CpuAccess::None => None,
            _ => Some(
                Mapping::shared_aligned(fd.as_fd(), size, request.align(), true)
                    .map_err(mapping_failed)?,
            ),
        };
        let key = object_key(fd.as_fd())?;
        Ok(DmaBuf { mapping, fd, size, writable: true, key })
    }

    /// One that came from elsewhere.
    pub(crate) fn imported(fd: OwnedFd, size: usize, writable: bool) -> Result<DmaBuf> {
        let mapping = Mapping::shared(fd.as_fd(), size, writable).map_err(mapping_failed)?;
        let key = object_key(fd.as_fd())?;
        Ok(DmaBuf { mapping: Some(mapping), fd, size, writable, key })
    }
}

fn mapping_failed(errno: Errno) -> Error {
    Error::system("mapping the DMA-BUF", errno)
}

// SAFETY: the mapping covers `size` bytes and stays until `self` is dropped; a DMA-BUF cannot
// change its size. Its pages are zeroed by whoever made it.
unsafe impl RawMemory for DmaBuf {
    fn memory(&self) -> TensorMemory {
        TensorMemory::Dma
    }

    fn size(&self) -> usize {
        self.size
    }

    fn address(&self) -> CpuAddress {
        self.mapping.as_ref().map_or(CpuAddress::None, |map| CpuAddress::Fixed(map.address()))
    }

    fn writable(&self) -> bool {
        self.writable
    }

    fn maintained(&self) -> bool {
        true
    }

    fn begin(&self, access: Access) -> Result<NonNull<u8>> {
        let (memory, space) = (self.memory(), self.space());
        let mapping = self.mapping.as_ref().ok_or(Error::NotMappable { memory, space })?;
        request::begin(self.fd.as_fd(), access)
            .map_err(|errno| Error::system("beginning CPU access to the DMA-BUF", errno))?;
        Ok(mapping.address())
    }

    fn end(&self, access: Access) {
        // Nobody is left to tell; the kernel has given up on the device then.
        let _ = request::end(self.fd.as_fd(), access);
    }

    fn object(&self) -> Option<ObjectKey> {
        Some(self.key)
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.fd.as_fd())
    }

    fn seal_for_others(&self) -> Result<()> {
        let reason = "a DMA-BUF has no seals";
        Err(Error::NotSealable { memory: TensorMemory::Dma, reason })
    }
}
