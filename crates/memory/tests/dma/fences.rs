//! Waiting for devices: explicit fences, implicit ones, and the CPU's own access.
#![expect(unsafe_code, reason = "interrupts a thread by a signal")]

use std::os::unix::thread::JoinHandleExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use tenure_memory::kind::dma::{Dma, Source};
use tenure_memory::{Access, Buffer, Error, Fence, Pool, TensorMemory, kind};

use crate::vgem::Work;
use crate::{allocate, working};

const NOW: Option<Duration> = Some(Duration::ZERO);
const SOON: Option<Duration> = Some(Duration::from_secs(5));

/// Buffers of every source: the graphics driver takes its own and other drivers' alike.
fn each(test: impl Fn(&Buffer)) {
    let buffers: Vec<Buffer> =
        working().into_iter().map(|source| allocate(&Dma::from_source(source), 4096)).collect();
    assert_eq!(buffers.len(), 3);
    buffers.iter().for_each(test);
}

#[test]
#[ignore = "needs DMA-BUF: tests/vm/test"]
fn an_idle_buffer_is_ready() {
    let buffer = allocate(&Dma::new(), 4096);
    let fence = buffer.fence(Access::Write).unwrap();
    assert!(fence.is_done().unwrap());
    assert!(buffer.wait_ready(Access::Read, NOW).unwrap());
    buffer.add_fence(&fence, Access::Write).unwrap();
    assert!(buffer.wait_ready(Access::Write, SOON).unwrap());
    let heap = allocate(kind::allocator(TensorMemory::Mem).unwrap(), 16);
    assert!(matches!(heap.fence(Access::Read), Err(Error::NotDma { .. })));
    assert!(heap.wait_ready(Access::Write, None).unwrap());
}

#[test]
#[ignore = "needs DMA-BUF: tests/vm/test"]
fn everybody_waits_for_a_writer() {
    each(|buffer| {
        let work = Work::begin(buffer, true);
        let fences = [Access::Read, Access::Write].map(|access| buffer.fence(access).unwrap());
        for (fence, access) in fences.iter().zip([Access::Read, Access::Write]) {
            assert!(!fence.is_done().unwrap());
            assert!(!buffer.wait_ready(access, Some(Duration::from_millis(5))).unwrap());
        }
        work.end();
        for (fence, access) in fences.iter().zip([Access::Read, Access::Write]) {
            assert!(fence.wait(SOON).unwrap());
            assert!(buffer.wait_ready(access, NOW).unwrap());
        }
    });
}

#[test]
#[ignore = "needs DMA-BUF: tests/vm/test"]
fn only_writing_waits_for_a_reader() {
    each(|buffer| {
        let work = Work::begin(buffer, false);
        assert!(buffer.wait_ready(Access::Read, NOW).unwrap());
        assert!(buffer.fence(Access::Read).unwrap().is_done().unwrap());
        drop(buffer.read().unwrap());
        assert!(!buffer.wait_ready(Access::Write, NOW).unwrap());
        assert!(!buffer.fence(Access::Write).unwrap().is_done().unwrap());
        work.end();
        assert!(buffer.wait_ready(Access::Write, SOON).unwrap());
    });
}

#[test]
#[ignore = "needs DMA-BUF: tests/vm/test"]
fn a_map_waits_for_the_device() {
    each(|buffer| {
        let (work, done) = (Work::begin(buffer, true), AtomicBool::new(false));
        thread::scope(|scope| {
            let done = &done;
            scope.spawn(move || {
                thread::sleep(Duration::from_millis(100));
                done.store(true, Ordering::SeqCst);
                work.end();
            });
            drop(buffer.read().unwrap());
            assert!(done.load(Ordering::SeqCst), "the map came before the device was done");
        });
    });
}

extern "C" fn nothing(_: i32) {}

#[test]
#[ignore = "needs DMA-BUF: tests/vm/test"]
fn a_signal_does_not_end_the_waiting() {
    // SAFETY: a handler that does nothing; without SA_RESTART the kernel's calls are interrupted.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = nothing as *const () as usize;
        assert_eq!(libc::sigaction(libc::SIGUSR1, &raw const action, std::ptr::null_mut()), 0);
    }
    let buffer = allocate(&Dma::new(), 4096);
    let work = Work::begin(&buffer, true);
    let mapped = buffer.clone();
    let mapping = thread::spawn(move || mapped.write().map(drop));
    let polled = buffer.clone();
    let polling = thread::spawn(move || polled.wait_ready(Access::Write, None));
    for _ in 0..20 {
        thread::sleep(Duration::from_millis(5));
        for thread in [mapping.as_pthread_t(), polling.as_pthread_t()] {
            // SAFETY: neither thread was joined.
            unsafe { libc::pthread_kill(thread, libc::SIGUSR1) };
        }
    }
    assert!(!mapping.is_finished() && !polling.is_finished());
    work.end();
    mapping.join().unwrap().unwrap();
    assert!(polling.join().unwrap().unwrap());
}

#[test]
#[ignore = "needs DMA-BUF: tests/vm/test"]
fn a_fence_of_one_buffer_holds_up_another() {
    let first = allocate(&Dma::from_source(Source::Card("card0".to_owned())), 4096);
    let second = allocate(&Dma::new(), 4096);
    let work = Work::begin(&first, true);
    // As another process would give it to us.
    let fence = Fence::from_fd(first.fence(Access::Read).unwrap().fd()).unwrap();
    second.add_fence(&fence, Access::Write).unwrap();
    assert!(!second.wait_ready(Access::Read, NOW).unwrap());
    drop(fence);
    work.end();
    assert!(second.wait_ready(Access::Write, SOON).unwrap());
}

#[test]
#[ignore = "needs DMA-BUF: tests/vm/test"]
fn what_is_no_fence_is_refused() {
    let buffer = allocate(&Dma::new(), 4096);
    let file = Fence::from_fd(std::fs::File::open("/proc/self/maps").unwrap()).unwrap();
    let error = buffer.add_fence(&file, Access::Write).unwrap_err().to_string();
    assert!(error.contains("adding a fence to the DMA-BUF failed"), "{error}");
    // The longest time that can be said is no overflow.
    assert!(buffer.wait_ready(Access::Write, Some(Duration::MAX)).unwrap());
}

#[test]
#[ignore = "needs DMA-BUF: tests/vm/test"]
fn asking_for_fences_keeps_a_buffer_in_its_pool() {
    let pool = Pool::new(kind::allocator(TensorMemory::Dma).unwrap());
    let buffer = allocate(&pool, 4096);
    let id = buffer.identity().id();
    buffer.add_fence(&buffer.fence(Access::Read).unwrap(), Access::Write).unwrap();
    assert!(buffer.wait_ready(Access::Write, NOW).unwrap());
    drop(buffer);
    assert_eq!(allocate(&pool, 4096).identity().id(), id);
}
