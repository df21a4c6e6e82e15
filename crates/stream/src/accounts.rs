//! Who holds which slot, and who may get the next frame: arithmetic without an operating system.
//!
//! All of it is private to the producer. A consumer has credits; every frame that is sent to it
//! costs one until it gives the slot back, leaves or is put out. So consumers together hold at
//! most the credits that were granted, and a producer that has that many slots and those that it
//! claims itself never waits for anybody.

mod consumer;
#[cfg(test)]
mod tests;

use smallvec::SmallVec;

pub(crate) use consumer::{Consumer, Known};

/// What the arithmetic is bounded by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Slots that the producer claims at one time.
    pub(crate) claims: usize,
    /// Credits granted at one time, to all consumers.
    pub(crate) credits: usize,
    /// Credits granted to one consumer.
    pub(crate) credits_each: usize,
    /// Consumers at one time.
    pub(crate) consumers: usize,
    /// Slots ever, owned and borrowed.
    pub(crate) slots: usize,
}

/// Why there is no place for one more consumer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// All credits are granted to others.
    Credits { granted: usize },
    /// There are as many consumers as may be.
    Consumers { there: usize },
    /// What is left is kept for other processes, and for this producer's own user.
    Share,
}

/// What a new consumer's process and user have already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Standing {
    /// Its process has consumers.
    pub(crate) known: bool,
    /// Credits of its user, if that is not the producer's.
    pub(crate) foreign: Option<usize>,
}

/// The part of all credits and consumers that a process which has some does not get.
const RESERVE: usize = 12;

/// What a slot is at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// It has no memory.
    Vacant,
    /// Its memory waits to be claimed.
    Free,
    /// Memory is being made for it.
    Making,
    /// The producer fills it.
    Claimed,
    /// So many frames in it are with consumers.
    Published(usize),
}

/// One reusable buffer of the stream.
#[derive(Debug, Clone)]
pub(crate) struct Slot {
    pub(crate) state: State,
    /// Counts the memories that the slot has had; zero before the first.
    pub(crate) generation: u32,
    /// The memory belongs to a tensor that the user published, not to the stream.
    pub(crate) borrowed: bool,
    /// Somebody who was put out may still read the memory: it is not used again.
    retired: bool,
}

/// What became of a slot when somebody let go of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Settled {
    /// Others still have it.
    Held,
    /// Its memory may be claimed again.
    Free,
    /// Its memory is not used again: whoever keeps it drops it.
    Vacant,
}

/// Slots and what became of each.
pub(crate) type SettledSlots = SmallVec<[(usize, Settled); 8]>;

/// A release that cannot be: of a slot that the consumer does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NotHeld;

/// The books of one stream; `L` is what leads to a consumer.
#[derive(Debug)]
pub(crate) struct Accounts<L> {
    limits: Limits,
    slots: Vec<Slot>,
    consumers: Vec<Consumer<L>>,
    next_id: u64,
}

impl<L> Accounts<L> {
    pub(crate) fn new(limits: Limits) -> Accounts<L> {
        Accounts { limits, slots: vec![], consumers: vec![], next_id: 1 }
    }

    pub(crate) fn limits(&self) -> Limits {
        self.limits
    }

    pub(crate) fn slots(&self) -> &[Slot] {
        &self.slots
    }

    pub(crate) fn slot(&self, slot: usize) -> Option<&Slot> {
        self.slots.get(slot)
    }

    pub(crate) fn consumers(&self) -> &[Consumer<L>] {
        &self.consumers
    }

    pub(crate) fn consumers_mut(&mut self) -> &mut [Consumer<L>] {
        &mut self.consumers
    }

    pub(crate) fn consumer(&self, id: u64) -> Option<&Consumer<L>> {
        self.consumers.iter().find(|consumer| consumer.id == id)
    }

    pub(crate) fn consumer_mut(&mut self, id: u64) -> Option<&mut Consumer<L>> {
        self.consumers.iter_mut().find(|consumer| consumer.id == id)
    }

