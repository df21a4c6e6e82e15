//! Devices whose memory has addresses and whose work goes into a stream: CUDA and HIP.
//!
//! What differs between the two are the names of functions and some numbers: each is a table of
//! functions that are loaded at run time.
#![expect(unsafe_code, reason = "calls drivers, which are loaded at run time, by address")]

use std::collections::{HashMap, VecDeque};
use std::ffi::{c_int, c_uint, c_void};
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tenure_memory::{DeviceFault, Error, Result, TensorMemory};

use crate::device::{Address, Block, Device, FdKind, IpcHandle, Properties, Task, Work};
pub(crate) use crate::library::{function, load};

mod answers;
mod current;
mod functions;
mod host;
mod outside;
mod seen;

pub(crate) use answers::{count, text};
use current::Current;
pub(crate) use functions::Functions;
pub(crate) use host::Host;
use outside::{External, Kind, Place};
pub(crate) use outside::{FdTypes, Outside};
pub(crate) use seen::Seen;

/// A driver's answer: 0 is success.
pub(crate) type Code = c_int;
/// A stream or an event.
pub(crate) type Handle = *mut c_void;

/// Numbers that both drivers share.
const OUT_OF_MEMORY: Code = 2;
const NOT_READY: Code = 600;

/// Streams that do not wait for others.
const NON_BLOCKING: c_uint = 1;
/// Events that are not timed, and whose waiters sleep: a thread that waits for a copy has better to
/// do than to keep a processor busy.
const UNTIMED_AND_SLEEPING: c_uint = 1 | 2;
/// Memory that every stream may use at any time.
const ATTACH_GLOBAL: c_uint = 1;
/// How much is asked of the driver at a time.
const BLOCK: usize = 64 << 20;
/// One stream, and one for copies in each direction: what hardware has engines for.
const STREAMS: usize = 3;
/// What both drivers align allocations to, at least.
const ALIGN: usize = 256;

/// A stream or event of the driver.
struct Owned(Handle);
// SAFETY: drivers take their handles on any thread.
unsafe impl Send for Owned {}
// SAFETY: as above.
unsafe impl Sync for Owned {}

/// The end of some work.
struct Mark {
    event: Owned,
    functions: Arc<Functions>,
}

impl Drop for Mark {
    fn drop(&mut self) {
        let _current = self.functions.current();
        // SAFETY: an event of this device that nobody waits for any more.
        unsafe { (self.functions.end_event)(self.event.0) };
    }
}

/// An open device.
pub(crate) struct Streamed {
    properties: Properties,
    functions: Arc<Functions>,
    streams: Vec<Stream>,
    blocks: Mutex<HashMap<u64, Place>>,
    next: AtomicU64,
}

/// A stream, and the ends of its work.
struct Stream {
    stream: Owned,
    marks: Mutex<Marks>,
}

impl Stream {
    fn marks(&self) -> MutexGuard<'_, Marks> {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Default)]
struct Marks {
    /// Work that may not be done, the oldest first.
    open: VecDeque<(u64, Arc<Mark>)>,
    last: u64,
}

impl Streamed {
    pub(crate) fn new(properties: Properties, functions: Functions) -> Result<Streamed> {
        let mut streams = vec![];
        let functions = Arc::new(functions);
        let current = functions.current();
        let mut code = current.as_ref().map_or_else(|code| *code, |_| 0);
        while code == 0 && streams.len() < properties.queues {
            let mut stream = std::ptr::null_mut();
            // SAFETY: a place for a stream of the device that was chosen.
            code = unsafe { (functions.stream)(&mut stream, NON_BLOCKING) };
            if code == 0 {
                streams.push(Stream { stream: Owned(stream), marks: Mutex::default() });
            }
        }
        drop(current);
        let (blocks, next) = (Mutex::default(), AtomicU64::new(1));
        let device = Streamed { properties, functions, streams, blocks, next };
        // What was made of it goes with it.
        device.check("making a stream", code)?;
        Ok(device)
    }

    fn blocks(&self) -> MutexGuard<'_, HashMap<u64, Place>> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters a block of any kind.
    fn enter(&self, place: Place) -> Block {
        let (address, bytes) = (place.address, place.bytes);
        let name = NonNull::new(std::ptr::with_exposed_provenance_mut(address)).map(Address);
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        self.blocks().insert(id, place);
        Block { id, bytes, host: None, name, align: ALIGN }
    }

    fn stream(&self, what: &'static str, queue: usize) -> Result<&Stream> {
        let none = || self.properties.fault(what, DeviceFault::OtherDevice);
        self.streams.get(queue).ok_or_else(none)
    }

