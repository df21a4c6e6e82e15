//! What apps on Android have in place of DMA heaps: `AHardwareBuffer`, memory that the GPU, cameras
//! and other processes share.
//!
//! Type-checked, not run by this project; see the table of platforms.
#![expect(unsafe_code, reason = "calls the Android NDK")]

use std::ffi::{c_int, c_void};
use std::ptr::{self, NonNull};
use std::sync::Arc;

use crate::sync::{Mutex, lock};
use crate::{
    Access, Allocator, CpuAddress, Error, RawBuffer, RawMemory, Request, Result, TensorMemory, Why,
};

/// `AHARDWAREBUFFER_FORMAT_BLOB`: bytes, as many as it is wide.
const BLOB: u32 = 0x21;
const CPU_READ_OFTEN: u64 = 3;
const CPU_WRITE_OFTEN: u64 = 3 << 4;
/// `AHARDWAREBUFFER_USAGE_GPU_DATA_BUFFER`.
const GPU_DATA: u64 = 1 << 24;
/// What blobs start at.
const PAGE: usize = 4096;

/// `AHardwareBuffer_Desc`.
#[repr(C)]
#[derive(Default)]
struct Description {
    width: u32,
    height: u32,
    layers: u32,
    format: u32,
    usage: u64,
    stride: u32,
    reserved: [u32; 3],
}

#[link(name = "nativewindow")]
unsafe extern "C" {
    fn AHardwareBuffer_allocate(wanted: *const Description, made: *mut *mut c_void) -> c_int;
    fn AHardwareBuffer_release(buffer: *mut c_void);
    fn AHardwareBuffer_lock(
        buffer: *mut c_void,
        usage: u64,
        fence: c_int,
        part: *const c_void,
        address: *mut *mut c_void,
    ) -> c_int;
    fn AHardwareBuffer_unlock(buffer: *mut c_void, fence: *mut c_int) -> c_int;
}

/// Allocates hardware buffers of bytes, for Android 8 and later.
#[derive(Debug, Clone, Copy, Default)]
pub struct HardwareBuffers;

impl Allocator for HardwareBuffers {
    fn memory(&self) -> TensorMemory {
        TensorMemory::Dma
    }

    fn allocate(&self, request: &Request<'_>) -> Result<RawBuffer> {
        let (bytes, align) = (request.bytes(), request.align());
        if align > PAGE {
            return Err(Error::BadRequest { bytes, align });
        }
        let buffer = HardwareBuffer::new(bytes).ok_or(Error::from(crate::detail::OutOfMemory {
            memory: TensorMemory::Dma,
            bytes,
            available: Some(u64::from(u32::MAX)),
            source: None,
        }))?;
        // The system says nothing about what is in new memory.
        let address = buffer.begin(Access::Write)?;
        // SAFETY: locked for writing, `bytes` long, and nobody else knows it.
        unsafe { address.write_bytes(0, bytes) };
        buffer.end(Access::Write);
        Ok(RawBuffer::new(buffer, request.name()))
    }

    fn keep(&self) -> Option<Arc<dyn Allocator>> {
        Some(Arc::new(*self))
    }
}

/// One hardware buffer.
struct HardwareBuffer {
    buffer: NonNull<c_void>,
    size: usize,
    /// Who uses it now. The system lets nobody lock what is locked for writing, and here several write
    /// different bytes: it is locked once, for all of them.
    locked: Mutex<Locked>,
}

/// How many use a buffer, and where it is while they do.
#[derive(Default)]
struct Locked {
    users: usize,
    address: Option<NonNull<u8>>,
}

// SAFETY: hardware buffers may be used on any thread; access is ordered by the ledger.
unsafe impl Send for HardwareBuffer {}
// SAFETY: as above.
unsafe impl Sync for HardwareBuffer {}

impl HardwareBuffer {
    fn new(size: usize) -> Option<HardwareBuffer> {
        let wanted = Description {
            width: u32::try_from(size.max(1)).ok()?,
            height: 1,
            layers: 1,
            format: BLOB,
            usage: CPU_READ_OFTEN | CPU_WRITE_OFTEN | GPU_DATA,
            ..Description::default()
        };
        let mut made = ptr::null_mut();
        // SAFETY: a description and a place for the buffer.
        let code = unsafe { AHardwareBuffer_allocate(&raw const wanted, &raw mut made) };
        let buffer = NonNull::new(made).filter(|_| code == 0)?;
        Some(HardwareBuffer { buffer, size, locked: Mutex::default() })
    }
}

impl Drop for HardwareBuffer {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` and released once.
        unsafe { AHardwareBuffer_release(self.buffer.as_ptr()) }
    }
}

// SAFETY: a locked buffer has its bytes, initialised when made, at a page; between `begin` and
// the last `end` it is locked, once.
unsafe impl RawMemory for HardwareBuffer {
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

    fn begin(&self, _: Access) -> Result<NonNull<u8>> {
        let mut locked = lock(&self.locked);
        if let Some(address) = locked.address {
            locked.users += 1;
            return Ok(address);
        }
        // For writing too: who comes next may want to, and cannot lock it again.
        let usage = CPU_READ_OFTEN | CPU_WRITE_OFTEN;
        let (buffer, mut address) = (self.buffer.as_ptr(), ptr::null_mut());
        // SAFETY: the buffer exists; no fence is waited for but those it has itself.
        let code =
            unsafe { AHardwareBuffer_lock(buffer, usage, -1, ptr::null(), &raw mut address) };
        let address =
            NonNull::new(address.cast::<u8>()).filter(|_| code == 0).ok_or_else(|| {
                let reason = format!("it answers {code}");
                let why = Why::Refused { what: "AHardwareBuffer_lock", reason };
                Error::from(crate::detail::Unavailable { memory: TensorMemory::Dma, why })
            })?;
        *locked = Locked { users: 1, address: Some(address) };
        Ok(address)
    }

    fn end(&self, _: Access) {
        let mut locked = lock(&self.locked);
        locked.users = locked.users.saturating_sub(1);
        if locked.users == 0 && locked.address.take().is_some() {
            // SAFETY: the buffer exists, was locked, and is used by nobody any more.
            unsafe { AHardwareBuffer_unlock(self.buffer.as_ptr(), ptr::null_mut()) };
        }
    }
}
