//! A device of this process, for tests: everything that goes wrong with a real one goes wrong here.
//!
//! Its addresses are reserved and not readable, so that a stray dereference faults. Its bytes are
//! in a memory file that only the threads of its queues know. Work is done after a delay, so that
//! whoever does not wait reads old bytes; and it can be stopped, lost, and be out of memory. Its
//! queues reach the bytes of other test devices, if they are told to: as peers do.
#![expect(unsafe_code, reason = "reserves addresses, and promises that host memory is valid")]

use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use tenure_memory::{DeviceFault, DeviceVendor, Error, Result, TensorMemory};

use crate::device::{
    Address, Block, Class, Device, FdKind, IpcHandle, Properties, Region, Task, Work,
};
use crate::share::dma_bytes;

mod queue;
mod store;

use queue::Queue;
use store::Store;

/// What a test device is like.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Its number.
    pub id: u32,
    /// Whose device it plays: what DLPack says of it.
    pub vendor: DeviceVendor,
    /// Bytes of device memory in all.
    pub device_bytes: usize,
    /// Bytes of pinned and managed memory in all.
    pub host_bytes: usize,
    /// Bytes asked of it at a time.
    pub block_bytes: usize,
    /// How long work waits before it is done.
    pub delay: Duration,
    /// Its queues.
    pub queues: usize,
    /// Whether it reaches the memory of other test devices.
    pub peers: bool,
    /// Whether its memory can be exported: as memory files, which play the part of DMA-BUFs.
    pub exports: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            id: 0,
            vendor: DeviceVendor::Extension,
            device_bytes: 1 << 30,
            host_bytes: 1 << 30,
            block_bytes: 16 << 20,
            delay: Duration::from_micros(200),
            queues: 2,
            peers: true,
            exports: true,
        }
    }
}

/// A device of this process; cheap to clone.
#[derive(Clone)]
pub struct TestDevice {
    shared: Arc<Shared>,
}

struct Shared {
    settings: Settings,
    properties: Properties,
    queues: Vec<Queue>,
    blocks: Mutex<HashMap<u64, Mapping>>,
    /// Blocks of other devices, and whose they are.
    peers: Mutex<HashMap<u64, Weak<Shared>>>,
    next: AtomicU64,
}

impl Shared {
    fn is_lost(&self) -> bool {
        self.queues.iter().any(Queue::is_lost)
    }
}

/// The addresses of a block, and where its bytes are.
struct Mapping {
    memory: TensorMemory,
    base: Address,
    bytes: usize,
    store: Arc<Store>,
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped with this size, and unmapped once; no work uses the block any more.
        let _ = unsafe { munmap(self.base.0.as_ptr().cast(), self.bytes) };
    }
}

impl fmt::Debug for TestDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Properties { name, id, .. } = &self.shared.properties;
        f.debug_struct("TestDevice").field("name", name).field("id", id).finish_non_exhaustive()
    }
}

impl TestDevice {
    /// A device as most tests want it.
    pub fn new() -> TestDevice {
        TestDevice::with(Settings::default())
    }

    /// A device as described.
    pub fn with(settings: Settings) -> TestDevice {
        let Settings { id, vendor, device_bytes, host_bytes, block_bytes, delay, queues, .. } =
            settings;
        let properties = Properties {
            name: format!("test device {id}").into(),
            driver: format!("tenure {}", env!("CARGO_PKG_VERSION")),
            vendor,
            id,
            class: Class::Software,
            heaps: vec![
                Region { bytes: device_bytes as u64, local: true, mappable: false },
                Region { bytes: host_bytes as u64, local: false, mappable: true },
            ],
            memories: vec![TensorMemory::Device, TensorMemory::Pinned, TensorMemory::Managed],
            imports_host: None,
            imports_dma: settings.exports,
            shares: false,
            uuid: [0; 16],
            block_bytes,
            queues: queues.max(1),
        };
        let shared = Shared {
            settings,
            properties,
            queues: (0..queues.max(1)).map(|_| Queue::start(delay)).collect(),
            blocks: Mutex::default(),
            peers: Mutex::default(),
            next: AtomicU64::new(1),
        };
        TestDevice { shared: Arc::new(shared) }
    }

    /// Stops all queues: work stays undone until [`TestDevice::resume`].
    pub fn pause(&self) {
        self.shared.queues.iter().for_each(|queue| queue.set_paused(true));
    }

    /// Stops one queue.
    pub fn pause_queue(&self, number: usize) {
        self.shared.queues.iter().skip(number).take(1).for_each(|queue| queue.set_paused(true));
    }

    /// Lets all queues go on.
    pub fn resume(&self) {
        self.shared.queues.iter().for_each(|queue| queue.set_paused(false));
    }

    /// The device is lost, with all work and all bytes.
    pub fn lose(&self) {
        self.shared.queues.iter().for_each(Queue::lose);
    }

