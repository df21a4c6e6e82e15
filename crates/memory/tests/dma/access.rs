//! What CPU access costs, and that it is ended whatever happens.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tenure_memory::kind::dma::Dma;
use tenure_memory::{Allocator, Buffer, Pool, Request};

use crate::calls::{Call, calls_of};
use crate::{allocate, working};

const SYNC: u64 = 0x4008_6200;
const READ: u64 = 1;
const READ_WRITE: u64 = 3;
const END: u64 = 4;

fn sync(flags: u64) -> Call {
    Call { number: libc::SYS_ioctl, request: Some((SYNC, flags)) }
}

#[test]
#[ignore = "needs DMA-BUF: tests/vm/test"]
fn a_map_is_two_requests_and_nothing_else() {
    for source in working() {
        let buffer = allocate(&Dma::from_source(source.clone()), 1 << 20);
        let read = calls_of(|| drop(buffer.read().unwrap()));
        assert_eq!(read, [sync(READ), sync(READ | END)], "{source:?}");
        let write = calls_of(|| buffer.write().unwrap().as_bytes_mut()[0] = 1);
        assert_eq!(write, [sync(READ_WRITE), sync(READ_WRITE | END)], "{source:?}");
        let part = buffer.slice(4096..8192).unwrap();
        assert_eq!(calls_of(|| drop(part.read().unwrap())), [sync(READ), sync(READ | END)]);
    }
}

#[test]
#[ignore = "needs DMA-BUF: tests/vm/test"]
fn a_refused_map_asks_the_kernel_nothing() {
    let buffer = allocate(&Dma::new(), 4096);
    let held = buffer.write().unwrap();
    assert_eq!(calls_of(|| assert!(buffer.read().is_err())), []);
    drop(held);
}

#[test]
#[ignore = "needs DMA-BUF: tests/vm/test"]
fn a_panic_ends_the_access() {
    let buffer = allocate(&Dma::new(), 4096);
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let calls = calls_of(|| {
        let ended = catch_unwind(AssertUnwindSafe(|| {
            let mut guard = buffer.write().unwrap();
            guard.as_bytes_mut()[0] = 1;
            panic!("in the middle of writing");
        }));
        assert!(ended.is_err());
    });
    std::panic::set_hook(hook);
    let requests: Vec<Call> = calls.into_iter().filter(|call| call.request.is_some()).collect();
    assert_eq!(requests, [sync(READ_WRITE), sync(READ_WRITE | END)]);
    drop(buffer.write().unwrap());
}

#[test]
#[ignore = "needs DMA-BUF: tests/vm/test"]
fn a_pooled_buffer_makes_no_call_at_all() {
    for source in working() {
        let pool = Pool::over(std::sync::Arc::new(Dma::from_source(source)), Default::default());
        drop(allocate(&pool, 1 << 20));
        let request = Request::new(1 << 20).unwrap().without_zeroing();
        assert_eq!(calls_of(|| drop(pool.allocate(&request).unwrap())), []);
        assert_eq!(pool.report().misses, 1);
    }
}

/// Processor time of this thread.
fn thread_time() -> f64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}

fn time_of(rounds: usize, mut work: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..rounds)
        .map(|_| {
            let before = thread_time();
            work();
            thread_time() - before
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[rounds / 2]
}

#[test]
#[ignore = "needs DMA-BUF: tests/vm/test"]
fn a_pool_is_ten_times_cheaper_than_new_buffers() {
    const FRAME: usize = 1920 * 1080 * 3 / 2;
    for source in working() {
        let anew = Dma::from_source(source.clone());
        let pool = Pool::over(std::sync::Arc::new(anew.clone()), Default::default());
        let take = |allocator: &dyn Allocator| {
            let request = Request::new(FRAME).unwrap().without_zeroing();
            let raw = allocator.allocate(&request).unwrap();
            drop(Buffer::from_raw(raw));
        };
        take(&pool);
        let new = time_of(15, || take(&anew));
        let reused = time_of(101, || take(&pool));
        println!(
            "{source:?}: new {:.0} us, pooled {:.2} us, {:.0} times",
            new * 1e6,
            reused * 1e6,
            new / reused
        );
        assert!(new > 10.0 * reused, "{source:?}: {new} s new, {reused} s pooled");
    }
}
