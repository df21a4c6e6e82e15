//! An allocator that keeps freed raw buffers and hands them out again.
//!
//! A frame loop that takes from a pool makes no system call and no page fault once it has seen
//! its largest demand: the pages are mapped and touched already. Reused bytes are made zero again,
//! unless the request is without zeroing. A pool with a limit never has more bytes than that, in
//! use and kept together.

mod clock;
mod report;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub use report::{PoolLimits, PoolReport};

use clock::{Now, Tick};

use crate::sync::{Mutex, lock};
use crate::{
    ALIGNMENT, Allocator, Error, LogicalMemorySpace, RawBuffer, Request, Result, TensorMemory,
};

/// Keeps freed raw buffers by size class and hands them out again; safe to share and clone.
///
/// ```
/// use tenure_memory::{Allocator, Pool, Request, TensorMemory};
/// let pool = Pool::new(TensorMemory::Mem);
/// let first = pool.allocate(&Request::new(1 << 20)?)?.identity().id();
/// let again = pool.allocate(&Request::new(1 << 20)?)?;
/// assert_eq!(again.identity().id(), first);
/// assert_eq!(pool.report().hits, 1);
/// # Ok::<(), tenure_memory::Error>(())
/// ```
#[derive(Clone)]
pub struct Pool {
    owner: Arc<Owner>,
}

/// What all handles of a pool share. With the last of them goes what is kept.
struct Owner {
    allocator: Arc<dyn Allocator>,
    shared: Arc<Shared>,
}

/// What buffers in use share with their pool, and each of them keeps.
struct Shared {
    limits: PoolLimits,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Kept buffers by class, the latest used last: its pages are the warmest.
    kept: BTreeMap<usize, Vec<Kept>>,
    report: PoolReport,
    /// Bytes that are being allocated now.
    coming: usize,
    /// How many buffers came back ever: who comes later was used later.
    turns: u64,
    /// The last handle is gone: nothing is kept any more.
    closed: bool,
}

/// Buffers that were given up, to be dropped without the lock: unmapping takes its time.
type Freed = smallvec::SmallVec<[RawBuffer; 2]>;

struct Kept {
    /// Goes back to the allocator when dropped, which may be a pool too.
    raw: RawBuffer,
    since: Tick,
    turn: u64,
}

/// Where a pooled raw buffer goes when dropped.
#[derive(Clone)]
pub(crate) struct Home {
    pool: Arc<Shared>,
    /// The home it came from, if the pool's allocator is a pool too.
    next: Option<Box<Home>>,
}

impl Pool {
    /// A pool over a memory by its name, or over any allocator, with the default limits.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tenure_memory::{Allocator, Pool, TensorMemory};
    /// let frames = Pool::new(TensorMemory::Shm);
    /// let other: Arc<dyn Allocator> = Arc::new(TensorMemory::Mem);
    /// let over_any = Pool::new(other);
    /// assert_eq!(over_any.memory(), TensorMemory::Mem);
    /// ```
    pub fn new(allocator: impl Allocator + 'static) -> Pool {
        Pool::over(Arc::new(allocator), PoolLimits::default())
    }

    /// A pool over any allocator, with limits.
    pub fn over(allocator: Arc<dyn Allocator>, limits: PoolLimits) -> Pool {
        Pool::make(allocator, limits)
    }

    /// The same allocator with other limits; nothing kept is taken along.
    #[must_use]
    pub fn with_limits(self, limits: PoolLimits) -> Pool {
        Pool::make(Arc::clone(&self.owner.allocator), limits)
    }

    fn make(allocator: Arc<dyn Allocator>, limits: PoolLimits) -> Pool {
        let shared = Arc::new(Shared { limits, state: Mutex::new(State::default()) });
        Pool { owner: Arc::new(Owner { allocator, shared }) }
    }

    /// What the pool did and holds.
    pub fn report(&self) -> PoolReport {
        lock(&self.owner.shared.state).report
    }

    /// Gives up everything kept.
    pub fn trim(&self) {
        self.trim_idle(Duration::ZERO);
    }

