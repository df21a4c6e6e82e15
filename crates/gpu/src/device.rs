//! What a backend implements: blocks of memory, copies between them, and their order.
#![expect(unsafe_code, reason = "the trait that backends implement promises valid addresses")]

use std::any::Any;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;

use tenure_memory::{DeviceFault, DeviceVendor, Error, LogicalMemorySpace, Result, TensorMemory};

/// What a device is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Class {
    /// A card with memory of its own.
    Discrete,
    /// Shares the memory of the CPU.
    Integrated,
    /// Part of a virtual machine.
    Virtual,
    /// A program on the CPU.
    Software,
    /// Something else, or its driver does not say.
    Other,
}

/// One heap of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Region {
    /// Bytes in all.
    pub bytes: u64,
    /// Whether it is the device's own memory, not the CPU's.
    pub local: bool,
    /// Whether the CPU reaches it.
    pub mappable: bool,
}

/// What is known of a device.
#[derive(Debug, Clone)]
pub struct Properties {
    /// Its name, for people.
    pub name: Arc<str>,
    /// Its driver and the driver's version.
    pub driver: String,
    /// Whose driver it belongs to.
    pub vendor: DeviceVendor,
    /// Its number, as its driver counts.
    pub id: u32,
    /// What it is made of.
    pub class: Class,
    /// Its memory.
    pub heaps: Vec<Region>,
    /// What can be allocated of `Device`, `Pinned` and `Managed`.
    pub memories: Vec<TensorMemory>,
    /// What addresses of main memory must be a multiple of for the device to reach it where it
    /// is; `None` if it cannot.
    pub imports_host: Option<usize>,
    /// Whether it reaches DMA-BUFs where they are.
    pub imports_dma: bool,
    /// Whether its memory can be given to another process as a descriptor.
    pub shares: bool,
    /// Which driver and device it is, the same in every process: only the same can import what
    /// this one exports.
    pub uuid: [u8; 16],
    /// How much is asked of the driver at a time, to be divided here.
    pub block_bytes: usize,
    /// Queues that work side by side: the first, and then those that are for copies. One at least.
    pub queues: usize,
}

impl Properties {
    /// Where a memory of this device lives.
    pub fn space(&self, memory: TensorMemory) -> LogicalMemorySpace {
        match memory {
            TensorMemory::Device => LogicalMemorySpace::GpuMemory { device_id: self.id as usize },
            TensorMemory::Managed => LogicalMemorySpace::ManagedMemory,
            TensorMemory::Pinned => LogicalMemorySpace::PinnedMemory,
            _ => LogicalMemorySpace::MainMemory,
        }
    }

    /// Which memory of this device is in a space; `None` for spaces that are not this device's.
    pub fn memory_in(&self, space: LogicalMemorySpace) -> Option<TensorMemory> {
        self.memories.iter().copied().find(|&memory| self.space(memory) == space)
    }

    /// An error of this device.
    pub fn fault(&self, what: &'static str, fault: DeviceFault) -> Error {
        Error::from(tenure_memory::detail::Device { device: Arc::clone(&self.name), what, fault })
    }
}

/// An address, on this side or the device's: a number until somebody who holds the bytes uses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address(pub NonNull<u8>);

// SAFETY: a number; whoever dereferences it has to prove more than that it is there.
unsafe impl Send for Address {}
// SAFETY: as above.
unsafe impl Sync for Address {}

/// Memory that the driver gave in one piece.
#[derive(Debug, Clone, Copy)]
pub struct Block {
    /// Its number; never used again by the same device.
    pub id: u64,
    /// Bytes that may be used.
    pub bytes: usize,
    /// Where the CPU finds it, if it does.
    pub host: Option<Address>,
    /// What the device calls it: an address or a handle, as its vendor does.
    pub name: Option<Address>,
    /// What its first byte is aligned to, for the CPU and for the device.
    pub align: usize,
}

