use super::*;
use crate::kind;

fn pool(bytes: usize, buffers: usize) -> Pool {
    let mem = kind::allocator(TensorMemory::Mem).unwrap();
    let limits = PoolLimits { kept_bytes: bytes, buffers, ..PoolLimits::default() };
    Pool::new(mem).with_limits(limits)
}

fn get(pool: &Pool, bytes: usize) -> RawBuffer {
    pool.allocate(&Request::new(bytes).unwrap()).unwrap()
}

#[test]
fn classes_waste_an_eighth_at_most() {
    let small = (0..100_000).step_by(if cfg!(miri) { 331 } else { 1 });
    for bytes in small.chain([1 << 20, (1 << 20) + 1, 8_294_400, (1 << (usize::BITS - 3)) + 1]) {
        let class = class_of(bytes);
        assert!(class >= bytes && class <= bytes.max(256) + bytes / 8 + 256, "{bytes} {class}");
        assert_eq!(class_of(class), class, "{bytes}");
    }
}

#[test]
fn keeps_the_identity_of_what_it_reuses() {
    let pool = pool(1 << 20, 8);
    let first = get(&pool, 1000);
    let id = first.identity().id();
    let alive = first.identity().weak();
    drop(first);
    assert_eq!(get(&pool, 900).identity().id(), id);
    assert!(alive.upgrade().is_some());
    pool.trim();
    assert!(alive.upgrade().is_none());
    let report = pool.report();
    assert_eq!((report.hits, report.misses, report.kept, report.used), (1, 1, 0, 0));
}

#[test]
fn stays_within_its_limits() {
    let pool = pool(4096, 3);
    let all: Vec<_> = (0..5).map(|_| get(&pool, 512)).collect();
    assert_eq!(pool.report().used, 5);
    drop(all);
    let report = pool.report();
    assert_eq!((report.kept, report.given_up, report.used), (3, 2, 0));
    drop(get(&pool, 3000));
    assert!(pool.report().kept_bytes <= 4096);
    drop(get(&pool, 8192));
    assert!(pool.report().kept_bytes <= 4096);
    assert_eq!(pool.report().limits().buffers, 5);
}

fn limited(bytes: usize) -> Pool {
    let mem = kind::allocator(TensorMemory::Mem).unwrap();
    Pool::new(mem).with_limits(PoolLimits::new(bytes, 64))
}

fn refused(pool: &Pool, bytes: usize) -> Error {
    pool.allocate(&Request::new(bytes).unwrap()).unwrap_err()
}

fn all_bytes(pool: &Pool) -> usize {
    // Of one moment: other threads go on.
    let report = pool.report();
    report.used_bytes + report.kept_bytes
}

#[test]
fn a_limited_pool_has_no_more_than_its_limit() {
    let pool = limited(1 << 20);
    let error = refused(&pool, 5 << 19);
    let words = error.to_string();
    for value in ["limited to 1048576 bytes", "0 bytes in use", "2621440"] {
        assert!(words.contains(value), "{words}");
    }
    let first = get(&pool, 600_000);
    let error = refused(&pool, 600_000);
    assert!(
        matches!(&error, Error::PoolFull(it) if matches!(**it, crate::detail::PoolFull { asked: 600_000, used, limit: 0x10_0000, .. } if used == first.size())),
        "{error:?}"
    );
    // What failed left no trace, and what comes back makes room.
    assert_eq!(all_bytes(&pool), first.size());
    drop(first);
    drop(get(&pool, 700_000));
    assert!(all_bytes(&pool) <= 1 << 20, "{}", pool.report());
    // Kept buffers of other sizes give way.
    let all: Vec<_> = (0..16).map(|_| get(&pool, 65_536)).collect();
    assert_eq!((all_bytes(&pool), pool.report().kept), (1 << 20, 0));
    assert!(matches!(refused(&pool, 1), Error::PoolFull { .. }));
    drop(all);
    assert_eq!(all_bytes(&pool), 1 << 20);
}

#[test]
fn all_of_a_limit_can_be_had_whatever_its_class() {
    for limit in [1_000_000, 65_537, 300, 1] {
        let pool = limited(limit);
        let first = get(&pool, limit);
        assert!(first.size() >= limit && all_bytes(&pool) == limit, "{}", pool.report());
        let id = first.identity().id();
        drop(first);
        assert_eq!(get(&pool, limit).identity().id(), id, "it is reused");
        assert!(matches!(refused(&pool, limit + 1), Error::PoolFull { .. }));
    }
}

