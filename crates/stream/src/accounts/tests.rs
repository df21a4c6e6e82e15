//! The books against a slow model: whatever consumers do, the producer can claim, nobody holds
//! more than was granted, and memory that somebody may read is not written.
#![expect(clippy::indexing_slicing, reason = "a wrong index is a failed test")]

use std::collections::HashSet;

use proptest::prelude::*;

use super::*;

const LIMITS: Limits = Limits { claims: 2, credits: 8, credits_each: 4, consumers: 5, slots: 64 };

#[derive(Debug, Clone)]
enum Act {
    Join(usize),
    Leave(usize),
    Evict(usize),
    Claim,
    Unclaim(usize),
    Publish(usize),
    Lend(usize),
    Release(usize, usize, bool),
    ReleaseWrong(usize, usize, u64),
    Grow(bool),
    Shrink,
    /// The clock goes anywhere.
    Clock(u64),
    EvictStuck,
}

fn acts() -> impl Strategy<Value = Act> {
    prop_oneof![
        2 => (0..6usize).prop_map(Act::Join),
        1 => (0..8usize).prop_map(Act::Leave),
        1 => (0..8usize).prop_map(Act::Evict),
        6 => Just(Act::Claim),
        1 => (0..4usize).prop_map(Act::Unclaim),
        6 => (0..4usize).prop_map(Act::Publish),
        2 => (0..3usize).prop_map(Act::Lend),
        6 => (0..8usize, 0..8usize, any::<bool>()).prop_map(|(c, f, k)| Act::Release(c, f, k)),
        1 => (0..8usize, 0..70usize, any::<u64>()).prop_map(|(c, s, q)| Act::ReleaseWrong(c, s, q)),
        1 => any::<bool>().prop_map(Act::Grow),
        1 => Just(Act::Shrink),
        1 => any::<u64>().prop_map(Act::Clock),
        1 => Just(Act::EvictStuck),
    ]
}

/// The books, and what a slow reader knows about who holds what.
struct Model {
    books: Accounts<()>,
    /// Consumer, slot, generation, frame.
    held: Vec<(u64, usize, u32, u64)>,
    /// Slot and generation that somebody who was put out may still read.
    forbidden: HashSet<(usize, u32)>,
    claimed: Vec<usize>,
    /// Slots whose memory is gone.
    vacant: HashSet<usize>,
    /// Slots of memory that the user brings.
    lent: Vec<usize>,
    sequence: u64,
    now: u64,
}

impl Model {
    fn new() -> Model {
        Model {
            books: Accounts::new(LIMITS),
            held: vec![],
            forbidden: HashSet::new(),
            claimed: vec![],
            vacant: HashSet::new(),
            lent: vec![],
            sequence: 0,
            now: 0,
        }
    }

    fn id(&self, index: usize) -> Option<u64> {
        let all = self.books.consumers();
        all.get(index % all.len().max(1)).map(|consumer| consumer.id)
    }

    fn generation(&self, slot: usize) -> u32 {
        self.books.slot(slot).unwrap().generation
    }

    fn send(&mut self, slot: usize) {
        self.sequence += 1;
        let generation = self.generation(slot);
        self.books.begin(slot);
        for index in 0..self.books.consumers().len() {
            let consumer = &self.books.consumers()[index];
            if consumer.has_credit() {
                self.held.push((consumer.id, slot, generation, self.sequence));
                self.books.give(index, slot, self.sequence, self.now);
                assert!(self.books.consumers()[index].knows(slot, generation));
            } else {
                self.books.miss(index);
            }
        }
        self.books.finish(slot);
    }

    fn evict(&mut self, id: u64) {
        self.books.evict(id);
        for &(_, slot, generation, _) in self.held.iter().filter(|held| held.0 == id) {
            if !self.books.slot(slot).unwrap().borrowed {
                self.forbidden.insert((slot, generation));
            }
        }
        let books = &self.books;
        self.held.retain(|held| held.0 != id || books.slot(held.1).unwrap().borrowed);
    }

