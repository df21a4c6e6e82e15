//! OpenCL's functions, as its header and the header of its extensions have them, and questions to
//! platforms and devices.
#![expect(unsafe_code, reason = "calls OpenCL, which is loaded at run time")]

use std::ffi::{CStr, c_char, c_void};
use std::ptr::{null, null_mut};
use std::sync::Arc;

use super::answer::{Code, DEVICE_NOT_FOUND, NO_PLATFORM, name};
use crate::Missing;
use crate::library::{function, load};

/// A context, queue or event, as drivers name them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(super) struct Handle(pub(super) *mut c_void);
// SAFETY: a name; drivers take it on any thread.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

/// A driver. Made here only: it is there for as long as the process is.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub(super) struct Platform(Handle);

/// A device of a driver. As with [`Platform`].
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub(super) struct DeviceId(Handle);

type GetInfo<T> = unsafe extern "C" fn(T, u32, usize, *mut c_void, *mut usize) -> Code;
type Unary = unsafe extern "C" fn(Handle) -> Code;

/// What every driver has.
pub(super) struct Api {
    platforms: unsafe extern "C" fn(u32, *mut Platform, *mut u32) -> Code,
    platform_info: GetInfo<Platform>,
    devices: unsafe extern "C" fn(Platform, u64, u32, *mut DeviceId, *mut u32) -> Code,
    device_info: GetInfo<DeviceId>,
    extension: unsafe extern "C" fn(Platform, *const c_char) -> *mut c_void,
    /// Properties, devices and how many, no callback and nothing for it.
    pub(super) context: unsafe extern "C" fn(
        *const isize,
        u32,
        *const DeviceId,
        *const c_void,
        *mut c_void,
        *mut Code,
    ) -> Handle,
    pub(super) release_context: Unary,
    pub(super) queue: unsafe extern "C" fn(Handle, DeviceId, u64, *mut Code) -> Handle,
    pub(super) release_queue: Unary,
    pub(super) flush: Unary,
    pub(super) finish: Unary,
    pub(super) wait: unsafe extern "C" fn(u32, *const Handle) -> Code,
    pub(super) event_info: GetInfo<Handle>,
    pub(super) release_event: Unary,
    /// The library, for people.
    pub(super) name: String,
}

/// What drivers with unified shared memory have besides.
#[derive(Clone, Copy)]
pub(super) struct Usm {
    /// Context, properties, bytes, alignment.
    pub(super) host: unsafe extern "C" fn(Handle, *const u64, usize, u32, *mut Code) -> *mut u8,
    /// The same, after the device.
    pub(super) device: DeviceAlloc,
    pub(super) shared: DeviceAlloc,
    pub(super) free: unsafe extern "C" fn(Handle, *mut u8) -> Code,
    pub(super) info:
        unsafe extern "C" fn(Handle, *const u8, u32, usize, *mut c_void, *mut usize) -> Code,
    /// Queue, whether it blocks, to, from, bytes, events to wait for, and the event of it.
    pub(super) copy: unsafe extern "C" fn(
        Handle,
        u32,
        *mut u8,
        *const u8,
        usize,
        u32,
        *const Handle,
        *mut Handle,
    ) -> Code,
    /// Queue, to, pattern and its bytes, bytes in all, events.
    pub(super) fill: unsafe extern "C" fn(
        Handle,
        *mut u8,
        *const u8,
        usize,
        usize,
        u32,
        *const Handle,
        *mut Handle,
    ) -> Code,
}

type DeviceAlloc =
    unsafe extern "C" fn(Handle, DeviceId, *const u64, usize, u32, *mut Code) -> *mut u8;

/// Every kind of device.
const ANY_DEVICE: u64 = 0xFFFF_FFFF;

impl Api {
    /// Loads the first of these libraries that is there.
    pub(super) fn load(names: &[&str]) -> Result<Arc<Api>, Missing> {
        let (library, name) = load(names)?;
        // SAFETY: functions have the types of OpenCL's header.
        unsafe {
            Ok(Arc::new(Api {
                platforms: function(&library, "clGetPlatformIDs", &name)?,
                platform_info: function(&library, "clGetPlatformInfo", &name)?,
                devices: function(&library, "clGetDeviceIDs", &name)?,
                device_info: function(&library, "clGetDeviceInfo", &name)?,
                extension: function(&library, "clGetExtensionFunctionAddressForPlatform", &name)?,
                context: function(&library, "clCreateContext", &name)?,
                release_context: function(&library, "clReleaseContext", &name)?,
                queue: function(&library, "clCreateCommandQueue", &name)?,
                release_queue: function(&library, "clReleaseCommandQueue", &name)?,
                flush: function(&library, "clFlush", &name)?,
                finish: function(&library, "clFinish", &name)?,
                wait: function(&library, "clWaitForEvents", &name)?,
                event_info: function(&library, "clGetEventInfo", &name)?,
                release_event: function(&library, "clReleaseEvent", &name)?,
                name,
            }))
        }
    }

    fn failed(&self, what: &'static str, code: Code) -> Missing {
        let code = format!("{code} ({})", name(code));
        Missing::Failed { library: self.name.clone(), what, code }
    }

