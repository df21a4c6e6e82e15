//! Devices of NVIDIA, by the driver's own interface, `libcuda.so.1`.
//!
//! Where the driver is not installed, the runtime (`libcudart`), which programs bring along, is
//! asked: it knows the difference between no driver and no device. Not run on real hardware by
//! this project; see the table of platforms.
#![expect(unsafe_code, reason = "calls the driver, which is loaded at run time")]

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::Arc;

use libloading::Library;
use tenure_memory::{DeviceFault, DeviceVendor, Error, Result};

use crate::streamed::{
    Code, FdTypes, Functions, Host, Outside, Seen, Streamed, count, function, load, text,
};
use crate::{Gpu, Listed, Missing};

const DRIVER: &str = "libcuda.so.1";
const RUNTIMES: [&str; 4] =
    ["libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0", "libcudart.so"];
/// CUDA 11.2: the first with all functions used here.
const OLDEST: c_int = 11_020;

/// CUDA 13.0: the first that knows DMA-BUFs, and only on chips that have the processor's memory.
const OLDEST_DMA: c_int = 13_000;

/// `CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD` and `_DMABUF_FD`.
const OPAQUE_FD: c_int = 1;
const DMA_BUF_FD: c_int = 9;

const INTEGRATED: c_int = 18;
const MANAGED: c_int = 83;
/// Whether the CPU may use managed memory while the device works: elsewhere it would fault.
const CONCURRENT_MANAGED: c_int = 89;
const HOST_REGISTER: c_int = 99;

/// `CUDA_ERROR_NOT_INITIALIZED`.
const NOT_INITIALIZED: Code = 3;

/// `CUcontext`.
type Context = *mut c_void;

type Ask = unsafe extern "C" fn(*mut c_int) -> Code;

/// Every CUDA device of this machine.
///
/// # Errors
/// Why there is none: no library, driver too old, no device.
pub fn survey() -> Result<Vec<Listed>, Missing> {
    let driver = Driver::new()?;
    let words = driver.words();
    driver.all()?.into_iter().map(|seen| Ok(seen.listed(&words))).collect()
}

/// Opens the device with this number, as the driver counts.
///
/// # Errors
/// If it is not there, or the driver fails.
pub fn open(number: u32) -> Result<Gpu> {
    let fault = |fault| {
        Error::from(tenure_memory::detail::Device {
            device: "CUDA".into(),
            what: "opening a device",
            fault,
        })
    };
    let refused = |why: Missing| fault(DeviceFault::Unusable(why.to_string()));
    let driver = Driver::new().map_err(refused)?;
    let all = driver.all().map_err(refused)?;
    let count = all.len();
    let seen = all.into_iter().find(|seen| seen.number == number);
    let seen = seen.ok_or_else(|| fault(DeviceFault::NoDevice { number, devices: count }))?;
    let properties = seen.properties(&driver.words(), DeviceVendor::Cuda);
    let functions = driver.functions(number, seen.dma).map_err(refused)?;
    Gpu::over(Streamed::new(properties, functions)?)
}

/// How many devices a CUDA runtime finds: what is left to ask where there is no driver.
///
/// # Errors
/// Why there is none: no library, driver too old (or none), no device.
pub fn ask_runtime(library: &str) -> Result<u32, Missing> {
    let (loaded, name) = load(&[library])?;
    let mut found = 0;
    // SAFETY: the function's type is the one of CUDA's header; a place for a number.
    let code = unsafe {
        let ask: Ask = function(&loaded, "cudaGetDeviceCount", &name)?;
        ask(&mut found)
    };
    count(&name, "an NVIDIA driver as new as itself", code, found)
}

struct Driver {
    library: Arc<Library>,
    version: c_int,
}

impl Driver {
    fn new() -> Result<Driver, Missing> {
        let (library, _) = match load(&[DRIVER]) {
            Ok(library) => library,
            Err(none) => return Err(asked_elsewhere().unwrap_or(none)),
        };
        // SAFETY: functions have the types of CUDA's header, here and below; places are ours.
        unsafe {
            let ask: Ask = function(&library, "cuDriverGetVersion", DRIVER)?;
            let mut version = 0;
            ask(&mut version);
            if version < OLDEST {
                return Err(Missing::TooOld {
                    library: DRIVER.to_owned(),
                    needed: words(OLDEST),
                    found: words(version),
                });
            }
            let init: unsafe extern "C" fn(c_uint) -> Code = function(&library, "cuInit", DRIVER)?;
            // A count of one: what matters is the answer.
            count(DRIVER, &words(OLDEST), init(0), 1)?;
            Ok(Driver { library, version })
        }
    }

