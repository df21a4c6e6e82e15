//! A device that is open: its memories as allocators, and copies in and out of them.

use std::fmt;
use std::sync::Arc;

use tenure_memory::backend::{Carrier, announce};
use tenure_memory::{
    Allocator, DeviceFault, Fence, LogicalMemorySpace, Pool, PoolLimits, Result, TensorMemory,
};
use tenure_tensor::{ElementKind, Tensor};

use crate::carry::Courier;
use crate::core::Core;
use crate::device::{Address, Device, Properties};
use crate::heap::HeapReport;
use crate::imports::ImportReport;
use crate::memory::Maker;
use crate::reach::Reached;

/// A device that is open; cheap to clone. Its memory keeps it open: it may be dropped before its
/// tensors.
#[derive(Clone)]
pub struct Gpu {
    courier: Arc<Courier>,
}

impl Gpu {
    /// Opens a device of some backend. Its spaces are then known to [`Tensor::to`].
    ///
    /// # Errors
    /// If it has no memory that the CPU reaches too: nothing could be copied.
    pub fn over(device: impl Device) -> Result<Gpu> {
        Gpu::over_shared(Arc::new(device))
    }

    /// As [`Gpu::over`], of a device that others know too.
    ///
    /// # Errors
    /// As there.
    pub fn over_shared(device: Arc<dyn Device>) -> Result<Gpu> {
        let core = Core::open(device);
        core.heap(TensorMemory::Pinned)?;
        let courier = Arc::new(Courier::new(core));
        let carrier: Arc<dyn Carrier> = Arc::clone(&courier) as _;
        announce(&carrier);
        Ok(Gpu { courier })
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        self.courier.core()
    }

    pub(crate) fn courier(&self) -> &Arc<Courier> {
        &self.courier
    }

    /// What is known of the device.
    pub fn properties(&self) -> &Properties {
        self.core().properties()
    }

    /// Which device this is in this process: [`tenure_memory::backend::DevicePlace::device`] of its memory.
    pub fn number(&self) -> u64 {
        self.courier.number()
    }

    /// This device, with copies on another of its queues: whatever is allocated through the handle
    /// that this gives is copied there, beside what the other queues copy. Queue 0 is the one that
    /// a device opens with; the others are for copies. Memory of both handles is of one device and
    /// one heap.
    ///
    /// # Errors
    /// [`tenure_memory::DeviceFault::NoQueue`] if there is none with this number:
    /// [`Properties::queues`] says how many there are.
    pub fn on_queue(&self, queue: usize) -> Result<Gpu> {
        let queues = self.properties().queues;
        if queue >= queues {
            let fault = DeviceFault::NoQueue { queue, queues };
            return Err(self.properties().fault("choosing a queue", fault));
        }
        Ok(Gpu { courier: Arc::new(self.courier.on(queue)) })
    }

    /// This device, with copies on a queue for copies: for the arenas of a plan's copy lane, as
    /// `Gpu::lanes` (feature `plan`) has them. Where there is one queue for everything, that.
    pub fn for_copies(&self) -> Gpu {
        let queue = usize::from(self.properties().queues > 1);
        Gpu { courier: Arc::new(self.courier.on(queue)) }
    }

    /// This device, with copies on the queue for copies that [`Gpu::for_copies`] leaves free, where there
    /// is one for each direction: for what is read back while the next is sent.
    pub fn for_downloads(&self) -> Gpu {
        let queue = self.properties().queues.saturating_sub(1).min(2);
        Gpu { courier: Arc::new(self.courier.on(queue)) }
    }

    /// This device, with every copy done by its queue. A device in software has its memory where
    /// the CPU has its own, and what is waited for is otherwise copied by the CPU itself.
    #[must_use]
    pub fn queued(&self) -> Gpu {
        Gpu { courier: Arc::new(self.courier.queued()) }
    }

    /// The queue that its memory is copied on.
    pub fn queue(&self) -> usize {
        self.courier.queue()
    }

