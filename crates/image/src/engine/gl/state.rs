//! What a context tells of itself to those who may not touch it.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use tenure_memory::TensorMemory;

use super::obstacle::Obstacle;

#[derive(Debug, Default)]
pub(super) struct State {
    lost: AtomicBool,
    /// Imports that are kept.
    imports: AtomicUsize,
    /// Planes that were copied so far.
    copies: AtomicUsize,
    /// Conversions that ended with a fence of the kernel so far.
    fences: AtomicUsize,
    /// The obstacles that were told of.
    told: AtomicU32,
    /// The first refusal of each memory, in the driver's words.
    refusals: Mutex<Vec<(TensorMemory, String)>>,
    /// Whether imports are to fail.
    #[cfg(test)]
    pub(super) reject: AtomicBool,
}

impl State {
    /// Whether the context is lost.
    pub(super) fn lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    pub(super) fn lose(&self) {
        self.lost.store(true, Ordering::Relaxed);
    }

    pub(super) fn imports(&self) -> usize {
        self.imports.load(Ordering::Relaxed)
    }

    pub(super) fn keep_imports(&self, count: usize) {
        self.imports.store(count, Ordering::Relaxed);
    }

    pub(super) fn count_copy(&self) {
        self.copies.fetch_add(1, Ordering::Relaxed);
    }

    /// Planes that were copied, to the GPU or back, since the context was made.
    pub(super) fn copies(&self) -> usize {
        self.copies.load(Ordering::Relaxed)
    }

    pub(super) fn count_fence(&self) {
        self.fences.fetch_add(1, Ordering::Relaxed);
    }

    /// Remembers why memory was not imported, and says whether that is new.
    pub(super) fn refuse(&self, memory: TensorMemory, reason: &str) -> bool {
        let mut refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        let new = !refusals.iter().any(|(own, _)| *own == memory);
        if new {
            refusals.push((memory, reason.to_owned()));
        }
        new
    }

    /// Why memory of this kind was not imported, if that happened.
    pub(super) fn refusal(&self, memory: TensorMemory) -> Option<String> {
        let refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        refusals.iter().find(|(own, _)| *own == memory).map(|(_, reason)| reason.clone())
    }

    /// Tells once of each sort of obstacle.
    pub(super) fn tell(&self, memory: TensorMemory, obstacle: Obstacle) {
        if self.told.fetch_or(obstacle.bit(), Ordering::Relaxed) & obstacle.bit() == 0 {
            tracing::warn!("an image in {memory} memory is copied and not imported: {obstacle}");
        }
    }

    /// Whether imports are to fail: in tests, as drivers do.
    pub(super) fn rejects(&self) -> bool {
        #[cfg(test)]
        return self.reject.load(Ordering::Relaxed);
        #[cfg(not(test))]
        false
    }
}

#[cfg(test)]
impl State {
    pub(super) fn fences(&self) -> usize {
        self.fences.load(Ordering::Relaxed)
    }
}
