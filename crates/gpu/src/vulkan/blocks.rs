//! An open Vulkan device and its blocks: made, imported, exported.
#![expect(unsafe_code, reason = "calls Vulkan, which is loaded at run time")]

use std::collections::HashMap;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ash::prelude::VkResult;
use ash::vk::{self, Handle};
use tenure_memory::{DeviceFault, DeviceVendor, Error, Result, TensorMemory};

use super::api::Loader;
use super::queue::Queue;
use super::{Found, answer, fault, missing, refused};
use crate::device::{Address, Block, Device, FdKind, Properties, Task};

type Handles = vk::ExternalMemoryHandleTypeFlags;

/// An open Vulkan device.
pub struct Vulkan {
    // In the order in which they must go; see `Drop`.
    queue: Queue,
    blocks: Mutex<HashMap<u64, Known>>,
    next: AtomicU64,
    host: Option<ash::ext::external_memory_host::Device>,
    fds: Option<ash::khr::external_memory_fd::Device>,
    device: ash::Device,
    memory: vk::PhysicalDeviceMemoryProperties,
    most: u64,
    properties: Properties,
    _loader: Loader,
}

/// A block: a buffer over all of some memory.
#[derive(Clone, Copy)]
struct Known {
    buffer: vk::Buffer,
    memory: vk::DeviceMemory,
    shared: bool,
}

/// What a buffer can be used for, here and by whoever computes with it.
const USES: vk::BufferUsageFlags = vk::BufferUsageFlags::from_raw(
    vk::BufferUsageFlags::TRANSFER_SRC.as_raw()
        | vk::BufferUsageFlags::TRANSFER_DST.as_raw()
        | vk::BufferUsageFlags::STORAGE_BUFFER.as_raw()
        | vk::BufferUsageFlags::UNIFORM_BUFFER.as_raw(),
);

/// How much is asked of the driver at a time.
const BLOCK: usize = 64 << 20;

/// Offsets are what is aligned where there are no addresses.
const HANDLE_ALIGN: usize = 2 << 20;

impl Vulkan {
    /// Opens the device with this number, as [`super::survey`] lists them.
    ///
    /// # Errors
    /// If there is no such device, or its driver cannot do what is needed.
    pub fn open(number: u32) -> Result<Vulkan> {
        let loader = Loader::new().map_err(|why| missing(&why))?;
        let all = loader.devices().map_err(|why| missing(&why))?;
        let count = all.len();
        let Some((physical, found)) = all.into_iter().nth(number as usize) else {
            let name = format!("there are {count} devices, counted from 0, and none is {number}");
            return Err(refused(DeviceFault::Answer { code: i64::from(number), name }));
        };
        if let Some(why) = &found.unusable {
            return Err(refused(DeviceFault::Answer { code: 0, name: why.clone() }));
        }
        Vulkan::make(loader, physical, &found).map_err(|error| refused(fault(error)))
    }

