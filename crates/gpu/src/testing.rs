//! A device of this process, for tests: everything that goes wrong with a real one goes wrong here.
//!
//! Its addresses are reserved and not readable, so that a stray dereference faults. Its bytes are
//! in a memory file that only the threads of its queues know. Work is done after a delay, so that
//! whoever does not wait reads old bytes; and it can be stopped, lost, and be out of memory.
#![expect(unsafe_code, reason = "reserves addresses, and promises that host memory is valid")]

use std::collections::HashMap;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use tenure_memory::{DeviceFault, DeviceVendor, Error, Result, TensorMemory};

use crate::device::{Address, Block, Class, Device, Properties, Region, Task, Work};

mod queue;

use queue::{Queue, Store};

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
    next: AtomicU64,
}

/// The addresses of a block.
struct Mapping {
    memory: TensorMemory,
    base: Address,
    bytes: usize,
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped with this size, and unmapped once; no work uses the block any more.
        let _ = unsafe { munmap(self.base.0.as_ptr().cast(), self.bytes) };
    }
}

impl TestDevice {
    /// A device as most tests want it.
    pub fn new() -> TestDevice {
        TestDevice::with(Settings::default())
    }

    /// A device as described.
    pub fn with(settings: Settings) -> TestDevice {
        let Settings { id, vendor, device_bytes, host_bytes, block_bytes, delay, queues } =
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
            imports_dma: false,
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

    fn is_lost(&self) -> bool {
        self.shared.queues.iter().any(Queue::is_lost)
    }

    /// Blocks and bytes that are allocated.
    pub fn allocated(&self) -> (usize, usize) {
        let blocks = self.blocks();
        (blocks.len(), blocks.values().map(|block| block.bytes).sum())
    }

    fn blocks(&self) -> MutexGuard<'_, HashMap<u64, Mapping>> {
        self.shared.blocks.lock().unwrap_or_else(PoisonError::into_inner)
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
    // SAFETY: pages of their own, wherever the kernel likes.
    let base = unsafe { mmap_anonymous(ptr::null_mut(), bytes, protection, flags)? };
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
        if self.is_lost() {
            return Err(self.lost("allocating"));
        }
        let settings = &self.shared.settings;
        let far = memory == TensorMemory::Device;
        let room = if far { settings.device_bytes } else { settings.host_bytes };
        let mut blocks = self.blocks();
        let same = |block: &&Mapping| (block.memory == TensorMemory::Device) == far;
        let used: usize = blocks.values().filter(same).map(|block| block.bytes).sum();
        let available = room.saturating_sub(used);
        let full = |source| Error::OutOfMemory {
            memory,
            bytes,
            available: Some(available as u64),
            source,
        };
        let Some(whole) = bytes.checked_next_multiple_of(PAGE).filter(|all| *all <= available)
        else {
            return Err(full(None));
        };
        let whole = whole.max(PAGE);
        let base = map(whole, !far).map_err(|errno| full(Some(errno.into())))?;
        let mapping = Mapping { memory, base, bytes: whole };
        let id = self.shared.next.fetch_add(1, Ordering::Relaxed);
        let store = match far {
            true => Store::hidden(whole).map_err(|errno| full(Some(errno.into())))?,
            false => Store::Host { base, bytes: whole },
        };
        let store = Arc::new(store);
        self.shared.queues.iter().for_each(|queue| queue.add(id, Arc::clone(&store)));
        blocks.insert(id, mapping);
        let host = Some(base).filter(|_| !far);
        Ok(Block { id, bytes: whole, host, name: Some(base), align: PAGE })
    }

    fn free(&self, block: u64) {
        self.shared.queues.iter().for_each(|queue| queue.remove(block));
        self.blocks().remove(&block);
    }

    unsafe fn submit(&self, queue: usize, tasks: &[Task]) -> Result<Work> {
        let what = "submitting work";
        let own = self.shared.queues.get(queue);
        let own =
            own.ok_or_else(|| self.shared.properties.fault(what, DeviceFault::OtherDevice))?;
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