    /// Blocks and bytes that are allocated.
    pub fn allocated(&self) -> (usize, usize) {
        let blocks = self.blocks();
        (blocks.len(), blocks.values().map(|block| block.bytes).sum())
    }

    fn blocks(&self) -> MutexGuard<'_, HashMap<u64, Mapping>> {
        self.shared.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn peers(&self) -> MutexGuard<'_, HashMap<u64, Weak<Shared>>> {
        self.shared.peers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells all queues of bytes, and gives the block that they are.
    fn enter(&self, store: &Arc<Store>) -> u64 {
        let id = self.shared.next.fetch_add(1, Ordering::Relaxed);
        self.shared.queues.iter().for_each(|queue| queue.add(id, Arc::clone(store)));
        id
    }

    /// Whether a task uses memory of another device that is lost.
    fn uses_lost(&self, tasks: &[Task]) -> bool {
        let peers = self.peers();
        let lost = |block: u64| {
            peers.get(&block).is_some_and(|peer| peer.upgrade().is_none_or(|peer| peer.is_lost()))
        };
        tasks.iter().any(|task| match *task {
            Task::Copy { to, from, .. } => lost(to.0) || lost(from.0),
            Task::Fill { to, .. } => lost(to.0),
        })
    }

    fn lacks(&self, what: &'static str) -> Error {
        self.shared.properties.fault(what, DeviceFault::Lacks("way to do it"))
    }

    fn lost(&self, what: &'static str) -> Error {
        self.shared.properties.fault(what, DeviceFault::Lost)
    }
}

impl Default for TestDevice {
    fn default() -> TestDevice {
        TestDevice::new()
    }
}

const PAGE: usize = 4096;

/// Pages of zeros, or addresses that nobody may touch.
fn map(bytes: usize, reachable: bool) -> Result<Address, rustix::io::Errno> {
    let (protection, flags) = match reachable {
        true => (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE),
        false => (ProtFlags::empty(), MapFlags::PRIVATE | MapFlags::NORESERVE),
    };
    // SAFETY: pages of their own, wherever the kernel likes; they are not there for processes that
    // are forked off, as drivers do it.
    let base = unsafe {
        let base = mmap_anonymous(ptr::null_mut(), bytes, protection, flags)?;
        let _ = madvise(base, bytes, Advice::LinuxDontFork);
        base
    };
    // The kernel maps nothing at zero without being asked to.
    NonNull::new(base.cast()).map(Address).ok_or(rustix::io::Errno::NOMEM)
}

// SAFETY: host memory is mapped until the block is freed or the device dropped, zeroed by the
// kernel, and touched by the queues' threads for work only, which is over when `wait` says so (work
// of a lost device is waited for, see `Queue::lose`).
unsafe impl Device for TestDevice {
    fn properties(&self) -> &Properties {
        &self.shared.properties
    }

    fn allocate(&self, memory: TensorMemory, bytes: usize) -> Result<Block> {
        if self.shared.is_lost() {
            return Err(self.lost("allocating"));
        }
        let settings = &self.shared.settings;
        let far = memory == TensorMemory::Device;
        let room = if far { settings.device_bytes } else { settings.host_bytes };
        let mut blocks = self.blocks();
        let same = |block: &&Mapping| (block.memory == TensorMemory::Device) == far;
        let used: usize = blocks.values().filter(same).map(|block| block.bytes).sum();
        let available = room.saturating_sub(used);
        let full = |source| {
            Error::from(tenure_memory::detail::OutOfMemory {
                memory,
                bytes,
                available: Some(available as u64),
                source,
            })
        };
        let Some(whole) = bytes.checked_next_multiple_of(PAGE).filter(|all| *all <= available)
        else {
            return Err(full(None));
        };
        let whole = whole.max(PAGE);
        let base = map(whole, !far).map_err(|errno| full(Some(errno.into())))?;
        let bytes = Store::Host { base, bytes: whole };
        let mut mapping = Mapping { memory, base, bytes: whole, store: Arc::new(bytes) };
        if far {
            let hidden = Store::hidden(whole).map_err(|errno| full(Some(errno.into())))?;
            mapping.store = Arc::new(hidden);
        }
        let id = self.enter(&mapping.store);
        blocks.insert(id, mapping);
        let host = Some(base).filter(|_| !far);
        Ok(Block { id, bytes: whole, host, name: Some(base), align: PAGE })
    }

    unsafe fn free(&self, block: u64) {
        self.shared.queues.iter().for_each(|queue| queue.remove(block));
        self.blocks().remove(&block);
        self.peers().remove(&block);
    }

    fn import_peer(&self, peer: &dyn Device, block: u64) -> Result<(u64, usize)> {
        let what = "reaching memory of another device";
        let fault = |fault| self.shared.properties.fault(what, fault);
        let peer = (peer as &dyn Any).downcast_ref::<TestDevice>();
        let peer = peer.filter(|_| self.shared.settings.peers);
        let peer = peer.ok_or_else(|| fault(DeviceFault::Lacks("way to do it")))?;
        let store = peer.blocks().get(&block).map(|mapping| Arc::clone(&mapping.store));
        let store = store.ok_or_else(|| fault(DeviceFault::OtherDevice))?;
        let id = self.enter(&store);
        self.peers().insert(id, Arc::downgrade(&peer.shared));
        Ok((id, 0))
    }