#[test]
fn a_limit_holds_on_all_threads_together() {
    let pool = limited(64 << 10);
    std::thread::scope(|scope| {
        for size in [10_000, 20_000, 30_000, 40_000] {
            let pool = &pool;
            scope.spawn(move || {
                for _ in 0..if cfg!(miri) { 5 } else { 500 } {
                    let raw = pool.allocate(&Request::new(size).unwrap());
                    assert!(all_bytes(pool) <= 64 << 10);
                    drop(raw);
                }
            });
        }
    });
    assert_eq!(pool.report().used, 0);
}

#[test]
fn an_allocator_that_gives_more_does_not_break_the_limit() {
    struct Generous;
    impl Allocator for Generous {
        fn memory(&self) -> TensorMemory {
            TensorMemory::Mem
        }
        fn allocate(&self, request: &Request<'_>) -> Result<RawBuffer> {
            let more = Request::new(request.bytes() + 4096)?;
            kind::allocator(TensorMemory::Mem)?.allocate(&more)
        }
    }
    let pool = Pool::over(Arc::new(Generous), PoolLimits::new(10_000, 8));
    let first = get(&pool, 4096);
    assert!(matches!(refused(&pool, 1000), Error::PoolFull { .. }));
    assert_eq!(all_bytes(&pool), first.size());
}

#[test]
fn a_pool_gives_up_what_it_keeps_for_the_pool_below() {
    let inner = limited(8192);
    let outer = Pool::over(Arc::new(inner.clone()), PoolLimits::default());
    drop((get(&outer, 4096), get(&outer, 4096)));
    // All that the inner one may have is kept by the outer one.
    assert_eq!(inner.report().used_bytes, 8192);
    let all = get(&outer, 8192);
    assert_eq!((all.size(), outer.report().kept), (8192, 0));
    assert!(matches!(refused(&outer, 256), Error::PoolFull { .. }));
}

#[test]
fn a_pool_may_go_before_its_buffers() {
    let pool = pool(1 << 20, 8);
    let raw = get(&pool, 512);
    let alive = raw.identity().weak();
    drop(pool);
    assert!(alive.upgrade().is_some());
    drop(raw);
    assert!(alive.upgrade().is_none());
}

#[test]
fn alignment_is_honoured_on_reuse() {
    let pool = pool(1 << 20, 8);
    drop(get(&pool, 512));
    let request = Request::new(512).unwrap().with_align(4096).unwrap();
    let raw = pool.allocate(&request).unwrap();
    assert_eq!(raw.fixed_address().unwrap().addr().get() % 4096, 0);
}

#[test]
fn names_follow_the_user() {
    let pool = pool(1 << 20, 8);
    let request = Request::new(512).unwrap();
    drop(pool.allocate(&request.with_name(Some("pooled-first"))).unwrap());
    let raw = pool.allocate(&request.with_name(Some("pooled-second"))).unwrap();
    let names: Vec<_> =
        crate::statistics::report().into_iter().filter_map(|live| live.name).collect();
    assert!(names.iter().any(|name| &**name == "pooled-second"));
    assert!(!names.iter().any(|name| &**name == "pooled-first"));
    drop(raw);
}

#[test]
fn a_pool_over_a_pool_gives_back_what_it_does_not_keep() {
    let inner = pool(1 << 20, 8);
    let limits = PoolLimits::new(1 << 20, 1);
    let outer = Pool::over(Arc::new(inner.clone()), limits);
    let (first, second) = (get(&outer, 512), get(&outer, 512));
    assert_eq!((outer.report().used, inner.report().used), (2, 2));
    drop((first, second));
    // One is kept outside, which is use inside; the other went home.
    assert_eq!((outer.report().kept, inner.report().used, inner.report().kept), (1, 1, 1));
    drop(get(&outer, 512));
    outer.trim();
    assert_eq!((outer.report().kept, inner.report().used, inner.report().kept), (0, 0, 2));
    let last = get(&outer, 512);
    drop(outer);
    assert_eq!(inner.report().used, 1);
    drop(last);
    assert_eq!((inner.report().used, inner.report().kept), (0, 2));
}