    fn words(&self) -> String {
        words(self.version)
    }

    fn all(&self) -> Result<Vec<Seen>, Missing> {
        let mut found = 0;
        // SAFETY: as in `new`.
        let code = unsafe {
            let ask: Ask = function(&self.library, "cuDeviceGetCount", DRIVER)?;
            ask(&mut found)
        };
        let found = count(DRIVER, &words(OLDEST), code, found)?;
        (0..found).map(|number| self.see(number)).collect()
    }

    fn see(&self, number: u32) -> Result<Seen, Missing> {
        let library = &self.library;
        let failed = |what, code: Code| match code {
            0 => Ok(()),
            code => {
                Err(Missing::Failed { library: DRIVER.to_owned(), what, code: code.to_string() })
            }
        };
        let (mut device, mut bytes, mut uuid) = (0, 0usize, [0u8; 16]);
        let mut name = [0 as c_char; 256];
        let (mut integrated, mut managed, mut concurrent, mut host) = (0, 0, 0, 0);
        // SAFETY: as in `new`.
        unsafe {
            let get: unsafe extern "C" fn(*mut c_int, c_int) -> Code =
                function(library, "cuDeviceGet", DRIVER)?;
            failed("cuDeviceGet", get(&mut device, number.cast_signed()))?;
            let ask: unsafe extern "C" fn(*mut c_char, c_int, c_int) -> Code =
                function(library, "cuDeviceGetName", DRIVER)?;
            failed("cuDeviceGetName", ask(name.as_mut_ptr(), name.len() as c_int - 1, device))?;
            let ask: unsafe extern "C" fn(*mut usize, c_int) -> Code =
                function(library, "cuDeviceTotalMem_v2", DRIVER)?;
            failed("cuDeviceTotalMem", ask(&mut bytes, device))?;
            let ask: unsafe extern "C" fn(*mut [u8; 16], c_int) -> Code =
                function(library, "cuDeviceGetUuid", DRIVER)?;
            failed("cuDeviceGetUuid", ask(&mut uuid, device))?;
            let ask: unsafe extern "C" fn(*mut c_int, c_int, c_int) -> Code =
                function(library, "cuDeviceGetAttribute", DRIVER)?;
            failed("cuDeviceGetAttribute", ask(&mut integrated, INTEGRATED, device))?;
            failed("cuDeviceGetAttribute", ask(&mut managed, MANAGED, device))?;
            failed("cuDeviceGetAttribute", ask(&mut concurrent, CONCURRENT_MANAGED, device))?;
            failed("cuDeviceGetAttribute", ask(&mut host, HOST_REGISTER, device))?;
        }
        let (name, bytes) = (text(&name), bytes as u64);
        let (integrated, host) = (integrated != 0, host != 0);
        let managed = managed != 0 && concurrent != 0;
        let dma = integrated && self.version >= OLDEST_DMA;
        Ok(Seen { number, name, bytes, integrated, managed, uuid, host, dma })
    }

