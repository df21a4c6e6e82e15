//! Devices of AMD, by the HIP runtime, `libamdhip64`.
//!
//! Not run on real hardware by this project; see the table of platforms.
#![expect(unsafe_code, reason = "calls the runtime, which is loaded at run time")]

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::Arc;

use libloading::Library;
use tenure_memory::{DeviceFault, DeviceVendor, Error, Result};

use crate::streamed::{
    Code, FdTypes, Functions, Host, Outside, Seen, Streamed, count, function, load, text,
};
use crate::{Gpu, Listed, Missing};

const LIBRARIES: [&str; 4] =
    ["libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"];
const NEEDS: &str = "an AMD driver as new as itself";

/// `hipExternalMemoryHandleTypeOpaqueFd`: DMA-BUFs too, which is what drivers of AMD export.
const OPAQUE_FD: c_int = 1;

/// The numbers of attributes since 5.0: `hipDeviceAttributeConcurrentManagedAccess` (whether the CPU may
/// use managed memory while the device works), `hipDeviceAttributeIntegrated` and
/// `hipDeviceAttributeManagedMemory`.
const CONCURRENT_MANAGED: c_int = 9;
const INTEGRATED: c_int = 16;
const MANAGED: c_int = 24;
/// 5.0, as runtimes say it.
const OLDEST_ATTRIBUTES: c_int = 50_000_000;

/// `hipMemcpyDefault`: the runtime knows whose address it is.
const ANYWHERE: c_int = 4;

type Ask = unsafe extern "C" fn(*mut c_int) -> Code;

/// Every HIP device of this machine.
///
/// # Errors
/// Why there is none: no library, driver too old, no device.
pub fn survey() -> Result<Vec<Listed>, Missing> {
    let runtime = Runtime::new(&LIBRARIES)?;
    let words = runtime.words();
    runtime.all()?.into_iter().map(|seen| Ok(seen.listed(&words))).collect()
}

/// Opens the device with this number, as the runtime counts.
///
/// # Errors
/// If it is not there, or the driver fails.
pub fn open(number: u32) -> Result<Gpu> {
    let fault = |fault| {
        Error::from(tenure_memory::detail::Device {
            device: "HIP".into(),
            what: "opening a device",
            fault,
        })
    };
    let refused = |why: Missing| fault(DeviceFault::Unusable(why.to_string()));
    let runtime = Runtime::new(&LIBRARIES).map_err(refused)?;
    let all = runtime.all().map_err(refused)?;
    let count = all.len();
    let seen = all.into_iter().find(|seen| seen.number == number);
    let seen = seen.ok_or_else(|| fault(DeviceFault::NoDevice { number, devices: count }))?;
    let properties = seen.properties(&runtime.words(), DeviceVendor::Rocm);
    let functions = runtime.functions(number).map_err(refused)?;
    Gpu::over(Streamed::new(properties, functions)?)
}

/// How many devices a HIP runtime finds.
///
/// # Errors
/// Why there is none: no library, driver too old, no device.
pub fn ask_runtime(library: &str) -> Result<u32, Missing> {
    let runtime = Runtime::new(&[library])?;
    // One without all functions that are used here is of no use.
    runtime.functions(0)?;
    runtime.count()
}

struct Runtime {
    library: Arc<Library>,
    name: String,
}

impl Runtime {
    fn new(names: &[&str]) -> Result<Runtime, Missing> {
        let (library, name) = load(names)?;
        Ok(Runtime { library, name })
    }

    /// # Safety
    /// As [`function`].
    unsafe fn function<F: Copy>(&self, name: &'static str) -> Result<F, Missing> {
        // SAFETY: by the caller's promise.
        unsafe { function(&self.library, name, &self.name) }
    }

    fn version(&self) -> Option<c_int> {
        let mut version = 0;
        // SAFETY: functions have the types of HIP's header, here and below; places are ours.
        let code = unsafe { self.function::<Ask>("hipRuntimeGetVersion").ok()?(&mut version) };
        (code == 0).then_some(version)
    }

    fn words(&self) -> String {
        match self.version() {
            Some(version) => format!("{}, version {version}", self.name),
            None => self.name.clone(),
        }
    }

    fn count(&self) -> Result<u32, Missing> {
        let mut found = 0;
        // SAFETY: as in `version`.
        let code = unsafe { self.function::<Ask>("hipGetDeviceCount")?(&mut found) };
        count(&self.name, NEEDS, code, found)
    }

    fn all(&self) -> Result<Vec<Seen>, Missing> {
        (0..self.count()?).map(|number| self.see(number)).collect()
    }

    fn see(&self, number: u32) -> Result<Seen, Missing> {
        let failed = |what, code: Code| match code {
            0 => Ok(()),
            code => {
                Err(Missing::Failed { library: self.name.clone(), what, code: code.to_string() })
            }
        };
        let (mut device, mut bytes) = (0, 0usize);
        let mut name = [0 as c_char; 256];
        let mut uuid = [0u8; 16];
        // SAFETY: as in `version`.
        unsafe {
            let get: unsafe extern "C" fn(*mut c_int, c_int) -> Code =
                self.function("hipDeviceGet")?;
            failed("hipDeviceGet", get(&mut device, number.cast_signed()))?;
            let ask: unsafe extern "C" fn(*mut c_char, c_int, c_int) -> Code =
                self.function("hipDeviceGetName")?;
            failed("hipDeviceGetName", ask(name.as_mut_ptr(), name.len() as c_int - 1, device))?;
            let ask: unsafe extern "C" fn(*mut usize, c_int) -> Code =
                self.function("hipDeviceTotalMem")?;
            failed("hipDeviceTotalMem", ask(&mut bytes, device))?;
            // Runtimes before 5.2 have none; then it is told apart by its number.
            match self
                .function::<unsafe extern "C" fn(*mut [u8; 16], c_int) -> Code>("hipDeviceGetUuid")
            {
                Ok(ask) => failed("hipDeviceGetUuid", ask(&mut uuid, device))?,
                Err(_) => uuid[..4].copy_from_slice(&number.to_ne_bytes()),
            }
        }
        let (name, bytes) = (text(&name), bytes as u64);
        let managed = self.has(device, MANAGED)? && self.has(device, CONCURRENT_MANAGED)?;
        let integrated = self.has(device, INTEGRATED)?;
        Ok(Seen { number, name, bytes, integrated, managed, uuid, host: true, dma: true })
    }