#[test]
fn idle_buffers_go_and_fresh_ones_stay() {
    // Miri's clock is its own: sleeping takes no time, but every step of the program does.
    let wait = Duration::from_millis(if cfg!(miri) { 5000 } else { 60 });
    let pool = pool(1 << 20, 8);
    drop(get(&pool, 1000));
    pool.trim_idle(Duration::from_secs(3600));
    assert_eq!(pool.report().kept, 1, "not idle for an hour");
    std::thread::sleep(wait);
    drop(get(&pool, 5000));
    pool.trim_idle(wait / 2);
    let report = pool.report();
    assert_eq!((report.kept, report.given_up), (1, 1), "{report}");
    assert!(report.kept_bytes >= 5000, "the fresh one");
    // Taking and giving back is a use.
    std::thread::sleep(wait);
    drop(get(&pool, 5000));
    pool.trim_idle(wait / 2);
    assert_eq!((pool.report().kept, pool.report().hits), (1, 1));
    pool.trim_idle(Duration::ZERO);
    assert_eq!(pool.report().kept, 0);
}

/// Many come back within one tick of the clock.
#[test]
fn what_was_used_longest_ago_goes_first() {
    let pool = pool(1 << 20, 3);
    let sizes = [1 << 12, 1 << 13, 1 << 14, 1 << 15];
    let mut all: Vec<_> = sizes.iter().map(|size| get(&pool, *size)).collect();
    // Back in the order of 2, 0, 3, 1.
    let [one, three, zero, two] = [all.remove(1), all.remove(2), all.remove(0), all.remove(0)];
    [two, zero, three, one].into_iter().for_each(drop);
    let hits = |size| {
        let before = pool.report().hits;
        let raw = get(&pool, size);
        (pool.report().hits > before, raw)
    };
    let found = sizes.map(hits);
    assert_eq!(found.map(|(hit, _)| hit), [true, true, false, true]);
}

#[test]
fn with_the_last_handle_goes_what_is_kept_and_later_what_is_in_use() {
    let below = pool(1 << 20, 8);
    let above = Pool::over(Arc::new(below.clone()), PoolLimits::default());
    let other = above.clone();
    let (used, kept) = (get(&above, 1000), get(&above, 1000));
    let alive = [used.identity().weak(), kept.identity().weak()];
    drop(kept);
    drop(above);
    assert_eq!((other.report().kept, below.report().kept), (1, 0));
    drop(other);
    assert_eq!(below.report().kept, 1, "given up to the pool below");
    drop(used);
    assert_eq!((below.report().kept, below.report().used), (2, 0));
    assert!(alive.iter().all(|weak| weak.upgrade().is_some()));
    drop(below);
    assert!(alive.iter().all(|weak| weak.upgrade().is_none()));
}

#[test]
fn reused_memory_is_zero_unless_asked_otherwise() {
    let pool = pool(1 << 20, 8);
    let write = |raw: RawBuffer, value: u8| {
        let guard = crate::WriteGuard::over(Arc::new(raw), 0..4096);
        guard.unwrap().as_bytes_mut().fill(value);
    };
    let request = Request::new(4096).unwrap();
    write(get(&pool, 4096), 7);
    let stale = pool.allocate(&request.without_zeroing()).unwrap();
    let bytes = |raw: &Arc<RawBuffer>| {
        let guard = crate::ReadGuard::over(Arc::clone(raw), 0..raw.size()).unwrap();
        guard.as_bytes().to_vec()
    };
    let stale = Arc::new(stale);
    assert!(bytes(&stale).iter().all(|byte| *byte == 7));
    drop(stale);
    // Smaller than what is reused: the rest of the buffer is zero too.
    let zeroed = Arc::new(get(&pool, 3900));
    assert_eq!(zeroed.size(), 4096);
    assert!(bytes(&zeroed).iter().all(|byte| *byte == 0));
    drop(zeroed);
    assert_eq!((pool.report().hits, pool.report().misses), (2, 1));
}

#[test]
fn a_memory_by_its_name_is_enough() {
    let pool = Pool::new(TensorMemory::Mem);
    assert_eq!(pool.allocate(&Request::new(64).unwrap()).unwrap().memory(), TensorMemory::Mem);
    let none = Pool::new(TensorMemory::File);
    assert!(none.allocate(&Request::new(64).unwrap()).is_err());
    // A pool over a pool, over an Arc of any allocator.
    let other: Arc<dyn Allocator> = Arc::new(pool.clone());
    let over = Pool::new(other);
    drop(get(&over, 64));
    assert_eq!((over.report().kept, pool.report().used), (1, 1));
    let kept = over.keep().unwrap();
    drop(kept.allocate(&Request::new(64).unwrap()).unwrap());
    assert_eq!(over.report().hits, 1);
}