    fn act(&mut self, act: Act) {
        match act {
            Act::Join(asked) => {
                let granted = self.books.granted();
                match self.books.grant(asked, Standing::default()) {
                    Ok(credits) => {
                        assert!(credits >= 1 && credits <= asked.clamp(1, LIMITS.credits_each));
                        let id = self.books.join(credits, (), self.now);
                        self.books.consumer_mut(id).unwrap().welcome = true;
                    }
                    Err(Refused::Credits { .. }) => assert_eq!(granted, LIMITS.credits),
                    Err(Refused::Consumers { there }) => assert_eq!(there, LIMITS.consumers),
                    Err(Refused::Share) => panic!("nobody has more than a share"),
                }
            }
            Act::Leave(index) => {
                if let Some(id) = self.id(index) {
                    self.books.leave(id);
                    self.held.retain(|held| held.0 != id);
                }
            }
            Act::Evict(index) => self.id(index).into_iter().for_each(|id| self.evict(id)),
            Act::Claim => {
                let may = self.claimed.len() < LIMITS.claims;
                let slot = self.books.claim(|_| true);
                assert_eq!(slot.is_some(), may, "the producer never waits");
                self.claimed.extend(slot);
                if let Some(slot) = slot {
                    if self.generation(slot) == 0 || self.vacant.remove(&slot) {
                        self.books.renew(slot);
                    }
                    let now = (slot, self.generation(slot));
                    assert!(!self.forbidden.contains(&now), "written while it may be read");
                }
            }
            Act::Unclaim(index) if !self.claimed.is_empty() => {
                let slot = self.claimed.swap_remove(index % self.claimed.len());
                self.books.unclaim(slot, true);
            }
            Act::Publish(index) if !self.claimed.is_empty() => {
                let slot = self.claimed.swap_remove(index % self.claimed.len());
                self.send(slot);
            }
            Act::Lend(index) => {
                if index >= self.lent.len() {
                    let slot = self.books.add_borrowed().unwrap();
                    self.books.renew(slot);
                    self.lent.push(slot);
                }
                self.send(self.lent[index % self.lent.len()]);
            }
            Act::Release(index, frame, unknown) => {
                let Some(id) = self.id(index) else { return };
                let own: Vec<usize> =
                    (0..self.held.len()).filter(|at| self.held[*at].0 == id).collect();
                if own.is_empty() {
                    return;
                }
                let (_, slot, generation, sequence) = self.held.swap_remove(own[frame % own.len()]);
                let known = if unknown { Known::Nothing } else { Known::Memory };
                self.books.release(id, slot, sequence, known, self.now).unwrap();
                let consumer = self.books.consumer(id).unwrap();
                assert!(!(unknown && consumer.knows(slot, generation)));
            }
            Act::ReleaseWrong(index, slot, sequence) => {
                let Some(id) = self.id(index) else { return };
                let right = |held: &&(u64, usize, u32, u64)| {
                    (held.0, held.1, held.3) == (id, slot, sequence)
                };
                if self.held.iter().find(right).is_none() {
                    let answer = self.books.release(id, slot, sequence, Known::Memory, self.now);
                    assert_eq!(answer, Err(NotHeld));
                }
            }
            Act::Grow(works) => {
                if let Some(slot) = self.books.grow() {
                    if works {
                        self.books.renew(slot);
                        self.vacant.remove(&slot);
                    }
                    self.books.unclaim(slot, works);
                }
            }
            Act::Shrink => {
                let before = self.books.owned();
                let shrunk = self.books.shrink().is_some();
                assert_eq!(self.books.owned(), before - usize::from(shrunk));
                assert!(!shrunk || before > self.books.wanted());
            }
            Act::Clock(now) => self.now = now,
            Act::EvictStuck => {
                for id in self.books.stuck(self.now, 1_000_000) {
                    assert!(!self.books.consumer(id).unwrap().has_credit());
                    self.evict(id);
                }
            }
            Act::Unclaim(_) | Act::Publish(_) => {}
        }
    }

    fn check(&mut self) {
        for (index, slot) in self.books.slots().iter().enumerate() {
            if !slot.borrowed && slot.state == State::Vacant {
                self.vacant.insert(index);
            }
        }
        assert!(self.books.granted() <= LIMITS.credits);
        for consumer in self.books.consumers() {
            let own = self.held.iter().filter(|held| held.0 == consumer.id).count();
            assert_eq!(consumer.held(), own);
            assert!(own <= consumer.credits);
        }
        for (index, slot) in self.books.slots().iter().enumerate() {
            let frames = self.held.iter().filter(|held| held.1 == index).count();
            match slot.state {
                State::Published(count) => {
                    assert_eq!(count, frames);
                    assert!(frames > 0, "a slot that nobody has is free");
                }
                _ => assert_eq!(frames, 0, "{slot:?} is with somebody"),
            }
            let claimed = self.claimed.contains(&index);
            assert_eq!(slot.state == State::Claimed, claimed);
        }
        let owned = self.books.slots().iter().filter(|slot| !slot.borrowed).count();
        assert!(owned <= LIMITS.claims + LIMITS.credits, "there are no more than are needed");
        assert_eq!(self.books.lends(), self.held.iter().any(|held| self.lent.contains(&held.1)));
    }
}