    unsafe fn import_own(&self, name: NonNull<u8>, bytes: usize) -> Result<(u64, usize)> {
        let first = name.addr().get();
        let inside = |mapping: &&Mapping| {
            let base = mapping.base.0.addr().get();
            let end = first.checked_add(bytes);
            base <= first && end.is_some_and(|end| end <= base + mapping.bytes)
        };
        let found = self
            .blocks()
            .values()
            .find(inside)
            .map(|mapping| (Arc::clone(&mapping.store), first - mapping.base.0.addr().get()));
        let (store, first) = found.ok_or_else(|| self.lacks("importing memory"))?;
        Ok((self.enter(&store), first))
    }

    fn address(&self, block: u64) -> Option<Address> {
        self.blocks().get(&block).map(|mapping| mapping.base)
    }

    fn allocate_shared(&self, memory: TensorMemory, bytes: usize, kind: FdKind) -> Result<Block> {
        match kind == FdKind::DmaBuf && self.shared.settings.exports {
            true => self.allocate(memory, bytes),
            false => Err(self.lacks("sharing memory")),
        }
    }

    fn export(&self, block: u64) -> Result<(OwnedFd, usize)> {
        let what = "sharing memory";
        let blocks = self.blocks();
        let mapping = blocks.get(&block).filter(|_| self.shared.settings.exports);
        let mapping = mapping.ok_or_else(|| self.lacks(what))?;
        let file = mapping.store.file().ok_or_else(|| self.lacks(what))?;
        let no_fd = |cause| {
            Error::from(tenure_memory::detail::System { what: "duplicating a descriptor", cause })
        };
        Ok((file.try_clone_to_owned().map_err(no_fd)?, mapping.bytes))
    }

    unsafe fn import_fd(&self, fd: BorrowedFd<'_>, kind: FdKind, bytes: usize) -> Result<Block> {
        let what = "importing a descriptor";
        let store = Store::imported(fd).filter(|_| kind == FdKind::DmaBuf);
        let store = store.ok_or_else(|| self.lacks(what))?;
        let room = dma_bytes(fd)?;
        if room < bytes as u64 {
            return Err(Error::from(tenure_memory::detail::OutOfBounds {
                start: 0,
                end: bytes,
                len: room as usize,
            }));
        }
        let id = self.enter(&Arc::new(store));
        Ok(Block { id, bytes, host: None, name: None, align: PAGE })
    }

    fn ipc(&self, block: u64) -> Result<(IpcHandle, usize)> {
        let blocks = self.blocks();
        let known = blocks.get(&block);
        let handle = known.and_then(|mapping| Some((mapping.store.named()?, mapping.bytes)));
        let fault = DeviceFault::Lacks("handle for this: only device memory has one");
        handle.ok_or_else(|| self.shared.properties.fault("sharing memory", fault))
    }

    unsafe fn open_ipc(&self, handle: &IpcHandle, bytes: usize) -> Result<Block> {
        let fault = |fault| self.shared.properties.fault("importing shared memory", fault);
        let store = Store::open(handle, bytes).ok_or_else(|| {
            let name = format!("no block of {bytes} bytes has this handle in any process");
            fault(DeviceFault::Answer { code: 0, name })
        })?;
        let memory = TensorMemory::Device;
        let full = |errno: rustix::io::Errno| {
            let source = Some(errno.into());
            Error::from(tenure_memory::detail::OutOfMemory {
                memory,
                bytes,
                available: None,
                source,
            })
        };
        let base = map(bytes, false).map_err(full)?;
        let mapping = Mapping { memory, base, bytes, store: Arc::new(store) };
        let id = self.enter(&mapping.store);
        self.blocks().insert(id, mapping);
        Ok(Block { id, bytes, host: None, name: Some(base), align: PAGE })
    }

    unsafe fn submit(&self, queue: usize, tasks: &[Task]) -> Result<Work> {
        let what = "submitting work";
        let own = self.shared.queues.get(queue);
        let own =
            own.ok_or_else(|| self.shared.properties.fault(what, DeviceFault::OtherDevice))?;
        if self.uses_lost(tasks) {
            return Err(self.lost(what));
        }
        let number = own.submit(tasks.to_vec()).ok_or_else(|| self.lost(what))?;
        Ok(Work { queue, number })
    }

    fn wait(&self, work: Work, timeout: Option<Duration>) -> Result<bool> {
        let what = "waiting for work";
        let own = self.shared.queues.get(work.queue);
        let own =
            own.ok_or_else(|| self.shared.properties.fault(what, DeviceFault::OtherDevice))?;
        own.wait(work.number, timeout).map_err(|queue::Lost| self.lost(what))
    }
}
