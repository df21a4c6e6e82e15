//! The devices of this machine, and why there are no others.
#![expect(unsafe_code, reason = "C passes pointers")]

use std::ffi::{CString, c_char};
use std::ptr;

use tenure::gpu::{Class, Listed, Region, backends};

use crate::failure::{Failure, Outcome};
use crate::guarded::{guarded, guarded_free};
use crate::handles::Handle;
use crate::pointers::{borrow, give, out, take};
use crate::status::Status;
use crate::tensor::c_text;

/// What a device is made of: one of `TENURE_DEVICE_…`.
pub type DeviceKindCode = i32;

/// Something else, or its driver does not say.
pub const TENURE_DEVICE_OTHER: DeviceKindCode = 0;
/// A card with memory of its own.
pub const TENURE_DEVICE_DISCRETE: DeviceKindCode = 1;
/// Shares the memory of the CPU.
pub const TENURE_DEVICE_INTEGRATED: DeviceKindCode = 2;
/// Part of a virtual machine.
pub const TENURE_DEVICE_VIRTUAL: DeviceKindCode = 3;
/// A program on the CPU.
pub const TENURE_DEVICE_SOFTWARE: DeviceKindCode = 4;

/// A list of devices at one moment, and of reasons.
pub struct DevicesHandle {
    found: Vec<Found>,
    missing: Vec<Missing>,
}

impl Handle for DevicesHandle {}

struct Found {
    word: CString,
    name: CString,
    driver: CString,
    kind: DeviceKindCode,
    heaps: Vec<Region>,
    unusable: Option<CString>,
}

struct Missing {
    backend: CString,
    reason: CString,
}

fn kind(class: Class) -> DeviceKindCode {
    match class {
        Class::Discrete => TENURE_DEVICE_DISCRETE,
        Class::Integrated => TENURE_DEVICE_INTEGRATED,
        Class::Virtual => TENURE_DEVICE_VIRTUAL,
        Class::Software => TENURE_DEVICE_SOFTWARE,
        _ => TENURE_DEVICE_OTHER,
    }
}

fn found(backend: &str, listed: Listed) -> Found {
    Found {
        word: c_text(&format!("{backend}:{}", listed.number)),
        name: c_text(&listed.name),
        driver: c_text(&listed.driver),
        kind: kind(listed.class),
        heaps: listed.heaps,
        unusable: listed.unusable.as_deref().map(c_text),
    }
}

fn entry<'a, T>(list: &'a [T], index: usize, what: &str) -> Outcome<&'a T> {
    list.get(index).ok_or_else(|| {
        let text = format!("there is no {what} {index}: there are {}, counted from 0", list.len());
        Failure::new(Status::NotFound, text)
    })
}

/// Looks for devices of CUDA, HIP, OpenCL and Vulkan, whose libraries are loaded now.
///
/// # Safety
/// `devices` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_devices_list(devices: *mut *mut DevicesHandle) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let devices = unsafe { out(devices, "devices")? };
        let mut all = DevicesHandle { found: vec![], missing: vec![] };
        for backend in backends() {
            match backend.devices() {
                Ok(listed) => {
                    all.found.extend(listed.into_iter().map(|one| found(backend.name, one)));
                }
                Err(why) => all.missing.push(Missing {
                    backend: c_text(backend.name),
                    reason: c_text(&why.to_string()),
                }),
            }
        }
        give(devices, all);
        Ok(())
    })
}

/// How many devices were found, and how many backends have none. Either may be null.
///
/// # Safety
/// `devices` is null or a list; the others are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_devices_count(
    devices: *const DevicesHandle,
    found: *mut usize,
    missing: *mut usize,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let devices = unsafe { borrow(devices, "devices")? };
        if !found.is_null() {
            // SAFETY: by the caller's promise.
            unsafe { out(found, "found")? }.write(devices.found.len());
        }
        if !missing.is_null() {
            // SAFETY: by the caller's promise.
            unsafe { out(missing, "missing")? }.write(devices.missing.len());
        }
        Ok(())
    })
}

/// A device by its place in the list: the word that `tenure_device_open` takes, its name, its driver,
/// what it is made of, and why it cannot be used (null if it can). Texts are valid until the list is
/// freed; all but `word` may be null.
///
/// # Safety
/// `devices` is null or a list; the others are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_devices_entry(
    devices: *const DevicesHandle,
    index: usize,
    word: *mut *const c_char,
    name: *mut *const c_char,
    driver: *mut *const c_char,
    kind: *mut DeviceKindCode,
    unusable: *mut *const c_char,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (devices, word) = unsafe { (borrow(devices, "devices")?, out(word, "word")?) };
        let device = entry(&devices.found, index, "device")?;
        word.write(device.word.as_ptr());
        let reason = device.unusable.as_ref().map_or(ptr::null(), |text| text.as_ptr());
        for (text, room, what) in [
            (device.name.as_ptr(), name, "name"),
            (device.driver.as_ptr(), driver, "driver"),
            (reason, unusable, "unusable"),
        ] {
            if !room.is_null() {
                // SAFETY: by the caller's promise.
                unsafe { out(room, what)? }.write(text);
            }
        }
        if !kind.is_null() {
            // SAFETY: by the caller's promise.
            unsafe { out(kind, "kind")? }.write(device.kind);
        }
        Ok(())
    })
}

/// A heap of a device by their places: its bytes, whether it is the device's own memory, and whether
/// the CPU reaches it. `TENURE_STATUS_NOT_FOUND` after the last. `local` and `mappable` may be null.
///
/// # Safety
/// `devices` is null or a list; the others are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_devices_heap(
    devices: *const DevicesHandle,
    index: usize,
    heap: usize,
    bytes: *mut u64,
    local: *mut bool,
    mappable: *mut bool,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (devices, bytes) = unsafe { (borrow(devices, "devices")?, out(bytes, "bytes")?) };
        let region = entry(&entry(&devices.found, index, "device")?.heaps, heap, "heap")?;
        bytes.write(region.bytes);
        for (is, room, what) in
            [(region.local, local, "local"), (region.mappable, mappable, "mappable")]
        {
            if !room.is_null() {
                // SAFETY: by the caller's promise.
                unsafe { out(room, what)? }.write(is);
            }
        }
        Ok(())
    })
}

/// A backend without devices, and why it has none: no library, driver too old, no device.
/// `TENURE_STATUS_NOT_FOUND` after the last. Texts are valid until the list is freed.
///
/// # Safety
/// `devices` is null or a list; the others are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_devices_missing(
    devices: *const DevicesHandle,
    index: usize,
    backend: *mut *const c_char,
    reason: *mut *const c_char,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (devices, backend, reason) = unsafe {
            (borrow(devices, "devices")?, out(backend, "backend")?, out(reason, "reason")?)
        };
        let missing = entry(&devices.missing, index, "missing backend")?;
        backend.write(missing.backend.as_ptr());
        reason.write(missing.reason.as_ptr());
        Ok(())
    })
}

/// Gives a list back; null is fine.
///
/// # Safety
/// `devices` is null or a list that nobody uses any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_devices_free(devices: *mut DevicesHandle) {
    // SAFETY: by the caller's promise.
    guarded_free(|| unsafe { take(devices, "devices") });
}
