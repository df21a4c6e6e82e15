//! Memory of others as blocks of a Vulkan device, and its own for others.
#![expect(unsafe_code, reason = "calls Vulkan, which is loaded at run time")]

use std::any::Any;
use std::num::NonZero;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd};
use std::ptr::NonNull;

use ash::vk;
use rustix::fs::fstat;
use tenure_memory::{DeviceFault, Error, Result, TensorMemory};

use super::blocks::{HANDLE_ALIGN, Handles, USES, handle, handles};
use super::device::{Known, Vulkan};
use crate::device::{Address, Block, Device, FdKind};
use crate::share::dma_bytes;

/// Whether two descriptors are of one object; one that was closed is of none.
fn same_object(one: BorrowedFd<'_>, other: BorrowedFd<'_>) -> bool {
    let key = |fd| fstat(fd).ok().map(|found| (found.st_dev, found.st_ino));
    key(one).is_some_and(|own| key(other) == Some(own))
}

/// What is imported.
struct Import<'a, T> {
    what: &'static str,
    /// Bytes that are used.
    bytes: usize,
    /// Bytes that there are, where that is known: no buffer may need more.
    room: Option<u64>,
    handles: Handles,
    /// What it is most like, for the choice of its type.
    memory: TensorMemory,
    /// The types that it can have.
    allowed: u32,
    chained: &'a mut T,
}

impl Vulkan {
    fn lacks(&self, what: &'static str) -> Error {
        self.properties.fault(what, DeviceFault::Lacks("way to do it"))
    }

    /// What the driver does with buffers over memory of some kind of handle.
    pub(super) fn external(&self, handles: Handles) -> vk::ExternalMemoryFeatureFlags {
        let asked =
            vk::PhysicalDeviceExternalBufferInfo::default().usage(USES).handle_type(handles);
        let mut found = vk::ExternalBufferProperties::default();
        // SAFETY: the device is one of this instance; the structures live until the call returns.
        unsafe {
            let instance = &self.loader.instance;
            instance.get_physical_device_external_buffer_properties(
                self.physical,
                &asked,
                &mut found,
            );
        }
        found.external_memory_properties.external_memory_features
    }

    /// Memory for a buffer, from what a structure in the chain says.
    ///
    /// # Safety
    /// `import` must be an import structure of memory that has `import.room` bytes.
    unsafe fn import<T: vk::ExtendsMemoryAllocateInfo>(
        &self,
        import: Import<'_, T>,
    ) -> Result<Block> {
        let Import { what, bytes, room, handles, memory, allowed, chained } = import;
        let features = self.external(handles);
        if !features.contains(vk::ExternalMemoryFeatureFlags::IMPORTABLE) {
            return Err(self.lacks(what));
        }
        let refused = |error| self.answer(what, error);
        let buffer = self.buffer(bytes as u64, handles).map_err(refused)?;
        // SAFETY: by the caller's promise, and as in `make_block`.
        unsafe {
            let gone = |_: &_| self.device.destroy_buffer(buffer, None);
            let needs = self.device.get_buffer_memory_requirements(buffer);
            if let Some(room) = room.filter(|room| needs.size > *room) {
                self.device.destroy_buffer(buffer, None);
                let (end, len) = (needs.size as usize, room as usize);
                return Err(Error::from(tenure_memory::detail::OutOfBounds { start: 0, end, len }));
            }
            let kind = self.kind(needs.memory_type_bits & allowed, memory);
            let kind = kind.ok_or(vk::Result::ERROR_INVALID_EXTERNAL_HANDLE).inspect_err(gone);
            let kind = kind.map_err(refused)?;
            let room = needs.size.max(bytes as u64);
            let mut dedicated = vk::MemoryDedicatedAllocateInfo::default().buffer(buffer);
            let mut wanted = vk::MemoryAllocateInfo::default()
                .allocation_size(room)
                .memory_type_index(kind)
                .push_next(chained);
            if features.contains(vk::ExternalMemoryFeatureFlags::DEDICATED_ONLY) {
                wanted = wanted.push_next(&mut dedicated);
            }
            let made = self.device.allocate_memory(&wanted, None).inspect_err(gone);
            let made = made.map_err(refused)?;
            let id = self.enter(buffer, (made, room), None).map_err(refused)?;
            Ok(Block { id, bytes, host: None, name: handle(buffer), align: HANDLE_ALIGN })
        }
    }

    /// Main memory as a block.
    ///
    /// # Safety
    /// As [`crate::Device::import_host`].
    pub(super) unsafe fn host_block(&self, address: NonNull<u8>, bytes: usize) -> Result<Block> {
        let what = "importing main memory";
        let Some(host) = &self.host else { return Err(self.lacks(what)) };
        let handles = Handles::HOST_ALLOCATION_EXT;
        let mut found = vk::MemoryHostPointerPropertiesEXT::default();
        let pointer = address.as_ptr().cast();
        // SAFETY: the bytes exist, by the caller's promise, and structures live until their call
        // returns.
        unsafe {
            let ask = host.fp().get_memory_host_pointer_properties_ext;
            ask(self.device.handle(), handles, pointer, &mut found)
                .result()
                .map_err(|error| self.answer(what, error))?;
            let mut import = vk::ImportMemoryHostPointerInfoEXT::default()
                .handle_type(handles)
                .host_pointer(pointer);
            self.import(Import {
                what,
                bytes,
                room: Some(bytes as u64),
                handles,
                // The CPU goes on using it: what it writes must be seen without being flushed.
                memory: TensorMemory::Pinned,
                allowed: found.memory_type_bits,
                chained: &mut import,
            })
        }
    }

