//! Threads that help with one piece of work at a time.
//!
//! The caller works too, so it never waits for a thread to wake up while there is something to do;
//! and nothing is allocated, which a queue of tasks cannot promise. Whoever finds the crew at work
//! for somebody else works alone. Before a thread sleeps it looks around for a while: waking one up
//! takes a tenth of a small picture, and frames often come one after another.
#![expect(unsafe_code, reason = "threads borrow from the caller, who waits for them")]

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::origin::Origin;

type Each<'a> = dyn Fn(usize) + Sync + 'a;
type Panicked = Mutex<Option<Box<dyn Any + Send>>>;

/// How long a thread looks around before it sleeps: about what falling asleep and waking up take.
const AWAKE: Duration = Duration::from_micros(if cfg!(miri) { 0 } else { 100 });

/// How long a new crew waits for its threads to begin, which takes far less if they ever do.
const BEGINNING: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(crate) struct Crew {
    shared: Arc<Shared>,
    helpers: Vec<JoinHandle<()>>,
    /// Where the helpers are. In a process that was forked off there are none, and what they had
    /// locked stays locked.
    origin: Origin,
}

#[derive(Debug, Default)]
struct Shared {
    now: Mutex<Now>,
    begun: Condvar,
    ended: Condvar,
    /// Held by whose work it is.
    taken: Mutex<()>,
    /// Counts pieces of work: a helper does each at most once. Changed while `now` is locked, as
    /// the next two are, and looked at without.
    turn: AtomicU64,
    /// Helpers that are at it.
    helping: AtomicUsize,
    over: AtomicBool,
}

#[derive(Debug, Default)]
struct Now {
    work: Option<Work>,
    /// Helpers that have begun their life.
    alive: usize,
}

/// What is to be done. All of it is on the stack of the caller, who stays until no helper uses it.
#[derive(Debug, Clone, Copy)]
struct Work {
    each: *const Each<'static>,
    next: *const AtomicUsize,
    panicked: *const Panicked,
    count: usize,
}

// SAFETY: what the addresses point to may be shared between threads.
unsafe impl Send for Work {}

impl Crew {
    /// As many threads as are asked for, the caller among them.
    pub(crate) fn new(threads: usize) -> io::Result<Crew> {
        let shared = Arc::new(Shared::default());
        let mut crew = Crew { shared, helpers: Vec::new(), origin: Origin::here() };
        for index in 1..threads {
            let shared = Arc::clone(&crew.shared);
            let name = format!("tenure-image-{index}");
            let helper = std::thread::Builder::new().name(name).spawn(move || {
                tenure_memory::prepare_thread();
                shared.help();
            })?;
            crew.helpers.push(helper);
        }
        // A thread allocates when it begins, which should not fall into somebody's steady state. Not
        // waited for without end: in a forked process a thread never begins if another thread of the
        // parent was just beginning, because the standard library's lock for that stays taken. Work
        // needs no helper, so those that come late or never are only missed.
        let all = crew.helpers.len();
        let began = crew
            .shared
            .ended
            .wait_timeout_while(crew.shared.now(), BEGINNING, |now| now.alive < all)
            .unwrap_or_else(PoisonError::into_inner);
        drop(began);
        Ok(crew)
    }

    /// How many threads there are, the caller among them.
    pub(crate) fn threads(&self) -> usize {
        if self.is_here() { self.helpers.len() + 1 } else { 1 }
    }

    /// Whether its threads are in this process.
    pub(crate) fn is_here(&self) -> bool {
        self.origin.is_here()
    }

