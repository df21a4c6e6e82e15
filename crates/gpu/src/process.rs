//! Which process this is, asked so cheaply that every map of pinned memory can: drivers do not survive
//! a fork, and what they mapped is often not even there afterwards.
#![expect(unsafe_code, reason = "maps a page that the kernel empties when a process forks")]

use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

const PAGE: usize = 4096;

/// A number that is zero in a new process; `None` where the kernel (before 4.14) cannot do that.
fn number() -> Option<&'static AtomicU64> {
    static NUMBER: OnceLock<Option<&'static AtomicU64>> = OnceLock::new();
    *NUMBER.get_or_init(|| {
        let (both, own) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        // SAFETY: a page of its own, of zeros, which is never unmapped once it is given out, and
        // begins at a multiple of what the number needs.
        unsafe {
            let page = mmap_anonymous(ptr::null_mut(), PAGE, both, own).ok()?;
            if madvise(page, PAGE, Advice::LinuxWipeOnFork).is_err() {
                let _ = munmap(page, PAGE);
                return None;
            }
            page.cast::<AtomicU64>().as_ref()
        }
    })
}

/// Differs between a process and those that it forks.
pub(crate) fn generation() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let Some(number) = number() else { return std::process::id().into() };
    match number.load(Ordering::Relaxed) {
        0 => {
            // A forked process goes on counting where its parent was.
            let next = NEXT.fetch_add(1, Ordering::Relaxed);
            match number.compare_exchange(0, next, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => next,
                Err(other) => other,
            }
        }
        known => known,
    }
}
