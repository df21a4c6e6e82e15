//! An open Vulkan device: what it is made of, and what is asked of it.
#![expect(unsafe_code, reason = "calls Vulkan, which is loaded at run time")]

use std::collections::HashMap;
use std::fmt;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ash::prelude::VkResult;
use ash::vk;
use smallvec::SmallVec;
use tenure_memory::{DeviceFault, DeviceVendor, Error, Result, TensorMemory};

use super::api::Loader;
use super::queue::{Queue, Queues};
use super::{Found, answer, fault, missing, refused};
use crate::device::{Address, Block, Device, FdKind, Properties, Task, Work};

/// An open Vulkan device.
pub struct Vulkan {
    // In the order in which they must go; see `Drop`.
    queues: Vec<Queue>,
    blocks: Mutex<HashMap<u64, Known>>,
    pub(super) next: AtomicU64,
    pub(super) host: Option<ash::ext::external_memory_host::Device>,
    pub(super) fds: Option<ash::khr::external_memory_fd::Device>,
    pub(super) device: ash::Device,
    pub(super) physical: vk::PhysicalDevice,
    pub(super) memory: vk::PhysicalDeviceMemoryProperties,
    /// The families of its queues: buffers are for all of them.
    pub(super) families: Vec<u32>,
    pub(super) most: u64,
    pub(super) properties: Properties,
    hardware: [u8; 16],
    pub(super) loader: Loader,
}

/// A block: a buffer over all of some memory.
#[derive(Clone, Copy)]
pub(super) struct Known {
    pub(super) buffer: vk::Buffer,
    pub(super) memory: vk::DeviceMemory,
    /// Bytes of the memory.
    pub(super) room: u64,
    /// What it can be exported as.
    pub(super) shared: Option<FdKind>,
    /// Where it is for the CPU, on a device that is the CPU.
    pub(super) near: Option<Address>,
}

/// How much is asked of the driver at a time.
const BLOCK: usize = 64 << 20;

impl fmt::Debug for Vulkan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Properties { name, id, .. } = &self.properties;
        f.debug_struct("Vulkan").field("name", name).field("id", id).finish_non_exhaustive()
    }
}

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
            return Err(refused(DeviceFault::NoDevice { number, devices: count }));
        };
        if let Some(why) = &found.unusable {
            return Err(refused(DeviceFault::Unusable(format!("{}: {why}", found.name))));
        }
        Vulkan::make(loader, physical, &found).map_err(|error| refused(fault(error)))
    }

    fn make(loader: Loader, physical: vk::PhysicalDevice, found: &Found) -> VkResult<Vulkan> {
        let instance = &loader.instance;
        // SAFETY: the device is one of this instance, and all structures live until their call
        // returns; extensions are asked for only where the driver has them.
        unsafe {
            let families = instance.get_physical_device_queue_family_properties(physical);
            let chosen = Queues::choose(&families).ok_or(vk::Result::ERROR_FEATURE_NOT_PRESENT)?;

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
            let wanted_queues = chosen.wanted();
            let mut timeline =
                vk::PhysicalDeviceTimelineSemaphoreFeatures::default().timeline_semaphore(true);
            let wanted = vk::DeviceCreateInfo::default()
                .queue_create_infos(&wanted_queues)
                .enabled_extension_names(&names)
                .push_next(&mut timeline);
            let device = instance.create_device(physical, &wanted, None)?;
            let queues = chosen.make(&device).inspect_err(|_| device.destroy_device(None))?;

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
                uuid: crate::share::uuid(ids.device_uuid, ids.driver_uuid),
                block_bytes: BLOCK,
                queues: queues.len(),
            };
            Ok(Vulkan {
                queues,
                blocks: Mutex::default(),
                next: AtomicU64::new(1),
                host,
                fds,
                device,
                physical,
                memory: instance.get_physical_device_memory_properties(physical),
                families: chosen.families(),
                most: limits.max_memory_allocation_size,
                properties,
                hardware: ids.device_uuid,
                loader,
            })
        }
    }

    pub(super) fn blocks(&self) -> MutexGuard<'_, HashMap<u64, Known>> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn answer(&self, what: &'static str, result: vk::Result) -> Error {
        answer(&self.properties, what, result)
    }

    fn queue(&self, number: usize) -> Result<&Queue, vk::Result> {
        self.queues.get(number).ok_or(vk::Result::ERROR_UNKNOWN)
    }

    /// The Vulkan buffer of a block: what kernels are given, with
    /// [`tenure_memory::backend::DevicePlace::offset`].
    pub fn buffer_of(&self, block: u64) -> Option<vk::Buffer> {
        self.blocks().get(&block).map(|known| known.buffer)
    }

    /// The open device, for whoever computes on it.
    pub fn raw(&self) -> &ash::Device {
        &self.device
    }
}