    /// Memory of a descriptor as a block.
    ///
    /// # Safety
    /// As [`crate::Device::import_fd`].
    pub(super) unsafe fn fd_block(
        &self,
        fd: BorrowedFd<'_>,
        kind: FdKind,
        bytes: usize,
    ) -> Result<Block> {
        let what = "importing a descriptor";
        let fds =
            self.fds.as_ref().filter(|_| kind == FdKind::Opaque || self.properties.imports_dma);
        let Some(fds) = fds else { return Err(self.lacks(what)) };
        let no_fd = |cause| {
            Error::from(tenure_memory::detail::System { what: "duplicating a descriptor", cause })
        };
        let own = fd.try_clone_to_owned().map_err(no_fd)?;
        let handles = handles(kind);
        let (allowed, room) = match kind {
            // The caller knows it as large as it is.
            FdKind::Opaque => (u32::MAX, None),
            FdKind::DmaBuf => {
                let room = dma_bytes(own.as_fd())?;
                if room < bytes as u64 {
                    let (end, len) = (bytes, room as usize);
                    return Err(Error::from(tenure_memory::detail::OutOfBounds {
                        start: 0,
                        end,
                        len,
                    }));
                }
                let mut found = vk::MemoryFdPropertiesKHR::default();
                // SAFETY: the descriptor is open.
                unsafe { fds.get_memory_fd_properties(handles, own.as_raw_fd(), &mut found) }
                    .map_err(|error| self.answer(what, error))?;
                (found.memory_type_bits, Some(room))
            }
        };
        let mut import =
            vk::ImportMemoryFdInfoKHR::default().handle_type(handles).fd(own.as_raw_fd());
        let (memory, chained) = (TensorMemory::Device, &mut import);
        let wanted = Import { what, bytes, room, handles, memory, allowed, chained };
        // SAFETY: the descriptor is open, and the driver's from here on if it takes it; its size was
        // looked at, or is what the caller promises.
        let block = unsafe { self.import(wanted) };
        // Mesa's driver in software closes what it refuses, which is not its own: then it must not be
        // closed a second time.
        if block.is_ok() || !same_object(own.as_fd(), fd) {
            let _ = own.into_raw_fd();
        }
        block
    }

    /// A block of another open Vulkan device: by its descriptor, if it was made to be shared and
    /// driver and device are the same; by its address, if the other is a device in software, whose
    /// memory is main memory.
    pub(super) fn peer_block(&self, peer: &dyn Device, block: u64) -> Result<(u64, usize)> {
        let what = "reaching memory of another device";
        let peer = (peer as &dyn Any).downcast_ref::<Vulkan>().ok_or_else(|| self.lacks(what))?;
        let known = peer.blocks().get(&block).copied();
        let known = known.ok_or_else(|| peer.properties.fault(what, DeviceFault::OtherDevice))?;
        let same = peer.properties.uuid == self.properties.uuid;
        match known {
            Known { shared: Some(FdKind::Opaque), .. } if same && self.fds.is_some() => {
                let (fd, room) = peer.export_block(block)?;
                // SAFETY: exported by the same driver just now, with the size that it has.
                let block = unsafe { self.fd_block(fd.as_fd(), FdKind::Opaque, room)? };
                Ok((block.id, 0))
            }
            Known { near: Some(Address(base)), room, .. } => {
                let page = self.properties.imports_host.ok_or_else(|| self.lacks(what))?;
                let first = base.addr().get() % page;
                // Down to the start of the page, which is not zero: nothing is mapped there.
                let start = NonZero::new(base.addr().get() - first);
                let start = start.ok_or_else(|| self.lacks(what))?;
                let bytes = (first + room as usize).next_multiple_of(page);
                // SAFETY: whole pages around memory that exists until the other device frees its
                // block; this one is freed before.
                let block = unsafe { self.host_block(base.map_addr(|_| start), bytes)? };
                Ok((block.id, first))
            }
            _ => Err(self.lacks(what)),
        }
    }

    /// A block that can be exported.
    pub(super) fn shared_block(
        &self,
        memory: TensorMemory,
        bytes: usize,
        kind: FdKind,
    ) -> Result<Block> {
        let can = match kind {
            FdKind::Opaque => self.fds.is_some(),
            FdKind::DmaBuf => self.fds.is_some() && self.properties.imports_dma,
        };
        let exports = vk::ExternalMemoryFeatureFlags::EXPORTABLE;
        match can && self.external(handles(kind)).contains(exports) {
            true => self.make_block(memory, bytes, Some(kind)),
            false => Err(self.lacks("sharing memory")),
        }
    }

    /// A descriptor of a block that was made to be exported.
    pub(super) fn export_block(&self, block: u64) -> Result<(OwnedFd, usize)> {
        let what = "sharing memory";
        let known = self.blocks().get(&block).copied();
        let known = known.and_then(|known| Some((known, known.shared?)));
        let (Some(fds), Some((known, kind))) = (&self.fds, known) else {
            let fault = DeviceFault::Lacks("way to share this: allocate it to be shared");
            return Err(self.properties.fault(what, fault));
        };
        let wanted =
            vk::MemoryGetFdInfoKHR::default().memory(known.memory).handle_type(handles(kind));
        // SAFETY: the memory exists, allocated for this; the descriptor is new and nobody else's.
        unsafe {
            let fd = fds.get_memory_fd(&wanted).map_err(|error| self.answer(what, error))?;
            Ok((OwnedFd::from_raw_fd(fd), known.room as usize))
        }
    }
}
