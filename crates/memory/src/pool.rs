//! An allocator that keeps freed raw buffers and hands them out again.
//!
//! A frame loop that takes from a pool makes no system call and no page fault once it has seen
//! its largest demand: the pages are mapped and touched already. Reused bytes hold what their
//! last user left.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crate::raw::Core;
use crate::sync::{Mutex, lock};
use crate::{ALIGNMENT, Allocator, LogicalMemorySpace, RawBuffer, Request, Result, TensorMemory};

/// How much a pool may keep for reuse. What is in use is not limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolLimits {
    /// Bytes kept.
    pub bytes: usize,
    /// Buffers kept.
    pub buffers: usize,
}

impl Default for PoolLimits {
    /// 256 MiB in at most 64 buffers.
    fn default() -> PoolLimits {
        PoolLimits { bytes: 256 << 20, buffers: 64 }
    }
}

/// What a pool did and holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PoolReport {
    /// Requests served from kept buffers.
    pub hits: u64,
    /// Requests that went to the allocator.
    pub misses: u64,
    /// Buffers given up because a limit was reached, they were idle, or others may hold them.
    pub given_up: u64,
    /// Buffers kept now.
    pub kept: usize,
    /// Bytes kept now.
    pub kept_bytes: usize,
    /// Buffers in use now.
    pub used: usize,
    /// Bytes in use now.
    pub used_bytes: usize,
    /// The most bytes that were in use at one time.
    pub peak_bytes: usize,
    /// The most buffers that were in use at one time.
    pub peak: usize,
}

impl PoolReport {
    /// Limits that keep exactly what the pool has seen in use at one time: run a few rounds,
    /// then make the pool with these.
    pub fn limits(&self) -> PoolLimits {
        PoolLimits { bytes: self.peak_bytes, buffers: self.peak }
    }
}

impl fmt::Display for PoolReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} in use ({} bytes, peak {}), {} kept ({} bytes), {} reused, {} allocated, {} given up",
            self.used,
            self.used_bytes,
            self.peak_bytes,
            self.kept,
            self.kept_bytes,
            self.hits,
            self.misses,
            self.given_up
        )
    }
}

/// Keeps freed raw buffers by size class and hands them out again; safe to share and clone.
///
/// ```
/// use tenure_memory::{Allocator, Pool, Request, TensorMemory, kind};
/// let pool = Pool::new(kind::allocator(TensorMemory::Mem)?);
/// let first = pool.allocate(&Request::new(1 << 20)?)?.identity().id();
/// let again = pool.allocate(&Request::new(1 << 20)?)?;
/// assert_eq!(again.identity().id(), first);
/// assert_eq!(pool.report().hits, 1);
/// # Ok::<(), tenure_memory::Error>(())
/// ```
#[derive(Clone)]
pub struct Pool {
    shared: Arc<Shared>,
}

struct Shared {
    allocator: Source,
    limits: PoolLimits,
    state: Mutex<State>,
}

enum Source {
    Static(&'static dyn Allocator),
    Kept(Arc<dyn Allocator>),
}

#[derive(Default)]
struct State {
    /// Kept buffers by class, the latest used last: its pages are the warmest.
    kept: BTreeMap<usize, Vec<Kept>>,
    report: PoolReport,
}

struct Kept {
    core: Box<Core>,
    since: Instant,
}

/// Where a pooled raw buffer goes when dropped.
pub(crate) struct Home {
    pool: Weak<Shared>,
}

impl Pool {
    /// A pool over one of the built-in allocators, with the default limits.
    pub fn new(allocator: &'static dyn Allocator) -> Pool {
        Pool::make(Source::Static(allocator), PoolLimits::default())
    }

    /// A pool over any allocator.
    pub fn over(allocator: Arc<dyn Allocator>, limits: PoolLimits) -> Pool {
        Pool::make(Source::Kept(allocator), limits)
    }

    /// The same allocator with other limits; nothing kept is taken along.
    pub fn with_limits(self, limits: PoolLimits) -> Pool {
        let allocator = match &self.shared.allocator {
            Source::Static(allocator) => Source::Static(*allocator),
            Source::Kept(allocator) => Source::Kept(Arc::clone(allocator)),
        };
        Pool::make(allocator, limits)
    }

    fn make(allocator: Source, limits: PoolLimits) -> Pool {
        let state = Mutex::new(State::default());
        Pool { shared: Arc::new(Shared { allocator, limits, state }) }
    }

    /// What the pool did and holds.
    pub fn report(&self) -> PoolReport {
        lock(&self.shared.state).report
    }

    /// Gives up everything kept.
    pub fn trim(&self) {
        self.trim_idle(Duration::ZERO);
    }

