//! The memory of one plane of a slot: mapped for as long as the session, lent frame by frame.
//!
//! A plane has a home, the raw buffer that owns the mapping. Each frame sees it through a
//! [`Window`], a raw buffer of its own with the home's ledger and identity, and the driver without
//! an address, as [`ByDriver`]. The window holds a lease; every handle, view and guard holds the
//! window; so the lease ends, and the slot goes back to the driver, when the last of them is gone.
#![expect(unsafe_code, reason = "promises that the home's mapping is valid")]

use std::os::fd::{AsFd, BorrowedFd};
use std::ptr::{self, NonNull};
use std::sync::Arc;

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use tenure_memory::backend::{DeviceHold, ObjectKey};
use tenure_memory::{
    Access, Buffer, CpuAddress, Error, RawBuffer, RawMemory, Result, TensorMemory,
};

use crate::kernel;
use crate::session::Lease;

/// One plane of a slot.
pub(crate) struct Plane {
    home: Buffer,
    address: NonNull<u8>,
    key: ObjectKey,
    /// The home as the driver sees it.
    driver: Arc<RawBuffer>,
}

// SAFETY: the address is the home's, whose bytes are reached through the ledger only.
unsafe impl Send for Plane {}
// SAFETY: as above.
unsafe impl Sync for Plane {}

impl Plane {
    /// A DMA-BUF, from its first byte.
    pub(crate) fn dma(home: Buffer) -> Result<Plane> {
        let raw = home.raw()?;
        let failed = |errno: rustix::io::Errno| {
            Error::from(tenure_memory::detail::System {
                what: "looking at the descriptor",
                cause: errno.into(),
            })
        };
        let stat = rustix::fs::fstat(raw.descriptor()?).map_err(failed)?;
        let key = key_of(&stat);
        Plane::over(home, key)
    }

    /// A buffer of the driver, mapped into this process only.
    pub(crate) fn mapped(
        device: BorrowedFd<'_>,
        len: usize,
        offset: u64,
    ) -> Result<Plane, rustix::io::Errno> {
        let pages = Pages::new(device, len, offset)?;
        let key = pages.key();
        let home = Buffer::from_raw(RawBuffer::new(pages, Some("camera")));
        Plane::over(home, key).map_err(|_| rustix::io::Errno::NOMEM)
    }

    fn over(home: Buffer, key: ObjectKey) -> Result<Plane> {
        // SAFETY: used through windows only, which keep a clone of `home`, enter every use in the
        // ledger that they share with it by their key, and do the maintenance themselves.
        let address = unsafe { home.as_ptr()? };
        let driver = ByDriver { home: home.clone(), key };
        let driver = Arc::new(RawBuffer::new(driver, Some("camera")));
        // Memory that does not name its kernel object has a ledger of its own, which windows
        // would not see.
        if driver.identity() != home.raw()?.identity() {
            return Err(Error::NotMemory { found: "of memory that does not say which it is" });
        }
        Ok(Plane { home, address, key, driver })
    }

    /// Number of bytes.
    pub(crate) fn len(&self) -> usize {
        self.home.len()
    }

    /// The DMA-BUF.
    pub(crate) fn descriptor(&self) -> Result<BorrowedFd<'_>> {
        self.home.raw()?.descriptor()
    }

    /// Enters the driver in the ledger: it writes until the hold is dropped.
    pub(crate) fn hold_for_driver(&self) -> Result<DeviceHold> {
        DeviceHold::over(Arc::clone(&self.driver), Access::KernelWrite, 0..self.len())
    }

    /// The plane for one frame.
    pub(crate) fn lend(&self, lease: &Arc<Lease>, name: &str) -> Buffer {
        let (lease, home) = (Arc::clone(lease), self.home.clone());
        let window = Window { _lease: lease, home, address: self.address, key: self.key };
        Buffer::from_raw(RawBuffer::new(window, Some(name)))
    }
}

#[expect(clippy::unnecessary_cast, reason = "the widths differ between platforms")]
fn key_of(stat: &rustix::fs::Stat) -> ObjectKey {
    ObjectKey { device: stat.st_dev as u64, inode: stat.st_ino as u64 }
}

/// A plane as the driver has it: written whatever this process may do with it, and by nobody here.
struct ByDriver {
    home: Buffer,
    key: ObjectKey,
}