    /// Credits that consumers have now. Those that were put out count with what they still hold.
    pub(crate) fn granted(&self) -> usize {
        self.consumers.iter().map(Consumer::promised).sum()
    }

    /// How many slots of its own the stream needs so that the producer never waits.
    pub(crate) fn wanted(&self) -> usize {
        self.limits.claims + self.granted()
    }

    /// Slots of the stream's own that have memory.
    pub(crate) fn owned(&self) -> usize {
        let has = |slot: &&Slot| !slot.borrowed && slot.state != State::Vacant;
        self.slots.iter().filter(has).count()
    }

    /// How many credits one more consumer gets that asks for `asked`. However many consumers one
    /// process has, or another user, others get in.
    pub(crate) fn grant(&self, asked: usize, standing: Standing) -> Result<usize, Refused> {
        let Limits { credits, credits_each, consumers, .. } = self.limits;
        let there = self.consumers.len();
        if there >= consumers {
            return Err(Refused::Consumers { there });
        }
        let granted = self.granted();
        let half = credits.div_ceil(2);
        let mut left = credits.saturating_sub(granted);
        if left == 0 {
            return Err(Refused::Credits { granted });
        }
        let mut places = consumers - there;
        if standing.known || standing.foreign.is_some() {
            left = left.saturating_sub(credits / RESERVE);
            places = places.saturating_sub(consumers / RESERVE);
        }
        if let Some(theirs) = standing.foreign {
            left = left.min(half.saturating_sub(theirs));
        }
        // Once half of them are granted, something is kept for those who come later.
        let most = if granted < half { left } else { left.div_ceil(8) };
        match asked.clamp(1, credits_each.max(1)).min(most) {
            granted if granted > 0 && places > 0 => Ok(granted),
            _ => Err(Refused::Share),
        }
    }

    /// What the process and the user of a new consumer have, by what leads to consumers.
    pub(crate) fn standing(
        &self,
        same_process: impl Fn(&L) -> bool,
        same_user: Option<impl Fn(&L) -> bool>,
    ) -> Standing {
        let known = self.consumers.iter().any(|consumer| same_process(&consumer.link));
        let foreign = same_user.map(|same| {
            let theirs = self.consumers.iter().filter(|consumer| same(&consumer.link));
            theirs.map(Consumer::promised).sum()
        });
        Standing { known, foreign }
    }