    /// Does `each` for every number below `count`, each once, on several threads.
    pub(crate) fn each(&self, count: usize, each: &Each<'_>) {
        if !self.is_here() {
            return (0..count).for_each(each);
        }
        let _taken = match self.shared.taken.try_lock() {
            Ok(taken) => taken,
            Err(TryLockError::Poisoned(taken)) => taken.into_inner(),
            Err(TryLockError::WouldBlock) => return (0..count).for_each(each),
        };
        let (next, panicked) = (AtomicUsize::new(0), Panicked::default());
        // SAFETY: only the lifetime changes. `ending` is dropped before anything here ends, also
        // when `each` panics, and then no helper has the work any more.
        let each = unsafe { std::mem::transmute::<&Each<'_>, &'static Each<'static>>(each) };
        let work = Work { each, next: &raw const next, panicked: &raw const panicked, count };
        let ending = Ending(&self.shared);
        let mut now = self.shared.now();
        now.work = Some(work);
        self.shared.turn.fetch_add(1, Ordering::Relaxed);
        drop(now);
        for _ in 0..self.helpers.len().min(count.saturating_sub(1)) {
            self.shared.begun.notify_one();
        }
        // SAFETY: all of it lives.
        unsafe { work.run() };
        drop(ending);
        let payload = panicked.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(payload) = payload {
            resume_unwind(payload);
        }
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        if !self.is_here() {
            // There is nobody to tell, and nobody to wait for.
            return self.helpers.drain(..).for_each(std::mem::forget);
        }
        let now = self.shared.now();
        self.shared.over.store(true, Ordering::Relaxed);
        let all_began = now.alive == self.helpers.len();
        drop(now);
        self.shared.begun.notify_all();
        if !all_began {
            // One that never begins never ends; one that begins late ends at once, by itself.
            return self.helpers.drain(..).for_each(std::mem::forget);
        }
        for helper in self.helpers.drain(..) {
            // Helpers catch what they call.
            let _ = helper.join();
        }
    }
}

/// When dropped, no helper has the work any more.
struct Ending<'a>(&'a Shared);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.now().work = None;
        let at_it = || self.0.helping.load(Ordering::Relaxed) > 0;
        look_around(|| !at_it());
        let mut now = self.0.now();
        while at_it() {
            now = self.0.ended.wait(now).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Shared {
    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a helper does all its life.
    fn help(&self) {
        let mut seen = 0;
        let mut now = self.now();
        now.alive += 1;
        self.ended.notify_all();
        let is_over = || self.over.load(Ordering::Relaxed);
        while !is_over() {
            let turn = self.turn.load(Ordering::Relaxed);
            let Some(work) = now.work.filter(|_| turn != seen) else {
                now = self.begun.wait(now).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            seen = turn;
            self.helping.fetch_add(1, Ordering::Relaxed);
            drop(now);
            // SAFETY: the caller waits until `helping` is zero again.
            unsafe {
                if let Err(payload) = catch_unwind(AssertUnwindSafe(|| work.run())) {
                    let panicked = &*work.panicked;
                    *panicked.lock().unwrap_or_else(PoisonError::into_inner) = Some(payload);
                }
            }
            now = self.now();
            if self.helping.fetch_sub(1, Ordering::Relaxed) == 1 {
                self.ended.notify_all();
            }
            drop(now);
            look_around(|| self.turn.load(Ordering::Relaxed) != seen || is_over());
            now = self.now();
        }
    }
}

/// Waits a while for something to happen. Whether it has is to be seen under the lock.
fn look_around(happened: impl Fn() -> bool) {
    let start = Instant::now();
    while !happened() && start.elapsed() < AWAKE {
        for _ in 0..16 {
            std::hint::spin_loop();
        }
    }
}

impl Work {
    /// Takes numbers until there are no more.
    ///
    /// # Safety
    /// What it points to must live.
    unsafe fn run(&self) {
        // SAFETY: the caller's promise.
        let (each, next) = unsafe { (&*self.each, &*self.next) };
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= self.count {
                return;
            }
            each(index);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_once() {
        let crew = Crew::new(3).unwrap();
        assert_eq!(crew.threads(), 3);
        for count in [0, 1, 2, 3, 40] {
            let done: Vec<AtomicUsize> = (0..count).map(|_| AtomicUsize::new(0)).collect();
            crew.each(count, &|index| {
                done[index].fetch_add(1, Ordering::Relaxed);
            });
            assert!(done.iter().all(|done| done.load(Ordering::Relaxed) == 1));
        }
    }

    #[test]
    fn two_callers_do_not_disturb_each_other() {
        let crew = Crew::new(2).unwrap();
        let sum = |to: usize| {
            let sum = AtomicUsize::new(0);
            crew.each(to, &|index| {
                sum.fetch_add(index, Ordering::Relaxed);
            });
            sum.into_inner()
        };
        std::thread::scope(|scope| {
            let other = scope.spawn(|| (0..20).map(|_| sum(10)).collect::<Vec<_>>());
            assert_eq!((0..20).map(|_| sum(5)).collect::<Vec<_>>(), [10; 20]);
            assert_eq!(other.join().unwrap(), [45; 20]);
        });
    }

    #[test]
    fn work_inside_work_is_done_alone() {
        let crew = Crew::new(2).unwrap();
        let sum = AtomicUsize::new(0);
        crew.each(4, &|_| {
            crew.each(3, &|index| {
                sum.fetch_add(index, Ordering::Relaxed);
            });
        });
        assert_eq!(sum.into_inner(), 12);
    }

    #[test]
    fn a_panic_reaches_the_caller_and_the_crew_goes_on() {
        let crew = Crew::new(2).unwrap();
        for bad in 0..4 {
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                crew.each(4, &|index| assert_ne!(index, bad, "as it should"));
            }));
            assert!(outcome.is_err());
        }
        let done = AtomicUsize::new(0);
        crew.each(9, &|_| {
            done.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(done.into_inner(), 9);
    }
}
