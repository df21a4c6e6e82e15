//! Blocks of a Vulkan device: buffers, memory for them, and which memory that is.
#![expect(unsafe_code, reason = "calls Vulkan, which is loaded at run time")]

use std::ptr::NonNull;
use std::sync::atomic::Ordering;

use ash::prelude::VkResult;
use ash::vk::{self, Handle};
use rustix::mm::{Advice, madvise};
use tenure_memory::{Error, Result, TensorMemory};

use super::device::{Known, Vulkan};
use crate::device::{Address, Block, Class, Device, FdKind};

pub(super) type Handles = vk::ExternalMemoryHandleTypeFlags;

/// What a buffer can be used for, here and by whoever computes with it.
pub(super) const USES: vk::BufferUsageFlags = vk::BufferUsageFlags::from_raw(
    vk::BufferUsageFlags::TRANSFER_SRC.as_raw()
        | vk::BufferUsageFlags::TRANSFER_DST.as_raw()
        | vk::BufferUsageFlags::STORAGE_BUFFER.as_raw()
        | vk::BufferUsageFlags::UNIFORM_BUFFER.as_raw(),
);

/// Offsets are what is aligned where there are no addresses.
pub(super) const HANDLE_ALIGN: usize = 2 << 20;

/// What the kernel gives in one piece if it is asked to.
const LARGE_PAGE: usize = 2 << 20;

/// What a driver calls a kind of descriptor.
pub(super) fn handles(kind: FdKind) -> Handles {
    match kind {
        FdKind::DmaBuf => Handles::DMA_BUF_EXT,
        FdKind::Opaque => Handles::OPAQUE_FD,
    }
}

impl Vulkan {
    /// No room: what there is at most, where that is what was asked too much of. How much is left of
    /// it the driver does not say.
    fn full(memory: TensorMemory, bytes: usize, available: Option<u64>) -> Error {
        Error::from(tenure_memory::detail::OutOfMemory { memory, bytes, available, source: None })
    }

    /// A buffer for memory of some kind of handle, or of none.
    pub(super) fn buffer(&self, bytes: u64, handles: Handles) -> VkResult<vk::Buffer> {
        let mut external = vk::ExternalMemoryBufferCreateInfo::default().handle_types(handles);
        let mut wanted = vk::BufferCreateInfo::default()
            .size(bytes)
            .usage(USES)
            .sharing_mode(vk::SharingMode::EXCLUSIVE);
        if self.families.len() > 1 {
            // What one queue writes another may read, without being handed over.
            wanted = wanted
                .sharing_mode(vk::SharingMode::CONCURRENT)
                .queue_family_indices(&self.families);
        }
        if !handles.is_empty() {
            wanted = wanted.push_next(&mut external);
        }
        // SAFETY: the structures live until the call returns.
        unsafe { self.device.create_buffer(&wanted, None) }
    }

    /// The memory type that has all of `must`, most of `want` and least of `rather_not`, among
    /// those allowed.
    pub(super) fn kind(&self, allowed: u32, memory: TensorMemory) -> Option<u32> {
        use vk::MemoryPropertyFlags as Flags;
        let (must, want, rather_not) = match memory {
            TensorMemory::Device => (Flags::empty(), Flags::DEVICE_LOCAL, Flags::HOST_VISIBLE),
            _ => (
                Flags::HOST_VISIBLE | Flags::HOST_COHERENT,
                Flags::HOST_CACHED,
                Flags::DEVICE_LOCAL,
            ),
        };
        let kinds = self.memory.memory_types_as_slice().iter().enumerate();
        let fits = kinds.filter(|(index, kind)| {
            allowed & (1 << index) != 0
                && kind.property_flags.contains(must)
                && !kind.property_flags.contains(Flags::PROTECTED)
        });
        let score = |flags: Flags| {
            2 * i32::from(flags.contains(want)) - i32::from(flags.intersects(rather_not))
        };
        // The first of the best: drivers list what is faster first.
        let best = fits.rev().max_by_key(|(_, kind)| score(kind.property_flags));
        best.map(|(index, _)| index as u32)
    }

    /// Binds memory to a buffer and enters both as a block.
    ///
    /// # Safety
    /// Both must be this device's, unbound, and owned by the caller.
    pub(super) unsafe fn enter(
        &self,
        buffer: vk::Buffer,
        (memory, room): (vk::DeviceMemory, u64),
        shared: Option<FdKind>,
    ) -> VkResult<u64> {
        // SAFETY: by the caller's promise; on failure both go.
        unsafe {
            self.device.bind_buffer_memory(buffer, memory, 0).inspect_err(|_| {
                self.device.destroy_buffer(buffer, None);
                self.device.free_memory(memory, None);
            })?;
        }
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        self.blocks().insert(id, Known { buffer, memory, room, shared, near: None });
        Ok(id)
    }

