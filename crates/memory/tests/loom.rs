//! Every interleaving of a few threads, by model checking: the ledger, lazy placement, the pool.
//!
//! Run with `RUSTFLAGS="--cfg loom" cargo test -p tenure-memory --release --test loom`. Bytes are
//! stood for by cells of the checker, which knows when two threads are at one of them at the same
//! time, or one after the other without having synchronised.
#![cfg(loom)]

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use loom::cell::UnsafeCell;
use loom::model::Builder;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;
use tenure_memory::Access::{self, ExportWrite, KernelRead, KernelWrite, Read, Write};
use tenure_memory::kind::mem::Mem;
use tenure_memory::{
    Allocator, Buffer, Error, Hold, Pool, PoolLimits, RawBuffer, Request, Result, Rows,
    TensorMemory,
};

/// Checks all interleavings.
fn check(model: impl Fn() + Send + Sync + 'static) {
    Builder::new().check(model);
}

/// Checks all interleavings with at most so many switches away from a thread that could go on: a
/// few find nearly everything, and all of them would take hours.
fn check_most(switches: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(switches);
    builder.check(model);
}

/// Sixteen bytes, and a cell for each half of them.
struct Bytes {
    buffer: Buffer,
    halves: [UnsafeCell<()>; 2],
}

/// Both halves, or one of them.
const WHOLE: [usize; 2] = [0, 16];
const LOW: [usize; 2] = [0, 8];
const HIGH: [usize; 2] = [8, 16];

impl Bytes {
    fn new() -> Arc<Bytes> {
        let raw = Mem.allocate(&Request::new(16).unwrap()).unwrap();
        let halves = [UnsafeCell::new(()), UnsafeCell::new(())];
        Arc::new(Bytes { buffer: Buffer::from_raw(raw), halves })
    }

    /// Holds a range and uses its halves accordingly; whether that was allowed.
    fn touch(&self, access: Access, range: [usize; 2]) -> bool {
        match self.buffer.hold(access, range[0]..range[1]) {
            Ok(hold) => {
                self.use_halves(&hold, range);
                true
            }
            Err(Error::Busy { .. }) => false,
            Err(error) => panic!("{error}"),
        }
    }

    fn use_halves(&self, hold: &Hold, [start, end]: [usize; 2]) {
        for half in &self.halves[start / 8..end / 8] {
            if hold.access().writes() {
                half.with_mut(|_| ());
            } else {
                half.with(|_| ());
            }
        }
    }

    /// Everything was given back.
    fn is_free(&self) -> bool {
        self.buffer.raw().unwrap().held() == 0 && self.touch(Write, WHOLE)
    }
}