    /// Gives up what was kept without use for at least `idle`.
    pub fn trim_idle(&self, idle: Duration) {
        let mut freed = vec![];
        let mut state = lock(&self.shared.state);
        let State { kept, report } = &mut *state;
        for list in kept.values_mut() {
            for gone in list.extract_if(.., |kept| kept.since.elapsed() >= idle) {
                report.forget_kept(&gone.core);
                freed.push(gone.core);
            }
        }
        kept.retain(|_, list| !list.is_empty());
        drop(state);
        // Unmapping takes its time: not under the lock.
        drop(freed);
    }
}

impl Shared {
    fn allocator(&self) -> &dyn Allocator {
        match &self.allocator {
            Source::Static(allocator) => *allocator,
            Source::Kept(allocator) => allocator.as_ref(),
        }
    }
}

impl Allocator for Pool {
    fn memory(&self) -> TensorMemory {
        self.shared.allocator().memory()
    }

    fn space(&self) -> LogicalMemorySpace {
        self.shared.allocator().space()
    }

    /// A kept buffer if there is one, otherwise a new one. Its size is that of its class, up to
    /// an eighth more than asked for; a reused buffer holds old bytes.
    fn allocate(&self, request: &Request<'_>) -> Result<RawBuffer> {
        let class = class_of(request.bytes());
        let home = Home { pool: Arc::downgrade(&self.shared) };
        if let Some(core) = lock(&self.shared.state).take(class, request.align()) {
            return Ok(RawBuffer::again(core, request.name(), home));
        }
        let larger = Request::new(class)?.with_align(request.align())?.with_name(request.name());
        let raw = self.shared.allocator().allocate(&larger)?;
        let mut state = lock(&self.shared.state);
        state.report.misses += 1;
        state.report.begin_use(raw.size());
        drop(state);
        Ok(raw.with_home(home))
    }
}

impl State {
    fn take(&mut self, class: usize, align: usize) -> Option<Box<Core>> {
        let list = self.kept.get_mut(&class)?;
        // Everything is aligned to the usual alignment; more is rarely asked for. An allocator
        // that rounds in its own way may have left something between two classes.
        let serves =
            |core: &Core| core.size() >= class && (align <= ALIGNMENT || core.is_aligned(align));
        let at = list.iter().rposition(|kept| serves(&kept.core))?;
        let Kept { core, .. } = list.remove(at);
        self.report.kept -= 1;
        self.report.kept_bytes -= core.size();
        self.report.hits += 1;
        self.report.begin_use(core.size());
        Some(core)
    }

    /// The buffer that was kept longest without use.
    fn evict(&mut self) -> Option<Box<Core>> {
        let (&class, _) = self
            .kept
            .iter()
            .filter(|(_, list)| !list.is_empty())
            .min_by_key(|(_, list)| list.first().map(|kept| kept.since))?;
        let list = self.kept.get_mut(&class)?;
        let Kept { core, .. } = list.remove(0);
        if list.is_empty() {
            self.kept.remove(&class);
        }
        self.report.forget_kept(&core);
        Some(core)
    }
}

impl PoolReport {
    fn begin_use(&mut self, bytes: usize) {
        self.used += 1;
        self.used_bytes += bytes;
        self.peak = self.peak.max(self.used);
        self.peak_bytes = self.peak_bytes.max(self.used_bytes);
    }

    fn forget_kept(&mut self, core: &Core) {
        self.kept -= 1;
        self.kept_bytes -= core.size();
        self.given_up += 1;
    }
}

impl Home {
    /// Keeps a buffer that nobody uses any more, within the limits.
    pub(crate) fn take_back(&self, core: Box<Core>) {
        let Some(pool) = self.pool.upgrade() else { return };
        let mut freed: smallvec::SmallVec<[Box<Core>; 4]> = smallvec::SmallVec::new();
        let mut state = lock(&pool.state);
        state.report.used -= 1;
        state.report.used_bytes -= core.size();
        let PoolLimits { bytes, buffers } = pool.limits;
        if core.size() > bytes || buffers == 0 || !core.reusable() {
            state.report.given_up += 1;
            freed.push(core);
        } else {
            while state.report.kept_bytes + core.size() > bytes || state.report.kept >= buffers {
                match state.evict() {
                    Some(old) => freed.push(old),
                    None => break,
                }
            }
            state.report.kept += 1;
            state.report.kept_bytes += core.size();
            let class = class_of(core.size());
            state.kept.entry(class).or_default().push(Kept { core, since: Instant::now() });
        }
        drop(state);
        drop(freed);
    }
}

/// Rounds up so that at most an eighth is wasted: eight classes between powers of two.
fn class_of(bytes: usize) -> usize {
    let bytes = bytes.max(ALIGNMENT);
    let step = (1usize << (usize::BITS - 1 - bytes.leading_zeros())) / 8;
    bytes.next_multiple_of(step.max(ALIGNMENT))
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("memory", &self.memory())
            .field("limits", &self.shared.limits)
            .field("report", &self.report())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
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
}