    fn make(loader: Loader, physical: vk::PhysicalDevice, found: &Found) -> VkResult<Vulkan> {
        let instance = &loader.instance;
        // SAFETY: the device is one of this instance, and all structures live until their call
        // returns; extensions are asked for only where the driver has them.
        unsafe {
            let families = instance.get_physical_device_queue_family_properties(physical);
            // Queues that compute or draw can copy too, and need not say so.
            let copies = vk::QueueFlags::COMPUTE | vk::QueueFlags::GRAPHICS;
            let family = families.iter().position(|family| family.queue_flags.intersects(copies));
            let family = family.ok_or(vk::Result::ERROR_FEATURE_NOT_PRESENT)? as u32;

            let mut names = vec![];
            if found.imports_host {
                names.push(ash::ext::external_memory_host::NAME.as_ptr());
            }
            if found.shares {
                names.push(ash::khr::external_memory_fd::NAME.as_ptr());
            }
            if found.imports_dma {
                names.push(ash::ext::external_memory_dma_buf::NAME.as_ptr());
            }
            let priorities = [1.0];
            let queues = [vk::DeviceQueueCreateInfo::default()
                .queue_family_index(family)
                .queue_priorities(&priorities)];
            let mut timeline =
                vk::PhysicalDeviceTimelineSemaphoreFeatures::default().timeline_semaphore(true);
            let wanted = vk::DeviceCreateInfo::default()
                .queue_create_infos(&queues)
                .enabled_extension_names(&names)
                .push_next(&mut timeline);
            let device = instance.create_device(physical, &wanted, None)?;
            let queue = Queue::new(&device, family).inspect_err(|_| device.destroy_device(None))?;

            let mut ids = vk::PhysicalDeviceIDProperties::default();
            let mut limits = vk::PhysicalDeviceMaintenance3Properties::default();
            let mut pages = vk::PhysicalDeviceExternalMemoryHostPropertiesEXT::default();
            let mut all =
                vk::PhysicalDeviceProperties2::default().push_next(&mut ids).push_next(&mut limits);
            if found.imports_host {
                all = all.push_next(&mut pages);
            }
            instance.get_physical_device_properties2(physical, &mut all);
            let page = pages.min_imported_host_pointer_alignment as usize;
            // Devices of the same kind have the same driver; what differs is which one it is.
            let mut uuid = ids.device_uuid;
            uuid.iter_mut().zip(ids.driver_uuid).for_each(|(byte, driver)| *byte ^= driver);

            let host = found
                .imports_host
                .then(|| ash::ext::external_memory_host::Device::new(instance, &device));
            let fds =
                found.shares.then(|| ash::khr::external_memory_fd::Device::new(instance, &device));
            let properties = Properties {
                name: found.name.as_str().into(),
                driver: found.driver.clone(),
                vendor: DeviceVendor::Vulkan,
                id: found.number,
                class: found.class,
                heaps: found.heaps.clone(),
                memories: vec![TensorMemory::Device, TensorMemory::Pinned],
                imports_host: host.as_ref().map(|_| page).filter(|page| page.is_power_of_two()),
                imports_dma: found.imports_dma,
                shares: found.shares,
                uuid,
                block_bytes: BLOCK,
            };
            Ok(Vulkan {
                queue,
                blocks: Mutex::default(),
                next: AtomicU64::new(1),
                host,
                fds,
                device,
                memory: instance.get_physical_device_memory_properties(physical),
                most: limits.max_memory_allocation_size,
                properties,
                _loader: loader,
            })
        }
    }