    /// Chooses this device for the calls of this thread.
    fn current(&self, what: &'static str) -> Result<Current<'_>> {
        self.functions.current().map_err(|code| self.properties.fault(what, fault(code)))
    }

    fn check(&self, what: &'static str, code: Code) -> Result<()> {
        match code {
            0 => Ok(()),
            code => Err(self.properties.fault(what, fault(code))),
        }
    }
}

/// What an answer means. Errors that a kernel, a copy or the hardware left behind end everything, and so
/// does the end of the context; others of their hundred are about peers and registered memory, and end
/// nothing.
fn fault(code: Code) -> DeviceFault {
    match code {
        201 | 214 | 220 | 700 | 702 | 709 | 710 | 714..=719 | 999 => DeviceFault::Lost,
        code => {
            DeviceFault::Answer { code: i64::from(code), name: "see the driver's list".to_owned() }
        }
    }
}

// SAFETY: host and managed memory is the driver's, valid from allocation to `free`; the driver
// gives pages of the kernel, which are zero, or of its own cache. Work is done in the order of its
// stream; an event behind it says when.
unsafe impl Device for Streamed {
    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn allocate(&self, memory: TensorMemory, bytes: usize) -> Result<Block> {
        let what = "allocating";
        let _current = self.current(what)?;
        let mut address = 0;
        // SAFETY: a place for an address; sizes are any.
        let code = unsafe {
            match memory {
                TensorMemory::Device => (self.functions.malloc)(&mut address, bytes),
                TensorMemory::Managed => {
                    (self.functions.malloc_managed)(&mut address, bytes, ATTACH_GLOBAL)
                }
                _ => (self.functions.malloc_host)(&mut address, bytes, 0),
            }
        };
        if code == OUT_OF_MEMORY {
            let (mut free, mut all) = (0, 0);
            // SAFETY: places for two numbers.
            let known = unsafe { (self.functions.room)(&mut free, &mut all) } == 0;
            let far = memory == TensorMemory::Device;
            let available = (known && far).then_some(free as u64);
            return Err(Error::from(tenure_memory::detail::OutOfMemory {
                memory,
                bytes,
                available,
                source: None,
            }));
        }
        self.check(what, code)?;
        let block = self.enter(Place { address, bytes, kind: Kind::Own(memory) });
        let host = block.name.filter(|_| memory != TensorMemory::Device);
        Ok(Block { host, ..block })
    }

    unsafe fn free(&self, block: u64) {
        let Some(Place { address, kind, .. }) = self.blocks().remove(&block) else { return };
        let functions = &self.functions;
        let _current = functions.current();
        // SAFETY: made with the function's counterpart, and used by no work any more.
        unsafe {
            match kind {
                Kind::Own(TensorMemory::Device | TensorMemory::Managed) => {
                    (functions.free)(address);
                }
                Kind::Own(_) => {
                    (functions.free_host)(address);
                }
                Kind::External(External { memory, .. }) => {
                    (functions.free)(address);
                    (functions.outside.destroy)(memory.0);
                }
                Kind::Ipc => {
                    (functions.outside.close_ipc)(address);
                }
                Kind::Host(address) => {
                    (functions.host.unregister)(address.0.addr().get());
                }
                Kind::Peer { .. } | Kind::Foreign => {}
            }
        }
    }

    unsafe fn import_fd(&self, fd: BorrowedFd<'_>, kind: FdKind, bytes: usize) -> Result<Block> {
        // SAFETY: by the caller's promise.
        unsafe { self.fd_block(fd, kind, bytes) }
    }

    unsafe fn import_host(&self, address: NonNull<u8>, bytes: usize) -> Result<Block> {
        // SAFETY: by the caller's promise.
        unsafe { self.host_block(address, bytes) }
    }

    unsafe fn import_own(&self, name: NonNull<u8>, bytes: usize) -> Result<(u64, usize)> {
        // Addresses of one device are the same for all that use it in a process.
        let address = name.as_ptr().expose_provenance();
        Ok((self.enter(Place { address, bytes, kind: Kind::Foreign }).id, 0))
    }

    fn address(&self, block: u64) -> Option<Address> {
        let address = self.blocks().get(&block)?.address;
        NonNull::new(std::ptr::with_exposed_provenance_mut(address)).map(Address)
    }

    fn import_peer(&self, peer: &dyn Device, block: u64) -> Result<(u64, usize)> {
        self.peer_block(peer, block)
    }

    fn ipc(&self, block: u64) -> Result<(IpcHandle, usize)> {
        self.ipc_handle(block)
    }

