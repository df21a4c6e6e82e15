//! One consumer in the books.

/// Whether a consumer that gives a frame back has the slot's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    /// It has.
    Memory,
    /// It could not take the memory, and wants it sent again.
    Nothing,
}

/// One consumer.
#[derive(Debug)]
pub(crate) struct Consumer<L> {
    pub(crate) id: u64,
    pub(crate) credits: usize,
    /// It has been told what it was granted; frames follow.
    pub(crate) welcome: bool,
    /// It wants nothing any more.
    pub(crate) enough: bool,
    /// It was put out.
    pub(crate) out: bool,
    /// Frames that it did not get.
    pub(crate) dropped: u64,
    /// Frames that it got.
    pub(crate) sent: u64,
    /// When it last got something or gave something back.
    pub(crate) last_progress: u64,
    pub(crate) link: L,
    /// Slot and sequence of every frame that it holds.
    held: Vec<(usize, u64)>,
    /// For each slot the generation whose memory it has; zero for none.
    known: Vec<u32>,
}

impl<L> Consumer<L> {
    pub(super) fn new(id: u64, credits: usize, link: L, now: u64) -> Consumer<L> {
        Consumer {
            id,
            credits,
            welcome: false,
            enough: false,
            out: false,
            dropped: 0,
            sent: 0,
            last_progress: now,
            link,
            held: Vec::with_capacity(credits),
            known: vec![],
        }
    }

    /// Frames that it holds.
    pub(crate) fn held(&self) -> usize {
        self.held.len()
    }

    /// Whether it holds this frame.
    pub(crate) fn holds(&self, slot: usize, sequence: u64) -> bool {
        self.held.contains(&(slot, sequence))
    }

    /// Credits that count as granted.
    pub(super) fn promised(&self) -> usize {
        if self.out || self.enough { self.held.len() } else { self.credits }
    }

    /// Whether frames are for it too.
    pub(crate) fn listens(&self) -> bool {
        self.welcome && !self.out && !self.enough
    }

    /// Whether it may get one more frame.
    pub(crate) fn has_credit(&self) -> bool {
        self.listens() && self.held.len() < self.credits
    }

    /// Whether it holds all that it may: for whoever wants no more, that is what it has.
    pub(super) fn is_full(&self) -> bool {
        if self.enough {
            return !self.out && !self.held.is_empty();
        }
        self.listens() && self.held.len() >= self.credits
    }

    /// Whether it has the memory of this generation of the slot.
    pub(crate) fn knows(&self, slot: usize, generation: u32) -> bool {
        self.known.get(slot) == Some(&generation)
    }

    pub(super) fn take(&mut self, slot: usize, generation: u32, sequence: u64, now: u64) {
        if self.known.len() <= slot {
            self.known.resize(slot + 1, 0);
        }
        if let Some(known) = self.known.get_mut(slot) {
            *known = generation;
        }
        self.held.push((slot, sequence));
        self.sent += 1;
        self.last_progress = now;
    }

    pub(super) fn put_back(&mut self, slot: usize, sequence: u64, now: u64) -> bool {
        let found = self.lose(slot, sequence);
        if found {
            self.last_progress = now;
        }
        found
    }

    pub(super) fn lose(&mut self, slot: usize, sequence: u64) -> bool {
        let index = self.held.iter().position(|held| *held == (slot, sequence));
        index.map(|index| self.held.swap_remove(index)).is_some()
    }

    /// It does not have the slot's memory any more.
    pub(crate) fn forget(&mut self, slot: usize) {
        if let Some(known) = self.known.get_mut(slot) {
            *known = 0;
        }
    }

    /// Slots that it holds, each as often as it has a frame in it.
    pub(super) fn slots(&self) -> impl Iterator<Item = usize> + '_ {
        self.held.iter().map(|held| held.0)
    }

    /// Slot and sequence of every frame that it holds.
    pub(crate) fn frames(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.held.iter().copied()
    }
}
