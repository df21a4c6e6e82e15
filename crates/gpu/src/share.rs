//! Memory of a device in another process: a descriptor, and what goes with it.
#![expect(unsafe_code, reason = "drivers do not check descriptors of their own kind")]

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use tenure_memory::{Allocator, DeviceFault, Error, RawBuffer, Result, TensorMemory};
use tenure_tensor::{ElementKind, Tensor};

use crate::Gpu;
use crate::device::FdKind;

/// An allocation as another process gets it: the descriptor by a socket, the numbers beside it.
#[derive(Debug)]
pub struct Exported {
    /// The driver's own descriptor, nothing that can be mapped; or a DMA-BUF, which can.
    pub fd: OwnedFd,
    /// Bytes of the allocation.
    pub bytes: usize,
    /// Bytes that the driver gave for it: what other libraries have to be told.
    pub room: usize,
    /// Which driver and device it belongs to.
    pub uuid: [u8; 16],
    /// Which hardware that is: CUDA takes what Vulkan exported of the same.
    pub hardware: [u8; 16],
}

/// What a driver is asked for so many bytes, in every process. Drivers of OpenGL in software do not
/// take a buffer that ends where its memory does.
///
/// # Errors
/// If that is more than can be counted: another process may have said how many bytes.
pub(crate) fn room(memory: TensorMemory, bytes: usize) -> Result<usize> {
    const BEHIND: usize = 1024;
    let room = bytes.checked_add(BEHIND).and_then(|more| more.checked_next_multiple_of(BEHIND));
    room.ok_or_else(|| uncounted(memory, bytes))
}

/// So many bytes, and what they need beside them, are more than there are addresses.
#[cold]
pub(crate) fn uncounted(memory: TensorMemory, bytes: usize) -> Error {
    let (available, source) = (None, None);
    Error::from(tenure_memory::detail::OutOfMemory { memory, bytes, available, source })
}

/// How many bytes a DMA-BUF has, by its own word.
#[cfg(any(feature = "cuda", feature = "hip", feature = "test-device", feature = "vulkan"))]
pub(crate) fn dma_bytes(fd: std::os::fd::BorrowedFd<'_>) -> Result<u64> {
    use rustix::fs::{SeekFrom, seek};
    seek(fd, SeekFrom::End(0)).map_err(|errno| {
        Error::from(tenure_memory::detail::System {
            what: "asking for the size of a DMA-BUF",
            cause: errno.into(),
        })
    })
}

/// One name for a driver and a device. Devices of the same kind have the same driver; what differs
/// is which one it is.
#[cfg(feature = "vulkan")]
pub(crate) fn uuid(mut device: [u8; 16], driver: [u8; 16]) -> [u8; 16] {
    device.iter_mut().zip(driver).for_each(|(byte, other)| *byte ^= other);
    device
}

impl Gpu {
    /// The allocator of `Device` memory that other processes can use. Each allocation is one of
    /// the driver's, so it is slow: for what stays.
    ///
    /// # Errors
    /// If the device cannot share.
    pub fn shareable(&self) -> Result<Arc<dyn Allocator>> {
        if !self.properties().shares {
            let fault = DeviceFault::Lacks("memory that other processes can use");
            return Err(self.properties().fault("sharing memory", fault));
        }
        Ok(Arc::new(self.maker(TensorMemory::Device).shared(FdKind::Opaque)))
    }

    /// As [`Gpu::shareable`], of memory that is a DMA-BUF for everybody else: [`Gpu::export`] gives a
    /// descriptor that [`tenure_memory::import`] and other drivers take.
    ///
    /// # Errors
    /// If the device has no DMA-BUFs.
    pub fn shareable_dma(&self) -> Result<Arc<dyn Allocator>> {
        if !self.properties().imports_dma {
            let fault = DeviceFault::Lacks("memory that is a DMA-BUF");
            return Err(self.properties().fault("sharing memory", fault));
        }
        Ok(Arc::new(self.maker(TensorMemory::Device).shared(FdKind::DmaBuf)))
    }

    /// The allocation of a tensor, for another process; the tensor must come from
    /// [`Gpu::shareable`] or [`Gpu::shareable_dma`].
    ///
    /// # Errors
    /// If it does not, or is another device's.
    pub fn export<E: ElementKind>(&self, tensor: &Tensor<E>) -> Result<Exported> {
        let what = "sharing memory";
        let raw = tensor.buffer().raw()?;
        let place = raw.device_place().filter(|place| place.device == self.number());
        let other = || self.properties().fault(what, DeviceFault::OtherDevice);
        let place = place.ok_or_else(other)?;
        let device = self.device(what)?;
        let (fd, room) = device.export(place.block)?;
        raw.mark_shared();
        let (uuid, hardware) = (self.properties().uuid, device.hardware());
        Ok(Exported { fd, bytes: raw.size(), room, uuid, hardware })
    }

    /// An allocation that another process exported, as memory of this device: the same bytes. CUDA
    /// takes what Vulkan exported on the same hardware.
    /// There is no ledger between processes: who writes when is for them to agree on.
    ///
    /// # Errors
    /// If it belongs to another driver or device, or the driver refuses it.
    ///
    /// # Safety
    /// The descriptor must be one that [`Gpu::export`] made of memory from [`Gpu::shareable`], and the numbers those that came with
    /// it: drivers believe what they are told about descriptors of their own.
    pub unsafe fn import(&self, exported: &Exported, name: Option<&str>) -> Result<RawBuffer> {
        let what = "importing shared memory";
        let own = self.properties().uuid;
        let room = match own {
            uuid if uuid == exported.uuid => room(TensorMemory::Device, exported.bytes)?,
            uuid if uuid == exported.hardware => exported.room,
            _ => return Err(self.properties().fault(what, DeviceFault::OtherDevice)),
        };
        if exported.bytes > room {
            let (start, end, len) = (0, exported.bytes, room);
            return Err(Error::from(tenure_memory::detail::OutOfBounds { start, end, len }));
        }
        // SAFETY: by the caller's promise; as many bytes as whoever exported it asked for.
        let block =
            unsafe { self.device(what)?.import_fd(exported.fd.as_fd(), FdKind::Opaque, room)? };
        Ok(self.maker(TensorMemory::Device).adopt(&block, 0..exported.bytes, name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_others_that_cannot_be_counted_are_errors() {
        let memory = TensorMemory::Device;
        assert_eq!(room(memory, 0).unwrap(), 1024);
        assert_eq!(room(memory, 1).unwrap(), 2048);
        let most = usize::MAX / 1024 * 1024 - 1024;
        assert_eq!(room(memory, most).unwrap(), most + 1024);
        for bytes in [most + 1, usize::MAX - 1024, usize::MAX - 1, usize::MAX] {
            let refused = room(memory, bytes).unwrap_err().to_string();
            assert!(refused.contains(&bytes.to_string()), "{refused}");
        }
    }
}
