//! What a frame costs once a stream runs: no mapping, no descriptor, no growing heap.
//!
//! Run as `tests/vivid` is. The kernel itself keeps count: under a filter that ends the process
//! at the first mmap, munmap, open, close or dup, a hundred frames go by.
#![cfg(target_os = "linux")]
#![expect(unsafe_code, reason = "counts allocations, and installs a system call filter")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::process::Command;
use std::sync::atomic::{AtomicIsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tenure_camera::{Camera, FrameMemory, Stream, Wanted, cameras};
use tenure_memory::kind::dma::Dma;
use tenure_tensor::PixelFormat;

struct Counting;

static LIVE: AtomicIsize = AtomicIsize::new(0);

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, address: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(address, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Keeps the other test from the cameras.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn start(memory: FrameMemory, format: PixelFormat) -> Stream {
    let offers = |camera: &Camera| {
        let formats = camera.formats().unwrap();
        formats.iter().any(|entry| entry.fourcc.pixels() == Some(format))
    };
    let mut camera = cameras()
        .into_iter()
        .filter(|found| found.capture.is_ok())
        .map(|found| Camera::open(found.path).unwrap())
        .find(offers)
        .unwrap();
    let wanted = Wanted::pixels(format).size(320, 180).fps(60.0).memory(memory);
    camera.negotiate(&wanted).unwrap();
    camera.stream().unwrap()
}

/// Takes frames and looks at each.
fn run(stream: &mut Stream, frames: usize) -> u64 {
    let mut sum = 0;
    for _ in 0..frames {
        let frame = stream.next(Duration::from_secs(5)).unwrap().unwrap();
        let luma = frame.plane(0).unwrap();
        sum += u64::from(luma.map_rows_read().unwrap()[3][40]);
    }
    sum
}

fn memories() -> [FrameMemory; 3] {
    let allocated = FrameMemory::Allocated(std::sync::Arc::new(Dma::new()));
    [FrameMemory::Exported, FrameMemory::Mapped, allocated]
}

#[test]
#[ignore = "needs a camera: tests/vm/test"]
fn the_heap_does_not_grow() {
    let _alone = alone();
    for memory in memories() {
        let mut stream = start(memory.clone(), PixelFormat::Nv12);
        run(&mut stream, 20);
        let before = LIVE.load(Ordering::Relaxed);
        run(&mut stream, 200);
        assert_eq!(LIVE.load(Ordering::Relaxed) - before, 0, "{memory:?}");
    }
}

const FORBIDDEN: &str = "TENURE_TEST_FORBIDDEN_CALLS";

#[test]
#[ignore = "needs a camera: tests/vm/test"]
fn a_frame_maps_opens_and_closes_nothing() {
    let _alone = alone();
    if let Ok(number) = std::env::var(FORBIDDEN) {
        return forbidden(number.parse().unwrap());
    }
    for number in 0..=memories().len() {
        let status = Command::new(std::env::current_exe().unwrap())
            .args(["a_frame_maps_opens_and_closes_nothing", "--exact", "--ignored"])
            .args(["--test-threads=1", "--nocapture"])
            .env(FORBIDDEN, number.to_string())
            .status()
            .unwrap();
        if number < memories().len() {
            assert!(status.success(), "{number}: {status}");
        } else {
            assert!(!status.success(), "the filter works");
        }
    }
}

/// The part in a process of its own, which ends without cleaning up.
fn forbidden(number: usize) {
    let memory = memories().get(number).cloned().unwrap_or_default();
    let mut stream = start(memory, PixelFormat::Nv12);
    run(&mut stream, 20);
    install_filter();
    run(&mut stream, 100);
    if number == memories().len() {
        // One that is not allowed, to see that the filter is there.
        drop(stream);
    }
    // SAFETY: ends the process.
    unsafe { libc::_exit(0) }
}

/// From now on this thread is ended, and the process with it, when it maps, unmaps, opens, closes
/// or duplicates anything.
fn install_filter() {
    const LOAD: u16 = 0x20;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    let calls = [
        libc::SYS_mmap,
        libc::SYS_munmap,
        libc::SYS_mremap,
        libc::SYS_openat,
        libc::SYS_close,
        libc::SYS_dup,
        libc::SYS_fcntl,
        libc::SYS_memfd_create,
        libc::SYS_read,
    ];
    let step = |code, k, jt, jf| libc::sock_filter { code, jt, jf, k };
    // The number of the system call is the first word.
    let mut program = vec![step(LOAD, 0, 0, 0)];
    for (index, call) in calls.into_iter().enumerate() {
        program.push(step(JUMP_IF_EQUAL, call as u32, (calls.len() - index) as u8, 0));
    }
    program.push(step(RETURN, libc::SECCOMP_RET_ALLOW, 0, 0));
    program.push(step(RETURN, libc::SECCOMP_RET_KILL_PROCESS, 0, 0));
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: the program is well-formed and lives until the calls return.
    let answers = unsafe {
        [
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
            libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter),
        ]
    };
    assert_eq!(answers, [0, 0]);
}