/// What a descriptor is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FdKind {
    /// A DMA-BUF.
    DmaBuf,
    /// What the same driver exported, for itself.
    Opaque,
}

/// A block as drivers name it for another process on the same machine.
pub type IpcHandle = [u8; 64];

/// One piece of work for a queue. Places are a block and a byte in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// Bytes from one block to another, or to another place in the same.
    Copy {
        /// Where they are written.
        to: (u64, usize),
        /// Where they are read.
        from: (u64, usize),
        /// How many.
        bytes: usize,
    },
    /// The same four bytes again and again. Both `to` and `bytes` are multiples of four.
    Fill {
        /// Where they are written.
        to: (u64, usize),
        /// How many.
        bytes: usize,
        /// What is written.
        pattern: [u8; 4],
    },
}

/// Work that was submitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Work {
    /// The queue that does it.
    pub queue: usize,
    /// Its number, as the queue counts.
    pub number: u64,
}

/// Something with memory of its own, and queues.
///
/// # Safety
/// The `host` address of a block, and what [`Device::near`] gives as it says, must be valid for reads and writes of `bytes` initialised bytes,
/// aligned as the block says, and used by nobody else in this process, until
/// [`Device::free`] or until the device is dropped; after a device was lost too. A finished
/// [`Device::wait`] means that everything submitted before to the same queue is done, that the CPU
/// and every queue see what was written, and that neither the device nor its threads touch a block
/// for that work any more.
pub unsafe trait Device: Any + Send + Sync {
    /// What is known of it; the answer never changes.
    fn properties(&self) -> &Properties;

    /// Bytes of a memory in one piece. What is in them is not said, except that `host` bytes are
    /// initialised.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if there is no room, otherwise [`Error::Device`].
    fn allocate(&self, memory: TensorMemory, bytes: usize) -> Result<Block>;

    /// Gives a block back; one that is not there is passed over.
    ///
    /// # Safety
    /// No work uses the block any more, nobody its `host` address or what [`Device::near`] gave, and
    /// what other devices made of it with [`Device::import_peer`] was freed before.
    unsafe fn free(&self, block: u64);

    /// Where the CPU finds the bytes of a block although they are the device's: for devices in
    /// software, which are the CPU. The address is valid for reads and writes of the block's bytes,
    /// which are initialised, until the block is freed, while no work that was submitted uses them.
    fn near(&self, _block: u64) -> Option<Address> {
        None
    }

    /// Makes main memory a block, without a copy.
    ///
    /// # Errors
    /// [`Error::Device`] if it cannot.
    ///
    /// # Safety
    /// The bytes must be valid for reads, and for writes by tasks that write them, for as long as
    /// work uses the block; and `address` and `bytes` multiples of
    /// [`Properties::imports_host`].
    unsafe fn import_host(&self, _address: NonNull<u8>, _bytes: usize) -> Result<Block> {
        Err(self.properties().fault("importing main memory", DeviceFault::Lacks("way to do it")))
    }

    /// Makes memory that another library allocated on this very device a block, without a copy: by its
    /// address, or by its handle where the vendor's memory has those. Gives its number, and which byte of
    /// it is the first.
    ///
    /// # Errors
    /// [`Error::Device`] if it cannot.
    ///
    /// # Safety
    /// The bytes must be valid for the device, for as long as work uses the block.
    unsafe fn import_own(&self, _name: NonNull<u8>, _bytes: usize) -> Result<(u64, usize)> {
        let fault = DeviceFault::Lacks("way to reach memory of another library");
        Err(self.properties().fault("importing memory", fault))
    }

    /// Where a block is for the device, on devices whose memory has addresses: what kernels are given.
    fn address(&self, _block: u64) -> Option<Address> {
        None
    }

