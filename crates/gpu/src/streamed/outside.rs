//! Memory of other devices, other drivers and other processes, as CUDA and HIP know it.
//!
//! Structures and numbers are those of `cuda.h` and `hip_runtime_api.h`, which agree on them.
#![expect(unsafe_code, reason = "calls drivers, which are loaded at run time, by address")]

use std::any::Any;
use std::ffi::{c_int, c_uint, c_ulonglong};
use std::mem::{offset_of, size_of};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd, OwnedFd};

use tenure_memory::{DeviceFault, Error, Result, TensorMemory};

use super::{Code, Handle, Owned, Streamed};
use crate::device::{Address, Block, Device, FdKind, IpcHandle};
use crate::share::dma_bytes;

/// `CUDA_EXTERNAL_MEMORY_HANDLE_DESC`, `hipExternalMemoryHandleDesc`.
#[repr(C)]
pub(crate) struct ExternalMemory {
    kind: c_int,
    /// A union: the descriptor, or two pointers of Windows.
    handle: ExternalHandle,
    size: c_ulonglong,
    flags: c_uint,
    reserved: [c_uint; 16],
}

#[repr(C, align(8))]
struct ExternalHandle {
    fd: c_int,
    rest: [c_uint; 3],
}

/// `CUDA_EXTERNAL_MEMORY_BUFFER_DESC`, `hipExternalMemoryBufferDesc`.
#[repr(C)]
pub(crate) struct ExternalBuffer {
    offset: c_ulonglong,
    size: c_ulonglong,
    flags: c_uint,
    reserved: [c_uint; 16],
}

const _: () = {
    assert!(size_of::<ExternalMemory>() == 104 && size_of::<ExternalBuffer>() == 88);
    assert!(offset_of!(ExternalMemory, handle) == 8 && offset_of!(ExternalMemory, size) == 24);
    assert!(offset_of!(ExternalMemory, flags) == 32 && offset_of!(ExternalMemory, reserved) == 36);
    assert!(offset_of!(ExternalBuffer, flags) == 16 && offset_of!(ExternalBuffer, reserved) == 20);
};

/// `CUDA_EXTERNAL_MEMORY_DEDICATED`, `hipExternalMemoryDedicated`.
const DEDICATED: c_uint = 1;
/// `CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS`, `hipIpcMemLazyEnablePeerAccess`.
const LAZY_PEER: c_uint = 1;
/// `CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED`, `hipErrorPeerAccessAlreadyEnabled`.
const ALREADY: Code = 704;

/// What a driver calls the kinds of descriptors, and how it treats them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FdTypes {
    /// `OPAQUE_FD`.
    pub(crate) opaque: c_int,
    /// What DMA-BUFs are imported as, or why they are not.
    pub(crate) dma: Result<c_int, &'static str>,
    /// Whether a descriptor that was imported is the driver's.
    pub(crate) takes: bool,
}

/// Places in two devices: an address, and the context (CUDA) or number (HIP) of its device.
pub(crate) type CopyPeer =
    Box<dyn Fn((usize, usize), (usize, usize), usize, Handle) -> Code + Send + Sync>;

/// What drivers can do with memory that is not their own.
pub(crate) struct Outside {
    /// The context of this device, or its number: what its driver has for copies between devices.
    pub(crate) context: usize,
    /// Asks whether this device accesses another one (by its number) without a detour.
    pub(crate) can_access: Box<dyn Fn(c_int) -> bool + Send + Sync>,
    /// Lets the device that was chosen access another one, by its context.
    pub(crate) enable_access: Box<dyn Fn(usize) -> Code + Send + Sync>,
    /// To, from, bytes, stream.
    pub(crate) copy_peer: CopyPeer,
    pub(crate) fds: FdTypes,
    pub(crate) import: unsafe extern "C" fn(*mut Handle, *const ExternalMemory) -> Code,
    pub(crate) mapped: unsafe extern "C" fn(*mut usize, Handle, *const ExternalBuffer) -> Code,
    pub(crate) destroy: unsafe extern "C" fn(Handle) -> Code,
    pub(crate) get_ipc: unsafe extern "C" fn(*mut IpcHandle, usize) -> Code,
    pub(crate) open_ipc: unsafe extern "C" fn(*mut usize, Passed, c_uint) -> Code,
    pub(crate) close_ipc: unsafe extern "C" fn(usize) -> Code,
    /// First address and bytes of the allocation that an address is in.
    pub(crate) range: unsafe extern "C" fn(*mut usize, *mut usize, usize) -> Code,
}

