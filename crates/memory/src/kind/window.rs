//! Bytes of another raw buffer: to be read only, or lent until the last handle is gone.
#![expect(unsafe_code, reason = "promises what the buffer below promises")]

use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

#[cfg(linux_like)]
use std::os::fd::BorrowedFd;

use crate::backend::{Carrier, DevicePlace};
use crate::{
    Access, CpuAddress, DeviceVendor, LogicalMemorySpace, RawBuffer, RawKind, RawMemory, Result,
    TensorMemory,
};

/// What a window keeps until it is gone.
pub(crate) type Lease = Box<dyn Send + Sync>;

/// A window over a raw buffer.
pub(crate) struct Window {
    home: Arc<RawBuffer>,
    writable: bool,
    /// Whether the home's descriptor may be had through the window.
    #[cfg_attr(not(linux_like), expect(dead_code, reason = "there are no descriptors"))]
    shareable: bool,
    /// Dropped last, when nobody can reach the bytes through the window any more.
    _lease: Option<Lease>,
}

impl Window {
    /// Over all of `home`, for reading. It has no descriptor: one of the buffer below could be
    /// written by whoever gets it. The raw buffer made of this must have the ledger of `home`.
    pub(crate) fn read_only(home: Arc<RawBuffer>) -> Window {
        Window { home, writable: false, shareable: false, _lease: None }
    }

    /// Over all of `home`, for what `home` allows. The raw buffer made of this must have the
    /// ledger of `home`.
    pub(crate) fn lent(home: Arc<RawBuffer>, lease: Lease) -> Window {
        let writable = home.writable();
        Window { home, writable, shareable: true, _lease: Some(lease) }
    }

    fn memory_below(&self) -> &dyn RawMemory {
        self.home.own_memory()
    }
}

// SAFETY: the answers are those of the memory below, which `self` keeps, and nothing more is
// allowed; uses are entered in the ledger that both share.
unsafe impl RawMemory for Window {
    fn memory(&self) -> TensorMemory {
        self.home.memory()
    }

    fn kind(&self) -> RawKind {
        self.home.kind()
    }

    fn space(&self) -> LogicalMemorySpace {
        self.home.space()
    }

    fn vendor(&self) -> Option<DeviceVendor> {
        self.home.vendor()
    }

    fn device_address(&self) -> Option<NonNull<u8>> {
        self.home.device_address()
    }

    fn device_place(&self) -> Option<DevicePlace> {
        self.home.device_place()
    }

    fn carrier(&self) -> Option<Arc<dyn Carrier>> {
        self.home.carrier()
    }

    fn home(&self) -> Option<&RawBuffer> {
        Some(&self.home)
    }

    fn size(&self) -> usize {
        self.home.size()
    }

    fn address(&self) -> CpuAddress {
        self.memory_below().address()
    }

    fn writable(&self) -> bool {
        self.writable
    }

    fn maintained(&self) -> bool {
        self.memory_below().maintained()
    }

    fn begin(&self, access: Access) -> Result<NonNull<u8>> {
        self.memory_below().begin(access)
    }

    fn end(&self, access: Access) {
        self.memory_below().end(access);
    }

    fn intact(&self) -> Result<()> {
        self.home.intact()
    }

    fn resident(&self, range: Range<usize>) -> Option<usize> {
        self.home.resident(range)
    }

    fn borrowed(&self) -> bool {
        true
    }

    #[cfg(linux_like)]
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        // What was left behind is not what the descriptor stands for.
        let shareable = self.shareable && !self.home.is_left_behind();
        if shareable { self.memory_below().descriptor() } else { None }
    }

    #[cfg(linux_like)]
    fn seal_for_others(&self) -> Result<()> {
        self.memory_below().seal_for_others()
    }
}
