//! Ways into an allocation: entered in its ledger at once or after a wait, and the address.
#![expect(unsafe_code, reason = "counts up from an address inside the allocation")]

use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;

use super::{CpuAddress, RawBuffer};
use crate::backend::{Carry, DeviceHold, Held, carrier_for};
use crate::ledger::{Entry, Loan};
use crate::{Access, Error, Result, Rows};

impl RawBuffer {
    /// Enters an access in the ledger; the CPU is given nothing.
    pub(crate) fn enter_ledger(&self, access: Access, range: Range<usize>) -> Result<Loan> {
        self.check_entry(access, &range)?;
        self.core()
            .ledger
            .enter(access, range.clone())
            .map_err(|held| self.busy(access, range, held))
    }

    /// As [`RawBuffer::enter_ledger`], and waits, at most so long, for others to let go.
    pub(crate) fn enter_ledger_wait(
        &self,
        access: Access,
        range: Range<usize>,
        timeout: Option<Duration>,
    ) -> Result<Loan> {
        self.check_entry(access, &range)?;
        let loan = self.core().ledger.enter_wait(access, &Rows::from(range.clone()), timeout);
        loan.map_err(|held| self.busy(access, range, held))
    }

    #[cold]
    fn busy(&self, asked: Access, range: Range<usize>, held: Entry) -> Error {
        let Entry { access, range: held_range } = held;
        Error::from(crate::detail::Busy {
            asked,
            range,
            held: access,
            held_range,
            name: self.name.clone(),
            asker: None,
        })
    }

    fn check_entry(&self, access: Access, range: &Range<usize>) -> Result<()> {
        let core = self.core();
        if range.start > range.end || range.end > core.size {
            let &Range { start, end } = range;
            return Err(Error::from(crate::detail::OutOfBounds { start, end, len: core.size }));
        }
        if access.writes() && !core.writable {
            return Err(Error::ReadOnly { memory: core.kind });
        }
        Ok(())
    }

    /// Ends what [`RawBuffer::enter_ledger`] began.
    pub(crate) fn leave_ledger(&self, loan: Loan) {
        self.core().ledger.release(loan);
    }

    /// Enters an access in the ledger and gives the address of `range`.
    ///
    /// The address is valid for `range`, in the direction asked, until [`RawBuffer::leave`].
    #[inline]
    pub(crate) fn enter(&self, access: Access, range: Range<usize>) -> Result<(NonNull<u8>, Loan)> {
        match self.enter_quick(access, &range) {
            Some(entered) => Ok(entered),
            None => self.enter_slowly(access, range),
        }
    }

    /// As [`RawBuffer::enter`] where that takes nothing but memory that stays where it is and a
    /// ledger without entries. Otherwise nothing was done.
    #[inline]
    pub(crate) fn enter_quick(
        &self,
        access: Access,
        range: &Range<usize>,
    ) -> Option<(NonNull<u8>, Loan)> {
        let core = self.core();
        let CpuAddress::Fixed(base) = core.address else { return None };
        let inside = range.start <= range.end && range.end <= core.size;
        let allowed = core.writable || !access.writes();
        if !inside || !allowed || core.maintained || access == Access::ExportRead {
            return None;
        }
        let loan = core.ledger.enter_quick(access, range)?;
        // SAFETY: `start <= size`, so the result stays inside the allocation (or one past its
        // end), by the contract of `RawMemory`.
        Some((unsafe { base.add(range.start) }, loan))
    }

    #[cold]
    fn enter_slowly(&self, access: Access, range: Range<usize>) -> Result<(NonNull<u8>, Loan)> {
        let start = range.start;
        #[cfg(linux_like)]
        if access == Access::ExportRead {
            let loan = self.enter_ledger(access, range.clone())?;
            return self.begin_export(range, loan);
        }
        let loan = self.enter_ledger(access, range)?;
        self.begin(access, start, loan)
    }

    /// As [`RawBuffer::enter`], and waits, at most so long, for others to let go.
    pub(crate) fn enter_wait(
        &self,
        access: Access,
        range: Range<usize>,
        timeout: Option<Duration>,
    ) -> Result<(NonNull<u8>, Loan)> {
        // What has no address never will have: there is nothing to wait for.
        if self.core().address == CpuAddress::None {
            return self.enter(access, range);
        }
        let start = range.start;
        #[cfg(linux_like)]
        if access == Access::ExportRead {
            let loan = self.enter_ledger_wait(access, range.clone(), timeout)?;
            return self.begin_export(range, loan);
        }
        let loan = self.enter_ledger_wait(access, range, timeout)?;
        self.begin(access, start, loan)
    }

