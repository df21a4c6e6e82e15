//! Pages for foreign code that is to read only, and may write all the same.
//!
//! DLPack's read-only flag, `const` in C and Python's read-only buffers bind nobody: torch writes.
//! Memory files are shared with other processes that must not see it, and are often mapped for
//! reading only, where a write is a signal. A mapped file is read by guards of this process. So
//! [`Access::ExportRead`] of a memory file or a file gives the address of *other*, private pages of
//! it: they show the same bytes, and a write changes a copy of a page.
//!
//! Decisions:
//! - Guards, kernels and copies of this process never use these pages. A foreign write cannot
//!   change a byte under a Rust `&[T]`, and whoever never exports has nothing of this: no mapping,
//!   no test beyond one of the access, which is a constant there.
//! - Every window over the memory has pages of its own while exports of it exist: two subscribers
//!   of one process do not see each other's writes, nor does whoever opens a file another time.
//!   Exports of one tensor share them: a write is seen there until the last of them is gone.
//! - Then what was written is dropped, and the pages wait with the owner of the memory for the
//!   next export, which saves mapping and faults.
//! - Where the kernel has no private pages (DMA-BUF, huge pages of its reserve) an export of
//!   memory that must not be written is a copy.
//! - Where the kernel refuses private pages of a memory file that is mapped for reading (it cannot
//!   promise memory for them in overcommit mode 2), the export is a copy too, and an error where
//!   there is no memory for that. The mapping itself is never given: who writes there all the same
//!   is ended by a signal.
//! - Heap of others that is to be read only (`bytes` of Python) is exported as it is: whoever made
//!   it decided that nobody writes, and a copy of each export would be one too many.
#![expect(unsafe_code, reason = "copies bytes that are held, and counts up from an address")]

use std::ops::Range;
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, PoisonError};

use smallvec::SmallVec;

use super::{CpuAddress, RawBuffer};
use crate::bus::Watch;
use crate::ledger::Loan;
use crate::mapping::Mapping;
use crate::{Access, Error, Result, TensorMemory};

/// So many clean mappings wait for an export.
const MOST_SPARE: usize = 2;

/// The pages of a raw buffer's exports.
#[derive(Default)]
pub(super) struct Exports(Mutex<Option<Box<State>>>);

#[derive(Default)]
struct State {
    lent: Option<Lent>,
    /// Clean pages that nobody uses, of whoever owns the memory: windows take them from there.
    spare: SmallVec<[Pages; MOST_SPARE]>,
}

/// Private pages.
struct Pages {
    // Dropped in this order: nobody watches an address that is no longer ours.
    /// Of a file, which others may cut.
    watch: Option<Watch>,
    mapping: Mapping,
}

impl Pages {
    fn of(mapping: Mapping) -> Pages {
        Pages { watch: None, mapping }
    }

    /// Whether the file was cut, and pages replaced by others.
    fn lost(&self) -> bool {
        self.watch.as_ref().is_some_and(Watch::lost)
    }
}

/// Pages that exports use.
struct Lent {
    pages: Pages,
    /// Whether they are a copy, and not the file's until they are written.
    copied: bool,
    exports: usize,
    /// From the first to the last byte that was exported.
    range: Range<usize>,
}

impl Exports {
    fn lock(&self) -> MutexGuard<'_, Option<Box<State>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RawBuffer {
    /// The address of `range` for foreign code that is to read, for an access that is in the
    /// ledger and inside the allocation.
    #[cold]
    pub(super) fn begin_export(
        &self,
        range: Range<usize>,
        loan: Loan,
    ) -> Result<(NonNull<u8>, Loan)> {
        match self.lend_pages(&range) {
            // SAFETY: the pages cover the allocation, which the range is inside of.
            Ok(Some(base)) => Ok((unsafe { base.add(range.start) }, loan)),
            Ok(None) => self.begin(Access::ExportRead, range.start, loan),
            Err(error) => {
                self.leave_ledger(loan);
                Err(error)
            }
        }
    }