/// `CUipcMemHandle`, `hipIpcMemHandle_t`: passed by value.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Passed {
    bytes: IpcHandle,
}

/// A block, wherever it comes from.
pub(super) struct Place {
    pub(super) address: usize,
    pub(super) bytes: usize,
    pub(super) kind: Kind,
}

/// Whose a block is, and how it is given back.
pub(super) enum Kind {
    Own(TensorMemory),
    /// Another device's, in that one's context; nothing is to be given back.
    Peer {
        context: usize,
    },
    External(External),
    /// Another process's.
    Ipc,
    /// Main memory, registered by its address there.
    Host(Address),
    /// Another library's, on this device: nothing is to be given back.
    Foreign,
}

/// Memory of a descriptor.
pub(super) struct External {
    pub(super) memory: Owned,
    /// For drivers that do not take it; closed after the memory was destroyed.
    pub(super) _fd: Option<OwnedFd>,
}

impl Streamed {
    fn lacks(&self, what: &'static str, which: &'static str) -> Error {
        self.properties.fault(what, DeviceFault::Lacks(which))
    }

    /// A block of another device of the same driver. Where one device does not access the other, the
    /// driver copies by a detour of its own.
    pub(super) fn peer_block(&self, peer: &dyn Device, block: u64) -> Result<(u64, usize)> {
        let what = "reaching memory of another device";
        let peer = (peer as &dyn Any).downcast_ref::<Streamed>();
        let peer = peer.filter(|peer| peer.properties.vendor == self.properties.vendor);
        let peer = peer.ok_or_else(|| self.lacks(what, "way to do it"))?;
        let known = peer.blocks().get(&block).map(|place| {
            let far = match &place.kind {
                Kind::Own(memory) => *memory == TensorMemory::Device,
                Kind::Host(_) => false,
                _ => true,
            };
            (place.address, place.bytes, far)
        });
        let unknown = || peer.properties.fault(what, DeviceFault::OtherDevice);
        let (address, bytes, far) = known.ok_or_else(unknown)?;
        let own = &self.functions.outside;
        let theirs = peer.functions.outside.context;
        // Pinned and managed memory has one address everywhere.
        let context = if far { theirs } else { own.context };
        let number = peer.properties.id.cast_signed();
        if context != own.context
            && let Ok(_current) = self.functions.current()
            && (own.can_access)(number)
        {
            let code = (own.enable_access)(theirs);
            if code != 0 && code != ALREADY {
                tracing::debug!("{what}: by a detour, the driver answers {code}");
            }
        }
        Ok((self.enter(Place { address, bytes, kind: Kind::Peer { context } }).id, 0))
    }

