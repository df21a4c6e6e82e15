//! Who may touch which bytes of one allocation now.
//!
//! Many readers or one writer for every byte; a conflict is an answer, and a wait only for whoever
//! asks to wait. Three kinds of use, because they clash differently: guards are Rust references and tolerate nothing that
//! could write beside them; kernels (our own code on raw pointers, devices, copies) only have to
//! be ordered among themselves and against references; exports belong to foreign code that
//! follows its own rules, so they exclude references and nothing else.

use std::fmt;
use std::ops::Range;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use smallvec::SmallVec;

use crate::sync::Ordering::{Acquire, Relaxed, Release};
use crate::sync::{AtomicUsize, Condvar, Mutex, MutexGuard, lock, spin};

#[cfg(test)]
#[cfg(not(loom))]
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
    /// Every access, by its number.
    const ALL: [Access; 6] = [
        Access::Read,
        Access::Write,
        Access::KernelRead,
        Access::KernelWrite,
        Access::ExportRead,
        Access::ExportWrite,
    ];

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
pub(crate) enum Loan {
    /// The only entry, kept in the ledger's own words.
    Quick(Access),
    /// An entry of the book, by number.
    Booked(u32),
}

/// The entries of one allocation.
///
/// Most of the time there is none or one, and that one needs no lock: it is claimed by changing
/// `state`, and its range is in `start` and `end`. A second entry opens the book: it moves the
/// first one there, and until the book is empty again everybody goes through its lock.
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
    /// Entries by the number on their receipt; the last one is never vacant.
    entries: SmallVec<[Option<Entry>; 2]>,
    /// How many entries write: readers need no search while there are none.
    writers: usize,
    /// How many entries there are.
    held: usize,
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
        }
    }

    /// Enters `access` to `range`, or says which entry stands against it.
    #[inline]
    pub(crate) fn enter(&self, access: Access, range: Range<usize>) -> Result<Loan, Entry> {
        if self.state.compare_exchange(EMPTY, CLAIMED, Acquire, Relaxed).is_ok() {
            self.start.store(range.start, Relaxed);
            self.end.store(range.end, Relaxed);
            self.state.store(QUICK + access as usize, Release);
            return Ok(Loan::Quick(access));
        }
        let mut book = self.open_book();
        let answer = book.enter(access, range);
        answer.map(Loan::Booked)
    }

    /// As [`Ledger::enter`], and waits, at most so long, while an entry stands against it. While
    /// somebody waits, entries are in the book: striking one takes its lock, and wakes.
    pub(crate) fn enter_wait(
        &self,
        access: Access,
        range: &Range<usize>,
        timeout: Option<Duration>,
    ) -> Result<Loan, Entry> {
        // A time too far away to be said is no limit.
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        loop {
            let mut book = self.open_book();
            let against = match book.enter(access, range.clone()) {
                Ok(number) => return Ok(Loan::Booked(number)),
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
        let number = match loan {
            Loan::Quick(access) => {
                let alone = QUICK + access as usize;
                if self.state.compare_exchange(alone, EMPTY, Release, Relaxed).is_ok() {
                    return;
                }
                MOVED
            }
            Loan::Booked(number) => number,
        };
        let mut book = lock(&self.book);
        book.strike(number);
        if book.held == 0 {
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
                    book.push(Entry { access: Access::ALL[quick - QUICK], range });
                    return book;
                }
            }
        }
    }

    /// How many entries there are.
    pub(crate) fn held(&self) -> usize {
        let book = lock(&self.book);
        match self.state.load(Acquire) {
            EMPTY => 0,
            BOOK => book.held,
            _ => 1,
        }
    }
}

impl Book {
    fn enter(&mut self, access: Access, range: Range<usize>) -> Result<u32, Entry> {
        let must_search = if access.writes() { self.held > 0 } else { self.writers > 0 };
        if must_search && let Some(against) = self.against(access, &range) {
            return Err(against.clone());
        }
        Ok(self.push(Entry { access, range }))
    }

    /// Writes an entry down and gives its number.
    fn push(&mut self, entry: Entry) -> u32 {
        self.held += 1;
        self.writers += usize::from(entry.access.writes());
        let vacant = if self.held > self.entries.len() {
            None
        } else {
            self.entries.iter().position(Option::is_none)
        };
        let number = vacant.unwrap_or(self.entries.len());
        match self.entries.get_mut(number) {
            Some(place) => *place = Some(entry),
            None => self.entries.push(Some(entry)),
        }
        number as u32
    }

    fn against(&self, access: Access, range: &Range<usize>) -> Option<&Entry> {
        self.entries.iter().flatten().find(|held| {
            // Empty ranges overlap nothing.
            let overlap = held.range.start.max(range.start) < held.range.end.min(range.end);
            overlap && access.excludes(held.access)
        })
    }

    fn strike(&mut self, number: u32) {
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