    /// Whether a device has something, by the number of an attribute. Runtimes before 5.0 have other
    /// numbers: of them nothing is believed.
    fn has(&self, device: c_int, attribute: c_int) -> Result<bool, Missing> {
        let mut answer = 0;
        // SAFETY: as in `version`.
        let code = unsafe {
            let ask: unsafe extern "C" fn(*mut c_int, c_int, c_int) -> Code =
                self.function("hipDeviceGetAttribute")?;
            ask(&mut answer, attribute, device)
        };
        Ok(self.version().is_some_and(|version| version >= OLDEST_ATTRIBUTES)
            && code == 0
            && answer != 0)
    }

    fn functions(&self, number: u32) -> Result<Functions, Missing> {
        let device = number.cast_signed();
        // SAFETY: functions have the types of HIP's header, whose pointers are passed as the
        // numbers that `Functions` has.
        unsafe {
            let choose: unsafe extern "C" fn(c_int) -> Code = self.function("hipSetDevice")?;
            let chosen: Ask = self.function("hipGetDevice")?;
            let copy: unsafe extern "C" fn(usize, usize, usize, c_int, *mut c_void) -> Code =
                self.function("hipMemcpyAsync")?;
            let stream: unsafe extern "C" fn(*mut *mut c_void, c_uint) -> Code =
                self.function("hipStreamCreateWithFlags")?;
            Ok(Functions {
                enter: Box::new(move || {
                    let mut before = 0;
                    match (chosen(&mut before), before == device) {
                        (0, true) => Ok(before as usize),
                        (0, false) => match choose(device) {
                            0 => Ok(before as usize),
                            code => Err(code),
                        },
                        (code, _) => Err(code),
                    }
                }),
                leave: Box::new(move |before| {
                    if before as c_int != device {
                        choose(before as c_int);
                    }
                }),
                room: self.function("hipMemGetInfo")?,
                malloc: self.function("hipMalloc")?,
                free: self.function("hipFree")?,
                malloc_host: self.function("hipHostMalloc")?,
                free_host: self.function("hipHostFree")?,
                malloc_managed: self.function("hipMallocManaged")?,
                copy: Box::new(move |to, from, bytes, stream| {
                    copy(to, from, bytes, ANYWHERE, stream)
                }),
                fill: self.function("hipMemsetD32Async")?,
                stream,
                finish: self.function("hipStreamSynchronize")?,
                end_stream: self.function("hipStreamDestroy")?,
                event: self.function("hipEventCreateWithFlags")?,
                record: self.function("hipEventRecord")?,
                query: self.function("hipEventQuery")?,
                synchronize: self.function("hipEventSynchronize")?,
                end_event: self.function("hipEventDestroy")?,
                host: Host {
                    register: self.function("hipHostRegister")?,
                    unregister: self.function("hipHostUnregister")?,
                    address: self.function("hipHostGetDevicePointer")?,
                },
                outside: self.outside(device)?,
                close: Box::new(|| ()),
                _library: Arc::clone(&self.library),
            })
        }
    }

    /// The functions for memory of others.
    ///
    /// # Safety
    /// As [`function`]: the library must be the runtime.
    unsafe fn outside(&self, device: c_int) -> Result<Outside, Missing> {
        // SAFETY: functions have the types of HIP's header, whose pointers are passed as numbers.
        unsafe {
            let can: unsafe extern "C" fn(*mut c_int, c_int, c_int) -> Code =
                self.function("hipDeviceCanAccessPeer")?;
            let enable: unsafe extern "C" fn(c_int, c_uint) -> Code =
                self.function("hipDeviceEnablePeerAccess")?;
            let copy: unsafe extern "C" fn(usize, c_int, usize, c_int, usize, *mut c_void) -> Code =
                self.function("hipMemcpyPeerAsync")?;
            Ok(Outside {
                context: device.cast_unsigned() as usize,
                can_access: Box::new(move |peer| {
                    let mut answer = 0;
                    can(&mut answer, device, peer) == 0 && answer != 0
                }),
                enable_access: Box::new(move |peer| enable(peer as c_int, 0)),
                copy_peer: Box::new(move |to, from, bytes, stream| {
                    copy(to.0, to.1 as c_int, from.0, from.1 as c_int, bytes, stream)
                }),
                fds: FdTypes { opaque: OPAQUE_FD, dma: Ok(OPAQUE_FD), takes: false },
                import: self.function("hipImportExternalMemory")?,
                mapped: self.function("hipExternalMemoryGetMappedBuffer")?,
                destroy: self.function("hipDestroyExternalMemory")?,
                get_ipc: self.function("hipIpcGetMemHandle")?,
                open_ipc: self.function("hipIpcOpenMemHandle")?,
                close_ipc: self.function("hipIpcCloseMemHandle")?,
                range: self.function("hipMemGetAddressRange")?,
            })
        }
    }
}