    /// The functions for one device, in its primary context: the one that everybody else uses.
    fn functions(&self, number: u32, dma: bool) -> Result<Functions, Missing> {
        let library = &self.library;
        let device = number.cast_signed();
        // SAFETY: functions have the types of CUDA's header; places are ours; the context stays
        // until `close`.
        unsafe {
            let retain: unsafe extern "C" fn(*mut Context, c_int) -> Code =
                function(library, "cuDevicePrimaryCtxRetain", DRIVER)?;
            let release: unsafe extern "C" fn(c_int) -> Code =
                function(library, "cuDevicePrimaryCtxRelease_v2", DRIVER)?;
            let push: unsafe extern "C" fn(Context) -> Code =
                function(library, "cuCtxPushCurrent_v2", DRIVER)?;
            let pop: unsafe extern "C" fn(*mut Context) -> Code =
                function(library, "cuCtxPopCurrent_v2", DRIVER)?;
            let copy: unsafe extern "C" fn(usize, usize, usize, *mut c_void) -> Code =
                function(library, "cuMemcpyAsync", DRIVER)?;
            let find = Functions {
                enter: Box::new(|| Err(NOT_INITIALIZED)),
                leave: Box::new(move |_| {
                    pop(&mut std::ptr::null_mut());
                }),
                room: function(library, "cuMemGetInfo_v2", DRIVER)?,
                malloc: function(library, "cuMemAlloc_v2", DRIVER)?,
                free: function(library, "cuMemFree_v2", DRIVER)?,
                malloc_host: function(library, "cuMemHostAlloc", DRIVER)?,
                free_host: function(library, "cuMemFreeHost", DRIVER)?,
                malloc_managed: function(library, "cuMemAllocManaged", DRIVER)?,
                copy: Box::new(move |to, from, bytes, stream| copy(to, from, bytes, stream)),
                fill: function(library, "cuMemsetD32Async", DRIVER)?,
                stream: function(library, "cuStreamCreate", DRIVER)?,
                finish: function(library, "cuStreamSynchronize", DRIVER)?,
                end_stream: function(library, "cuStreamDestroy_v2", DRIVER)?,
                event: function(library, "cuEventCreate", DRIVER)?,
                record: function(library, "cuEventRecord", DRIVER)?,
                query: function(library, "cuEventQuery", DRIVER)?,
                synchronize: function(library, "cuEventSynchronize", DRIVER)?,
                end_event: function(library, "cuEventDestroy_v2", DRIVER)?,
                host: Host {
                    register: function(library, "cuMemHostRegister_v2", DRIVER)?,
                    unregister: function(library, "cuMemHostUnregister", DRIVER)?,
                    address: function(library, "cuMemHostGetDevicePointer_v2", DRIVER)?,
                },
                outside: self.outside(device, dma)?,
                close: Box::new(|| ()),
                _library: Arc::clone(library),
            };
            let mut context = std::ptr::null_mut();
            let code = retain(&mut context, device);
            if code != 0 {
                let (what, code) = ("cuDevicePrimaryCtxRetain", code.to_string());
                return Err(Missing::Failed { library: DRIVER.to_owned(), what, code });
            }
            // A number, so that it goes between threads.
            let context = context.expose_provenance();
            Ok(Functions {
                // Contexts are a stack: what was current comes again when ours is taken off.
                enter: Box::new(move || {
                    match push(std::ptr::with_exposed_provenance_mut(context)) {
                        0 => Ok(0),
                        code => Err(code),
                    }
                }),
                close: Box::new(move || {
                    release(device);
                }),
                outside: Outside { context, ..find.outside },
                ..find
            })
        }
    }

    /// The functions for memory of others; the context is not known yet.
    ///
    /// # Safety
    /// As [`function`]: the library must be the driver.
    unsafe fn outside(&self, device: c_int, dma: bool) -> Result<Outside, Missing> {
        let library = &self.library;
        // SAFETY: functions have the types of CUDA's header.
        unsafe {
            let can: unsafe extern "C" fn(*mut c_int, c_int, c_int) -> Code =
                function(library, "cuDeviceCanAccessPeer", DRIVER)?;
            let enable: unsafe extern "C" fn(Context, c_uint) -> Code =
                function(library, "cuCtxEnablePeerAccess", DRIVER)?;
            let copy: unsafe extern "C" fn(
                usize,
                Context,
                usize,
                Context,
                usize,
                *mut c_void,
            ) -> Code = function(library, "cuMemcpyPeerAsync", DRIVER)?;
            let named = std::ptr::with_exposed_provenance_mut;
            Ok(Outside {
                context: 0,
                can_access: Box::new(move |peer| {
                    let mut answer = 0;
                    can(&mut answer, device, peer) == 0 && answer != 0
                }),
                enable_access: Box::new(move |peer| enable(named(peer), 0)),
                copy_peer: Box::new(move |to, from, bytes, stream| {
                    copy(to.0, named(to.1), from.0, named(from.1), bytes, stream)
                }),
                fds: FdTypes {
                    opaque: OPAQUE_FD,
                    dma: match dma {
                        true => Ok(DMA_BUF_FD),
                        false => Err("import of DMA-BUFs: NVIDIA has it from CUDA 13.0 on, \
                                      on Jetson Thor and later chips with shared memory"),
                    },
                    takes: true,
                },
                import: function(library, "cuImportExternalMemory", DRIVER)?,
                mapped: function(library, "cuExternalMemoryGetMappedBuffer", DRIVER)?,
                destroy: function(library, "cuDestroyExternalMemory", DRIVER)?,
                get_ipc: function(library, "cuIpcGetMemHandle", DRIVER)?,
                open_ipc: function(library, "cuIpcOpenMemHandle_v2", DRIVER)?,
                close_ipc: function(library, "cuIpcCloseMemHandle", DRIVER)?,
                range: function(library, "cuMemGetAddressRange_v2", DRIVER)?,
            })
        }
    }
}

/// What a runtime says where there is no driver: it tells more than a missing file does.
fn asked_elsewhere() -> Option<Missing> {
    let answers = RUNTIMES.iter().map(|runtime| ask_runtime(runtime));
    answers.filter_map(Result::err).find(|why| !matches!(why, Missing::NoLibrary { .. }))
}

fn words(version: c_int) -> String {
    format!("CUDA {}.{}", version / 1000, version % 1000 / 10)
}