    /// Gives up what was kept without use for at least `idle`: some milliseconds later at most,
    /// never before.
    pub fn trim_idle(&self, idle: Duration) {
        let now = Now::get();
        let all = idle.is_zero();
        let mut freed = vec![];
        let mut state = lock(&self.owner.shared.state);
        let State { kept, report, .. } = &mut *state;
        for list in kept.values_mut() {
            for gone in list.extract_if(.., |kept| all || kept.since.is_ago(idle, now)) {
                report.end_keeping(gone.raw.size());
                report.given_up += 1;
                freed.push(gone.raw);
            }
        }
        kept.retain(|_, list| !list.is_empty());
        drop(state);
        // Unmapping takes its time: not under the lock.
        drop(freed);
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let mut state = lock(&self.shared.state);
        state.closed = true;
        let kept = std::mem::take(&mut state.kept);
        drop(state);
        // Not under the lock: what is freed may go home to a pool below this one.
        drop(kept);
    }
}

impl Allocator for Pool {
    fn memory(&self) -> TensorMemory {
        self.owner.allocator.memory()
    }

    fn space(&self) -> LogicalMemorySpace {
        self.owner.allocator.space()
    }

    /// A kept buffer if there is one, otherwise a new one. Its size is that of its class, up to
    /// an eighth more than asked for where the limit allows that. A reused buffer is made zero, all
    /// of it, unless the request is [without zeroing](Request::without_zeroing).
    ///
    /// # Errors
    /// [`Error::PoolFull`] if the pool would have more bytes than it may, otherwise the allocator's
    /// own, after everything kept was given up.
    fn allocate(&self, request: &Request<'_>) -> Result<RawBuffer> {
        let shared = &self.owner.shared;
        let kept = lock(&shared.state).take(request);
        let home = || Home { pool: Arc::clone(shared), next: None };
        if let Some(raw) = kept {
            let raw = raw.again(request.name()).with_home(home());
            if !request.zeroed() {
                return Ok(raw);
            }
            // Where nobody can write zeros there is new memory, which is zero.
            if let Ok(raw) = raw.zero() {
                return Ok(raw);
            }
        }
        let raw = match self.owner.make(request) {
            // What is kept may be what is missing.
            Err(Error::OutOfMemory { .. } | Error::PoolFull { .. }) if self.report().kept > 0 => {
                self.trim();
                self.owner.make(request)
            }
            answer => answer,
        };
        Ok(raw?.with_home(home()))
    }

    fn keep(&self) -> Option<Arc<dyn Allocator>> {
        Some(Arc::new(self.clone()))
    }
}

impl Owner {
    /// A new buffer, counted as in use.
    fn make(&self, request: &Request<'_>) -> Result<RawBuffer> {
        let limit = self.shared.limits.bytes;
        let mut state = lock(&self.shared.state);
        let (size, freed) = state.make_room(request.bytes(), limit);
        let Some(size) = size else {
            let error = self.full(&state, request.bytes());
            drop(state);
            return Err(error);
        };
        state.coming += size;
        drop(state);
        drop(freed);
        let larger = Request::new(size)
            .and_then(|larger| larger.with_align(request.align()))
            .map(|larger| larger.with_name(request.name()))
            .map(|larger| if request.zeroed() { larger } else { larger.without_zeroing() });
        let made = larger.and_then(|larger| self.allocator.allocate(&larger));
        let made = made.map_err(|error| match error {
            // What was asked for, not what it was rounded to.
            Error::OutOfMemory(mut full) => {
                full.bytes = request.bytes();
                Error::OutOfMemory(full)
            }
            other => other,
        });
        let mut state = lock(&self.shared.state);
        state.coming -= size;
        // An allocator may give more than it was asked for.
        if let Ok(raw) = &made
            && raw.size() > limit.saturating_sub(state.all_bytes())
        {
            let error = self.full(&state, request.bytes());
            drop(state);
            return Err(error);
        }
        if let Ok(raw) = &made {
            state.report.misses += 1;
            state.report.begin_use(raw.size());
        }
        made
    }

