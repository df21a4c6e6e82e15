//! Who may touch which bytes of one allocation now.
//!
//! Many readers or one writer for every byte; a conflict is an answer, and a wait only for whoever
//! asks to wait. Three kinds of use, because they clash differently: guards are Rust references and tolerate nothing that
//! could write beside them; kernels (our own code on raw pointers, devices, copies) only have to
//! be ordered among themselves and against references; exports belong to foreign code that
//! follows its own rules, so they exclude references and nothing else. What is published excludes
//! everything that writes: other processes read it, and are promised that it does not change.

use std::fmt;
use std::ops::Range;
use std::sync::PoisonError;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use crate::Rows;
use crate::sync::Ordering::{Acquire, Relaxed, Release};
use crate::sync::{AtomicUsize, Condvar, Mutex, MutexGuard, lock, spin};

mod entries;
#[cfg(test)]
#[cfg(not(loom))]
mod tests;

use entries::Entries;

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
    /// Lent to foreign code that only reads. Of shared memory it gets private pages: if it writes
    /// all the same, nobody else sees it, and what it wrote is gone with the last such export.
    ExportRead,
    /// Lent to foreign code that may write.
    ExportWrite,
    /// Read by other processes that it was published to: nobody writes it, foreign code included.
    Publish,
}

impl Access {
    /// Every access, by its number.
    const ALL: [Access; 7] = [
        Access::Read,
        Access::Write,
        Access::KernelRead,
        Access::KernelWrite,
        Access::ExportRead,
        Access::ExportWrite,
        Access::Publish,
    ];

    /// Whether bytes may change.
    pub fn writes(self) -> bool {
        matches!(self, Access::Write | Access::KernelWrite | Access::ExportWrite)
    }

    /// Whether two uses of one byte exclude each other.
    pub fn excludes(self, other: Access) -> bool {
        use Access::{ExportRead, ExportWrite, KernelRead, KernelWrite, Publish, Read, Write};
        match (self, other) {
            (Write, _) | (_, Write) => true,
            (Publish, other) | (other, Publish) => other.writes(),
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
            Access::Publish => "publish",
        })
    }
}

/// One entry: an access and its bytes, from the first to the last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) access: Access,
    pub(crate) range: Range<usize>,
}

/// The receipt for an entry; gives it back with [`Ledger::release`].
///
/// One word: its access, and above it its number in the book. Guards are passed on right after they
/// were made, and a processor waits where it reads as one word what was written as two.
#[derive(Debug)]
pub(crate) struct Loan(u64);

impl Loan {
    /// Bits of the access.
    const ACCESS: u32 = 8;
    /// In place of a number: the only entry, kept in the ledger's own words.
    const QUICK: u32 = u32::MAX;

    #[inline]
    const fn new(access: Access, number: u32) -> Loan {
        Loan((number as u64) << Self::ACCESS | access as u64)
    }

    /// What the bytes were entered for.
    pub(crate) fn access(&self) -> Access {
        Access::ALL[self.access_number()]
    }

    #[inline]
    fn access_number(&self) -> usize {
        (self.0 & ((1 << Self::ACCESS) - 1)) as usize
    }

    /// Whether the bytes were entered for this.
    #[inline]
    pub(crate) fn is_for(&self, access: Access) -> bool {
        self.access_number() == access as usize
    }

    /// Its number, unless it is kept in the ledger's own words.
    #[inline]
    fn number(&self) -> Option<u32> {
        let number = (self.0 >> Self::ACCESS) as u32;
        (number != Self::QUICK).then_some(number)
    }

    /// The receipt, for a guard that is being dropped.
    #[inline]
    pub(crate) fn take(&mut self) -> Loan {
        Loan(self.0)
    }
}

/// The entries of one allocation.
///
/// Most of the time there is none or one, and that one needs no lock: it is claimed by changing
/// `state`, and its range is in `start` and `end`. A second entry, or one of rows with gaps between
/// them, opens the book: the first one is moved there, and until the book is empty again everybody
/// goes through its lock.
#[derive(Debug)]
pub(crate) struct Ledger {
    /// [`EMPTY`], [`CLAIMED`], [`BOOK`], or [`QUICK`] plus the access of the only entry.
    state: AtomicUsize,
    /// First byte of the only entry; written while claimed.
    start: AtomicUsize,
    /// One past the last byte of the only entry; written while claimed.
    end: AtomicUsize,
    book: Mutex<Book>,
    /// An entry was struck while somebody waited.
    struck: Condvar,
    /// A handle was given away (a descriptor, a device's handle), so others may hold the bytes
    /// after this process let go. Here, because one ledger is shared by all that reach the bytes:
    /// mappings of one object, and windows over one buffer.
    shared: AtomicBool,
}

/// Nobody holds anything; the book is empty.
const EMPTY: usize = 0;
/// Somebody is writing down the only entry; lasts a few instructions.
const CLAIMED: usize = 1;
/// Entries are in the book.
const BOOK: usize = 2;
/// There is one entry; its access is added to this.
const QUICK: usize = 8;

/// The number that an entry gets when it is moved to the book, which was empty before.
const MOVED: u32 = 0;

#[derive(Debug, Default)]
struct Book {
    entries: Entries,
    /// How many wait for one of them to be struck.
    waiting: usize,
}

