//! Bytes of another raw buffer, to be read only.
#![expect(unsafe_code, reason = "promises what the buffer below promises")]

use std::ptr::NonNull;
use std::sync::Arc;

use crate::{
    Access, Carrier, CpuAddress, DevicePlace, DeviceVendor, LogicalMemorySpace, RawBuffer,
    RawMemory, Result, TensorMemory,
};

/// A window over a raw buffer that nobody writes through. It has no descriptor: one of the
/// buffer below could be written by whoever gets it.
pub(crate) struct ReadOnly {
    home: Arc<RawBuffer>,
}

impl ReadOnly {
    /// Over all of `home`. The raw buffer made of this must have the ledger of `home`.
    pub(crate) fn over(home: Arc<RawBuffer>) -> ReadOnly {
        ReadOnly { home }
    }

    fn memory_below(&self) -> &dyn RawMemory {
        self.home.own_memory()
    }
}

// SAFETY: the answers are those of the memory below, which `self` keeps, and fewer things are
// allowed; uses are entered in the ledger that both share.
unsafe impl RawMemory for ReadOnly {
    fn memory(&self) -> TensorMemory {
        self.home.memory()
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

    fn size(&self) -> usize {
        self.home.size()
    }

    fn address(&self) -> CpuAddress {
        self.memory_below().address()
    }

    fn writable(&self) -> bool {
        false
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

    fn borrowed(&self) -> bool {
        true
    }
}