    /// Memory of a descriptor as a block.
    ///
    /// # Safety
    /// As [`Device::import_fd`].
    pub(super) unsafe fn fd_block(
        &self,
        fd: BorrowedFd<'_>,
        kind: FdKind,
        bytes: usize,
    ) -> Result<Block> {
        let what = "importing a descriptor";
        let outside = &self.functions.outside;
        // What Vulkan exports here is one allocation for one buffer; DMA-BUFs have no flags.
        let (number, flags) = match kind {
            FdKind::Opaque => (outside.fds.opaque, DEDICATED),
            FdKind::DmaBuf => (outside.fds.dma.map_err(|why| self.lacks(what, why))?, 0),
        };
        let no_fd = |cause| {
            Error::from(tenure_memory::detail::System { what: "duplicating a descriptor", cause })
        };
        let own = fd.try_clone_to_owned().map_err(no_fd)?;
        let handle = ExternalHandle { fd: own.as_raw_fd(), rest: [0; 3] };
        // Drivers are told how large the whole is: a DMA-BUF says so, of their own they believe us.
        let size = match kind {
            FdKind::Opaque => bytes as c_ulonglong,
            FdKind::DmaBuf => dma_bytes(own.as_fd())?,
        };
        if size < bytes as c_ulonglong {
            return Err(Error::from(tenure_memory::detail::OutOfBounds {
                start: 0,
                end: bytes,
                len: size as usize,
            }));
        }
        let wanted = ExternalMemory { kind: number, handle, size, flags, reserved: [0; 16] };
        let size = bytes as c_ulonglong;
        let all = ExternalBuffer { offset: 0, size, flags: 0, reserved: [0; 16] };
        let _current = self.current(what)?;
        let (mut memory, mut address) = (std::ptr::null_mut(), 0);
        // SAFETY: structures of the driver's header that live until the call returns; places are
        // ours; the descriptor is open.
        unsafe {
            self.check(what, (outside.import)(&mut memory, &wanted))?;
            // From here on it is the driver's, if it takes it at all.
            let fd = match outside.fds.takes {
                true => {
                    let _ = own.into_raw_fd();
                    None
                }
                false => Some(own),
            };
            let code = (outside.mapped)(&mut address, memory, &all);
            if code != 0 {
                (outside.destroy)(memory);
                return Err(self.properties.fault(what, super::fault(code)));
            }
            let kind = Kind::External(External { memory: Owned(memory), _fd: fd });
            Ok(self.enter(Place { address, bytes, kind }))
        }
    }

    /// A block in 64 bytes. The driver gives handles of whole allocations: which byte of it is meant
    /// goes beside it.
    pub(super) fn ipc_handle(&self, block: u64) -> Result<(IpcHandle, usize)> {
        let what = "sharing memory";
        let known = self.blocks().get(&block).and_then(|place| match place.kind {
            Kind::Own(TensorMemory::Device) => Some((place.address, place.bytes)),
            _ => None,
        });
        let other = || self.lacks(what, "handle for this: only device memory of its own has one");
        let (address, bytes) = known.ok_or_else(other)?;
        let mut handle = [0; 64];
        let _current = self.current(what)?;
        // SAFETY: a place for 64 bytes; the address of an allocation that exists.
        self.check(what, unsafe { (self.functions.outside.get_ipc)(&mut handle, address) })?;
        Ok((handle, bytes))
    }

    /// A block of another process.
    ///
    /// # Safety
    /// As [`Device::open_ipc`].
    pub(super) unsafe fn ipc_block(&self, handle: &IpcHandle, bytes: usize) -> Result<Block> {
        let what = "importing shared memory";
        let outside = &self.functions.outside;
        let _current = self.current(what)?;
        let (mut address, mut first, mut room) = (0, 0, 0);
        // SAFETY: a handle of the driver, by the caller's promise; places are ours.
        unsafe {
            let passed = Passed { bytes: *handle };
            self.check(what, (outside.open_ipc)(&mut address, passed, LAZY_PEER))?;
            let asked = (outside.range)(&mut first, &mut room, address);
            let inside = first.checked_add(room).is_some_and(|end| {
                address.checked_add(bytes).is_some_and(|last| first <= address && last <= end)
            });
            if asked != 0 || !inside {
                (outside.close_ipc)(address);
                self.check(what, asked)?;
                let name = format!("the block has {room} bytes, and {bytes} were promised");
                return Err(self.properties.fault(what, DeviceFault::Answer { code: 0, name }));
            }
        }
        Ok(self.enter(Place { address, bytes, kind: Kind::Ipc }))
    }
}

#[cfg(test)]
mod tests;
