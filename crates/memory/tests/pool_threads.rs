//! One pool, many threads: no memory is ever given to two at once.

use std::collections::HashSet;
use std::sync::Mutex;
use std::thread;

use tenure_memory::{Allocator, Buffer, Pool, PoolLimits, Request, TensorMemory, kind};

const THREADS: usize = if cfg!(miri) { 2 } else { 4 };
const ROUNDS: usize = if cfg!(miri) { 10 } else { 10_000 };
const MOST: usize = if cfg!(miri) { 300 } else { 6000 };

/// Every thread takes buffers of many sizes, marks them as its own, and finds its mark later.
fn nobody_shares(pool: &Pool) {
    let used: Mutex<HashSet<u64>> = Mutex::new(HashSet::new());
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let used = &used;
            scope.spawn(move || {
                let mut kept = std::collections::VecDeque::new();
                for round in 0..ROUNDS {
                    let bytes = 1 + (round * 7919 + thread * 104_729) % MOST;
                    let raw = pool.allocate(&Request::new(bytes).unwrap()).unwrap();
                    let id = raw.identity().id();
                    assert!(used.lock().unwrap().insert(id), "{id} is given out twice");
                    let buffer = Buffer::from_raw(raw);
                    let mark = (thread * 64 + round % 64) as u8;
                    let mut guard = buffer.write().unwrap();
                    guard.as_bytes_mut()[..bytes].fill(mark);
                    drop(guard);
                    kept.push_back((buffer, mark, bytes));
                    if kept.len() > round % 5 {
                        let (buffer, mark, bytes) = kept.pop_front().unwrap();
                        let guard = buffer.read().unwrap();
                        assert!(guard.as_bytes()[..bytes].iter().all(|byte| *byte == mark));
                        drop(guard);
                        used.lock().unwrap().remove(&buffer.identity().id());
                        drop(buffer);
                    }
                }
                for (buffer, ..) in kept {
                    used.lock().unwrap().remove(&buffer.identity().id());
                }
            });
        }
    });
    let report = pool.report();
    assert_eq!((report.used, report.used_bytes), (0, 0));
    assert_eq!(report.hits + report.misses, (THREADS * ROUNDS) as u64);
    assert!(report.peak <= THREADS * 6, "{report}");
    let before = report.kept as u64 + report.given_up;
    assert_eq!(before, report.misses, "everything made is kept or was given up");
    pool.trim();
    assert_eq!((pool.report().kept, pool.report().kept_bytes), (0, 0));
}

#[test]
fn threads_share_a_pool_of_heap_memory() {
    // Nothing is given up within these limits, so a size class never allocates more than were in
    // use at one time, however the threads take turns.
    let limits = PoolLimits::new(usize::MAX, usize::MAX);
    let pool = Pool::new(kind::allocator(TensorMemory::Mem).unwrap()).with_limits(limits);
    nobody_shares(&pool);
    let classes = MOST.div_ceil(256);
    let report = pool.report();
    assert!(report.misses <= (classes * report.peak) as u64, "{report}");
    assert_eq!(report.given_up, report.misses, "only the trim at the end gives up");
}

#[test]
fn threads_share_a_pool_that_must_give_up() {
    let limits = PoolLimits { kept_bytes: 20_000, buffers: 4, ..PoolLimits::default() };
    let pool = Pool::new(kind::allocator(TensorMemory::Mem).unwrap()).with_limits(limits);
    nobody_shares(&pool);
    assert!(cfg!(miri) || pool.report().given_up > 1000, "{}", pool.report());
}

#[test]
#[cfg_attr(miri, ignore = "Miri knows no memory files")]
fn threads_share_a_pool_of_shared_memory() {
    nobody_shares(&Pool::new(kind::allocator(TensorMemory::Shm).unwrap()));
}

#[test]
fn buffers_come_home_from_other_threads() {
    let pool = Pool::new(kind::allocator(TensorMemory::Mem).unwrap());
    let mut ids = HashSet::new();
    for _ in 0..10 {
        let raw = pool.allocate(&Request::new(5000).unwrap()).unwrap();
        ids.insert(raw.identity().id());
        thread::spawn(move || drop(Buffer::from_raw(raw))).join().unwrap();
    }
    assert_eq!(ids.len(), 1);
    assert_eq!((pool.report().misses, pool.report().hits), (1, 9));
}

#[test]
fn a_pool_may_be_trimmed_while_it_is_used() {
    let pool = Pool::new(kind::allocator(TensorMemory::Mem).unwrap());
    thread::scope(|scope| {
        scope.spawn(|| (0..ROUNDS / 10).for_each(|_| pool.trim()));
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..ROUNDS / 10 {
                    let raw = pool.allocate(&Request::new(5000).unwrap()).unwrap();
                    Buffer::from_raw(raw).write().unwrap().as_bytes_mut().fill(1);
                }
            });
        }
    });
    pool.trim();
    let report = pool.report();
    assert_eq!((report.kept, report.used), (0, 0));
    assert_eq!(report.misses, report.given_up);
}