impl Ledger {
    pub(crate) fn new() -> Ledger {
        Ledger {
            state: AtomicUsize::new(EMPTY),
            start: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
            book: Mutex::new(Book::default()),
            struck: Condvar::new(),
            shared: AtomicBool::new(false),
        }
    }

    /// Remembers that others may hold the bytes.
    pub(crate) fn mark_shared(&self) {
        self.shared.store(true, std::sync::atomic::Ordering::Relaxed);
    }

    /// Whether others may hold the bytes.
    pub(crate) fn is_shared(&self) -> bool {
        self.shared.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// Enters `access` to `range`, or says which entry stands against it.
    #[inline]
    pub(crate) fn enter(&self, access: Access, range: Range<usize>) -> Result<Loan, Entry> {
        match self.enter_quick(access, &range) {
            Some(loan) => Ok(loan),
            None => self.enter_book(access, &Rows::from(range)),
        }
    }

    /// Enters `access` to `range` if there is no other entry.
    #[inline]
    pub(crate) fn enter_quick(&self, access: Access, range: &Range<usize>) -> Option<Loan> {
        if self.state.compare_exchange(EMPTY, CLAIMED, Acquire, Relaxed).is_err() {
            return None;
        }
        self.start.store(range.start, Relaxed);
        self.end.store(range.end, Relaxed);
        self.state.store(QUICK + access as usize, Release);
        Some(Loan::new(access, Loan::QUICK))
    }

    /// As [`Ledger::enter`], for rows.
    pub(crate) fn enter_rows(&self, access: Access, rows: &Rows) -> Result<Loan, Entry> {
        if rows.is_plain() {
            self.enter(access, rows.span())
        } else {
            self.enter_book(access, rows)
        }
    }

    #[cold]
    fn enter_book(&self, access: Access, rows: &Rows) -> Result<Loan, Entry> {
        self.open_book().enter(access, rows)
    }

    /// As [`Ledger::enter`], and waits, at most so long, while an entry stands against it. While
    /// somebody waits, entries are in the book: striking one takes its lock, and wakes.
    pub(crate) fn enter_wait(
        &self,
        access: Access,
        rows: &Rows,
        timeout: Option<Duration>,
    ) -> Result<Loan, Entry> {
        // A time too far away to be said is no limit.
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        loop {
            let mut book = self.open_book();
            let against = match book.enter(access, rows) {
                Ok(loan) => return Ok(loan),
                Err(against) => against,
            };
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Err(against);
            }
            book.waiting += 1;
            let mut book = match left {
                None => self.struck.wait(book).unwrap_or_else(PoisonError::into_inner),
                Some(left) => {
                    let woken = self.struck.wait_timeout(book, left);
                    woken.unwrap_or_else(PoisonError::into_inner).0
                }
            };
            book.waiting -= 1;
        }
    }

    /// Strikes an entry.
    #[inline]
    pub(crate) fn release(&self, loan: Loan) {
        if !self.release_quick(&loan) {
            self.release_booked(loan);
        }
    }

    /// Strikes the only entry. False if it is in the book: that is then left to
    /// [`Ledger::release`].
    #[inline]
    pub(crate) fn release_quick(&self, loan: &Loan) -> bool {
        let alone = QUICK + loan.access_number();
        loan.number().is_none()
            && self.state.compare_exchange(alone, EMPTY, Release, Relaxed).is_ok()
    }

    #[cold]
    fn release_booked(&self, loan: Loan) {
        let number = loan.number().unwrap_or(MOVED);
        let mut book = lock(&self.book);
        book.entries.remove(number);
        if book.entries.len() == 0 {
            self.state.store(EMPTY, Release);
        }
        if book.waiting > 0 {
            self.struck.notify_all();
        }
    }

    /// The book, with every entry in it.
    #[cold]
    fn open_book(&self) -> MutexGuard<'_, Book> {
        let mut book = lock(&self.book);
        loop {
            let state = self.state.load(Acquire);
            match state {
                BOOK => return book,
                CLAIMED => spin(),
                _ if self.state.compare_exchange(state, BOOK, Acquire, Relaxed).is_err() => {}
                EMPTY => return book,
                quick => {
                    // Read after the change: from here on nobody else writes these words.
                    let range = self.start.load(Relaxed)..self.end.load(Relaxed);
                    book.entries.insert(Access::ALL[quick - QUICK], Rows::from(range));
                    return book;
                }
            }
        }
    }

    /// Whether some entry is for this access.
    pub(crate) fn has(&self, access: Access) -> bool {
        let book = lock(&self.book);
        loop {
            return match self.state.load(Acquire) {
                EMPTY => false,
                CLAIMED => {
                    spin();
                    continue;
                }
                BOOK => book.entries.has(access),
                quick => quick == QUICK + access as usize,
            };
        }
    }

    /// How many entries there are.
    pub(crate) fn held(&self) -> usize {
        let book = lock(&self.book);
        match self.state.load(Acquire) {
            EMPTY => 0,
            BOOK => book.entries.len(),
            _ => 1,
        }
    }
}

impl Book {
    fn enter(&mut self, access: Access, rows: &Rows) -> Result<Loan, Entry> {
        match self.entries.conflict(access, rows) {
            Some(held) => Err(held),
            None => Ok(Loan::new(access, self.entries.insert(access, *rows))),
        }
    }
}
