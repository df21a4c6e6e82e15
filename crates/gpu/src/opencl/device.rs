//! An open OpenCL device: its context, its memory, and its queues.
#![expect(unsafe_code, reason = "calls OpenCL, which is loaded at run time")]

use std::collections::HashMap;
use std::ffi::c_void;
use std::fmt;
use std::ptr::{NonNull, null, null_mut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use smallvec::SmallVec;
use tenure_memory::{DeviceFault, Error, Result, TensorMemory};

use super::answer::{self, Code, ended, fault, is_full};
use super::api::{Api, DeviceId, Handle, Usm};
use super::found::{self, Found};
use super::queue::{Placed, Queue};
use super::{LIBRARIES, opening};
use crate::device::{Address, Block, Device, Properties, Task, Work};

/// An open OpenCL device.
pub struct OpenCl {
    // In the order in which they must go; see `Drop`.
    queues: Vec<Queue>,
    blocks: Mutex<HashMap<u64, Known>>,
    next: AtomicU64,
    context: Handle,
    id: DeviceId,
    /// The longest allocation.
    most: u64,
    usm: Usm,
    properties: Properties,
    api: Arc<Api>,
}

/// A block.
#[derive(Clone, Copy)]
struct Known {
    /// Its first byte.
    address: Address,
    /// What the driver gave for it; `None` for main memory.
    given: Option<Address>,
}

/// What memory of the device begins at a multiple of; the driver itself promises the size of its
/// longest number, 128 bytes. Whole pages of most devices.
const ALIGN: usize = 64 << 10;
/// What drivers align memory to by themselves.
const LEAST: usize = 128;

impl fmt::Debug for OpenCl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Properties { name, id, .. } = &self.properties;
        f.debug_struct("OpenCl").field("name", name).field("id", id).finish_non_exhaustive()
    }
}

impl OpenCl {
    /// Opens the device with this number, as [`super::survey`] lists them.
    ///
    /// # Errors
    /// If it is not there, or its driver cannot do what is needed.
    pub fn open(number: u32) -> Result<OpenCl> {
        let refuse = |why: String| opening(DeviceFault::Unusable(why));
        let api = Api::load(&LIBRARIES).map_err(|why| refuse(why.to_string()))?;
        let all = found::all(&api).map_err(|why| refuse(why.to_string()))?;
        let count = all.len();
        let found = all
            .into_iter()
            .find(|found| found.number == number)
            .ok_or_else(|| opening(DeviceFault::NoDevice { number, devices: count }))?;
        match (found.usm, &found.unusable) {
            (Some(usm), None) => OpenCl::make(api, usm, &found).map_err(|code| {
                let (device, name) = (&found.name, answer::name(code));
                refuse(format!("{device}: making its context and queues answers {code} ({name})"))
            }),
            (_, why) => {
                let why = why.as_deref().unwrap_or_default();
                Err(refuse(format!("{} cannot be used: {why}", found.name)))
            }
        }
    }

    fn make(api: Arc<Api>, usm: Usm, found: &Found) -> Result<OpenCl, Code> {
        let properties = found.properties();
        let context = api.new_context(found.platform, found.id)?;
        let mut device = OpenCl {
            queues: vec![],
            blocks: Mutex::default(),
            next: AtomicU64::new(1),
            context,
            id: found.id,
            most: found.most,
            usm,
            properties,
            api,
        };
        while device.queues.len() < device.properties.queues {
            // SAFETY: the device's own context, which goes after its queues.
            let queue = unsafe { Queue::new(&device.api, context, found.id)? };
            device.queues.push(queue);
        }
        Ok(device)
    }

    fn blocks(&self) -> MutexGuard<'_, HashMap<u64, Known>> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn queue(&self, what: &'static str, queue: usize) -> Result<&Queue> {
        let none = || self.properties.fault(what, DeviceFault::OtherDevice);
        self.queues.get(queue).ok_or_else(none)
    }

    /// The device's context, a `cl_context`, for whoever computes on it. It lives as long as this.
    pub fn context(&self) -> *mut c_void {
        self.context.0
    }

    /// Where a block is for the device: what kernels are given, with
    /// [`tenure_memory::backend::DevicePlace::offset`] added.
    pub fn address_of(&self, block: u64) -> Option<Address> {
        self.blocks().get(&block).map(|known| known.address)
    }

    /// Which memory of this device's context an address is in, as the driver says; `None` if it is
    /// in no unified shared memory of this context.
    pub fn memory_at(&self, address: Address) -> Option<TensorMemory> {
        const TYPE: u32 = 0x419A;
        let mut kind: u32 = 0;
        let (place, bytes) = ((&raw mut kind).cast(), size_of::<u32>());
        // SAFETY: any address may be asked about; a place for the answer.
        let code = unsafe {
            (self.usm.info)(self.context, address.0.as_ptr(), TYPE, bytes, place, null_mut())
        };
        match (code, kind) {
            (0, 0x4197) => Some(TensorMemory::Pinned),
            (0, 0x4198) => Some(TensorMemory::Device),
            (0, 0x4199) => Some(TensorMemory::Managed),
            _ => None,
        }
    }

    /// Asks the driver for memory.
    fn ask(&self, memory: TensorMemory, bytes: usize) -> Result<NonNull<u8>, Code> {
        let (context, mut code) = (self.context, 0);
        // SAFETY: the device and its context, no properties, sizes of any kind, and a place.
        let address = unsafe {
            match memory {
                TensorMemory::Device => {
                    (self.usm.device)(context, self.id, null(), bytes, 0, &mut code)
                }
                TensorMemory::Managed => {
                    (self.usm.shared)(context, self.id, null(), bytes, 0, &mut code)
                }
                _ => (self.usm.host)(context, null(), bytes, 0, &mut code),
            }
        };
        match (code, NonNull::new(address)) {
            (0, Some(address)) => Ok(address),
            (0, None) => Err(answer::OUT_OF_RESOURCES),
            (code, _) => Err(code),
        }
    }

    fn know(&self, known: Known, bytes: usize, host: bool, align: usize) -> Block {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        self.blocks().insert(id, known);
        // The address is no name: what is called OpenCL's elsewhere is a handle of a buffer.
        Block { id, bytes, host: host.then_some(known.address), name: None, align }
    }
}

