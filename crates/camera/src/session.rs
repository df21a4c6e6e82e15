//! Buffers on their way between the driver and the program: slots, who has each, and leases.
//!
//! Outlives its stream for as long as frames of it are held.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;
use smallvec::SmallVec;
use tenure_memory::backend::DeviceHold;
use tenure_memory::{Allocator, Buffer, Protection, Request, TensorMemory, import};
use tenure_tensor::TensorDyn;

use crate::device::Device;
use crate::kernel::structures::{BufferArgument, MEMORY_DMABUF, MEMORY_MMAP, RequestBuffers};
use crate::memory::Plane;
use crate::{Error, FrameMemory, Mode, Result, kernel};

/// The planes of one buffer.
type Slot = SmallVec<[Plane; 2]>;

/// The buffers of one stream.
pub(crate) struct Session {
    // Dropped in this order: the driver lets go of buffers that nobody maps.
    state: Mutex<State>,
    slots: Vec<Slot>,
    requested: Requested,
    device: Arc<Device>,
}

struct State {
    /// One for each slot.
    at: Vec<At>,
    streaming: bool,
}

/// Who has a slot.
enum At {
    /// Nobody: the stream is paused, or somebody else uses the memory.
    Idle,
    /// The driver, which is entered in the ledgers of its planes.
    Driver(#[expect(dead_code, reason = "held until dropped")] SmallVec<[DeviceHold; 2]>),
    /// The program.
    Program,
}

/// Buffers that the driver made for us, until they are given back.
struct Requested {
    device: Arc<Device>,
    memory: u32,
    released: AtomicBool,
}

impl Requested {
    /// Asks for buffers; the driver says how many it makes.
    fn new(device: &Arc<Device>, memory: u32, count: usize) -> Result<(Requested, usize)> {
        let mut argument = RequestBuffers {
            count: u32::try_from(count).unwrap_or(u32::MAX),
            kind: device.kind,
            memory,
            ..RequestBuffers::default()
        };
        kernel::request_buffers(device.as_fd(), &mut argument)
            .map_err(device.failed("requesting buffers"))?;
        let released = AtomicBool::new(false);
        let requested = Requested { device: Arc::clone(device), memory, released };
        if argument.count == 0 {
            return Err(device.failed("requesting buffers")(Errno::NOMEM));
        }
        Ok((requested, argument.count as usize))
    }

    /// Gives the buffers back, once. Kernels before 5.0 refuse while any is mapped; it is then
    /// tried again when the last frame is gone.
    fn release(&self) {
        if self.released.load(Ordering::Acquire) || !self.device.process.is_current() {
            return;
        }
        let (kind, memory) = (self.device.kind, self.memory);
        let mut argument = RequestBuffers { kind, memory, ..RequestBuffers::default() };
        if kernel::request_buffers(self.device.as_fd(), &mut argument).is_ok() {
            self.released.store(true, Ordering::Release);
        }
    }
}

impl Drop for Requested {
    fn drop(&mut self) {
        self.release();
    }
}

impl Session {
    /// Buffers of the driver, or of an allocator.
    pub(crate) fn open(
        device: &Arc<Device>,
        mode: &Mode,
        memory: &FrameMemory,
        count: usize,
        read_only: bool,
    ) -> Result<Arc<Session>> {
        let protection = if read_only { Protection::ReadOnly } else { Protection::Writable };
        let exported = || Session::of_driver(device, mode, count, Some(protection));
        let mapped = || Session::of_driver(device, mode, count, None);
        match memory {
            FrameMemory::Automatic => match exported() {
                Err(Error::NoExport { .. } | Error::Memory(_)) => mapped(),
                answer => answer,
            },
            FrameMemory::Exported => exported(),
            FrameMemory::Mapped => mapped(),
            FrameMemory::Allocated(allocator) => {
                Session::allocated(device, mode, allocator.as_ref(), count)
            }
        }
    }

    /// The driver's own buffers, exported as DMA-BUF or only mapped.
    fn of_driver(
        device: &Arc<Device>,
        mode: &Mode,
        count: usize,
        export: Option<Protection>,
    ) -> Result<Arc<Session>> {
        let (requested, count) = Requested::new(device, MEMORY_MMAP, count)?;
        let mut slots = vec![];
        for index in 0..count {
            let mut buffer = BufferArgument::new(device.kind, MEMORY_MMAP, index as u32);
            kernel::query_buffer(device.as_fd(), &mut buffer)
                .map_err(device.failed("asking about a buffer"))?;
            let mut slot = Slot::new();
            for plane in 0..mode.planes.len() {
                let len = buffer.length(plane);
                slot.push(match export {
                    Some(protection) => exported(device, index, plane, len, protection)?,
                    None => Plane::mapped(device.as_fd(), len, buffer.offset(plane))
                        .map_err(device.failed("mapping a buffer"))?,
                });
            }
            slots.push(slot);
        }
        Ok(Session::new(device, requested, slots))
    }

