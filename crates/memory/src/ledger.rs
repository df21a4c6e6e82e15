//! Who may touch which bytes of one allocation now.
//!
//! Many readers or one writer for every byte; a conflict is an answer, never a wait. Three kinds
//! of use, because they clash differently: guards are Rust references and tolerate nothing that
//! could write beside them; kernels (our own code on raw pointers, devices, copies) only have to
//! be ordered among themselves and against references; exports belong to foreign code that
//! follows its own rules, so they exclude references and nothing else.

use std::fmt;
use std::ops::Range;

use smallvec::SmallVec;

use crate::sync::{Mutex, lock};

#[cfg(all(test, not(loom)))]
mod tests;

/// What somebody does with bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// Reading through a Rust reference.
    Read,
    /// Writing through a Rust reference.
    Write,
    /// Reading by raw pointer: a kernel, a copy, a device.
    KernelRead,
    /// Writing by raw pointer: a kernel, a copy, a device.
    KernelWrite,
    /// Lent to foreign code that only reads.
    ExportRead,
    /// Lent to foreign code that may write.
    ExportWrite,
}

impl Access {
    /// Whether bytes may change.
    pub fn writes(self) -> bool {
        matches!(self, Access::Write | Access::KernelWrite | Access::ExportWrite)
    }

    /// Whether two uses of one byte exclude each other.
    pub fn excludes(self, other: Access) -> bool {
        use Access::{ExportRead, ExportWrite, KernelRead, KernelWrite, Read, Write};
        match (self, other) {
            (Write, _) | (_, Write) => true,
            (Read, KernelWrite | ExportWrite) | (KernelWrite | ExportWrite, Read) => true,
            (KernelWrite, KernelRead | KernelWrite) | (KernelRead, KernelWrite) => true,
            (Read | KernelRead | ExportRead, Read | KernelRead | ExportRead) => false,
            (ExportRead | ExportWrite, KernelRead | KernelWrite | ExportRead | ExportWrite)
            | (KernelRead | KernelWrite, ExportRead | ExportWrite) => false,
        }
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Access::Read => "read",
            Access::Write => "write",
            Access::KernelRead => "read by a kernel or device",
            Access::KernelWrite => "write by a kernel or device",
            Access::ExportRead => "read by foreign code",
            Access::ExportWrite => "write by foreign code",
        })
    }
}

/// One entry: an access and its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) access: Access,
    pub(crate) range: Range<usize>,
}

/// The receipt for an entry; gives it back with [`Ledger::release`].
#[derive(Debug)]
pub(crate) struct Loan(u32);

/// The entries of one allocation.
#[derive(Debug)]
pub(crate) struct Ledger {
    book: Mutex<Book>,
}

#[derive(Debug, Default)]
struct Book {
    /// Entries by the number on their receipt; the last one is never vacant.
    entries: SmallVec<[Option<Entry>; 2]>,
    /// How many entries write: readers need no search while there are none.
    writers: usize,
    /// How many entries there are.
    held: usize,
}

impl Ledger {
    pub(crate) fn new() -> Ledger {
        Ledger { book: Mutex::new(Book::default()) }
    }

    /// Enters `access` to `range`, or says which entry stands against it.
    pub(crate) fn enter(&self, access: Access, range: Range<usize>) -> Result<Loan, Entry> {
        lock(&self.book).enter(access, range)
    }

    /// Strikes an entry.
    pub(crate) fn release(&self, loan: Loan) {
        lock(&self.book).strike(loan);
    }

    /// How many entries there are.
    pub(crate) fn held(&self) -> usize {
        lock(&self.book).held
    }
}

impl Book {
    fn enter(&mut self, access: Access, range: Range<usize>) -> Result<Loan, Entry> {
        let must_search = if access.writes() { self.held > 0 } else { self.writers > 0 };
        if must_search && let Some(against) = self.against(access, &range) {
            return Err(against.clone());
        }
        let entry = Some(Entry { access, range });
        let number = if self.held == self.entries.len() {
            self.entries.push(entry);
            self.entries.len() - 1
        } else {
            let vacant = self.entries.iter().position(Option::is_none).unwrap_or(0);
            self.entries[vacant] = entry;
            vacant
        };
        self.held += 1;
        self.writers += usize::from(access.writes());
        Ok(Loan(number as u32))
    }

    fn against(&self, access: Access, range: &Range<usize>) -> Option<&Entry> {
        self.entries.iter().flatten().find(|held| {
            // Empty ranges overlap nothing.
            let overlap = held.range.start.max(range.start) < held.range.end.min(range.end);
            overlap && access.excludes(held.access)
        })
    }

    fn strike(&mut self, Loan(number): Loan) {
        let Some(entry) = self.entries.get_mut(number as usize).and_then(Option::take) else {
            return;
        };
        self.held -= 1;
        self.writers -= usize::from(entry.access.writes());
        while let Some(None) = self.entries.last() {
            self.entries.pop();
        }
    }
}
