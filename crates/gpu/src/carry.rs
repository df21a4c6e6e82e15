//! Who copies for a device: directly where the device reaches both sides, also in memory of another
//! device, through staging memory where it does not.
#![expect(unsafe_code, reason = "hands bytes that holds keep to the device")]

use std::sync::{Arc, Mutex, PoisonError};

use smallvec::SmallVec;
use tenure_memory::backend::{After, Carrier, Carry, Held, Piece, Source};
use tenure_memory::{
    Allocator, Buffer, DeviceFault, DeviceVendor, Fence, LogicalMemorySpace, Pool, PoolLimits,
    PoolReport, RawBuffer, Result, TensorMemory,
};

use crate::core::Core;
use crate::device::{Device, Task, Work};
use crate::memory::Maker;
use crate::staged::Staged;
use crate::worker::{Job, Worker};

/// Copies for one device, on one of its queues.
pub(crate) struct Courier {
    pub(crate) core: Arc<Core>,
    pub(crate) queue: usize,
    /// Whether the queue does everything, also what the CPU could do by itself.
    queued: bool,
    /// Pinned memory that copies of other main memory go through.
    pub(crate) staging: Pool,
    worker: Mutex<Option<Worker>>,
}

/// Submits tasks, and waits.
pub(crate) fn run(device: &dyn Device, queue: usize, tasks: &[Task]) -> Result<()> {
    // SAFETY: whoever calls this has places inside blocks that it keeps, and keeps others away,
    // until this returns.
    let work = unsafe { device.submit(queue, tasks)? };
    device.wait(work, None).map(drop)
}

impl Courier {
    pub(crate) fn new(core: Arc<Core>) -> Courier {
        let pinned = Maker::new(Arc::clone(&core), None, TensorMemory::Pinned);
        // What is turned is staged whole, however large it is, and is given back when it was not used
        // for a while; see `stage`.
        let limits = PoolLimits::new(usize::MAX, 64);
        let staging = Pool::over(Arc::new(pinned), limits);
        Courier { core, queue: 0, queued: false, staging, worker: Mutex::new(None) }
    }

    /// The same on another queue; both have one staging memory.
    pub(crate) fn on(&self, queue: usize) -> Courier {
        let (core, staging) = (Arc::clone(&self.core), self.staging.clone());
        Courier { core, queue, queued: self.queued, staging, worker: Mutex::new(None) }
    }

    /// The same, with everything done by the queue.
    pub(crate) fn queued(&self) -> Courier {
        Courier { queued: true, ..self.on(self.queue) }
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    pub(crate) fn staging_report(&self) -> PoolReport {
        self.staging.report()
    }

    /// Where this device finds what is held: in its own memory, in another device's that it
    /// reaches, or in main memory that it imports; `None` for main memory that it does not reach.
    fn place(&self, device: &dyn Device, held: &Held) -> Result<Option<(u64, usize)>> {
        if let Some(place) = held.device_place() {
            let found = match place.device == self.core.number {
                true => Some((place.block, place.offset)),
                false => Core::peer(&self.core, device, place),
            };
            if found.is_some() {
                return Ok(found);
            }
        }
        match held {
            Held::Near(hold) => Ok(hold.start().and_then(|start| {
                let at = (Some(hold.address()), start);
                self.core.imports.place(&self.core, device, hold.raw(), at, false)
            })),
            Held::Far(hold) => {
                let found =
                    self.core.imports.far(&self.core, device, hold.raw(), hold.range().start);
                let fault = || self.core.properties().fault("copying", DeviceFault::OtherDevice);
                found.map(Some).ok_or_else(fault)
            }
        }
    }

    /// What the device can do by itself, and what has to be staged.
    fn sort<'a>(
        &self,
        device: &dyn Device,
        work: &'a [Carry],
    ) -> Result<(Tasks, SmallVec<[Staged<'a>; 4]>)> {
        let (mut direct, mut staged) = (Tasks::new(), SmallVec::new());
        for carry in work {
            let to = self.place(device, carry.to())?;
            match (to, carry.from()) {
                (Some(to), Source::Bytes(source)) => match self.place(device, source)? {
                    Some(from) => {
                        direct.extend(carry.parts().iter().map(|part| copy(to, from, part)))
                    }
                    None => staged.push(Staged::Up { to, source, parts: carry.parts() }),
                },
                (None, Source::Bytes(source)) => {
                    let Some(from) = self.place(device, source)? else {
                        let fault = DeviceFault::OtherDevice;
                        return Err(self.core.properties().fault("copying", fault));
                    };
                    staged.push(Staged::Down { to: carry.to(), from, parts: carry.parts() });
                }
                (Some(to), Source::Pattern(pattern)) => {
                    for part in carry.parts() {
                        let (first, bytes) = (to.1 + part.to, part.bytes);
                        // Parts of devices are aligned; views of them need not be.
                        if first.is_multiple_of(4) && bytes.is_multiple_of(4) {
                            let (to, pattern) = ((to.0, first), *pattern);
                            direct.push(Task::Fill { to, bytes, pattern });
                        } else {
                            staged.push(Staged::Fill {
                                to: (to.0, first),
                                bytes,
                                pattern: *pattern,
                            });
                        }
                    }
                }
                (None, Source::Pattern(_)) => {
                    let fault = DeviceFault::OtherDevice;
                    return Err(self.core.properties().fault("filling", fault));
                }
            }
        }
        Ok((direct, staged))
    }
}

/// Few enough not to be on the heap, most of the time.
pub(crate) type Tasks = SmallVec<[Task; 4]>;

pub(crate) fn copy(to: (u64, usize), from: (u64, usize), part: &Piece) -> Task {
    let (to, from) = ((to.0, to.1 + part.to), (from.0, from.1 + part.from));
    Task::Copy { to, from, bytes: part.bytes }
}

impl Courier {
    /// Does all of it, and waits.
    pub(crate) fn work(&self, work: &[Carry]) -> Result<()> {
        let device = self.core.device("copying")?;
        let (direct, staged) = self.sort(device, work)?;
        let begun = match direct.is_empty() {
            true => None,
            // SAFETY: holds of whoever called keep both sides, inside whose ranges pieces are,
            // until this returns; and it returns after the work is done.
            false => Some(unsafe { device.submit(self.queue, &direct)? }),
        };
        let result = staged.iter().try_for_each(|staged| self.do_staged(device, staged));
        let direct = begun.map_or(Ok(()), |work| device.wait(work, None).map(drop));
        result.and(direct)
    }
}

impl Carrier for Courier {
    fn number(&self) -> u64 {
        self.core.number
    }

