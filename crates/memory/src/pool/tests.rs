use super::*;
use crate::kind;

fn pool(bytes: usize, buffers: usize) -> Pool {
    let mem = kind::allocator(TensorMemory::Mem).unwrap();
    Pool::new(mem).with_limits(PoolLimits { bytes, buffers })
}

fn get(pool: &Pool, bytes: usize) -> RawBuffer {
    pool.allocate(&Request::new(bytes).unwrap()).unwrap()
}

#[test]
fn classes_waste_an_eighth_at_most() {
    let small = (0..100_000).step_by(if cfg!(miri) { 331 } else { 1 });
    for bytes in small.chain([1 << 20, (1 << 20) + 1, 8_294_400, (1 << 40) + 1]) {
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
    let limits = PoolLimits { bytes: 1 << 20, buffers: 1 };
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