    fn blocks(&self) -> MutexGuard<'_, HashMap<u64, Known>> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, what: &'static str, result: vk::Result) -> Error {
        answer(&self.properties, what, result)
    }

    fn full(&self, memory: TensorMemory, bytes: usize) -> Error {
        let local = memory == TensorMemory::Device;
        let heaps = self.properties.heaps.iter().filter(|heap| heap.local == local || !local);
        let available = heaps.map(|heap| heap.bytes.min(self.most)).max();
        Error::OutOfMemory { memory, bytes, available, source: None }
    }

    /// A buffer for memory of some kind of handle, or of none.
    fn buffer(&self, bytes: u64, handles: Handles) -> VkResult<vk::Buffer> {
        let mut external = vk::ExternalMemoryBufferCreateInfo::default().handle_types(handles);
        let mut wanted = vk::BufferCreateInfo::default()
            .size(bytes)
            .usage(USES)
            .sharing_mode(vk::SharingMode::EXCLUSIVE);
        if !handles.is_empty() {
            wanted = wanted.push_next(&mut external);
        }
        // SAFETY: the structures live until the call returns.
        unsafe { self.device.create_buffer(&wanted, None) }
    }

    /// The memory type that has all of `must`, most of `want` and least of `rather_not`, among
    /// those allowed.
    fn kind(&self, allowed: u32, memory: TensorMemory) -> Option<u32> {
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
    unsafe fn enter(
        &self,
        buffer: vk::Buffer,
        memory: vk::DeviceMemory,
        shared: bool,
    ) -> VkResult<u64> {
        // SAFETY: by the caller's promise; on failure both go.
        unsafe {
            self.device.bind_buffer_memory(buffer, memory, 0).inspect_err(|_| {
                self.device.destroy_buffer(buffer, None);
                self.device.free_memory(memory, None);
            })?;
        }
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        self.blocks().insert(id, Known { buffer, memory, shared });
        Ok(id)
    }

    fn make_block(&self, memory: TensorMemory, bytes: usize, shared: bool) -> Result<Block> {
        let what = "allocating";
        if bytes as u64 > self.most.min(1 << 56) {
            return Err(self.full(memory, bytes));
        }
        let refused = |error| match error {
            vk::Result::ERROR_OUT_OF_DEVICE_MEMORY | vk::Result::ERROR_OUT_OF_HOST_MEMORY => {
                self.full(memory, bytes)
            }
            other => self.answer(what, other),
        };
        let handles = if shared { Handles::OPAQUE_FD } else { Handles::empty() };
        let buffer = self.buffer(bytes.max(1) as u64, handles).map_err(refused)?;
        // SAFETY: the buffer is this device's; everything made here is destroyed again if
        // something fails, and structures live until their call returns.
        unsafe {
            let gone = |_: &_| self.device.destroy_buffer(buffer, None);
            let needs = self.device.get_buffer_memory_requirements(buffer);
            let kind = self.kind(needs.memory_type_bits, memory);
            let kind = kind.ok_or(vk::Result::ERROR_FEATURE_NOT_PRESENT).inspect_err(gone);
            let kind = kind.map_err(refused)?;
            let heap = self.memory.memory_types_as_slice().get(kind as usize);
            let heap = heap.and_then(|kind| self.properties.heaps.get(kind.heap_index as usize));
            if heap.is_some_and(|heap| needs.size > heap.bytes) {
                self.device.destroy_buffer(buffer, None);
                return Err(self.full(memory, bytes));
            }
            let mut export = vk::ExportMemoryAllocateInfo::default().handle_types(handles);
            let mut dedicated = vk::MemoryDedicatedAllocateInfo::default().buffer(buffer);
            let mut wanted = vk::MemoryAllocateInfo::default()
                .allocation_size(needs.size)
                .memory_type_index(kind);
            if shared {
                wanted = wanted.push_next(&mut export).push_next(&mut dedicated);
            }
            let made = self.device.allocate_memory(&wanted, None).inspect_err(gone);
            let made = made.map_err(refused)?;
            let id = self.enter(buffer, made, shared).map_err(refused)?;
            let host = match memory {
                TensorMemory::Device => None,
                _ => {
                    let map = vk::MemoryMapFlags::empty();
                    let address = self.device.map_memory(made, 0, vk::WHOLE_SIZE, map);
                    let address = address.inspect_err(|_| self.free(id)).map_err(refused)?;
                    NonNull::new(address.cast()).map(Address)
                }
            };
            let align = host.map_or(HANDLE_ALIGN, |host| {
                HANDLE_ALIGN.min(1 << host.0.addr().get().trailing_zeros())
            });
            Ok(Block { id, bytes, host, name: handle(buffer), align })
        }
    }

    /// The Vulkan buffer of a block: what kernels are given, with
    /// [`tenure_memory::DevicePlace::offset`].
    pub fn buffer_of(&self, block: u64) -> Option<vk::Buffer> {
        self.blocks().get(&block).map(|known| known.buffer)
    }

    /// The open device, for whoever computes on it.
    pub fn raw(&self) -> &ash::Device {
        &self.device
    }

    /// Memory for a buffer, from what a structure in the chain says.
    ///
    /// # Safety
    /// `import` must be an import structure of memory that fits the buffer.
    unsafe fn import<T: vk::ExtendsMemoryAllocateInfo>(
        &self,
        bytes: usize,
        handles: Handles,
        allowed: u32,
        import: &mut T,
    ) -> VkResult<Block> {
        let buffer = self.buffer(bytes as u64, handles)?;
        // SAFETY: by the caller's promise, and as in `make_block`.
        unsafe {
            let gone = |_: &_| self.device.destroy_buffer(buffer, None);
            let needs = self.device.get_buffer_memory_requirements(buffer);
            let kind = self.kind(needs.memory_type_bits & allowed, TensorMemory::Device);
            let kind = kind.ok_or(vk::Result::ERROR_INVALID_EXTERNAL_HANDLE).inspect_err(gone)?;
            let wanted = vk::MemoryAllocateInfo::default()
                .allocation_size(needs.size.max(bytes as u64))
                .memory_type_index(kind)
                .push_next(import);
            let memory = self.device.allocate_memory(&wanted, None).inspect_err(gone)?;
            let id = self.enter(buffer, memory, false)?;
            Ok(Block { id, bytes, host: None, name: handle(buffer), align: HANDLE_ALIGN })
        }
    }
}

fn handle(buffer: vk::Buffer) -> Option<Address> {
    let number = std::num::NonZero::new(buffer.as_raw() as usize)?;
    Some(Address(NonNull::without_provenance(number)))
}

// SAFETY: memory is mapped from allocation to `free`, which unmaps it; drivers initialise it (pages
// come from the kernel, which zeroes them, or from the driver's own cache). `wait` waits for a
// semaphore that all work before counts, behind a barrier to the host.
unsafe impl Device for Vulkan {
    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn allocate(&self, memory: TensorMemory, bytes: usize) -> Result<Block> {
        self.make_block(memory, bytes, false)
    }