    fn vendor(&self) -> Option<DeviceVendor> {
        Some(self.core.properties().vendor)
    }

    fn queue(&self) -> usize {
        self.queue
    }

    fn allocator(self: Arc<Self>, space: LogicalMemorySpace) -> Option<Arc<dyn Allocator>> {
        let memory = self.core.properties().memory_in(space)?;
        Some(Arc::new(Maker::new(Arc::clone(&self.core), Some(self), memory)))
    }

    fn reaches(&self, raw: &RawBuffer) -> bool {
        let Ok(device) = self.core.device("copying") else { return false };
        match raw.device_place() {
            Some(place) => {
                place.device == self.core.number || Core::peer(&self.core, device, place).is_some()
            }
            None => self.core.imports.far(&self.core, device, raw, 0).is_some(),
        }
    }

    fn staging(&self, bytes: usize) -> Result<Buffer> {
        self.core.device("staging")?;
        self.stage(bytes)
    }

    fn carry(self: Arc<Self>, mut work: Vec<Carry>) -> Result<()> {
        if !self.queued {
            let device = self.core.device("copying")?;
            work.retain(|carry| !self.by_hand(device, carry));
        }
        match work.is_empty() {
            true => Ok(()),
            false => self.work(&work),
        }
    }

    fn carry_later(self: Arc<Self>, work: Vec<Carry>, after: Option<After>) -> Result<Fence> {
        let device = self.core.device("copying")?;
        let (signal, fence) = Fence::pair()?;
        let (direct, staged) = self.sort(device, &work)?;
        let begun = match staged.is_empty() {
            // SAFETY: holds keep both sides, inside whose ranges pieces are; they go to the
            // worker, which lets go of them when the work is done.
            true => Some(unsafe { device.submit(self.queue, &direct)? }),
            // The CPU has a part in it: the worker's.
            false => None,
        };
        drop(staged);
        let job = Job { courier: Arc::clone(&self), begun, work, after, signal };
        let mut worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        let worker = match worker.take() {
            Some(running) => worker.insert(running),
            None => worker.insert(Worker::start(self.core.properties(), begun, device)?),
        };
        worker.give(job);
        Ok(fence)
    }
}

impl Courier {
    /// Waits for work that was begun.
    pub(crate) fn settle(&self, begun: Work) -> Result<()> {
        self.core.device("waiting")?.wait(begun, None).map(drop)
    }
}
