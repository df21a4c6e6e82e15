//! Who copies for a device: directly where the device reaches both sides, through staging memory
//! where it does not.
#![expect(unsafe_code, reason = "hands bytes that holds keep to the device and to staging memory")]

use std::sync::{Arc, Mutex, PoisonError};

use smallvec::SmallVec;
use tenure_memory::{
    Access, After, Allocator, Buffer, Carrier, Carry, DeviceFault, Fence, Held, Hold,
    LogicalMemorySpace, Piece, Pool, PoolLimits, PoolReport, Request, Result, Source, TensorMemory,
};

use crate::core::Core;
use crate::device::{Device, Task, Work};
use crate::memory::Maker;
use crate::worker::{Job, Worker};

/// Bytes that are staged at a time: enough that the queue's overhead does not count.
const STAGE: usize = 4 << 20;

/// Copies for one device, on one of its queues.
pub(crate) struct Courier {
    core: Arc<Core>,
    queue: usize,
    /// Whether the queue does everything, also what the CPU could do by itself.
    queued: bool,
    /// Pinned memory that copies of other main memory go through.
    staging: Pool,
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
        let limits = PoolLimits { bytes: 16 * STAGE, buffers: 64 };
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

    pub(crate) fn queue(&self) -> usize {
        self.queue
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    pub(crate) fn staging_report(&self) -> PoolReport {
        self.staging.report()
    }

    fn stage(&self, bytes: usize) -> Result<Buffer> {
        let raw = self.staging.allocate(&Request::new(bytes)?)?;
        Buffer::from_raw(raw).slice(0..bytes)
    }

    /// Where this device finds what is held; `None` for main memory that it does not reach.
    fn place(&self, device: &dyn Device, held: &Held) -> Result<Option<(u64, usize)>> {
        match held.device_place() {
            Some(place) if place.device == self.core.number => {
                Ok(Some((place.block, place.offset)))
            }
            _ => match held {
                Held::Near(hold) => Ok(hold.start().and_then(|start| {
                    let at = (Some(hold.address()), start);
                    self.core.imports.place(&self.core, device, hold.raw(), at, false)
                })),
                Held::Far(_) => {
                    Err(self.core.properties().fault("copying", DeviceFault::OtherDevice))
                }
            },
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
type Tasks = SmallVec<[Task; 4]>;

/// What goes through staging memory.
enum Staged<'a> {
    Up { to: (u64, usize), source: &'a Held, parts: &'a [Piece] },
    Down { to: &'a Held, from: (u64, usize), parts: &'a [Piece] },
    Fill { to: (u64, usize), bytes: usize, pattern: [u8; 4] },
}

fn copy(to: (u64, usize), from: (u64, usize), part: &Piece) -> Task {
    let (to, from) = ((to.0, to.1 + part.to), (from.0, from.1 + part.from));
    Task::Copy { to, from, bytes: part.bytes }
}

/// Pieces divided so that each lot of them fits into staging memory.
fn lots(parts: &[Piece]) -> impl Iterator<Item = SmallVec<[Piece; 4]>> {
    let mut rest = parts.iter().copied();
    let mut open: Option<Piece> = None;
    std::iter::from_fn(move || {
        let (mut lot, mut room) = (SmallVec::new(), STAGE);
        while room > 0 {
            let Some(piece) = open.take().or_else(|| rest.next()) else { break };
            let bytes = piece.bytes.min(room);
            lot.push(Piece { bytes, ..piece });
            room -= bytes;
            if bytes < piece.bytes {
                let (to, from) = (piece.to + bytes, piece.from + bytes);
                open = Some(Piece { to, from, bytes: piece.bytes - bytes });
            }
        }
        (!lot.is_empty()).then_some(lot)
    })
}

/// A lot on its way through the device. However it ends, the staging memory is not used again, and
/// the other side not let go of, before the device is done.
struct Underway<'a> {
    device: &'a dyn Device,
    work: Work,
    stage: Buffer,
    /// For downloads: what goes where when it is there.
    lot: SmallVec<[Piece; 4]>,
}

impl Underway<'_> {
    fn wait(&self) -> Result<()> {
        self.device.wait(self.work, None).map(drop)
    }
}

impl Drop for Underway<'_> {
    fn drop(&mut self) {
        // If the device is lost, its work is over too.
        let _ = self.wait();
    }
}

impl Courier {
    fn do_staged(&self, device: &dyn Device, staged: &Staged<'_>) -> Result<()> {
        match staged {
            Staged::Up { to, source, parts } => self.up(device, *to, near(source), parts),
            Staged::Down { to, from, parts } => self.down(device, near(to), *from, parts),
            Staged::Fill { to, bytes, pattern } => self.fill(device, *to, *bytes, *pattern),
        }
    }

    /// The staging memory's own place.
    fn staged_place(&self, stage: &Buffer) -> Result<(u64, usize)> {
        let place = stage.raw()?.device_place();
        let fault = || self.core.properties().fault("staging", DeviceFault::OtherDevice);
        place.map(|place| (place.block, place.offset)).ok_or_else(fault)
    }

