//! Devices whose memory has addresses and whose work goes into a stream: CUDA and HIP.
//!
//! What differs between the two are the names of functions and some numbers: each is a table of
//! functions that are loaded at run time.
#![expect(unsafe_code, reason = "calls drivers, which are loaded at run time, by address")]

use std::collections::{HashMap, VecDeque};
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use libloading::Library;
use tenure_memory::{DeviceFault, DeviceVendor, Error, Result, TensorMemory};

use crate::device::{Address, Block, Class, Device, Properties, Region, Task, Work};
pub(crate) use crate::library::{function, load};
use crate::{Listed, Missing};

/// A driver's answer: 0 is success.
pub(crate) type Code = c_int;
/// A stream or an event.
pub(crate) type Handle = *mut c_void;

/// Numbers that both drivers share.
pub(crate) const OUT_OF_MEMORY: Code = 2;
pub(crate) const INSUFFICIENT_DRIVER: Code = 35;
pub(crate) const NO_DEVICE: Code = 100;
pub(crate) const INVALID_DEVICE: Code = 101;
const NOT_READY: Code = 600;

/// What both drivers can do. Addresses are numbers, as CUDA has them; for HIP they are pointers,
/// which are passed in the same way.
pub(crate) struct Functions {
    /// Makes the device the one that calls of this thread are for.
    pub(crate) choose: Box<dyn Fn() -> Code + Send + Sync>,
    pub(crate) malloc: unsafe extern "C" fn(*mut usize, usize) -> Code,
    pub(crate) free: unsafe extern "C" fn(usize) -> Code,
    pub(crate) malloc_host: unsafe extern "C" fn(*mut usize, usize, c_uint) -> Code,
    pub(crate) free_host: unsafe extern "C" fn(usize) -> Code,
    pub(crate) malloc_managed: unsafe extern "C" fn(*mut usize, usize, c_uint) -> Code,
    /// To, from, bytes, stream.
    pub(crate) copy: Box<dyn Fn(usize, usize, usize, Handle) -> Code + Send + Sync>,
    /// To, pattern, words, stream.
    pub(crate) fill: unsafe extern "C" fn(usize, c_uint, usize, Handle) -> Code,
    pub(crate) stream: unsafe extern "C" fn(*mut Handle, c_uint) -> Code,
    pub(crate) end_stream: unsafe extern "C" fn(Handle) -> Code,
    pub(crate) event: unsafe extern "C" fn(*mut Handle, c_uint) -> Code,
    pub(crate) record: unsafe extern "C" fn(Handle, Handle) -> Code,
    pub(crate) query: unsafe extern "C" fn(Handle) -> Code,
    pub(crate) synchronize: unsafe extern "C" fn(Handle) -> Code,
    pub(crate) end_event: unsafe extern "C" fn(Handle) -> Code,
    /// What has to be done when the device is closed.
    pub(crate) close: Box<dyn Fn() + Send + Sync>,
    /// Keeps the functions loaded: dropped last.
    pub(crate) _library: Arc<Library>,
}

/// Both streams and events are made with what keeps them from waiting for others, and from being
/// timed.
const NON_BLOCKING: c_uint = 1;
const DISABLE_TIMING: c_uint = 2;
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
        (self.functions.choose)();
        // SAFETY: an event of this device that nobody waits for any more.
        unsafe { (self.functions.end_event)(self.event.0) };
    }
}

/// An open device.
pub(crate) struct Streamed {
    properties: Properties,
    functions: Arc<Functions>,
    streams: Vec<Stream>,
    blocks: Mutex<HashMap<u64, (TensorMemory, usize)>>,
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

/// What a survey knows of a device.
pub(crate) struct Seen {
    pub(crate) number: u32,
    pub(crate) name: String,
    pub(crate) bytes: u64,
    pub(crate) integrated: bool,
    pub(crate) managed: bool,
    pub(crate) uuid: [u8; 16],
}

impl Seen {
    fn class(&self) -> Class {
        if self.integrated { Class::Integrated } else { Class::Discrete }
    }

    fn heaps(&self) -> Vec<Region> {
        vec![Region { bytes: self.bytes, local: true, mappable: self.integrated }]
    }

    pub(crate) fn listed(self, driver: &str) -> Listed {
        let abilities = if self.managed { vec!["has managed memory"] } else { vec![] };
        let (class, heaps, driver) = (self.class(), self.heaps(), driver.to_owned());
        let Seen { number, name, .. } = self;
        Listed { number, name, driver, class, heaps, abilities, unusable: None }
    }

    pub(crate) fn properties(&self, driver: &str, vendor: DeviceVendor) -> Properties {
        let mut memories = vec![TensorMemory::Device, TensorMemory::Pinned];
        memories.extend(self.managed.then_some(TensorMemory::Managed));
        Properties {
            name: self.name.as_str().into(),
            driver: driver.to_owned(),
            vendor,
            id: self.number,
            class: self.class(),
            heaps: self.heaps(),
            memories,
            imports_host: None,
            imports_dma: false,
            shares: false,
            uuid: self.uuid,
            block_bytes: BLOCK,
            queues: STREAMS,
        }
    }
}

impl Streamed {
    pub(crate) fn new(properties: Properties, functions: Functions) -> Result<Streamed> {
        let mut streams = vec![];
        let mut code = (functions.choose)();
        while code == 0 && streams.len() < properties.queues {
            let mut stream = std::ptr::null_mut();
            // SAFETY: a place for a stream of the device that was chosen.
            code = unsafe { (functions.stream)(&mut stream, NON_BLOCKING) };
            if code == 0 {
                streams.push(Stream { stream: Owned(stream), marks: Mutex::default() });
            }
        }
        let (blocks, next) = (Mutex::default(), AtomicU64::new(1));
        let functions = Arc::new(functions);
        let device = Streamed { properties, functions, streams, blocks, next };
        // What was made of it goes with it.
        device.check("making a stream", code)?;
        Ok(device)
    }