// SAFETY: memory of the host and shared memory is the driver's, valid from allocation to `free`,
// in pages of the kernel, which are zero, or of the driver's own cache. Work is done in the order
// of its queue; events of it say when, and make what it wrote visible.
unsafe impl Device for OpenCl {
    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn allocate(&self, memory: TensorMemory, bytes: usize) -> Result<Block> {
        let full = || {
            let available = Some(self.most);
            Error::from(tenure_memory::detail::OutOfMemory {
                memory,
                bytes,
                available,
                source: None,
            })
        };
        // The CPU's addresses are counted from; for the device the block itself begins aligned.
        let host = memory != TensorMemory::Device;
        let slack = if host { 0 } else { ALIGN - LEAST };
        let asked = bytes.checked_add(slack).ok_or_else(full)?;
        let given = self.ask(memory, asked).map_err(|code| match is_full(code) {
            true => full(),
            false => self.properties.fault("allocating", fault(code)),
        })?;
        let skip = match host {
            true => 0,
            false => given.addr().get().next_multiple_of(ALIGN) - given.addr().get(),
        };
        if skip > slack {
            // SAFETY: just allocated, and used by nobody.
            unsafe { (self.usm.free)(self.context, given.as_ptr()) };
            let fault = DeviceFault::Lacks("memory aligned to 128 bytes");
            return Err(self.properties.fault("allocating", fault));
        }
        let address = given.map_addr(|first| first.saturating_add(skip));
        let known = Known { address: Address(address), given: Some(Address(given)) };
        Ok(self.know(known, bytes, host, if host { LEAST } else { ALIGN }))
    }

    unsafe fn free(&self, block: u64) {
        let known = self.blocks().remove(&block);
        if let Some(given) = known.and_then(|known| known.given) {
            // SAFETY: of this context, freed once, and used by no work any more.
            unsafe { (self.usm.free)(self.context, given.0.as_ptr()) };
        }
    }

    fn address(&self, block: u64) -> Option<Address> {
        self.address_of(block)
    }

    unsafe fn import_host(&self, address: NonNull<u8>, bytes: usize) -> Result<Block> {
        match self.properties.imports_host {
            Some(_) => {
                let known = Known { address: Address(address), given: None };
                Ok(self.know(known, bytes, true, 1))
            }
            None => {
                let fault = DeviceFault::Lacks("access to main memory");
                Err(self.properties.fault("importing main memory", fault))
            }
        }
    }

    unsafe fn submit(&self, queue: usize, tasks: &[Task]) -> Result<Work> {
        let what = "submitting work";
        let own = self.queue(what, queue)?;
        if let Some(code) = own.failed() {
            return Err(self.properties.fault(what, ended(code)));
        }
        let tasks = {
            let blocks = self.blocks();
            let unknown = || self.properties.fault(what, DeviceFault::OtherDevice);
            let place = |(block, at): (u64, usize)| {
                let base = blocks.get(&block).ok_or_else(unknown)?.address.0;
                Ok(Address(base.map_addr(|base| base.saturating_add(at))))
            };
            let placed = tasks.iter().map(|task| Placed::new(task, place));
            placed.collect::<Result<SmallVec<[Placed; 4]>>>()?
        };
        // SAFETY: the caller's promises, of blocks whose addresses these are.
        let begun = unsafe { own.submit(&self.usm, &tasks) };
        begun
            .map(|number| Work { queue, number })
            .map_err(|code| self.properties.fault(what, fault(code)))
    }

    fn wait(&self, work: Work, timeout: Option<Duration>) -> Result<bool> {
        let what = "waiting for work";
        let waited = self.queue(what, work.queue)?.wait(work.number, timeout);
        waited.map_err(|code| self.properties.fault(what, ended(code)))
    }
}

impl Drop for OpenCl {
    fn drop(&mut self) {
        // Nobody has the device any more; queues wait for their work.
        self.queues.clear();
        let blocks: Vec<u64> = self.blocks().keys().copied().collect();
        // SAFETY: nobody has the device any more, and its work is over.
        blocks.into_iter().for_each(|block| unsafe { self.free(block) });
        // SAFETY: ours, and nothing is left of it.
        unsafe { (self.api.release_context)(self.context) };
    }
}
