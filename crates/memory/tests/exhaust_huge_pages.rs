//! The suite of `conformance.rs` for memory files of huge pages, which the kernel must set aside
//! first: needs root, uses up memory of the machine, and gives it back.
#![cfg(all(linux_like, not(miri)))]

use std::fs::{self, File, OpenOptions};

use rustix::fs::{FallocateFlags, MemfdFlags};
use suite::variant::Variant;
use tenure_memory::kind::shm::{HugePages, Shm};
use tenure_memory::{Allocator, Buffer, Error, Protection, Request, import};

#[path = "common/child.rs"]
mod child;
#[path = "common/resources.rs"]
mod resources;
#[path = "conformance/suite.rs"]
mod suite;

const SETTING: &str = "/proc/sys/vm/nr_hugepages";
const HUGE: usize = 2 << 20;
/// Enough for the largest sizes of the suite, several at once.
const PAGES: usize = 100;

/// Huge pages set aside until dropped.
struct Reserve {
    before: String,
    /// One at a time, of all processes: the setting is the machine's.
    _one: File,
}

impl Reserve {
    /// `None` if the kernel does not give them.
    fn new(pages: usize) -> Option<Reserve> {
        let one = OpenOptions::new().read(true).write(true).open(SETTING).ok()?;
        one.lock().unwrap();
        let before = fs::read_to_string(SETTING).ok()?;
        let wanted = before.trim().parse::<usize>().ok()? + pages;
        fs::write(SETTING, wanted.to_string()).ok()?;
        let reserve = Reserve { before, _one: one };
        let got: usize = fs::read_to_string(SETTING).ok()?.trim().parse().ok()?;
        (got >= wanted).then_some(reserve)
    }
}

impl Drop for Reserve {
    fn drop(&mut self) {
        // Nothing more can be done if this fails.
        let _ = fs::write(SETTING, &self.before);
    }
}

fn with_reserve(pages: usize, work: impl FnOnce()) {
    match Reserve::new(pages) {
        Some(_reserve) => work(),
        None => eprintln!("NOT TESTED: {SETTING} cannot be raised by {pages} (needs root)"),
    }
}

fn with_variants(work: impl FnOnce(&[Variant])) {
    with_reserve(PAGES, || {
        let huge = Variant::new("huge shm", Shm::huge_pages(HugePages::TwoMiB));
        work(&[huge.pooled(), huge]);
    });
}

#[test]
fn pages_are_huge() {
    with_reserve(4, || {
        let shm = Shm::huge_pages(HugePages::TwoMiB);
        let free = || {
            let text = fs::read_to_string("/proc/meminfo").unwrap();
            let line = text.lines().find(|line| line.starts_with("HugePages_Free:")).unwrap();
            line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap()
        };
        let before = free();
        let buffer = Buffer::from_raw(shm.allocate(&Request::new(HUGE + 1).unwrap()).unwrap());
        assert_eq!(before - free(), 2, "two pages, taken when allocated");
        assert_eq!(buffer.len(), HUGE + 1);
        drop(buffer);
        assert_eq!(free(), before);
    });
}

#[test]
fn without_pages_there_is_a_clear_error() {
    with_reserve(1, || {
        let shm = Shm::huge_pages(HugePages::TwoMiB);
        let error = shm.allocate(&Request::new(64 * HUGE).unwrap()).unwrap_err();
        match &error {
            Error::OutOfMemory(full) if full.source.is_some() => assert_eq!(full.bytes, 64 * HUGE),
            other => panic!("{other:?}"),
        }
        assert!(error.to_string().contains(&(64 * HUGE).to_string()), "{error}");
        // The page that there is was given back.
        shm.allocate(&Request::new(HUGE).unwrap()).unwrap();
    });
}

#[test]
fn pages_that_their_maker_takes_back_do_not_kill() {
    if child::part().is_none() {
        let test = "pages_that_their_maker_takes_back_do_not_kill";
        // Set aside here: the child may not live to give it back.
        return with_reserve(1, || child::alone(test, || {}));
    }
    let flags = MemfdFlags::HUGETLB | MemfdFlags::HUGE_2MB | MemfdFlags::ALLOW_SEALING;
    let theirs = rustix::fs::memfd_create("theirs", flags).unwrap();
    rustix::fs::ftruncate(&theirs, HUGE as u64).unwrap();
    let buffer = import(&theirs, HUGE, Protection::ReadOnly, None).unwrap();
    let guard = buffer.read().unwrap();
    assert_eq!(guard.as_bytes()[0], 0);
    // The file keeps its size, but its page goes to somebody else.
    let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    rustix::fs::fallocate(&theirs, hole, 0, HUGE as u64).unwrap();
    let shm = Shm::huge_pages(HugePages::TwoMiB);
    let request = Request::new(HUGE).unwrap();
    let taken: Vec<_> = std::iter::from_fn(|| shm.allocate(&request).ok()).collect();
    assert!(!taken.is_empty());
    assert_eq!(guard.as_bytes()[HUGE - 1], 0);
    assert!(matches!(guard.hold().raw().intact(), Err(Error::Truncated)));
    assert!(matches!(buffer.read(), Err(Error::Truncated)));
}