/// Runs what each thread does; how many of its touches were allowed.
fn race(bytes: &Arc<Bytes>, threads: &[&'static [(Access, [usize; 2])]]) -> Vec<usize> {
    let running: Vec<_> = threads
        .iter()
        .map(|&touches| {
            let bytes = Arc::clone(bytes);
            let work = move |(access, range): &(Access, _)| bytes.touch(*access, *range);
            thread::spawn(move || touches.iter().filter(|touch| work(touch)).count())
        })
        .collect();
    running.into_iter().map(|thread| thread.join().unwrap()).collect()
}

#[test]
fn two_writers_of_one_byte_never_meet() {
    check(|| {
        let bytes = Bytes::new();
        let allowed = race(&bytes, &[&[(Write, WHOLE)], &[(Write, LOW)]]);
        assert!(allowed.iter().sum::<usize>() >= 1, "somebody comes first");
        assert!(bytes.is_free());
    });
}

#[test]
fn writers_of_different_bytes_never_wait() {
    check(|| {
        let bytes = Bytes::new();
        assert_eq!(race(&bytes, &[&[(Write, LOW)], &[(Write, HIGH)]]), [1, 1]);
        assert!(bytes.is_free());
    });
}

#[test]
fn readers_never_wait_for_readers() {
    check(|| {
        let bytes = Bytes::new();
        let two: &[_] = &[(Read, WHOLE), (KernelRead, LOW)];
        assert_eq!(race(&bytes, &[two, &[(Read, LOW)]]), [2, 1]);
        assert!(bytes.is_free());
    });
}

#[test]
fn a_reader_never_meets_a_writer() {
    check(|| {
        let bytes = Bytes::new();
        race(&bytes, &[&[(Read, LOW), (Read, WHOLE)], &[(Write, WHOLE)]]);
        assert!(bytes.is_free());
    });
}

#[test]
fn two_readers_and_a_writer() {
    check_most(3, || {
        let bytes = Bytes::new();
        race(&bytes, &[&[(Read, WHOLE)], &[(Read, LOW)], &[(Write, LOW)]]);
        assert!(bytes.is_free());
    });
}

#[test]
fn writers_that_come_again() {
    check_most(5, || {
        let bytes = Bytes::new();
        race(&bytes, &[&[(Write, LOW), (Write, WHOLE)], &[(Write, WHOLE), (Write, HIGH)]]);
        assert!(bytes.is_free());
    });
}

#[test]
fn kernels_meet_neither_references_nor_each_other() {
    check_most(3, || {
        let bytes = Bytes::new();
        race(&bytes, &[&[(KernelWrite, WHOLE)], &[(KernelRead, LOW)], &[(Read, HIGH)]]);
        assert!(bytes.is_free());
    });
}

#[test]
fn foreign_views_exclude_references_only() {
    check(|| {
        let bytes = Bytes::new();
        let export = bytes.buffer.hold(ExportWrite, 0..8).unwrap();
        // Kernels go on beside it; the cells are not asked, since foreign code has its own rules.
        let other = Arc::clone(&bytes);
        let kernel = thread::spawn(move || other.buffer.hold(KernelWrite, 0..16).map(drop).is_ok());
        let reference = bytes.touch(Write, LOW);
        assert!(!reference);
        drop(export);
        assert!(kernel.join().unwrap());
        assert!(bytes.is_free());
    });
}

/// Two columns of four bytes, which lie between each other, and a cell for each.
struct Columns {
    buffer: Buffer,
    cells: [UnsafeCell<()>; 2],
}

impl Columns {
    fn new() -> Arc<Columns> {
        let raw = Mem.allocate(&Request::new(16).unwrap()).unwrap();
        let cells = [UnsafeCell::new(()), UnsafeCell::new(())];
        Arc::new(Columns { buffer: Buffer::from_raw(raw), cells })
    }

    /// Writes a column; whether that was allowed.
    fn write(&self, column: usize) -> bool {
        let rows = Rows::new(column * 4, 4, 8, 2).unwrap();
        let held = self.buffer.write_rows(&rows);
        self.cells[column].with_mut(|_| held.is_ok())
    }
}

#[test]
fn writers_of_different_columns_never_wait() {
    check(|| {
        let columns = Columns::new();
        let other = Arc::clone(&columns);
        let other = thread::spawn(move || other.write(1) && other.write(1));
        assert!(columns.write(0) && other.join().unwrap());
        assert_eq!(columns.buffer.raw().unwrap().held(), 0);
    });
}

#[test]
fn a_column_and_a_range_across_it_never_meet() {
    check(|| {
        let columns = Columns::new();
        let other = Arc::clone(&columns);
        let across = thread::spawn(move || match other.buffer.hold(Read, 8..16) {
            Ok(_hold) => other.cells[1].with(|_| true),
            Err(_) => false,
        });
        let rows = Rows::new(4, 4, 8, 2).unwrap();
        let held = columns.buffer.write_rows(&rows);
        if held.is_ok() {
            columns.cells[1].with_mut(|_| ());
        }
        let wrote = held.map(drop).is_ok();
        assert!(across.join().unwrap() || wrote, "somebody comes first");
        assert_eq!(columns.buffer.raw().unwrap().held(), 0);
    });
}

/// Counts what it allocates, and refuses the first few times.
struct Counting {
    refusals: usize,
    asked: AtomicUsize,
}

impl Counting {
    fn new(refusals: usize) -> std::sync::Arc<Counting> {
        std::sync::Arc::new(Counting { refusals, asked: AtomicUsize::new(0) })
    }
}

impl Allocator for Counting {
    fn memory(&self) -> TensorMemory {
        TensorMemory::Mem
    }

    fn allocate(&self, request: &Request<'_>) -> Result<RawBuffer> {
        if self.asked.fetch_add(1, Ordering::Relaxed) < self.refusals {
            return Err(Error::BadRequest { bytes: request.bytes(), align: request.align() });
        }
        Mem.allocate(request)
    }
}

/// A lazy buffer of 16 bytes.
fn lazy(allocator: &std::sync::Arc<Counting>) -> Buffer {
    let allocator: std::sync::Arc<dyn Allocator> = allocator.clone();
    Buffer::lazy_in(allocator, &Request::new(16).unwrap())
}

fn arena() -> Buffer {
    Buffer::from_raw(Mem.allocate(&Request::new(512).unwrap()).unwrap())
}

fn allocation(buffer: &Buffer) -> u64 {
    buffer.place().unwrap().allocation
}

#[test]
fn a_lazy_buffer_is_allocated_once() {
    check(|| {
        let allocator = Counting::new(0);
        let buffer = lazy(&allocator);
        let slice = buffer.slice(8..16).unwrap();
        let other = thread::spawn(move || {
            let held = slice.hold(KernelRead, 0..8).unwrap();
            held.raw().identity().id()
        });
        let held = buffer.hold(KernelRead, 0..16).unwrap();
        assert_eq!(held.raw().identity().id(), other.join().unwrap());
        assert_eq!(allocator.asked.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn a_refused_allocation_leaves_the_buffer_unmade() {
    check(|| {
        let allocator = Counting::new(1);
        let buffer = lazy(&allocator);
        let other = {
            let buffer = buffer.clone();
            thread::spawn(move || buffer.ensure().is_ok())
        };
        let made = [buffer.ensure().is_ok(), other.join().unwrap()];
        assert_eq!(made.iter().filter(|made| **made).count(), 1, "one asked first and was refused");
        assert!(buffer.is_placed());
        assert_eq!(allocator.asked.load(Ordering::Relaxed), 2);
    });
}

#[test]
fn a_buffer_is_placed_or_touched_but_not_both() {
    check(|| {
        let allocator = Counting::new(0);
        let (buffer, arena) = (lazy(&allocator), arena());
        let home = allocation(&arena);
        let touching = {
            let buffer = buffer.clone();
            thread::spawn(move || buffer.hold(Write, 0..16).unwrap().raw().identity().id())
        };
        let placed = buffer.place_in(&arena, 256).is_ok();
        let touched = touching.join().unwrap();
        assert_eq!(allocation(&buffer), touched, "both see one place");
        assert_eq!(placed, touched == home, "the arena if and only if placing won");
        assert_eq!(buffer.start(), if placed { 256 } else { 0 });
        let asked = allocator.asked.load(Ordering::Relaxed);
        assert_eq!(asked, usize::from(!placed), "no memory is made for nothing");
    });
}

#[test]
fn one_of_two_places_wins() {
    check(|| {
        let allocator = Counting::new(0);
        let (buffer, one, two) = (lazy(&allocator), arena(), arena());
        let homes = [allocation(&one), allocation(&two)];
        let placing = {
            let buffer = buffer.clone();
            thread::spawn(move || buffer.place_in(&one, 0).is_ok())
        };
        let won = [buffer.place_in(&two, 256).is_ok(), placing.join().unwrap()];
        let place = allocation(&buffer);
        assert_eq!(won, [place == homes[1], place == homes[0]]);
    });
}

/// A cell for the bytes of every buffer that a pool gave out.
#[derive(Default)]
struct Users(Mutex<HashMap<u64, Arc<UnsafeCell<()>>>>);

impl Users {
    /// Takes a buffer from the pool, is alone with it, and gives it back.
    fn take(&self, pool: &Pool) {
        let raw = pool.allocate(&Request::new(16).unwrap()).unwrap();
        let cell = {
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let new = || Arc::new(UnsafeCell::new(()));
            Arc::clone(all.entry(raw.identity().id()).or_insert_with(new))
        };
        cell.with_mut(|_| thread::yield_now());
        drop(raw);
    }
}

fn pool(buffers: usize) -> Pool {
    Pool::over(Counting::new(0), PoolLimits::new(1 << 20, buffers))
}

#[test]
fn a_pool_gives_a_buffer_to_one_user_at_a_time() {
    check(|| {
        let (pool, users) = (pool(8), Arc::new(Users::default()));
        let other = {
            let (pool, users) = (pool.clone(), Arc::clone(&users));
            thread::spawn(move || {
                users.take(&pool);
                users.take(&pool);
            })
        };
        users.take(&pool);
        other.join().unwrap();
        let report = pool.report();
        assert_eq!((report.used, report.used_bytes), (0, 0));
        assert_eq!(report.hits + report.misses, 3);
        assert_eq!(report.kept as u64, report.misses, "what was made is kept");
        assert!(report.misses <= 2 && report.peak <= 2);
    });
}

#[test]
fn a_full_pool_counts_right() {
    check(|| {
        let (pool, users) = (pool(1), Arc::new(Users::default()));
        let other = {
            let (pool, users) = (pool.clone(), Arc::clone(&users));
            thread::spawn(move || users.take(&pool))
        };
        users.take(&pool);
        other.join().unwrap();
        let report = pool.report();
        assert_eq!((report.used, report.kept), (0, 1));
        assert_eq!(report.misses, 1 + report.given_up);
    });
}

#[test]
fn a_pool_may_go_while_a_buffer_comes_back() {
    check(|| {
        let pool = pool(8);
        let raw = pool.allocate(&Request::new(16).unwrap()).unwrap();
        let alive = raw.identity().weak();
        let other = thread::spawn(move || drop(raw));
        drop(pool);
        other.join().unwrap();
        assert!(alive.upgrade().is_none(), "nobody keeps it");
    });
}

#[test]
fn trimming_takes_only_what_nobody_uses() {
    check(|| {
        let (pool, users) = (pool(8), Arc::new(Users::default()));
        let other = {
            let (pool, users) = (pool.clone(), Arc::clone(&users));
            thread::spawn(move || users.take(&pool))
        };
        pool.trim();
        other.join().unwrap();
        pool.trim();
        let report = pool.report();
        assert_eq!((report.used, report.kept, report.kept_bytes), (0, 0, 0));
        assert_eq!(report.misses, report.given_up);
    });
}

#[test]
fn whoever_waits_is_woken() {
    check_most(3, || {
        let bytes = Bytes::new();
        let held = bytes.buffer.hold(KernelWrite, 0..16).unwrap();
        let others: Vec<_> = [Read, KernelWrite]
            .into_iter()
            .map(|access| {
                let bytes = Arc::clone(&bytes);
                thread::spawn(move || {
                    let hold = bytes.buffer.hold_wait(access, 0..16, None).unwrap();
                    bytes.use_halves(&hold, WHOLE);
                })
            })
            .collect();
        bytes.use_halves(&held, WHOLE);
        drop(held);
        others.into_iter().for_each(|other| other.join().unwrap());
        assert_eq!(bytes.buffer.raw().unwrap().held(), 0);
    });
}
