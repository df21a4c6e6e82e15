//! How much memory is in use, by kind and by name.
//!
//! ```
//! use tenure_memory::{TensorMemory, statistics};
//! let usage = statistics::usage(TensorMemory::Mem);
//! println!("{} bytes in {} allocations, {} at the peak", usage.live, usage.count, usage.peak);
//! for live in statistics::report() {
//!     println!("{:>12} {} {}", live.bytes, live.memory, live.name.as_deref().unwrap_or("-"));
//! }
//! ```

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::TensorMemory;

/// Use of one memory by this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Bytes allocated now.
    pub live: u64,
    /// The most bytes that were allocated at one time.
    pub peak: u64,
    /// Allocations now.
    pub count: u64,
    /// Allocations ever made.
    pub made: u64,
}

/// One allocation that exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Live {
    /// Its identity.
    pub id: u64,
    /// Its memory.
    pub memory: TensorMemory,
    /// Its bytes.
    pub bytes: usize,
    /// Its name, if it was given one.
    pub name: Option<Arc<str>>,
}

struct Counters {
    live: AtomicU64,
    peak: AtomicU64,
    count: AtomicU64,
    made: AtomicU64,
}

static COUNTERS: [Counters; TensorMemory::COUNT] = [const {
    Counters {
        live: AtomicU64::new(0),
        peak: AtomicU64::new(0),
        count: AtomicU64::new(0),
        made: AtomicU64::new(0),
    }
}; TensorMemory::COUNT];

static NEXT: AtomicU64 = AtomicU64::new(0);
static LIVE: Mutex<BTreeMap<u64, Live>> = Mutex::new(BTreeMap::new());

pub(crate) type Locked = MutexGuard<'static, BTreeMap<u64, Live>>;

/// The books. A process that forks has them meanwhile.
pub(crate) fn locked() -> Locked {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Use of `memory` by this process. Memory kept in pools counts as allocated.
pub fn usage(memory: TensorMemory) -> Usage {
    let counters = &COUNTERS[memory as usize];
    Usage {
        live: counters.live.load(Ordering::Relaxed),
        peak: counters.peak.load(Ordering::Relaxed),
        count: counters.count.load(Ordering::Relaxed),
        made: counters.made.load(Ordering::Relaxed),
    }
}

/// Every allocation that exists, largest first. What a program prints when it should hold
/// nothing any more.
pub fn report() -> Vec<Live> {
    let mut all: Vec<Live> = locked().values().cloned().collect();
    all.sort_by_key(|live| (std::cmp::Reverse(live.bytes), live.id));
    all
}

/// Keeps one allocation in the books for as long as it exists.
#[derive(Debug)]
pub(crate) struct Record {
    /// Key in the books. Not the identity, which several mappings of one object share.
    number: u64,
    memory: TensorMemory,
    bytes: usize,
    /// Whether the books have a name for it: most have none, and need no visit to change it.
    named: AtomicBool,
}

impl Record {
    pub(crate) fn new(
        id: u64,
        memory: TensorMemory,
        bytes: usize,
        name: Option<Arc<str>>,
    ) -> Record {
        #[cfg(linux_like)]
        crate::process::register();
        let counters = &COUNTERS[memory as usize];
        let live = counters.live.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64;
        counters.peak.fetch_max(live, Ordering::Relaxed);
        counters.count.fetch_add(1, Ordering::Relaxed);
        counters.made.fetch_add(1, Ordering::Relaxed);
        let named = AtomicBool::new(name.is_some());
        let entry = Live { id, memory, bytes, name };
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        locked().insert(number, entry);
        Record { number, memory, bytes, named }
    }

    /// The allocation has a new user, the only one to say so.
    pub(crate) fn rename(&self, name: Option<Arc<str>>) {
        if name.is_none() && !self.named.load(Ordering::Relaxed) {
            return;
        }
        self.named.store(name.is_some(), Ordering::Relaxed);
        let mut all = locked();
        if let Some(live) = all.get_mut(&self.number) {
            live.name = name;
        }
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        let counters = &COUNTERS[self.memory as usize];
        counters.live.fetch_sub(self.bytes as u64, Ordering::Relaxed);
        counters.count.fetch_sub(1, Ordering::Relaxed);
        locked().remove(&self.number);
    }
}