    /// The drivers that the loader finds.
    pub(super) fn platforms(&self) -> Result<Vec<Platform>, Missing> {
        let what = "clGetPlatformIDs";
        // SAFETY: places for as many as are said to be there; the loader answers how many there
        // are in all, which may be more by now.
        list(|room, places, count| unsafe { (self.platforms)(room, places, count) }, NO_PLATFORM)
            .map_err(|code| self.failed(what, code))
    }

    /// The devices of a driver.
    pub(super) fn devices(&self, platform: Platform) -> Result<Vec<DeviceId>, Missing> {
        let ask = |room, places, count: *mut u32| {
            // SAFETY: as in `platforms`.
            unsafe { (self.devices)(platform, ANY_DEVICE, room, places, count) }
        };
        list(ask, DEVICE_NOT_FOUND).map_err(|code| self.failed("clGetDeviceIDs", code))
    }

    /// A driver's answer in words.
    pub(super) fn platform_words(&self, platform: Platform, what: u32) -> Option<String> {
        // SAFETY: a driver that is there; see `answered`.
        answered(|bytes, place, size| unsafe {
            (self.platform_info)(platform, what, bytes, place, size)
        })
        .map(words)
    }

    /// A device's answer in words.
    pub(super) fn words(&self, device: DeviceId, what: u32) -> Option<String> {
        self.bytes(device, what).map(words)
    }

    /// A device's answer in a number of any length up to eight bytes.
    pub(super) fn number(&self, device: DeviceId, what: u32) -> Option<u64> {
        let bytes = self.bytes(device, what)?;
        match *bytes.as_slice() {
            [a, b, c, d] => Some(u64::from(u32::from_ne_bytes([a, b, c, d]))),
            _ => bytes.try_into().ok().map(u64::from_ne_bytes),
        }
    }

    /// A device's answer.
    pub(super) fn bytes(&self, device: DeviceId, what: u32) -> Option<Vec<u8>> {
        // SAFETY: a device that is there; see `answered`.
        answered(|bytes, place, size| unsafe {
            (self.device_info)(device, what, bytes, place, size)
        })
    }

    /// The functions for unified shared memory, if a driver has them all.
    pub(super) fn usm(&self, platform: Platform) -> Option<Usm> {
        // SAFETY: functions have the types of the extension's header.
        unsafe {
            Some(Usm {
                host: self.extension(platform, c"clHostMemAllocINTEL")?,
                device: self.extension(platform, c"clDeviceMemAllocINTEL")?,
                shared: self.extension(platform, c"clSharedMemAllocINTEL")?,
                free: self.extension(platform, c"clMemBlockingFreeINTEL")?,
                info: self.extension(platform, c"clGetMemAllocInfoINTEL")?,
                copy: self.extension(platform, c"clEnqueueMemcpyINTEL")?,
                fill: self.extension(platform, c"clEnqueueMemFillINTEL")?,
            })
        }
    }

    /// # Safety
    /// `F` must be a function pointer of the function's type.
    unsafe fn extension<F: Copy>(&self, platform: Platform, name: &CStr) -> Option<F> {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
        // SAFETY: a driver that is there, and a name that ends; what is not null is the function.
        unsafe {
            let found = (self.extension)(platform, name.as_ptr());
            (!found.is_null()).then(|| std::mem::transmute_copy(&found))
        }
    }

    /// A context for one device.
    pub(super) fn new_context(&self, platform: Platform, device: DeviceId) -> Result<Handle, Code> {
        const PLATFORM: isize = 0x1084;
        let properties = [PLATFORM, platform.0.0.expose_provenance().cast_signed(), 0];
        let mut code = 0;
        // SAFETY: a list that ends with zero, one device of the driver, no callback, and a place.
        let context = unsafe {
            (self.context)(properties.as_ptr(), 1, &device, null(), null_mut(), &mut code)
        };
        if code == 0 { Ok(context) } else { Err(code) }
    }
}

/// A list, whose length is asked for first; `none` is the answer that stands for an empty one.
fn list<T: Copy>(ask: impl Fn(u32, *mut T, *mut u32) -> Code, none: Code) -> Result<Vec<T>, Code> {
    let mut count = 0;
    match ask(0, null_mut(), &mut count) {
        code if code == none => return Ok(vec![]),
        0 if count == 0 => return Ok(vec![]),
        0 => {}
        code => return Err(code),
    }
    let mut places = Vec::with_capacity(count as usize);
    let mut there = 0;
    match ask(count, places.as_mut_ptr(), &mut there) {
        0 => {}
        code => return Err(code),
    }
    // SAFETY: so many were written, and never more than there was room for.
    unsafe { places.set_len(there.min(count) as usize) };
    Ok(places)
}

/// An answer, whose length is asked for first; `None` if the question is not known.
fn answered(ask: impl Fn(usize, *mut c_void, *mut usize) -> Code) -> Option<Vec<u8>> {
    let mut bytes = 0;
    if ask(0, null_mut(), &mut bytes) != 0 {
        return None;
    }
    let mut place = vec![0; bytes];
    (ask(bytes, place.as_mut_ptr().cast(), null_mut()) == 0).then_some(place)
}

fn words(mut bytes: Vec<u8>) -> String {
    bytes.truncate(bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len()));
    String::from_utf8_lossy(&bytes).trim().to_owned()
}
