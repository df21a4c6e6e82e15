//! Memory of a device in another process, named by bytes: for drivers that have handles where others
//! have descriptors.
#![expect(unsafe_code, reason = "drivers do not check handles of their own kind")]

use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;

use tenure_memory::{DeviceFault, DeviceVendor, Error, RawBuffer, Result, TensorMemory};
use tenure_tensor::{ElementKind, Tensor};

use crate::Gpu;
use crate::device::{IpcHandle, release};

/// An allocation as another process on this machine gets it: bytes, sent in any way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IpcExported {
    vendor: u8,
    uuid: [u8; 16],
    /// Which process it is from.
    process: u64,
    /// Bytes of the driver's block.
    room: usize,
    /// Where the allocation is in it.
    offset: usize,
    bytes: usize,
    handle: IpcHandle,
}

/// Why bytes are no allocation of another process.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadIpc {
    /// Too few or too many.
    #[error("it has {found} bytes, and {} would be right", IpcExported::BYTES)]
    Length {
        /// How many there are.
        found: usize,
    },
    /// Something else.
    #[error("it starts with {found:02x?}, not with the mark of an allocation")]
    NotOurs {
        /// What it starts with.
        found: [u8; 4],
    },
    /// Of a version that this build does not speak.
    #[error("it is of version {found}, and this build speaks version {VERSION}")]
    Version {
        /// Its version.
        found: u8,
    },
    /// Of devices that have no such handles.
    #[error("it is of a device of kind {found}, which has no handles for processes")]
    Vendor {
        /// The kind, as DLPack numbers them.
        found: u8,
    },
    /// Bytes that must be zero are not.
    #[error("reserved bytes are {found:02x?}, and zero would be right")]
    Reserved {
        /// What they are.
        found: [u8; 2],
    },
    /// No bytes, or bytes that are not in the block.
    #[error("{bytes} bytes from {offset} on are not inside a block of {room}")]
    Outside {
        /// Bytes of the allocation.
        bytes: u64,
        /// Where it begins.
        offset: u64,
        /// Bytes of the block.
        room: u64,
    },
}

impl BadIpc {
    /// What sort of error it is.
    pub fn kind(&self) -> tenure_layout::ErrorKind {
        tenure_layout::ErrorKind::Damaged
    }
}

const MARK: [u8; 4] = *b"TnIP";
const VERSION: u8 = 1;

/// A number for this process: a handle is of no use to whoever made it.
fn here() -> u64 {
    static NUMBER: OnceLock<u64> = OnceLock::new();
    *NUMBER.get_or_init(|| RandomState::new().hash_one(std::process::id()))
}

/// The vendors whose drivers have handles, as DLPack numbers them.
fn code(vendor: DeviceVendor) -> Option<u8> {
    match vendor {
        DeviceVendor::Cuda => Some(2),
        DeviceVendor::Rocm => Some(10),
        DeviceVendor::Extension => Some(12),
        _ => None,
    }
}

impl IpcExported {
    /// Bytes of one as it is sent.
    pub const BYTES: usize = 120;

    /// Bytes of the allocation.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// As it is sent: mark, version, vendor, two zeros, device, process, block, place, bytes, handle;
    /// numbers have their least byte first.
    pub fn to_bytes(&self) -> [u8; IpcExported::BYTES] {
        let numbers = [self.process, self.room as u64, self.offset as u64, self.bytes as u64];
        let all = MARK
            .into_iter()
            .chain([VERSION, self.vendor, 0, 0])
            .chain(self.uuid)
            .chain(numbers.into_iter().flat_map(u64::to_le_bytes))
            .chain(self.handle);
        let mut sent = [0; IpcExported::BYTES];
        sent.iter_mut().zip(all).for_each(|(byte, value)| *byte = value);
        sent
    }