    /// Enters an access to rows in the ledger and gives the address of the first.
    ///
    /// The address is valid for every row, at its distance from the first, in the direction asked,
    /// until [`RawBuffer::leave`]; for nothing between the rows.
    pub(crate) fn enter_rows(&self, access: Access, rows: &Rows) -> Result<(NonNull<u8>, Loan)> {
        self.check_entry(access, &rows.span())?;
        let loan = self.core().ledger.enter_rows(access, rows);
        let loan = loan.map_err(|held| self.busy(access, rows.span(), held))?;
        self.begin(access, rows.start(), loan)
    }

    /// As [`RawBuffer::enter_rows`], and waits, at most so long, for others to let go.
    pub(crate) fn enter_rows_wait(
        &self,
        access: Access,
        rows: &Rows,
        timeout: Option<Duration>,
    ) -> Result<(NonNull<u8>, Loan)> {
        // What has no address never will have: there is nothing to wait for.
        if self.core().address == CpuAddress::None {
            return self.enter_rows(access, rows);
        }
        self.check_entry(access, &rows.span())?;
        let loan = self.core().ledger.enter_wait(access, rows, timeout);
        let loan = loan.map_err(|held| self.busy(access, rows.span(), held))?;
        self.begin(access, rows.start(), loan)
    }

    /// The address of byte `start`, for an access that is in the ledger and inside the allocation.
    pub(super) fn begin(
        &self,
        access: Access,
        start: usize,
        loan: Loan,
    ) -> Result<(NonNull<u8>, Loan)> {
        let core = self.core();
        let base = match core.address {
            CpuAddress::Fixed(base) if !core.maintained => Ok(base),
            CpuAddress::None => {
                Err(Error::NotMappable { memory: core.kind, space: core.memory.space() })
            }
            _ => core.memory.begin(access),
        };
        match base {
            // SAFETY: `start <= size`, so the result stays inside the allocation (or one past its
            // end), by the contract of `RawMemory`.
            Ok(base) => Ok((unsafe { base.add(start) }, loan)),
            Err(error) => {
                core.ledger.release(loan);
                Err(error)
            }
        }
    }

    /// Ends what [`RawBuffer::enter`] began at `address`.
    #[inline]
    pub(crate) fn leave(&self, address: NonNull<u8>, loan: Loan) {
        let core = self.core();
        let plain = !core.maintained && !loan.is_for(Access::ExportRead);
        if !(plain && core.ledger.release_quick(&loan)) {
            self.leave_slowly(address, loan);
        }
    }

    #[cold]
    fn leave_slowly(&self, address: NonNull<u8>, loan: Loan) {
        let (core, access) = (self.core(), loan.access());
        #[cfg(linux_like)]
        if access == Access::ExportRead && self.end_export(address) {
            return core.ledger.release(loan);
        }
        #[cfg(not(linux_like))]
        let _ = address;
        if core.maintained {
            core.memory.end(access);
        }
        core.ledger.release(loan);
    }

    /// The same allocation with every byte zero; nobody else knows it yet. Its device does it where
    /// the CPU does not reach the bytes.
    ///
    /// # Errors
    /// If nobody can write them.
    pub(crate) fn zero(self) -> Result<RawBuffer> {
        let size = self.size();
        if self.cpu_accessible() {
            let (address, loan) = self.enter(Access::Write, 0..size)?;
            // SAFETY: the ledger holds all of the allocation's bytes for writing, at this address.
            unsafe { address.write_bytes(0, size) };
            self.leave(address, loan);
            return Ok(self);
        }
        let raw = Arc::new(self);
        let held = DeviceHold::over(Arc::clone(&raw), Access::KernelWrite, 0..size)?;
        let work = vec![Carry::fill(Held::Far(held), [0; 4])?];
        carrier_for(&raw)?.carry(work)?;
        // The work is done, and what it held is let go.
        Arc::into_inner(raw).ok_or(Error::BadRequest { bytes: size, align: 1 })
    }
}