// SAFETY: memory is mapped from allocation to `free`, which unmaps it; drivers initialise it (pages
// come from the kernel, which zeroes them, or from the driver's own cache). `wait` waits for a
// semaphore that all work of the queue before counts, behind a barrier to the host.
unsafe impl Device for Vulkan {
    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn hardware(&self) -> [u8; 16] {
        self.hardware
    }

    fn allocate(&self, memory: TensorMemory, bytes: usize) -> Result<Block> {
        self.make_block(memory, bytes, None)
    }

    unsafe fn free(&self, block: u64) {
        let Some(Known { buffer, memory, .. }) = self.blocks().remove(&block) else { return };
        // SAFETY: of this device, and used by no work any more; freeing memory unmaps it.
        unsafe {
            self.device.destroy_buffer(buffer, None);
            self.device.free_memory(memory, None);
        }
    }

    fn near(&self, block: u64) -> Option<Address> {
        self.blocks().get(&block)?.near
    }

    unsafe fn import_host(&self, address: NonNull<u8>, bytes: usize) -> Result<Block> {
        // SAFETY: by the caller's promise.
        unsafe { self.host_block(address, bytes) }
    }

    unsafe fn import_fd(&self, fd: BorrowedFd<'_>, kind: FdKind, bytes: usize) -> Result<Block> {
        // SAFETY: by the caller's promise.
        unsafe { self.fd_block(fd, kind, bytes) }
    }

    fn import_peer(&self, peer: &dyn Device, block: u64) -> Result<(u64, usize)> {
        self.peer_block(peer, block)
    }

    fn allocate_shared(&self, memory: TensorMemory, bytes: usize, kind: FdKind) -> Result<Block> {
        self.shared_block(memory, bytes, kind)
    }

    fn export(&self, block: u64) -> Result<(OwnedFd, usize)> {
        self.export_block(block)
    }

    unsafe fn submit(&self, queue: usize, tasks: &[Task]) -> Result<Work> {
        let blocks = self.blocks();
        let buffer = |block: u64| {
            blocks.get(&block).map(|known| known.buffer).ok_or(vk::Result::ERROR_UNKNOWN)
        };
        // What they have done is done: they are not waited for, but what they wrote is seen.
        let others = self.queues.iter().enumerate().filter(|(number, _)| *number != queue);
        let others: VkResult<SmallVec<[_; 4]>> =
            others.map(|(_, other)| other.counted(&self.device)).collect();
        let submitted = self.queue(queue).and_then(|own| {
            // SAFETY: the caller's promises; buffers are those of the blocks.
            unsafe { own.submit(&self.device, tasks, &others?, buffer) }
        });
        submitted
            .map(|number| Work { queue, number })
            .map_err(|error| self.answer("submitting work", error))
    }

    fn wait(&self, work: Work, timeout: Option<Duration>) -> Result<bool> {
        let waited =
            self.queue(work.queue).and_then(|own| own.wait(&self.device, work.number, timeout));
        waited.map_err(|error| self.answer("waiting for work", error))
    }
}

impl Drop for Vulkan {
    fn drop(&mut self) {
        // SAFETY: nobody has the device any more, so that nothing is submitted; work is waited
        // for before what it uses goes, and the device goes before its instance.
        unsafe {
            self.queues.iter().for_each(|queue| queue.destroy(&self.device));
            for (_, Known { buffer, memory, .. }) in self.blocks().drain() {
                self.device.destroy_buffer(buffer, None);
                self.device.free_memory(memory, None);
            }
            self.device.destroy_device(None);
        }
    }
}