    /// The allocator of `Device`, `Pinned` or `Managed` memory. It divides blocks that it asks of
    /// the driver; new bytes are zero, which takes the device some time: frame loops take from a
    /// [`Gpu::pool`].
    ///
    /// # Errors
    /// [`tenure_memory::Error::Unavailable`] if the device has no such memory.
    pub fn allocator(&self, memory: TensorMemory) -> Result<Arc<dyn Allocator>> {
        self.core().heap(memory)?;
        Ok(Arc::new(self.maker(memory)))
    }

    pub(crate) fn maker(&self, memory: TensorMemory) -> Maker {
        Maker::new(Arc::clone(self.core()), Some(Arc::clone(&self.courier)), memory)
    }

    /// The device itself, in the process that opened it.
    pub(crate) fn device(&self, what: &'static str) -> Result<&dyn Device> {
        self.core().device(what)
    }

    /// A pool of `Device`, `Pinned` or `Managed` memory.
    ///
    /// # Errors
    /// As [`Gpu::allocator`].
    pub fn pool(&self, memory: TensorMemory, limits: PoolLimits) -> Result<Pool> {
        Ok(Pool::over(self.allocator(memory)?, limits))
    }

    /// The memory of this device in a space; `None` for spaces that are not this device's.
    pub fn memory_in(&self, space: LogicalMemorySpace) -> Option<TensorMemory> {
        self.properties().memory_in(space)
    }

    /// A copy of a tensor, wherever it is, in a memory of this device (or, for any other memory,
    /// as [`Tensor::to`]).
    ///
    /// # Errors
    /// If there is no such memory, no room, or somebody writes the tensor.
    pub fn to<E: ElementKind>(
        &self,
        tensor: &Tensor<E>,
        memory: TensorMemory,
    ) -> tenure_tensor::Result<Tensor<E>> {
        match memory {
            TensorMemory::Device | TensorMemory::Pinned | TensorMemory::Managed => {
                tensor.to_in(self.allocator(memory)?.as_ref())
            }
            other => tensor.to(Some(other)),
        }
    }

    /// As [`Gpu::to`], while the program goes on: the tensor has its bytes when the fence is done.
    ///
    /// # Errors
    /// As [`Gpu::to`].
    pub fn to_later<E: ElementKind>(
        &self,
        tensor: &Tensor<E>,
        memory: TensorMemory,
    ) -> tenure_tensor::Result<(Tensor<E>, Fence)> {
        tensor.to_in_later(self.allocator(memory)?.as_ref())
    }

    /// Where bytes that the device reaches begin for its kernels, on devices whose memory has addresses:
    /// CUDA, HIP and OpenCL. Vulkan has buffers: [`crate::vulkan::Vulkan::buffer_of`].
    pub fn address_of(&self, reached: &Reached) -> Option<Address> {
        let place = reached.place();
        let device = self.device("reaching memory").ok();
        let base = device.filter(|_| place.device == self.number())?.address(place.block)?;
        Some(Address(base.0.map_addr(|base| base.saturating_add(place.offset))))
    }

    /// How its memories are divided now.
    pub fn heaps(&self) -> Vec<HeapReport> {
        self.core().reports()
    }

    /// Which main memory the device reaches where it is, and which blocks of other devices: what was
    /// copied once is known by its identity and not imported again.
    pub fn imports(&self) -> ImportReport {
        ImportReport { peers: self.core().peers.reached(), ..self.core().imports.report() }
    }

    /// What the staging memory did: copies of main memory that the device cannot reach go through
    /// it, and those of elements that lie too finely for the device. 64 MiB of it are kept; what a
    /// larger copy took is given back by the first copy after ten seconds without use, or by
    /// [`Gpu::trim_staging`].
    pub fn staging(&self) -> tenure_memory::PoolReport {
        self.courier.staging_report()
    }

    /// Gives back the staging memory that is not in use.
    pub fn trim_staging(&self) {
        self.courier.staging.trim();
    }
}

impl fmt::Debug for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gpu")
            .field("name", &self.properties().name)
            .field("number", &self.number())
            .finish_non_exhaustive()
    }
}