    fn allocated(
        device: &Arc<Device>,
        mode: &Mode,
        allocator: &dyn Allocator,
        count: usize,
    ) -> Result<Arc<Session>> {
        let (requested, count) = Requested::new(device, MEMORY_DMABUF, count)?;
        let mut slots = vec![];
        for index in 0..count {
            let mut slot = Slot::new();
            for (plane, size) in mode.planes.iter().enumerate() {
                let request = Request::new(size.bytes)?.with_name(Some("camera"));
                let buffer = Buffer::from_raw(allocator.allocate(&request)?);
                slot.push(given(buffer, index, plane, size.bytes)?);
            }
            slots.push(slot);
        }
        Ok(Session::new(device, requested, slots))
    }

    /// Buffers of the program.
    pub(crate) fn open_with(
        device: &Arc<Device>,
        mode: &Mode,
        tensors: &[TensorDyn],
    ) -> Result<Arc<Session>> {
        let (requested, needed) = Requested::new(device, MEMORY_DMABUF, tensors.len())?;
        if tensors.len() < needed {
            return Err(Error::TooFewBuffers { given: tensors.len(), needed });
        }
        let mut slots = vec![];
        for (index, tensor) in tensors.iter().take(needed).enumerate() {
            let mut slot = Slot::new();
            for (plane, size) in mode.planes.iter().enumerate() {
                let several = mode.planes.len() > 1;
                if several != tensor.is_multi_buffer() {
                    let reason = "it has not as many buffers as the camera's frames";
                    return Err(Error::BadBuffer { index, reason });
                }
                slot.push(given(tensor.plane_buffer(plane)?.clone(), index, plane, size.bytes)?);
            }
            slots.push(slot);
        }
        Ok(Session::new(device, requested, slots))
    }

