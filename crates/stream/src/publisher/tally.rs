//! How many frames each consumer did not get, in a memory file that they can read at any time: a
//! consumer that holds all its frames hears nothing of the others.

use std::os::fd::BorrowedFd;

use tenure_tensor::{Tensor, TensorMemory};

use crate::Result;

/// Counters of one page.
const COUNTERS: usize = 512;

/// Counters of consumers, while there are any.
#[derive(Default)]
pub(super) struct Tally {
    counts: Option<Tensor<u64>>,
    taken: Vec<bool>,
}

impl Tally {
    /// A counter for one more consumer, which starts at zero. `None` if all are taken or there is
    /// no memory: that consumer then learns of losses with its next frame.
    pub(super) fn take(&mut self) -> Option<usize> {
        if self.counts.is_none() {
            self.counts = make().ok();
            self.taken = vec![false; COUNTERS];
        }
        let index = self.taken.iter().position(|taken| !taken)?;
        self.set(Some(index), 0)?;
        *self.taken.get_mut(index)? = true;
        Some(index)
    }

    /// The counter's consumer is gone.
    pub(super) fn give_back(&mut self, index: Option<usize>) {
        if let Some(taken) = index.and_then(|index| self.taken.get_mut(index)) {
            *taken = false;
        }
        if !self.taken.contains(&true) {
            self.counts = None;
        }
    }

    /// Says how many frames a consumer did not get.
    pub(super) fn set(&self, index: Option<usize>, count: u64) -> Option<()> {
        let mut counts = self.counts.as_ref()?.map().ok()?;
        *counts.as_mut_slice().get_mut(index?)? = count;
        Some(())
    }

    /// The memory file, to send to a consumer.
    pub(super) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.counts.as_ref()?.buffer().raw().ok()?.descriptor().ok()
    }
}

fn make() -> Result<Tensor<u64>> {
    let counts = Tensor::<u64>::new(&[COUNTERS], Some(TensorMemory::Shm), Some("dropped"))?;
    counts.map()?.as_mut_slice().fill(0);
    counts.buffer().raw()?.seal_for_others()?;
    Ok(counts)
}