    unsafe fn open_ipc(&self, handle: &IpcHandle, bytes: usize) -> Result<Block> {
        // SAFETY: by the caller's promise.
        unsafe { self.ipc_block(handle, bytes) }
    }

    unsafe fn submit(&self, queue: usize, tasks: &[Task]) -> Result<Work> {
        let what = "submitting work";
        let functions = &self.functions;
        let own = self.stream(what, queue)?;
        let stream = own.stream.0;
        let _current = self.current(what)?;
        // One at a time, so that events are behind their own work.
        let mut marks = own.marks();
        let mut event = std::ptr::null_mut();
        // SAFETY: a place for an event.
        self.check(what, unsafe { (functions.event)(&mut event, UNTIMED_AND_SLEEPING) })?;
        let mark = Arc::new(Mark { event: Owned(event), functions: Arc::clone(functions) });
        let blocks = self.blocks();
        let unknown = || self.properties.fault(what, DeviceFault::OtherDevice);
        // The address, and the context that it is of.
        let place = |(block, at): (u64, usize)| {
            let place = blocks.get(&block).ok_or_else(unknown)?;
            let context = match place.kind {
                Kind::Peer { context } => context,
                _ => functions.outside.context,
            };
            Ok::<_, Error>((place.address + at, context))
        };
        let begin = |task: &Task| match *task {
            Task::Copy { to, from, bytes } => {
                let (to, from) = (place(to)?, place(from)?);
                let code = match to.1 == from.1 {
                    true => (functions.copy)(to.0, from.0, bytes, stream),
                    false => (functions.outside.copy_peer)(to, from, bytes, stream),
                };
                self.check(what, code)
            }
            Task::Fill { to, bytes, pattern } => {
                let (to, value) = (place(to)?.0, c_uint::from_ne_bytes(pattern));
                // SAFETY: inside its block, by the caller's promise.
                let code = unsafe { (functions.fill)(to, value, bytes / 4, stream) };
                self.check(what, code)
            }
        };
        let begun = tasks.iter().try_for_each(begin);
        // SAFETY: event and stream are of this device.
        let recorded = unsafe { (functions.record)(mark.event.0, stream) };
        if begun.is_err() || recorded != 0 {
            // Nothing is under way when an error is told: an event that was not recorded would not
            // be waited for.
            // SAFETY: as above.
            unsafe { (functions.finish)(stream) };
            begun?;
            self.check(what, recorded)?;
        }
        marks.last += 1;
        let number = marks.last;
        marks.open.push_back((number, mark));
        Ok(Work { queue, number })
    }

    fn wait(&self, work: Work, timeout: Option<Duration>) -> Result<bool> {
        let what = "waiting for work";
        let _current = self.current(what)?;
        let own = self.stream(what, work.queue)?;
        let mark = {
            let marks = own.marks();
            let mark = marks.open.iter().find(|(number, _)| *number >= work.number);
            match mark {
                Some((_, mark)) => Arc::clone(mark),
                // Forgotten, because it is done.
                None => return Ok(true),
            }
        };
        let until = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        loop {
            // SAFETY: the event is of this device, and kept.
            let code = unsafe {
                match until {
                    None => (self.functions.synchronize)(mark.event.0),
                    Some(_) => (self.functions.query)(mark.event.0),
                }
            };
            if code != NOT_READY {
                // Work is over only when the device is lost; whatever else an event answers, its stream
                // knows better.
                let over = code == 0 || {
                    let lost = fault(code) == DeviceFault::Lost;
                    // SAFETY: a stream of this device.
                    !lost && unsafe { (self.functions.finish)(own.stream.0) } == 0
                };
                if !over {
                    self.check(what, code)?;
                }
                own.marks().open.retain(|(number, _)| *number > work.number);
                return Ok(true);
            }
            if until.is_some_and(|until| until <= Instant::now()) {
                return Ok(false);
            }
            std::thread::sleep(Duration::from_micros(50));
        }
    }
}

impl Drop for Streamed {
    fn drop(&mut self) {
        for (queue, own) in self.streams.iter().enumerate() {
            let number = own.marks().last;
            let _ = self.wait(Work { queue, number }, None);
            own.marks().open.clear();
        }
        let blocks: Vec<u64> = self.blocks().keys().copied().collect();
        // SAFETY: nobody has the device any more, and its work is over.
        blocks.into_iter().for_each(|block| unsafe { self.free(block) });
        let current = self.functions.current();
        for own in &self.streams {
            // SAFETY: nobody has the device any more, and all its work is over.
            unsafe { (self.functions.end_stream)(own.stream.0) };
        }
        drop(current);
        (self.functions.close)();
    }
}