    /// Pages of their own for an export; `None` if it can have the memory itself.
    fn lend_pages(&self, range: &Range<usize>) -> Result<Option<NonNull<u8>>> {
        let Some((owner, copied)) = self.exports_apart() else { return Ok(None) };
        if range.is_empty() {
            return Ok(None);
        }
        let file = owner.memory() == TensorMemory::File;
        if file {
            // As for every other access: an error once bytes are known to be gone.
            owner.core().memory.begin(Access::ExportRead)?;
            owner.core().memory.end(Access::ExportRead);
        }
        let mut state = self.core().exports.lock();
        let state = state.get_or_insert_default();
        if let Some(lent) = &mut state.lent {
            if lent.pages.lost() {
                return Err(Error::Truncated);
            }
            lent.exports += 1;
            lent.range = lent.range.start.min(range.start)..lent.range.end.max(range.end);
            return Ok(Some(lent.pages.mapping.address()));
        }
        let spare = match std::ptr::eq(owner, self) {
            true => state.spare.pop(),
            false => owner.core().exports.lock().as_mut().and_then(|state| state.spare.pop()),
        };
        let (pages, copied) = match spare.filter(|pages| !pages.lost()) {
            Some(pages) => (pages, copied),
            None if copied => (Pages::of(owner.copied_pages()?), true),
            None if file => (owner.file_pages()?, false),
            None => match Mapping::private_aligned(owner.own_descriptor()?, owner.size()) {
                Ok(pages) => (Pages::of(pages), false),
                // What is written here later would not be seen in a copy.
                Err(errno) if owner.writable() => {
                    return Err(Error::system("mapping pages for an export", errno));
                }
                Err(_) => (Pages::of(owner.copied_pages()?), true),
            },
        };
        let address = pages.mapping.address();
        state.lent = Some(Lent { pages, copied, exports: 1, range: range.clone() });
        Ok(Some(address))
    }

    /// Whose memory an export to read must not be given itself, and whether it gets a copy.
    pub(super) fn exports_apart(&self) -> Option<(&RawBuffer, bool)> {
        let mut owner = self;
        loop {
            let core = owner.core();
            // What is being filled becomes private by itself where it is left behind.
            if core.turn.is_some() || core.address == CpuAddress::None {
                return None;
            }
            match core.memory.home() {
                Some(home) => owner = home,
                None => break,
            }
        }
        let core = owner.core();
        let unwritten = || !core.writable || core.ledger.has(Access::Publish);
        match core.kind {
            TensorMemory::Shm if !core.maintained => Some((owner, false)),
            TensorMemory::File => Some((owner, false)),
            TensorMemory::Shm | TensorMemory::Dma if unwritten() => Some((owner, true)),
            _ => None,
        }
    }

    /// Pages of a file, which stays what was mapped or reads as zeros, as in its own mapping.
    fn file_pages(&self) -> Result<Pages> {
        let fd = self.own_descriptor()?;
        let mapping = Mapping::private(fd, self.size())
            .map_err(|errno| Error::system("mapping the file for an export", errno))?;
        let watch = Some(Watch::new(&mapping, fd, true)?);
        Ok(Pages { watch, mapping })
    }

    fn copied_pages(&self) -> Result<Mapping> {
        let core = self.core();
        self.check_room_for_copy()?;
        let from = core.memory.begin(Access::KernelRead)?;
        // SAFETY: `begin` gave an address that is valid for all bytes; nobody may write what was
        // published, or is mapped for reading only.
        let pages = unsafe { Mapping::copy_of(from, core.size) };
        core.memory.end(Access::KernelRead);
        pages.map_err(|errno| Error::system("copying memory for an export", errno))
    }

    /// Ends an export to read at `address`. Says whether it had pages of its own.
    #[cold]
    pub(super) fn end_export(&self, address: NonNull<u8>) -> bool {
        let mut state = self.core().exports.lock();
        let Some(place) = state.as_mut().map(|state| &mut state.lent) else { return false };
        let Some(lent) = place.as_mut().filter(|lent| lent.pages.mapping.contains(address)) else {
            return false;
        };
        lent.exports -= 1;
        let over = if lent.exports == 0 { place.take() } else { None };
        // What follows takes time.
        drop(state);
        if let Some(Lent { pages, copied: false, range, .. }) = over
            && !pages.lost()
            && pages.mapping.forget_writes(range).is_ok()
        {
            let mut state = self.owner().core().exports.lock();
            let state = state.get_or_insert_default();
            if state.spare.len() < MOST_SPARE {
                state.spare.push(pages);
            }
        }
        true
    }

    /// Who owns the memory: this, or what it is a window over.
    fn owner(&self) -> &RawBuffer {
        match self.core().memory.home() {
            Some(home) => home.owner(),
            None => self,
        }
    }
}