    /// Main memory to the device: while one lot is on its way the next is put together.
    fn up(
        &self,
        device: &dyn Device,
        to: (u64, usize),
        source: Option<&Hold>,
        parts: &[Piece],
    ) -> Result<()> {
        let Some(source) = source else { return Ok(()) };
        let mut before: Option<Underway<'_>> = None;
        for lot in lots(parts) {
            let bytes = lot.iter().map(|piece| piece.bytes).sum();
            let mut tasks = Tasks::new();
            let stage = self.stage(bytes)?;
            let from = self.staged_place(&stage)?;
            let here = stage.hold(Access::KernelWrite, 0..bytes)?;
            let mut at = 0;
            for piece in &lot {
                // SAFETY: pieces were checked against what is held, and the lot has room for all.
                unsafe { move_bytes(&here, at, source, piece.from, piece.bytes) };
                tasks.push(copy(to, from, &Piece { from: at, ..*piece }));
                at += piece.bytes;
            }
            drop(here);
            // SAFETY: the destination is held by whoever called, the staging memory is ours; both
            // exist until the work was waited for.
            let work = unsafe { device.submit(self.queue, &tasks)? };
            let now = Underway { device, work, stage, lot: SmallVec::new() };
            if let Some(before) = before.replace(now) {
                before.wait()?;
            }
        }
        before.map_or(Ok(()), |last| last.wait())
    }

    /// The device to main memory: while one lot is on its way the last is put in its place.
    fn down(
        &self,
        device: &dyn Device,
        to: Option<&Hold>,
        from: (u64, usize),
        parts: &[Piece],
    ) -> Result<()> {
        let Some(to) = to else { return Ok(()) };
        let arrive = |one: Underway<'_>| -> Result<()> {
            one.wait()?;
            let here = one.stage.hold(Access::KernelRead, 0..one.stage.len())?;
            let mut at = 0;
            for piece in &one.lot {
                // SAFETY: pieces were checked against what is held, and the lot has all of them.
                unsafe { move_bytes(to, piece.to, &here, at, piece.bytes) };
                at += piece.bytes;
            }
            Ok(())
        };
        let mut before: Option<Underway<'_>> = None;
        for lot in lots(parts) {
            let bytes = lot.iter().map(|piece| piece.bytes).sum();
            let (mut tasks, mut at) = (Tasks::new(), 0);
            let stage = self.stage(bytes)?;
            let place = self.staged_place(&stage)?;
            for piece in &lot {
                tasks.push(copy(place, from, &Piece { to: at, ..*piece }));
                at += piece.bytes;
            }
            // SAFETY: the source is held by whoever called, the staging memory is ours; both
            // exist until the work was waited for.
            let work = unsafe { device.submit(self.queue, &tasks)? };
            if let Some(before) = before.replace(Underway { device, work, stage, lot }) {
                arrive(before)?;
            }
        }
        before.map_or(Ok(()), arrive)
    }

    /// A fill of bytes that are no whole words.
    fn fill(
        &self,
        device: &dyn Device,
        to: (u64, usize),
        bytes: usize,
        pattern: [u8; 4],
    ) -> Result<()> {
        // Whole patterns, so that the next lot goes on where this one ends.
        let stage = self.stage(bytes.min(STAGE))?;
        for (byte, value) in
            stage.write()?.as_bytes_mut().iter_mut().zip(pattern.into_iter().cycle())
        {
            *byte = value;
        }
        let from = self.staged_place(&stage)?;
        let all = Piece { to: 0, from: 0, bytes };
        for lot in lots(&[all]) {
            let tasks: Tasks =
                lot.iter().map(|piece| copy(to, from, &Piece { from: 0, ..*piece })).collect();
            run(device, self.queue, &tasks)?;
        }
        Ok(())
    }

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

fn near(held: &Held) -> Option<&Hold> {
    match held {
        Held::Near(hold) => Some(hold),
        Held::Far(_) => None,
    }
}

/// Copies between two holds by the CPU.
///
/// # Safety
/// Both ranges must lie inside what is held, `to` for writing, and not overlap.
unsafe fn move_bytes(to: &Hold, to_at: usize, from: &Hold, from_at: usize, bytes: usize) {
    // SAFETY: inside what is held, by the caller's promise.
    unsafe {
        let source = from.address().add(from_at);
        source.copy_to_nonoverlapping(to.address().add(to_at), bytes);
    }
}

impl Carrier for Courier {
    fn number(&self) -> u64 {
        self.core.number
    }

    fn allocator(self: Arc<Self>, space: LogicalMemorySpace) -> Option<Arc<dyn Allocator>> {
        let memory = self.core.properties().memory_in(space)?;
        Some(Arc::new(Maker::new(Arc::clone(&self.core), Some(self), memory)))
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
