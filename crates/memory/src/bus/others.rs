//! Handlers of others: those that were there before ours, and those that were installed over it
//! and found there when it was put back.
#![expect(unsafe_code, reason = "entries that a signal handler reads are leaked")]

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use super::turn::Turn;

/// More handlers than programs stack.
const MOST: usize = 8;

/// More signals than are passed on at one time.
const AT_ONCE: usize = 16;

/// Handlers that signals are passed on to, the latest last.
pub(super) struct Others {
    stack: [AtomicPtr<Other>; MOST],
    count: AtomicUsize,
    /// Every handler that the program ever installed, once; never freed, because the signal handler
    /// reads them.
    known: AtomicPtr<Other>,
    /// Held while the stack changes, except by a signal handler.
    pub(super) turn: Turn,
}

struct Other {
    action: libc::sigaction,
    next: *mut Other,
}

pub(super) static OTHERS: Others = Others {
    stack: [const { AtomicPtr::new(ptr::null_mut()) }; MOST],
    count: AtomicUsize::new(0),
    known: AtomicPtr::new(ptr::null_mut()),
    turn: Turn::new(),
};

impl Others {
    /// Makes `found` the latest. Called with the turn.
    pub(super) fn enter(&self, found: &libc::sigaction) {
        let other = self.known(found);
        let count = self.count.load(Ordering::Relaxed).min(MOST);
        let same = |at: &usize| self.stack[*at].load(Ordering::Relaxed) == other;
        let at = match found.sa_sigaction {
            // Nobody is called behind one of these.
            libc::SIG_DFL | libc::SIG_IGN => 0,
            // One that was installed again is where it was.
            _ => (0..count).find(same).unwrap_or(count).min(MOST - 1),
        };
        self.stack[at].store(other, Ordering::Release);
        self.count.store(at + 1, Ordering::Release);
    }

    fn known(&self, found: &libc::sigaction) -> *mut Other {
        let first = self.known.load(Ordering::Acquire);
        let mut at = first;
        // SAFETY: null or a leaked box, which nobody changes.
        while let Some(other) = unsafe { at.as_ref() } {
            let action = &other.action;
            if (action.sa_sigaction, action.sa_flags) == (found.sa_sigaction, found.sa_flags) {
                return at;
            }
            at = other.next;
        }
        let new = Box::into_raw(Box::new(Other { action: *found, next: first }));
        self.known.store(new, Ordering::Release);
        new
    }

    /// The latest of the first `below`, and which it is.
    pub(super) fn latest(&self, below: usize) -> Option<(usize, &'static libc::sigaction)> {
        let at = self.count.load(Ordering::Acquire).min(below).checked_sub(1)?;
        // SAFETY: null or a leaked box, which nobody changes.
        let other = unsafe { self.stack.get(at)?.load(Ordering::Acquire).as_ref() }?;
        Some((at, &other.action))
    }

    /// Forgets the latest, if it is still the one at `at` and not the only one.
    pub(super) fn leave(&self, at: usize) {
        if at > 0 {
            let _ = self.count.compare_exchange(at + 1, at, Ordering::AcqRel, Ordering::Relaxed);
        }
    }
}

/// Signals that are being passed on. A handler that was installed over ours may call ours, as the
/// one before it: that call is for the one before both.
static PASSING: [Slot; AT_ONCE] = [const { Slot::new() }; AT_ONCE];

struct Slot {
    /// Where the signal's description is; zero while free.
    info: AtomicUsize,
    /// Where our frame is: a call from the handler that was called has a lower one. One that is not
    /// lower belongs to a later signal, and whoever had the slot has jumped out of its handler.
    frame: AtomicUsize,
    /// Which handler was called.
    at: AtomicUsize,
}

impl Slot {
    const fn new() -> Slot {
        Slot { info: AtomicUsize::new(0), frame: AtomicUsize::new(0), at: AtomicUsize::new(0) }
    }
}

/// One signal that is passed on.
pub(super) struct Passing {
    info: usize,
    frame: usize,
    slot: Option<&'static Slot>,
    below: usize,
    before: Option<(usize, usize)>,
}

impl Passing {
    /// The signal with its description at this address.
    #[inline(never)]
    pub(super) fn of(info: usize) -> Passing {
        let frame = frame();
        let slot = PASSING.iter().find(|slot| slot.info.load(Ordering::Acquire) == info);
        let nested = slot.filter(|slot| slot.frame.load(Ordering::Relaxed) > frame);
        let below = nested.map_or(usize::MAX, |slot| slot.at.load(Ordering::Relaxed));
        Passing { info, frame, slot, below, before: None }
    }

    /// How many of the handlers come into question.
    pub(super) fn below(&self) -> usize {
        self.below
    }

    /// Enters that the handler at `at` is called, until dropped.
    pub(super) fn to(mut self, at: usize) -> Passing {
        let free = |slot: &&Slot| {
            let claim =
                slot.info.compare_exchange(0, self.info, Ordering::AcqRel, Ordering::Relaxed);
            claim.is_ok()
        };
        let nested = self.below != usize::MAX;
        let slot = self.slot.or_else(|| PASSING.iter().find(free));
        if let Some(slot) = slot {
            let before = (slot.frame.load(Ordering::Relaxed), slot.at.load(Ordering::Relaxed));
            self.before = nested.then_some(before);
            slot.frame.store(self.frame, Ordering::Relaxed);
            slot.at.store(at, Ordering::Release);
        }
        self.slot = slot;
        self
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        let Some(slot) = self.slot else { return };
        match self.before {
            Some((frame, at)) => {
                slot.frame.store(frame, Ordering::Relaxed);
                slot.at.store(at, Ordering::Release);
            }
            None if self.below == usize::MAX => slot.info.store(0, Ordering::Release),
            None => {}
        }
    }
}

/// Roughly where the stack is now.
#[inline(never)]
fn frame() -> usize {
    let here = 0u8;
    std::hint::black_box(&raw const here).addr()
}