    /// Makes memory of a descriptor a block, without a copy.
    ///
    /// # Errors
    /// [`Error::Device`] if it cannot, [`Error::OutOfBounds`] if a DMA-BUF has fewer bytes.
    ///
    /// # Safety
    /// An opaque descriptor must be one that the same driver exported, of memory that it was asked so
    /// many bytes for: drivers believe what they are told about their own. DMA-BUFs are looked at, and
    /// may be any descriptor.
    unsafe fn import_fd(&self, _fd: BorrowedFd<'_>, _kind: FdKind, _bytes: usize) -> Result<Block> {
        Err(self.properties().fault("importing a descriptor", DeviceFault::Lacks("way to do it")))
    }

    /// Makes a block of another device of the same kind one of this device, without a copy: for
    /// copies between the two. Gives its number here, and which byte of it is the first. It is freed
    /// before the other device's own.
    ///
    /// # Errors
    /// [`Error::Device`] if this device does not reach it.
    fn import_peer(&self, _peer: &dyn Device, _block: u64) -> Result<(u64, usize)> {
        let fault = DeviceFault::Lacks("way to do it");
        Err(self.properties().fault("reaching memory of another device", fault))
    }

    /// As [`Device::allocate`], of memory that others can use: see [`Device::export`].
    ///
    /// # Errors
    /// As there.
    fn allocate_shared(
        &self,
        _memory: TensorMemory,
        _bytes: usize,
        _kind: FdKind,
    ) -> Result<Block> {
        Err(self.properties().fault("sharing memory", DeviceFault::Lacks("way to do it")))
    }

    /// A descriptor of a block that [`Device::allocate_shared`] made, of the kind that was asked
    /// for then, and how many bytes the driver gave for it.
    ///
    /// # Errors
    /// [`Error::Device`] if it is none.
    fn export(&self, _block: u64) -> Result<(OwnedFd, usize)> {
        Err(self.properties().fault("sharing memory", DeviceFault::Lacks("way to do it")))
    }

    /// Which hardware it is, the same for every driver that says so: what this one exports is taken by
    /// devices that have it as their [`Properties::uuid`].
    fn hardware(&self) -> [u8; 16] {
        self.properties().uuid
    }

    /// A block in 64 bytes, for another process, and how many bytes the block has.
    ///
    /// # Errors
    /// [`Error::Device`] if the device has no such handles, or none for this memory.
    fn ipc(&self, _block: u64) -> Result<(IpcHandle, usize)> {
        Err(self.properties().fault("sharing memory", DeviceFault::Lacks("handles for processes")))
    }

    /// Makes a block of another process one of this device: the same bytes.
    ///
    /// # Errors
    /// [`Error::Device`] if it cannot, or the block has not as many bytes.
    ///
    /// # Safety
    /// The handle must be one that [`Device::ipc`] made, of the same device in another process that
    /// keeps the block until this one is freed.
    unsafe fn open_ipc(&self, _handle: &IpcHandle, _bytes: usize) -> Result<Block> {
        let fault = DeviceFault::Lacks("handles for processes");
        Err(self.properties().fault("importing shared memory", fault))
    }

    /// Begins work, to be done after all that was submitted before to this queue. Tasks of one
    /// call touch different bytes.
    ///
    /// # Errors
    /// [`Error::Device`]; nothing was begun then.
    ///
    /// # Safety
    /// All places must lie inside their blocks, which must exist until the work is done. Nobody
    /// else may use the bytes until then, but to read what is only read.
    unsafe fn submit(&self, queue: usize, tasks: &[Task]) -> Result<Work>;

    /// Waits, at most so long, until work is done and everything before it in its queue. Says
    /// whether it is.
    ///
    /// # Errors
    /// [`Error::Device`] if the device is lost; its work is then over, done or not.
    fn wait(&self, work: Work, timeout: Option<Duration>) -> Result<bool>;
}

/// Gives a block back to its driver: for whoever made it, and knows that it was the last to use it.
pub(crate) fn release(device: &dyn Device, block: u64) {
    // SAFETY: heaps, imports and peers each free what they made themselves, once, after the last part
    // or hold of it is gone, which the parts and holds of copies on their way are too.
    unsafe { device.free(block) };
}