    /// Takes in a consumer with credits that [`Accounts::grant`] gave, and numbers it.
    pub(crate) fn join(&mut self, credits: usize, link: L, now: u64) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.consumers.push(Consumer::new(id, credits, link, now));
        id
    }

    /// Takes credits back that no memory was found for. What is held already stays.
    pub(crate) fn lower_credits(&mut self, id: u64, credits: usize) {
        if let Some(consumer) = self.consumer_mut(id) {
            consumer.credits = consumer.credits.min(credits.max(consumer.held()));
        }
    }

    /// Claims a slot of the stream's own, with memory if there is one. `None` if the producer has
    /// claimed as many as it may, or no memory is ready.
    ///
    /// `ready` says whether a slot's memory can be written at once.
    pub(crate) fn claim(&mut self, mut ready: impl FnMut(usize) -> bool) -> Option<usize> {
        if self.claimed() >= self.limits.claims {
            return None;
        }
        let mut find = |state| {
            let fits = |slot: &Slot| !slot.borrowed && slot.state == state;
            let mut all = self.slots.iter().enumerate();
            all.find(|(index, slot)| fits(slot) && (state == State::Vacant || ready(*index)))
        };
        let free = find(State::Free).or_else(|| find(State::Vacant)).map(|(index, _)| index);
        let slot = free.or_else(|| {
            let owned = self.slots.iter().filter(|slot| !slot.borrowed).count();
            (owned < self.wanted()).then(|| self.add(false)).flatten()
        })?;
        self.slots.get_mut(slot)?.state = State::Claimed;
        Some(slot)
    }

    /// How many slots the producer has claimed.
    pub(crate) fn claimed(&self) -> usize {
        self.slots.iter().filter(|slot| slot.state == State::Claimed).count()
    }

    /// Whether consumers hold memory that the user brought.
    pub(crate) fn lends(&self) -> bool {
        self.slots.iter().any(|slot| slot.borrowed && matches!(slot.state, State::Published(_)))
    }

    fn add(&mut self, borrowed: bool) -> Option<usize> {
        let index = self.slots.len();
        (index < self.limits.slots).then(|| {
            let state = State::Vacant;
            self.slots.push(Slot { state, generation: 0, borrowed, retired: false });
            index
        })
    }

    /// A slot for memory that the user brings.
    pub(crate) fn add_borrowed(&mut self) -> Option<usize> {
        self.add(true)
    }

    /// A slot of the stream's own to make memory for, which [`Accounts::unclaim`] ends; `None` if
    /// there are enough.
    pub(crate) fn grow(&mut self) -> Option<usize> {
        if self.owned() >= self.wanted() {
            return None;
        }
        let vacant = |slot: &Slot| !slot.borrowed && slot.state == State::Vacant;
        let slot = self.slots.iter().position(vacant).or_else(|| self.add(false))?;
        self.slots.get_mut(slot)?.state = State::Making;
        Some(slot)
    }

    /// A free slot that is more than is needed; its memory is to be dropped.
    pub(crate) fn shrink(&mut self) -> Option<usize> {
        if self.owned() <= self.wanted() {
            return None;
        }
        self.vacate()
    }

    /// A free slot, needed or not; its memory is to be dropped.
    pub(crate) fn vacate(&mut self) -> Option<usize> {
        let free = |slot: &Slot| !slot.borrowed && slot.state == State::Free;
        let index = self.slots.iter().position(free)?;
        self.slots.get_mut(index)?.state = State::Vacant;
        Some(index)
    }

    /// The slot has other memory from now on, which no consumer knows.
    pub(crate) fn renew(&mut self, slot: usize) {
        if let Some(slot) = self.slots.get_mut(slot) {
            // Never zero again, which stands for no memory.
            slot.generation = slot.generation.checked_add(1).unwrap_or(1);
        }
    }

    /// Ends a claim or the making of memory: with memory, or without because there is none.
    pub(crate) fn unclaim(&mut self, slot: usize, has_memory: bool) {
        let open = |slot: &&mut Slot| matches!(slot.state, State::Claimed | State::Making);
        if let Some(slot) = self.slots.get_mut(slot).filter(open) {
            slot.state = if has_memory { State::Free } else { State::Vacant };
        }
    }

    /// Begins to publish a claimed or borrowed slot, which counts as held until
    /// [`Accounts::finish`]: what consumers give back meanwhile does not free it.
    pub(crate) fn begin(&mut self, slot: usize) {
        let Some(slot) = self.slots.get_mut(slot) else { return };
        match &mut slot.state {
            State::Published(count) => *count += 1,
            state => *state = State::Published(1),
        }
    }

    /// All consumers that get the slot's frame have it.
    pub(crate) fn finish(&mut self, slot: usize) -> Settled {
        self.put_down(slot)
    }

    /// The consumer at `index` got the slot as frame `sequence`.
    pub(crate) fn give(&mut self, index: usize, slot: usize, sequence: u64, now: u64) {
        let Some(home) = self.slots.get_mut(slot) else { return };
        let Some(consumer) = self.consumers.get_mut(index) else { return };
        if let State::Published(count) = &mut home.state {
            *count += 1;
            consumer.take(slot, home.generation, sequence, now);
        }
    }

    /// The consumer at `index` did not get a frame.
    pub(crate) fn miss(&mut self, index: usize) {
        if let Some(consumer) = self.consumers.get_mut(index) {
            consumer.dropped += 1;
        }
    }

    /// What a slot is when nobody lets go of it any more.
    fn settle(&mut self, slot: usize) -> Settled {
        let Some(slot) = self.slots.get_mut(slot) else { return Settled::Held };
        if slot.state != State::Published(0) {
            return Settled::Held;
        }
        if slot.borrowed || std::mem::take(&mut slot.retired) {
            slot.state = State::Vacant;
            return Settled::Vacant;
        }
        slot.state = State::Free;
        Settled::Free
    }

    /// A consumer gives frame `sequence` in `slot` back.
    pub(crate) fn release(
        &mut self,
        id: u64,
        slot: usize,
        sequence: u64,
        known: Known,
        now: u64,
    ) -> Result<Settled, NotHeld> {
        let consumer = self.consumer_mut(id).ok_or(NotHeld)?;
        if !consumer.put_back(slot, sequence, now) {
            return Err(NotHeld);
        }
        if known == Known::Nothing {
            consumer.forget(slot);
        }
        Ok(self.put_down(slot))
    }

    /// A consumer gives a frame back that a device still reads, nobody knows how long. The memory of
    /// the stream's own slot is not used again; what the user lent stays with the consumer.
    pub(crate) fn release_unfinished(
        &mut self,
        id: u64,
        slot: usize,
        sequence: u64,
        now: u64,
    ) -> Result<Settled, NotHeld> {
        let holds = self.consumer(id).is_some_and(|it| it.holds(slot, sequence));
        let home = self.slots.get_mut(slot).filter(|_| holds).ok_or(NotHeld)?;
        if home.borrowed {
            return Ok(Settled::Held);
        }
        home.retired = true;
        self.release(id, slot, sequence, Known::Memory, now)
    }

    fn put_down(&mut self, slot: usize) -> Settled {
        if let Some(slot) = self.slots.get_mut(slot)
            && let State::Published(count) = &mut slot.state
        {
            *count = count.saturating_sub(1);
        }
        self.settle(slot)
    }

    /// A consumer is gone and reads no more: all that it held comes back.
    pub(crate) fn leave(&mut self, id: u64) -> Option<(Consumer<L>, SettledSlots)> {
        let index = self.consumers.iter().position(|consumer| consumer.id == id)?;
        let consumer = self.consumers.swap_remove(index);
        let settled = consumer.slots().map(|slot| (slot, self.put_down(slot))).collect();
        Some((consumer, settled))
    }

    /// Puts a consumer out that may go on reading. The stream's own slots that it holds are
    /// retired; borrowed ones cannot be and stay with it until it is gone.
    pub(crate) fn evict(&mut self, id: u64) -> SettledSlots {
        let Some(index) = self.consumers.iter().position(|consumer| consumer.id == id) else {
            return SmallVec::new();
        };
        let mut settled = SmallVec::new();
        let held: SmallVec<[(usize, u64); 8]> =
            self.consumers.get(index).into_iter().flat_map(Consumer::frames).collect();
        for (slot, sequence) in held {
            let Some(home) = self.slots.get_mut(slot).filter(|slot| !slot.borrowed) else {
                continue;
            };
            home.retired = true;
            if let Some(consumer) = self.consumers.get_mut(index) {
                consumer.lose(slot, sequence);
            }
            settled.push((slot, self.put_down(slot)));
        }
        if let Some(consumer) = self.consumers.get_mut(index) {
            consumer.out = true;
        }
        settled
    }

    /// Consumers that hold all their credits and have given nothing back for so long.
    pub(crate) fn stuck(&self, now: u64, patience: u64) -> SmallVec<[u64; 4]> {
        let hangs = |consumer: &&Consumer<L>| {
            consumer.is_full() && now.saturating_sub(consumer.last_progress) >= patience
        };
        self.consumers.iter().filter(hangs).map(|consumer| consumer.id).collect()
    }
}
