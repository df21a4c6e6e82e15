//! Bytes held for a device that reaches them by itself.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use crate::ledger::Loan;
use crate::{Access, RawBuffer, Result};

/// Bytes held for a device: entered in the ledger like a [`crate::Hold`], but neither mapped nor
/// prepared for the CPU, and without an address.
#[must_use = "the bytes are held only while the guard lives"]
pub struct DeviceHold {
    raw: Arc<RawBuffer>,
    range: Range<usize>,
    loan: Loan,
}

impl DeviceHold {
    /// Holds bytes `range` of an allocation.
    ///
    /// # Errors
    /// [`crate::Error::Busy`] if somebody holds bytes of it in a way that excludes the access,
    /// and [`crate::Error::OutOfBounds`].
    pub fn over(raw: Arc<RawBuffer>, access: Access, range: Range<usize>) -> Result<DeviceHold> {
        let loan = raw.enter_ledger(access, range.clone())?;
        Ok(DeviceHold { raw, range, loan })
    }

    /// As [`DeviceHold::over`], and waits as [`crate::Hold::over_wait`] does.
    ///
    /// # Errors
    /// As [`DeviceHold::over`]; [`crate::Error::Busy`] only after that time.
    pub fn over_wait(
        raw: Arc<RawBuffer>,
        access: Access,
        range: Range<usize>,
        timeout: Option<Duration>,
    ) -> Result<DeviceHold> {
        let loan = raw.enter_ledger_wait(access, range.clone(), timeout)?;
        Ok(DeviceHold { raw, range, loan })
    }

    /// The allocation that the bytes belong to.
    pub fn raw(&self) -> &Arc<RawBuffer> {
        &self.raw
    }

    /// Which bytes of the allocation are held.
    pub fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// Number of bytes.
    pub fn len(&self) -> usize {
        self.range.len()
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.range.is_empty()
    }

    /// What the bytes are held for.
    pub fn access(&self) -> Access {
        self.loan.access()
    }
}

impl Drop for DeviceHold {
    fn drop(&mut self) {
        let loan = self.loan.take();
        self.raw.leave_ledger(loan);
    }
}

impl fmt::Debug for DeviceHold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceHold")
            .field("raw", &self.raw)
            .field("access", &self.access())
            .field("range", &self.range)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Buffer, Request, TensorMemory, allocate};

    #[test]
    fn a_device_excludes_guards_and_lets_go() {
        let request = Request::new(64).unwrap();
        let buffer = Buffer::from_raw(allocate(Some(TensorMemory::Mem), &request).unwrap());
        let raw = Arc::clone(buffer.raw().unwrap());
        let hold = DeviceHold::over(Arc::clone(&raw), Access::KernelWrite, 0..32).unwrap();
        assert!(buffer.read().unwrap_err().is_busy());
        assert!(buffer.read_range(32..64).is_ok());
        assert!(DeviceHold::over(Arc::clone(&raw), Access::KernelRead, 0..65).is_err());
        drop(hold);
        assert!(buffer.write().is_ok());
    }
}