// SAFETY: there is no address. Whoever else uses the bytes does so by the same ledger.
unsafe impl RawMemory for ByDriver {
    fn memory(&self) -> TensorMemory {
        self.home.memory()
    }

    fn size(&self) -> usize {
        self.home.len()
    }

    fn address(&self) -> CpuAddress {
        CpuAddress::None
    }

    fn object(&self) -> Option<ObjectKey> {
        Some(self.key)
    }

    fn borrowed(&self) -> bool {
        true
    }
}

/// A plane as a frame has it.
struct Window {
    _lease: Arc<Lease>,
    home: Buffer,
    address: NonNull<u8>,
    key: ObjectKey,
}

// SAFETY: as `Plane`.
unsafe impl Send for Window {}
// SAFETY: as `Plane`.
unsafe impl Sync for Window {}

impl Window {
    fn dma(&self) -> Option<BorrowedFd<'_>> {
        match self.home.memory() {
            TensorMemory::Dma => self.descriptor(),
            _ => None,
        }
    }
}

// SAFETY: the address is the home's, which `self` keeps, and is valid for its length. Whoever
// else uses the bytes does so by the same ledger: homes have the key that windows join it with.
unsafe impl RawMemory for Window {
    fn memory(&self) -> TensorMemory {
        self.home.memory()
    }

    fn home(&self) -> Option<&RawBuffer> {
        self.home.raw_if_placed().map(|raw| &**raw)
    }

    fn size(&self) -> usize {
        self.home.len()
    }

    fn address(&self) -> CpuAddress {
        CpuAddress::Fixed(self.address)
    }

    fn writable(&self) -> bool {
        self.home.raw_if_placed().is_some_and(|raw| raw.writable())
    }

    fn maintained(&self) -> bool {
        self.dma().is_some()
    }

    fn begin(&self, access: Access) -> Result<NonNull<u8>> {
        if let Some(fd) = self.dma() {
            kernel::synchronise(fd, access.writes(), false).map_err(|errno| {
                Error::from(tenure_memory::detail::System {
                    what: "beginning CPU access to the frame",
                    cause: errno.into(),
                })
            })?;
        }
        Ok(self.address)
    }

    fn end(&self, access: Access) {
        if let Some(fd) = self.dma() {
            // Nobody is left to tell; the kernel has given up on the device then.
            let _ = kernel::synchronise(fd, access.writes(), true);
        }
    }

    fn object(&self) -> Option<ObjectKey> {
        Some(self.key)
    }

    fn borrowed(&self) -> bool {
        true
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.home.raw_if_placed()?.descriptor().ok()
    }
}

/// Pages of a device, unmapped when dropped.
struct Pages {
    address: NonNull<u8>,
    len: usize,
}

// SAFETY: pages have no thread affinity; access to the bytes is ordered by the ledger.
unsafe impl Send for Pages {}
// SAFETY: as above.
unsafe impl Sync for Pages {}

impl Pages {
    fn new(device: BorrowedFd<'_>, len: usize, offset: u64) -> Result<Pages, rustix::io::Errno> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the kernel chooses the address, so nothing that exists is replaced.
        let start = unsafe {
            mmap(ptr::null_mut(), len, protection, MapFlags::SHARED, device.as_fd(), offset)?
        };
        let address = NonNull::new(start.cast()).ok_or(rustix::io::Errno::NOMEM)?;
        Ok(Pages { address, len })
    }

    /// No device has this number, and no other pages of this process this address.
    fn key(&self) -> ObjectKey {
        ObjectKey { device: u64::MAX, inode: self.address.addr().get() as u64 }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: mapped by `new` and used by nobody any more.
        let _ = unsafe { munmap(self.address.as_ptr().cast(), self.len) };
    }
}

// SAFETY: the driver keeps mapped buffers for as long as they are mapped, also when the device is
// closed or unplugged; their size does not change.
unsafe impl RawMemory for Pages {
    fn memory(&self) -> TensorMemory {
        TensorMemory::Mem
    }

    fn size(&self) -> usize {
        self.len
    }

    fn address(&self) -> CpuAddress {
        CpuAddress::Fixed(self.address)
    }

    fn object(&self) -> Option<ObjectKey> {
        Some(self.key())
    }
}