    fn full(&self, state: &State, asked: usize) -> Error {
        let (memory, limit) = (self.allocator.memory(), self.shared.limits.bytes);
        let used = state.report.used_bytes.saturating_add(state.coming);
        Error::from(crate::detail::PoolFull { memory, asked, used, limit })
    }
}

impl State {
    fn take(&mut self, request: &Request<'_>) -> Option<RawBuffer> {
        let list = self.kept.get_mut(&class_of(request.bytes()))?;
        // Everything is aligned to the usual alignment; more is rarely asked for. What was made
        // where a class would have been too much, or by an allocator that rounds in its own way,
        // may be between two classes.
        let (bytes, align) = (request.bytes(), request.align());
        let serves =
            |raw: &RawBuffer| raw.size() >= bytes && (align <= ALIGNMENT || raw.is_aligned(align));
        let at = list.iter().rposition(|kept| serves(&kept.raw))?;
        let Kept { raw, .. } = list.remove(at);
        self.report.end_keeping(raw.size());
        self.report.hits += 1;
        self.report.begin_use(raw.size());
        Some(raw)
    }

    /// Bytes in use, kept, and being allocated.
    fn all_bytes(&self) -> usize {
        self.report.all_bytes().saturating_add(self.coming)
    }

    /// Gives up what is kept until a buffer for so many bytes is within the limit; of its class, or
    /// if that is too much, of just the bytes.
    fn make_room(&mut self, bytes: usize, limit: usize) -> (Option<usize>, Freed) {
        let mut freed = Freed::new();
        let held = self.report.used_bytes.saturating_add(self.coming);
        let room = limit.saturating_sub(held);
        let class = class_of(bytes);
        let Some(size) = [class, bytes].into_iter().find(|size| *size <= room) else {
            return (None, freed);
        };
        while self.all_bytes().saturating_add(size) > limit {
            match self.evict() {
                Some(old) => freed.push(old),
                None => break,
            }
        }
        (Some(size), freed)
    }

    /// The buffer that was kept longest without use.
    fn evict(&mut self) -> Option<RawBuffer> {
        let (&class, _) = self
            .kept
            .iter()
            .filter(|(_, list)| !list.is_empty())
            .min_by_key(|(_, list)| list.first().map(|kept| kept.turn))?;
        let list = self.kept.get_mut(&class)?;
        let Kept { raw, .. } = list.remove(0);
        if list.is_empty() {
            self.kept.remove(&class);
        }
        self.report.end_keeping(raw.size());
        self.report.given_up += 1;
        Some(raw)
    }
}

impl Home {
    /// This home for a buffer that has one already: it goes there when this one gives it up.
    pub(crate) fn before(self, next: Option<Home>) -> Home {
        Home { next: next.map(Box::new), ..self }
    }

    /// The home to go to when the pool does not keep it.
    pub(crate) fn next(&mut self) -> Option<Home> {
        self.next.take().map(|next| *next)
    }

    /// Keeps a buffer that nobody uses any more, within the limits.
    pub(crate) fn take_back(&self, raw: RawBuffer) {
        let PoolLimits { kept_bytes: bytes, buffers, .. } = self.pool.limits;
        let (since, size) = (Tick::now(), raw.size());
        let fits = size <= bytes && buffers > 0 && raw.reusable();
        let mut freed = Freed::new();
        let mut state = lock(&self.pool.state);
        state.report.end_use(size);
        if !fits || state.closed {
            state.report.given_up += 1;
            freed.push(raw);
        } else {
            while state.report.kept_bytes + size > bytes || state.report.kept >= buffers {
                match state.evict() {
                    Some(old) => freed.push(old),
                    None => break,
                }
            }
            state.report.begin_keeping(size);
            state.turns += 1;
            let kept = Kept { raw, since, turn: state.turns };
            state.kept.entry(class_of(size)).or_default().push(kept);
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
            .field("limits", &self.owner.shared.limits)
            .field("report", &self.report())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests;