/// Most acts of a play; an interpreter takes long for each.
const ACTS: usize = if cfg!(miri) { 24 } else { 120 };

proptest! {
    #[test]
    fn nobody_hurts_anybody(all in proptest::collection::vec(acts(), 0..ACTS)) {
        let mut model = Model::new();
        for act in all {
            model.act(act);
            model.check();
        }
        // When everybody is gone, everything is back.
        while let Some(id) = model.id(0) {
            model.act(Act::Leave(0));
            assert!(model.books.consumer(id).is_none());
        }
        while model.books.shrink().is_some() {}
        prop_assert!(model.books.owned() <= LIMITS.claims);
        prop_assert_eq!(model.books.granted(), 0);
    }
}

#[test]
fn a_consumer_that_hangs_is_found_by_time_alone() {
    let mut books = Accounts::new(LIMITS);
    let id = books.join(1, (), 0);
    books.consumer_mut(id).unwrap().welcome = true;
    let slot = books.claim(|_| true).unwrap();
    books.renew(slot);
    books.begin(slot);
    books.give(0, slot, 7, 500);
    books.finish(slot);
    assert!(books.stuck(1400, 1000).is_empty());
    // A clock that went back hurts nobody.
    assert!(books.stuck(0, 1000).is_empty());
    assert_eq!(books.stuck(1500, 1000).as_slice(), [id]);
    books.release(id, slot, 7, Known::Memory, 1500).unwrap();
    assert!(books.stuck(9999, 1000).is_empty());
}

#[test]
fn memory_that_is_not_ready_is_passed_over() {
    let mut books = Accounts::<()>::new(LIMITS);
    let (first, second) = (books.claim(|_| true).unwrap(), books.claim(|_| true).unwrap());
    assert_eq!(books.claim(|_| true), None);
    books.unclaim(first, true);
    books.unclaim(second, true);
    assert_eq!(books.claim(|slot| slot == second), Some(second));
    assert_eq!(books.claim(|_| false), None);
}

/// As many consumers as one process gets, each of which asks for so many credits.
fn crowd(books: &mut Accounts<u32>, process: u32, asked: usize, own_user: bool) -> usize {
    let mut count = 0;
    loop {
        let same = |link: &u32| *link == process;
        let standing = books.standing(same, (!own_user).then_some(same));
        match books.grant(asked, standing) {
            Ok(credits) => books.join(credits, process, 0),
            Err(Refused::Share) => return count,
            Err(refused) => panic!("{refused:?} after {count}"),
        };
        count += 1;
    }
}

#[test]
fn one_process_does_not_keep_others_out() {
    let limits = Limits { claims: 2, credits: 192, credits_each: 16, consumers: 256, slots: 4096 };
    for (asked, own_user) in [1, 3, 8, 16].into_iter().flat_map(|n| [(n, true), (n, false)]) {
        let mut books = Accounts::new(limits);
        let crowd = crowd(&mut books, 1, asked, own_user);
        assert!(crowd >= 6, "{asked}: {crowd}");
        // Also those that hold no credits take places.
        for process in 2..10 {
            let same = |link: &u32| *link == process;
            let standing = books.standing(same, None::<fn(&u32) -> bool>);
            let credits = books.grant(3, standing).unwrap();
            books.join(credits, process, 0);
        }
    }
    // Sixty-four that ask for nothing in particular may be of one process.
    let mut books = Accounts::new(limits);
    assert!(crowd(&mut books, 1, 3, true) >= 64);
    // Other users together leave something to the producer's.
    let mut books = Accounts::new(limits);
    for user in 2..5 {
        crowd(&mut books, user, 16, false);
    }
    assert!(books.grant(3, Standing::default()).is_ok());
}