    /// A block of some memory, to be exported or not.
    pub(super) fn make_block(
        &self,
        memory: TensorMemory,
        bytes: usize,
        shared: Option<FdKind>,
    ) -> Result<Block> {
        let what = "allocating";
        if bytes as u64 > self.most.min(1 << 56) {
            return Err(Vulkan::full(memory, bytes, Some(self.most)));
        }
        let refused = |error| match error {
            vk::Result::ERROR_OUT_OF_DEVICE_MEMORY | vk::Result::ERROR_OUT_OF_HOST_MEMORY => {
                Vulkan::full(memory, bytes, None)
            }
            other => self.answer(what, other),
        };
        let handles = shared.map_or(Handles::empty(), handles);
        let buffer = self.buffer(bytes.max(1) as u64, handles).map_err(refused)?;
        // SAFETY: the buffer is this device's; everything made here is destroyed again if
        // something fails, and structures live until their call returns.
        unsafe {
            let gone = |_: &_| self.device.destroy_buffer(buffer, None);
            let needs = self.device.get_buffer_memory_requirements(buffer);
            let kind = self.kind(needs.memory_type_bits, memory);
            let kind = kind.ok_or(vk::Result::ERROR_FEATURE_NOT_PRESENT).inspect_err(gone);
            let kind = kind.map_err(refused)?;
            let found = self.memory.memory_types_as_slice().get(kind as usize);
            let heap = found.and_then(|kind| self.properties.heaps.get(kind.heap_index as usize));
            if let Some(heap) = heap.filter(|heap| needs.size > heap.bytes) {
                self.device.destroy_buffer(buffer, None);
                return Err(Vulkan::full(memory, bytes, Some(heap.bytes)));
            }
            let mut export = vk::ExportMemoryAllocateInfo::default().handle_types(handles);
            let mut dedicated = vk::MemoryDedicatedAllocateInfo::default().buffer(buffer);
            let mut wanted = vk::MemoryAllocateInfo::default()
                .allocation_size(needs.size)
                .memory_type_index(kind);
            if shared.is_some() {
                wanted = wanted.push_next(&mut export).push_next(&mut dedicated);
            }
            let made = self.device.allocate_memory(&wanted, None).inspect_err(gone);
            let made = made.map_err(refused)?;
            let id = self.enter(buffer, (made, needs.size), shared).map_err(refused)?;
            let flags = found.map_or(vk::MemoryPropertyFlags::empty(), |kind| kind.property_flags);
            let visible = flags.contains(vk::MemoryPropertyFlags::HOST_VISIBLE);
            let software = visible && self.properties.class == Class::Software && shared.is_none();
            let host = match memory == TensorMemory::Device && !software {
                true => None,
                false => {
                    let map = vk::MemoryMapFlags::empty();
                    let address = self.device.map_memory(made, 0, vk::WHOLE_SIZE, map);
                    let address = address.inspect_err(|_| self.free(id)).map_err(refused)?;
                    NonNull::new(address.cast()).map(Address)
                }
            };
            if let Some(address) = host.filter(|_| software) {
                want_large_pages(address.0.as_ptr(), bytes);
                self.blocks().entry(id).and_modify(|known| known.near = host);
            }
            // Memory of a device is the device's, also where the CPU could reach it.
            let host = host.filter(|_| memory != TensorMemory::Device);
            let align = host.map_or(HANDLE_ALIGN, |host| {
                HANDLE_ALIGN.min(1 << host.0.addr().get().trailing_zeros())
            });
            Ok(Block { id, bytes, host, name: handle(buffer), align })
        }
    }
}

/// The name of a buffer, for people and for DLPack.
pub(super) fn handle(buffer: vk::Buffer) -> Option<Address> {
    let number = std::num::NonZero::new(buffer.as_raw() as usize)?;
    Some(Address(NonNull::without_provenance(number)))
}

/// Asks for large pages under memory that a driver in software has from the kernel: copies of it
/// are otherwise slower by a third, for want of translations of addresses.
///
/// # Safety
/// The bytes must be mapped, and nobody else's.
unsafe fn want_large_pages(address: *mut u8, bytes: usize) {
    let first = address.addr().next_multiple_of(LARGE_PAGE);
    let end = (address.addr() + bytes) / LARGE_PAGE * LARGE_PAGE;
    if first < end {
        let inner = address.map_addr(|_| first).cast();
        // SAFETY: whole pages inside the bytes. It is advice: what a page holds stays the same.
        let _ = unsafe { madvise(inner, end - first, Advice::LinuxHugepage) };
    }
}