    /// What another process sent; nothing in it is believed.
    ///
    /// # Errors
    /// If it cannot be right, whatever the device.
    pub fn from_bytes(sent: &[u8]) -> Result<IpcExported, BadIpc> {
        let wrong = BadIpc::Length { found: sent.len() };
        let sent: &[u8; IpcExported::BYTES] = sent.try_into().map_err(|_| wrong)?;
        let mut rest = sent.iter().copied();
        let found: [u8; 4] = take(&mut rest);
        if found != MARK {
            return Err(BadIpc::NotOurs { found });
        }
        let [version, vendor] = take(&mut rest);
        if version != VERSION {
            return Err(BadIpc::Version { found: version });
        }
        if ![DeviceVendor::Cuda, DeviceVendor::Rocm, DeviceVendor::Extension]
            .into_iter()
            .any(|known| code(known) == Some(vendor))
        {
            return Err(BadIpc::Vendor { found: vendor });
        }
        let found: [u8; 2] = take(&mut rest);
        if found != [0; 2] {
            return Err(BadIpc::Reserved { found });
        }
        let uuid = take(&mut rest);
        let [process, room, offset, bytes] =
            std::array::from_fn(|_| u64::from_le_bytes(take(&mut rest)));
        let outside = BadIpc::Outside { bytes, offset, room };
        let inside = offset.checked_add(bytes).is_some_and(|end| end <= room);
        let number = |value: u64| usize::try_from(value).ok().filter(|n| *n <= isize::MAX as usize);
        match (number(room), number(offset), number(bytes)) {
            (Some(room), Some(offset), Some(bytes)) if inside && bytes > 0 => {
                let handle = take(&mut rest);
                Ok(IpcExported { vendor, uuid, process, room, offset, bytes, handle })
            }
            _ => Err(outside),
        }
    }
}

/// The next bytes, of which there are enough.
fn take<const N: usize>(bytes: &mut impl Iterator<Item = u8>) -> [u8; N] {
    std::array::from_fn(|_| bytes.next().unwrap_or_default())
}

impl Gpu {
    /// The allocation of a tensor in `Device` memory, for another process, by a handle of the driver:
    /// CUDA and HIP have them. A handle opens the driver's whole block: what else is allocated in it
    /// is the other process's to read too, so share with processes that are trusted, or memory of
    /// more than half of [`crate::Properties::block_bytes`], which has a block of its own. The memory
    /// must be kept until the other process has let go of it.
    ///
    /// # Errors
    /// If it is another device's, or the device has no handles.
    pub fn export_ipc<E: ElementKind>(&self, tensor: &Tensor<E>) -> Result<IpcExported> {
        let what = "sharing memory";
        let fault = |fault| self.properties().fault(what, fault);
        let raw = tensor.buffer().raw()?;
        let place = raw.device_place().filter(|place| place.device == self.number());
        let place = place.ok_or_else(|| fault(DeviceFault::OtherDevice))?;
        let (handle, room) = self.device(what)?.ipc(place.block)?;
        let lacks = || fault(DeviceFault::Lacks("handles for processes"));
        let vendor = code(self.properties().vendor).ok_or_else(lacks)?;
        raw.mark_shared();
        Ok(IpcExported {
            vendor,
            uuid: self.properties().uuid,
            process: here(),
            room,
            offset: place.offset,
            bytes: raw.size(),
            handle,
        })
    }

    /// An allocation that another process exported, as memory of this device: the same bytes. There is
    /// no ledger between processes: who writes when is for them to agree on.
    ///
    /// # Errors
    /// If it is of another device or of this process, the driver refuses it, or its block is smaller
    /// than was said.
    ///
    /// # Safety
    /// The handle must be one that [`Gpu::export_ipc`] made, and the other process must keep the
    /// memory until this is gone: drivers believe what they are told about handles of their own.
    pub unsafe fn import_ipc(
        &self,
        exported: &IpcExported,
        name: Option<&str>,
    ) -> Result<RawBuffer> {
        let what = "importing shared memory";
        let fault = |fault| self.properties().fault(what, fault);
        let IpcExported { vendor, uuid, process, room, offset, bytes, handle } = exported;
        if *uuid != self.properties().uuid || code(self.properties().vendor) != Some(*vendor) {
            return Err(fault(DeviceFault::OtherDevice));
        }
        if *process == here() {
            return Err(fault(DeviceFault::Lacks("second way to memory of its own process")));
        }
        // SAFETY: by the caller's promise.
        let block = unsafe { self.device(what)?.open_ipc(handle, *room)? };
        let end = offset.saturating_add(*bytes);
        if end > block.bytes {
            release(self.device(what)?, block.id);
            return Err(Error::from(tenure_memory::detail::OutOfBounds {
                start: *offset,
                end,
                len: block.bytes,
            }));
        }
        Ok(self.maker(TensorMemory::Device).adopt(&block, *offset..end, name))
    }
}