    fn new(device: &Arc<Device>, requested: Requested, slots: Vec<Slot>) -> Arc<Session> {
        let at = slots.iter().map(|_| At::Idle).collect();
        let state = Mutex::new(State { at, streaming: false });
        Arc::new(Session { state, slots, requested, device: Arc::clone(device) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    /// How many slots there are.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn planes(&self, index: usize) -> &[Plane] {
        self.slots.get(index).map_or(&[], |slot| slot.as_slice())
    }

    /// Gives the driver every slot that nobody has, and starts it.
    pub(crate) fn start(&self) -> Result<()> {
        let mut state = self.state();
        if state.streaming {
            return Ok(());
        }
        for index in 0..self.slots.len() {
            self.queue(&mut state, index)?;
        }
        kernel::stream(self.device.as_fd(), self.device.kind, true)
            .map_err(|errno| self.refused("starting the stream", errno))?;
        state.streaming = true;
        Ok(())
    }

    /// Stops the driver, which then has no slot any more.
    pub(crate) fn stop(&self) -> Result<()> {
        let mut state = self.state();
        let answer = kernel::stream(self.device.as_fd(), self.device.kind, false);
        state.streaming = false;
        for at in &mut state.at {
            if matches!(at, At::Driver(_)) {
                *at = At::Idle;
            }
        }
        answer.map_err(self.device.failed("stopping the stream"))
    }

    /// The stream is gone: the driver gets nothing any more.
    pub(crate) fn close(&self) {
        if !self.device.process.is_current() {
            return;
        }
        // A device that is gone has stopped.
        let _ = self.stop();
        self.requested.release();
    }

    pub(crate) fn is_streaming(&self) -> bool {
        self.state().streaming
    }

    /// How many slots the driver has, and how many the program.
    pub(crate) fn shares(&self) -> (usize, usize) {
        let state = self.state();
        let count = |who: fn(&At) -> bool| state.at.iter().filter(|at| who(at)).count();
        (count(|at| matches!(at, At::Driver(_))), count(|at| matches!(at, At::Program)))
    }

    /// Gives the driver what it could not be given before. Says whether nothing is left over.
    pub(crate) fn queue_idle(&self) -> Result<bool> {
        let mut state = self.state();
        let mut all = true;
        for index in 0..self.slots.len() {
            if !matches!(state.at.get(index), Some(At::Idle)) {
                continue;
            }
            match self.queue(&mut state, index) {
                Ok(()) => {}
                // Somebody else reads or writes this memory.
                Err(Error::Memory(error)) if error.is_busy() => all = false,
                Err(error) => return Err(error),
            }
        }
        Ok(all)
    }

    /// Gives an idle slot to the driver.
    fn queue(&self, state: &mut State, index: usize) -> Result<()> {
        let Some(at @ At::Idle) = state.at.get_mut(index) else { return Ok(()) };
        let planes = self.planes(index);
        let mut holds = SmallVec::new();
        for plane in planes {
            holds.push(plane.hold_for_driver()?);
        }
        let memory = self.requested.memory;
        let mut buffer = BufferArgument::new(self.device.kind, memory, index as u32);
        if memory == MEMORY_DMABUF {
            for (number, plane) in planes.iter().enumerate() {
                let word = kernel::descriptor_word(plane.descriptor()?);
                buffer.set_descriptor(number, word, plane.len());
            }
        }
        kernel::queue_buffer(self.device.as_fd(), &mut buffer)
            .map_err(|errno| self.refused("queueing a buffer", errno))?;
        *at = At::Driver(holds);
        Ok(())
    }

    fn refused(&self, what: &'static str, errno: Errno) -> Error {
        let ours = self.requested.memory == MEMORY_DMABUF;
        match Error::driver(&self.device.path, what, errno) {
            Error::System(failed) if ours => {
                let crate::detail::System { path, cause, .. } = *failed;
                Error::from(crate::detail::BufferRefused { path, cause })
            }
            other => other,
        }
    }

    /// A filled buffer, if there is one, and the lease of its slot.
    pub(crate) fn dequeue(self: &Arc<Self>) -> Result<Option<(BufferArgument, Arc<Lease>)>> {
        let mut buffer = BufferArgument::new(self.device.kind, self.requested.memory, 0);
        match kernel::dequeue_buffer(self.device.as_fd(), &mut buffer) {
            Ok(()) => {}
            Err(Errno::AGAIN) => return Ok(None),
            Err(errno) => return Err(self.device.failed("taking a frame")(errno)),
        }
        let index = buffer.index();
        match self.state().at.get_mut(index) {
            Some(at) => *at = At::Program,
            None => return Err(self.device.failed("taking a frame")(Errno::RANGE)),
        }
        Ok(Some((buffer, Arc::new(Lease { session: Arc::clone(self), index }))))
    }

    fn give_back(&self, index: usize) {
        if !self.device.process.is_current() {
            return;
        }
        let mut state = self.state();
        if let Some(at) = state.at.get_mut(index) {
            *at = At::Idle;
        }
        if state.streaming {
            // What fails is tried again, and reported, when the next frame is asked for.
            let _ = self.queue(&mut state, index);
        }
    }
}

impl AsFd for Session {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}

/// A buffer of the driver as DMA-BUF.
fn exported(
    device: &Device,
    index: usize,
    plane: usize,
    len: usize,
    protection: Protection,
) -> Result<Plane> {
    let writable = protection != Protection::ReadOnly;
    let (index, plane) = (index as u32, plane as u32);
    let fd = kernel::export_buffer(device.as_fd(), device.kind, index, plane, writable);
    let fd =
        fd.map_err(|errno| match Error::driver(&device.path, "exporting a buffer", errno) {
            Error::System(failed) => {
                let crate::detail::System { path, cause, .. } = *failed;
                Error::from(crate::detail::NoExport { path, cause })
            }
            other => other,
        })?;
    Ok(Plane::dma(import(fd, len, protection, Some("camera"))?)?)
}

/// Memory from outside, if frames can be captured into it.
fn given(buffer: Buffer, index: usize, plane: usize, need: usize) -> Result<Plane> {
    let bad = |reason| Err(Error::BadBuffer { index, reason });
    if buffer.memory() != TensorMemory::Dma {
        return bad("it is not in DMA memory");
    }
    if buffer.start() != 0 {
        return bad("it does not start at the first byte of its memory");
    }
    if buffer.len() < need {
        return Err(Error::from(crate::detail::BufferTooSmall {
            index,
            plane,
            have: buffer.len(),
            need,
        }));
    }
    if !buffer.raw()?.writable() {
        return bad("it is read-only");
    }
    // Marks the memory as shared: a pool must not give it to somebody else.
    buffer.lend_descriptor()?;
    Ok(Plane::dma(buffer)?)
}

/// The right to the bytes of a slot; the driver gets them back when it is dropped.
pub(crate) struct Lease {
    session: Arc<Session>,
    index: usize,
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.session.give_back(self.index);
    }
}