    fn blocks(&self) -> MutexGuard<'_, HashMap<u64, (TensorMemory, usize)>> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stream(&self, what: &'static str, queue: usize) -> Result<&Stream> {
        let none = || self.properties.fault(what, DeviceFault::OtherDevice);
        self.streams.get(queue).ok_or_else(none)
    }

    fn check(&self, what: &'static str, code: Code) -> Result<()> {
        match code {
            0 => Ok(()),
            code => Err(self.properties.fault(what, fault(code))),
        }
    }
}

/// What an answer means. Errors that a kernel or copy left behind end everything.
fn fault(code: Code) -> DeviceFault {
    match code {
        700..=720 | 999 => DeviceFault::Lost,
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
        self.check(what, (self.functions.choose)())?;
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
            let available = self.properties.heaps.first().map(|heap| heap.bytes);
            return Err(Error::OutOfMemory { memory, bytes, available, source: None });
        }
        self.check(what, code)?;
        let name = NonNull::new(std::ptr::with_exposed_provenance_mut(address)).map(Address);
        let host = name.filter(|_| memory != TensorMemory::Device);
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        self.blocks().insert(id, (memory, address));
        Ok(Block { id, bytes, host, name, align: ALIGN })
    }

    fn free(&self, block: u64) {
        let Some((memory, address)) = self.blocks().remove(&block) else { return };
        (self.functions.choose)();
        // SAFETY: allocated with the function's counterpart, and used by no work any more.
        unsafe {
            match memory {
                TensorMemory::Device | TensorMemory::Managed => (self.functions.free)(address),
                _ => (self.functions.free_host)(address),
            };
        }
    }

    unsafe fn submit(&self, queue: usize, tasks: &[Task]) -> Result<Work> {
        let what = "submitting work";
        let functions = &self.functions;
        let own = self.stream(what, queue)?;
        let stream = own.stream.0;
        self.check(what, (functions.choose)())?;
        // One at a time, so that events are behind their own work.
        let mut marks = own.marks();
        let mut event = std::ptr::null_mut();
        // SAFETY: a place for an event.
        self.check(what, unsafe { (functions.event)(&mut event, DISABLE_TIMING) })?;
        let mark = Arc::new(Mark { event: Owned(event), functions: Arc::clone(functions) });
        let blocks = self.blocks();
        let unknown = || self.properties.fault(what, DeviceFault::OtherDevice);
        let place = |(block, at): (u64, usize)| {
            blocks.get(&block).map(|(_, base)| base + at).ok_or_else(unknown)
        };
        let begin = |task: &Task| match *task {
            Task::Copy { to, from, bytes } => {
                let code = (functions.copy)(place(to)?, place(from)?, bytes, stream);
                self.check(what, code)
            }
            Task::Fill { to, bytes, pattern } => {
                let (to, value) = (place(to)?, c_uint::from_ne_bytes(pattern));
                // SAFETY: inside its block, by the caller's promise.
                let code = unsafe { (functions.fill)(to, value, bytes / 4, stream) };
                self.check(what, code)
            }
        };
        let begun = tasks.iter().try_for_each(begin);
        // SAFETY: event and stream are of this device.
        let recorded = unsafe { (functions.record)(mark.event.0, stream) };
        if begun.is_err() || recorded != 0 {
            // Nothing is under way when an error is told.
            // SAFETY: as above.
            unsafe { (functions.synchronize)(mark.event.0) };
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
        self.check(what, (self.functions.choose)())?;
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
                self.check(what, code)?;
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
        blocks.into_iter().for_each(|block| self.free(block));
        for own in &self.streams {
            // SAFETY: nobody has the device any more, and all its work is over.
            unsafe { (self.functions.end_stream)(own.stream.0) };
        }
        (self.functions.close)();
    }
}

/// How many devices a runtime finds, or what its answer means.
pub(crate) fn count(library: &str, needs: &str, code: Code, count: c_int) -> Result<u32, Missing> {
    let library = library.to_owned();
    match code {
        0 if count > 0 => Ok(count.cast_unsigned()),
        0 | NO_DEVICE | INVALID_DEVICE => {
            let detail = if code == 0 { String::new() } else { format!(" (it answers {code})") };
            Err(Missing::NoDevice { library, detail })
        }
        INSUFFICIENT_DRIVER => {
            let found = format!("an older one, or none (it answers {code})");
            Err(Missing::TooOld { library, needed: needs.to_owned(), found })
        }
        other => {
            Err(Missing::Failed { library, what: "asking for devices", code: other.to_string() })
        }
    }
}

/// Text that a driver wrote into a place of ours.
pub(crate) fn text(bytes: &[c_char]) -> String {
    let bytes: Vec<u8> =
        bytes.iter().map(|byte| byte.to_ne_bytes()[0]).take_while(|byte| *byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}
