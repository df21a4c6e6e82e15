//! What DMA-BUF is on macOS: `IOSurface`, memory that the GPU, cameras and other processes share.
//!
//! Type-checked, not run by this project; see the table of platforms.
#![expect(unsafe_code, reason = "calls IOSurface and Core Foundation")]

use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use crate::{
    Access, Allocator, CpuAddress, Error, RawBuffer, RawMemory, Request, Result, TensorMemory, Why,
};

type Object = *const c_void;

/// `kCFNumberSInt64Type`.
const SIGNED_64: isize = 4;
/// `kIOSurfaceLockReadOnly`.
const READ_ONLY: u32 = 1;
/// What surfaces start at: a page of Apple's processors.
const PAGE: usize = 16 << 10;

#[link(name = "CoreFoundation", kind = "framework")]
unsafe extern "C" {
    static kCFTypeDictionaryKeyCallBacks: c_void;
    static kCFTypeDictionaryValueCallBacks: c_void;
    fn CFNumberCreate(allocator: Object, kind: isize, value: *const c_void) -> Object;
    fn CFDictionaryCreate(
        allocator: Object,
        keys: *const Object,
        values: *const Object,
        count: isize,
        key_callbacks: *const c_void,
        value_callbacks: *const c_void,
    ) -> Object;
    fn CFRelease(object: Object);
}

#[link(name = "IOSurface", kind = "framework")]
unsafe extern "C" {
    static kIOSurfaceAllocSize: Object;
    fn IOSurfaceCreate(properties: Object) -> *mut c_void;
    fn IOSurfaceLock(surface: *mut c_void, options: u32, seed: *mut u32) -> i32;
    fn IOSurfaceUnlock(surface: *mut c_void, options: u32, seed: *mut u32) -> i32;
    fn IOSurfaceGetBaseAddress(surface: *mut c_void) -> *mut c_void;
    fn IOSurfaceGetAllocSize(surface: *mut c_void) -> usize;
}

/// Allocates surfaces of bytes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Surfaces;

pub(super) fn probe() -> Result<&'static dyn Allocator, Why> {
    Ok(&Surfaces)
}

impl Allocator for Surfaces {
    fn memory(&self) -> TensorMemory {
        TensorMemory::Dma
    }

    fn allocate(&self, request: &Request<'_>) -> Result<RawBuffer> {
        let (bytes, align) = (request.bytes(), request.align());
        if align > PAGE {
            return Err(Error::BadRequest { bytes, align });
        }
        let surface = Surface::new(bytes).ok_or(Error::from(crate::detail::OutOfMemory {
            memory: TensorMemory::Dma,
            bytes,
            available: None,
            source: None,
        }))?;
        Ok(RawBuffer::new(surface, request.name()))
    }

    fn keep(&self) -> Option<Arc<dyn Allocator>> {
        Some(Arc::new(*self))
    }
}

/// One surface.
struct Surface {
    surface: NonNull<c_void>,
    size: usize,
}

// SAFETY: surfaces may be used on any thread; access is ordered by the ledger.
unsafe impl Send for Surface {}
// SAFETY: as above.
unsafe impl Sync for Surface {}

impl Surface {
    fn new(size: usize) -> Option<Surface> {
        // There is no surface without bytes.
        let bytes = i64::try_from(size.max(1)).ok()?;
        // SAFETY: what is created here is released here, but for the surface; the lists have one
        // entry each and live until the call returns.
        unsafe {
            let number = CFNumberCreate(ptr::null(), SIGNED_64, (&raw const bytes).cast());
            if number.is_null() {
                return None;
            }
            let (keys, values) = ([kIOSurfaceAllocSize], [number]);
            let properties = CFDictionaryCreate(
                ptr::null(),
                keys.as_ptr(),
                values.as_ptr(),
                1,
                &raw const kCFTypeDictionaryKeyCallBacks,
                &raw const kCFTypeDictionaryValueCallBacks,
            );
            CFRelease(number);
            if properties.is_null() {
                return None;
            }
            let surface = NonNull::new(IOSurfaceCreate(properties));
            CFRelease(properties);
            let surface = Surface { surface: surface?, size };
            // The system is measured, not believed.
            (IOSurfaceGetAllocSize(surface.surface.as_ptr()) >= size).then_some(surface)
        }
    }

    fn options(access: Access) -> u32 {
        if access.writes() { 0 } else { READ_ONLY }
    }
}

impl Drop for Surface {
    fn drop(&mut self) {
        // SAFETY: created in `new` and released once.
        unsafe { CFRelease(self.surface.as_ptr()) }
    }
}

// SAFETY: a locked surface has its bytes, zeroed when made, at one address that is a multiple of a
// page; between `begin` and `end` it is locked.
unsafe impl RawMemory for Surface {
    fn memory(&self) -> TensorMemory {
        TensorMemory::Dma
    }

    fn size(&self) -> usize {
        self.size
    }

    fn address(&self) -> CpuAddress {
        CpuAddress::WhileMapped
    }

    fn maintained(&self) -> bool {
        true
    }

    fn begin(&self, access: Access) -> Result<NonNull<u8>> {
        let surface = self.surface.as_ptr();
        let refused = |reason: &str| {
            let why = Why::Refused { what: "IOSurfaceLock", reason: reason.to_owned() };
            Error::from(crate::detail::Unavailable { memory: TensorMemory::Dma, why })
        };
        // SAFETY: the surface exists.
        let (code, base) = unsafe {
            let code = IOSurfaceLock(surface, Surface::options(access), ptr::null_mut());
            (code, IOSurfaceGetBaseAddress(surface))
        };
        if code != 0 {
            return Err(refused(&format!("it answers {code:#x}")));
        }
        NonNull::new(base.cast::<u8>()).ok_or_else(|| {
            self.end(access);
            refused("the surface has no address")
        })
    }

    fn end(&self, access: Access) {
        // SAFETY: the surface exists and was locked with these options.
        unsafe {
            IOSurfaceUnlock(self.surface.as_ptr(), Surface::options(access), ptr::null_mut());
        }
    }
}