    fn free(&self, block: u64) {
        let Some(Known { buffer, memory, .. }) = self.blocks().remove(&block) else { return };
        // SAFETY: both are this device's and used by no work any more; freeing memory unmaps it.
        unsafe {
            self.device.destroy_buffer(buffer, None);
            self.device.free_memory(memory, None);
        }
    }

    unsafe fn import_host(&self, address: NonNull<u8>, bytes: usize) -> Result<Block> {
        let what = "importing main memory";
        let Some(host) = &self.host else {
            return Err(self.properties.fault(what, DeviceFault::Lacks("way to do it")));
        };
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
            self.import(bytes, handles, found.memory_type_bits, &mut import)
                .map_err(|error| self.answer(what, error))
        }
    }

    fn import_fd(&self, fd: BorrowedFd<'_>, kind: FdKind, bytes: usize) -> Result<Block> {
        let what = "importing a descriptor";
        let fds =
            self.fds.as_ref().filter(|_| kind == FdKind::Opaque || self.properties.imports_dma);
        let Some(fds) = fds else {
            return Err(self.properties.fault(what, DeviceFault::Lacks("way to do it")));
        };
        let no_fd = |cause| Error::System { what: "duplicating a descriptor", cause };
        let own = fd.try_clone_to_owned().map_err(no_fd)?;
        let (handles, allowed) = match kind {
            FdKind::Opaque => (Handles::OPAQUE_FD, u32::MAX),
            FdKind::DmaBuf => {
                let mut found = vk::MemoryFdPropertiesKHR::default();
                let handles = Handles::DMA_BUF_EXT;
                // SAFETY: the descriptor is open.
                unsafe { fds.get_memory_fd_properties(handles, own.as_raw_fd(), &mut found) }
                    .map_err(|error| self.answer(what, error))?;
                (handles, found.memory_type_bits)
            }
        };
        let mut import =
            vk::ImportMemoryFdInfoKHR::default().handle_type(handles).fd(own.as_raw_fd());
        // SAFETY: the descriptor is open, and the driver's from here on if it takes it.
        let block = unsafe { self.import(bytes, handles, allowed, &mut import) };
        let block = block.map_err(|error| self.answer(what, error))?;
        let _ = own.into_raw_fd();
        Ok(block)
    }

    fn allocate_shared(&self, memory: TensorMemory, bytes: usize) -> Result<Block> {
        match self.fds {
            Some(_) => self.make_block(memory, bytes, true),
            None => {
                Err(self.properties.fault("sharing memory", DeviceFault::Lacks("way to do it")))
            }
        }
    }

    fn export(&self, block: u64) -> Result<OwnedFd> {
        let what = "sharing memory";
        let known = self.blocks().get(&block).copied().filter(|known| known.shared);
        let (Some(fds), Some(known)) = (&self.fds, known) else {
            let fault = DeviceFault::Lacks("way to share this: allocate it to be shared");
            return Err(self.properties.fault(what, fault));
        };
        let wanted =
            vk::MemoryGetFdInfoKHR::default().memory(known.memory).handle_type(Handles::OPAQUE_FD);
        // SAFETY: the memory exists, allocated for this; the descriptor is new and nobody else's.
        unsafe {
            let fd = fds.get_memory_fd(&wanted).map_err(|error| self.answer(what, error))?;
            Ok(OwnedFd::from_raw_fd(fd))
        }
    }

    unsafe fn submit(&self, tasks: &[Task]) -> Result<u64> {
        let blocks = self.blocks();
        let buffer = |block: u64| {
            blocks.get(&block).map(|known| known.buffer).ok_or(vk::Result::ERROR_UNKNOWN)
        };
        // SAFETY: the caller's promises; buffers are those of the blocks.
        let submitted = unsafe { self.queue.submit(&self.device, tasks, buffer) };
        submitted.map_err(|error| self.answer("submitting work", error))
    }

    fn wait(&self, work: u64, timeout: Option<Duration>) -> Result<bool> {
        let waited = self.queue.wait(&self.device, work, timeout);
        waited.map_err(|error| self.answer("waiting for work", error))
    }
}

impl Drop for Vulkan {
    fn drop(&mut self) {
        // SAFETY: nobody has the device any more, so that nothing is submitted; work is waited
        // for before what it uses goes, and the device goes before its instance.
        unsafe {
            self.queue.destroy(&self.device);
            for (_, Known { buffer, memory, .. }) in self.blocks().drain() {
                self.device.destroy_buffer(buffer, None);
                self.device.free_memory(memory, None);
            }
            self.device.destroy_device(None);
        }
    }
}
