//! What the publisher and its service share, under one lock: books, memories and connections.

use std::io::IoSlice;
use std::mem;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::io::Errno;
use smallvec::SmallVec;
use tenure_memory::share::Peer;

use super::fences::{Fenced, Resting};
use super::homes::{Borrowed, Home, Owned};
use super::rate::Rate;
use super::tally::Tally;
use crate::accounts::{Accounts, Consumer, Known, Limits};
use crate::wire::{Fault, FrameHead, NONE, Request};
use crate::{Meta, Origin, Receipt, Spec, clock, socket};

/// The largest number to skip to: from there on frames can be counted for centuries.
const LAST_SEQUENCE: u64 = u64::MAX >> 1;

/// What leads to a consumer.
#[derive(Debug)]
pub(super) struct Link {
    /// `None` once it is gone.
    pub(super) socket: Option<OwnedFd>,
    pub(super) inode: u64,
    pub(super) peer: Peer,
    /// Put out, not gone by itself.
    pub(super) evicted: bool,
    /// It said something impossible: nothing that it says is believed any more.
    pub(super) deaf: bool,
    /// Its counter of frames that it did not get.
    pub(super) count: Option<usize>,
}

impl Link {
    pub(super) fn gone(&self) -> bool {
        self.socket.is_none()
    }

    /// Sends a packet without waiting.
    pub(super) fn send(
        &self,
        parts: &[IoSlice<'_>],
        descriptors: &[BorrowedFd<'_>],
    ) -> Result<(), Errno> {
        let socket = self.socket.as_ref().ok_or(Errno::PIPE)?;
        socket::send(socket.as_fd(), parts, descriptors)
    }
}

/// What is dropped after the lock is given up: memory takes time to free, and tensors of users
/// may do anything.
pub(super) type Trash = (SmallVec<[Home; 4]>, SmallVec<[Borrowed; 4]>, SmallVec<[OwnedFd; 2]>);

pub(super) struct Core {
    pub(super) accounts: Accounts<Link>,
    /// One for each slot.
    pub(super) homes: Vec<Home>,
    pub(super) spec: Option<Arc<Spec>>,
    pub(super) sequence: u64,
    pub(super) dropped: u64,
    pub(super) rate: Rate,
    pub(super) last_description: Option<Arc<[u8]>>,
    pub(super) origin: Option<Origin>,
    /// Memory that no slot has any more.
    pub(super) trash: SmallVec<[Home; 4]>,
    /// Memory of the user's that no consumer has any more.
    pub(super) unlent: SmallVec<[Borrowed; 4]>,
    /// How long a consumer may hold all its credits, in nanoseconds.
    pub(super) patience: Option<u64>,
    /// Links that the service no longer has to listen to: closed with the trash.
    pub(super) closed: SmallVec<[OwnedFd; 2]>,
    pub(super) fences: Vec<Fenced>,
    pub(super) resting: Vec<Resting>,
    pub(super) tally: Tally,
    /// What the service waits with.
    pub(super) epoll: Arc<OwnedFd>,
}

/// What reading from a consumer came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Heard {
    /// Nothing more for now.
    All,
    /// It is gone.
    Gone,
    /// It said something impossible.
    Nonsense,
}

impl Core {
    pub(super) fn new(
        limits: Limits,
        spec: Option<Arc<Spec>>,
        patience: Option<u64>,
        epoll: Arc<OwnedFd>,
    ) -> Core {
        Core {
            accounts: Accounts::new(limits),
            homes: vec![],
            spec,
            sequence: 0,
            dropped: 0,
            rate: Rate::default(),
            last_description: None,
            origin: None,
            trash: SmallVec::new(),
            unlent: SmallVec::new(),
            patience,
            closed: SmallVec::new(),
            fences: vec![],
            resting: vec![],
            tally: Tally::default(),
            epoll,
        }
    }

    /// What has to be dropped without the lock.
    pub(super) fn take_trash(&mut self) -> Trash {
        (mem::take(&mut self.trash), mem::take(&mut self.unlent), mem::take(&mut self.closed))
    }

    pub(super) fn home(&self, slot: usize) -> &Home {
        self.homes.get(slot).unwrap_or(&Home::Vacant)
    }

    pub(super) fn homes(&self) -> &[Home] {
        &self.homes
    }

    pub(super) fn set_home(&mut self, slot: usize, home: Home) {
        while self.homes.len() <= slot {
            self.homes.push(Home::Vacant);
        }
        if let Some(place) = self.homes.get_mut(slot) {
            self.trash.push(mem::replace(place, home));
        }
    }

    /// Claims a slot, and gives the memory that it has.
    pub(super) fn claim(&mut self) -> Option<(usize, Option<Arc<Owned>>)> {
        self.hear_spent();
        let Core { accounts, homes, .. } = self;
        let ready = |slot: usize| match homes.get(slot) {
            Some(Home::Owned(owned)) => owned.ready(),
            _ => true,
        };
        if let Some(slot) = accounts.claim(ready) {
            let owned = match self.home(slot) {
                Home::Owned(owned) => Some(Arc::clone(owned)),
                _ => None,
            };
            return Some((slot, owned));
        }
        // Devices of consumers still read what was given back: the slot gets other memory.
        self.may_replace().then(|| self.accounts.claim(|_| true)).flatten().map(|slot| (slot, None))
    }

    /// Gives new memory to a slot.
    pub(super) fn install(&mut self, slot: usize, owned: &Arc<Owned>) {
        self.tell_to_forget(slot);
        self.accounts.renew(slot);
        self.rest(slot);
        self.set_home(slot, Home::Owned(Arc::clone(owned)));
    }

    /// Sends a frame to everybody who may have one more.
    pub(super) fn send(
        &mut self,
        slot: usize,
        description: &Arc<[u8]>,
        memories: &[BorrowedFd<'_>],
        meta: &Meta<'_>,
    ) -> Receipt {
        self.settle_fences();
        let now = clock::now();
        let sequence = self.sequence;
        self.sequence += 1;
        self.rate.count(now);
        self.accounts.begin(slot);
        let generation = self.accounts.slot(slot).map_or(0, |slot| slot.generation);
        let mut receipt = Receipt { sequence, consumers: 0, dropped: 0 };
        let mut troubled: SmallVec<[(u64, Heard); 2]> = SmallVec::new();
        for index in 0..self.accounts.consumers().len() {
            let Some(consumer) = self.accounts.consumers().get(index) else { break };
            let (id, mut may) = (consumer.id, consumer.has_credit());
            if !consumer.listens() {
                continue;
            }
            if !may {
                // Only now, so that a publisher whose consumers keep up asks for nothing.
                match self.hear(id) {
                    Heard::All => {}
                    trouble => {
                        troubled.push((id, trouble));
                        continue;
                    }
                }
                may = self.accounts.consumers().get(index).is_some_and(|it| it.has_credit());
            }
            if !may {
                self.miss(index);
                receipt.dropped += 1;
                continue;
            }
            let Some(consumer) = self.accounts.consumers().get(index) else { break };
            let known = consumer.knows(slot, generation);
            let fence = meta.fence.map(|fence| fence.fd());
            let mut descriptors: SmallVec<[BorrowedFd<'_>; 5]> = SmallVec::new();
            if !known {
                descriptors.extend_from_slice(memories);
            }
            let head = FrameHead {
                slot: slot as u32,
                generation,
                sequence,
                dropped: consumer.dropped,
                captured: meta.timestamp.map_or(NONE, clock::nanoseconds),
                published: now,
                memories: descriptors.len() as u8,
                fence: fence.is_some(),
                description: description.len() as u32,
                blob: meta.blob.len() as u32,
            };
            descriptors.extend(fence);
            let head = head.encode();
            let parts = [IoSlice::new(&head), IoSlice::new(description), IoSlice::new(meta.blob)];
            match consumer.link.send(&parts, &descriptors) {
                Ok(()) => {
                    self.accounts.give(index, slot, sequence, now);
                    receipt.consumers += 1;
                }
                Err(Errno::PIPE | Errno::CONNRESET) => troubled.push((id, Heard::Gone)),
                // No room in its queue, or for descriptors on their way: as if it had no credit.
                Err(_) => {
                    self.miss(index);
                    receipt.dropped += 1;
                }
            }
        }
        for (id, trouble) in troubled {
            self.end_with(id, trouble);
        }
        if receipt.dropped > 0 {
            self.dropped += receipt.dropped as u64;
            self.evict_stuck(now);
        }
        self.last_description = Some(Arc::clone(description));
        let settled = self.accounts.finish(slot);
        self.put_away(slot, settled);
        receipt
    }

    /// The consumer at `index` does not get a frame, and can know it at once.
    fn miss(&mut self, index: usize) {
        self.accounts.miss(index);
        if let Some(consumer) = self.accounts.consumers().get(index) {
            self.tally.set(consumer.link.count, consumer.dropped);
        }
    }

    /// Counts frames that nobody gets, because they were lost before they came here.
    pub(super) fn skip(&mut self, frames: u64) {
        let before = self.sequence;
        self.sequence = before.saturating_add(frames).min(LAST_SEQUENCE);
        let lost = self.sequence.saturating_sub(before);
        let mut all = 0;
        let Core { accounts, tally, .. } = self;
        for consumer in accounts.consumers_mut() {
            if consumer.listens() {
                consumer.dropped = consumer.dropped.saturating_add(lost);
                tally.set(consumer.link.count, consumer.dropped);
                all += 1;
            }
        }
        self.dropped = self.dropped.saturating_add(lost.saturating_mul(all));
    }

    /// Takes back what consumers have given back.
    pub(super) fn hear_all(&mut self) {
        let ids: SmallVec<[u64; 16]> = self.accounts.consumers().iter().map(|it| it.id).collect();
        for id in ids {
            self.hear_one(id);
        }
        self.settle_fences();
    }

    /// Takes back what consumers without a credit left have given back: before a frame is filled,
    /// so that it need not be done when the frame is on its way.
    fn hear_spent(&mut self) {
        let spent = |it: &&Consumer<Link>| it.listens() && !it.has_credit();
        let ids: SmallVec<[u64; 16]> =
            self.accounts.consumers().iter().filter(spent).map(|it| it.id).collect();
        for id in ids {
            self.hear_one(id);
        }
    }

    /// The same for one consumer. It is gone afterwards if it hung up.
    pub(super) fn hear_one(&mut self, id: u64) {
        let heard = self.hear(id);
        self.end_with(id, heard);
    }

    fn end_with(&mut self, id: u64, heard: Heard) {
        match heard {
            Heard::All => {}
            Heard::Gone => self.leave(id),
            // It may still read what it has.
            Heard::Nonsense => self.put_out_liar(id),
        }
    }

    /// What a consumer has said. It cannot have said more than that it gives back what it holds and
    /// wants no more: so the publisher is done with it soon, however quickly somebody talks.
    fn hear(&mut self, id: u64) -> Heard {
        let mut packet = [0; 32];
        let Some(consumer) = self.accounts.consumer(id) else { return Heard::All };
        let most = consumer.held() + 2;
        for _ in 0..most {
            let Some(consumer) = self.accounts.consumer(id) else { return Heard::All };
            let Some(socket) = &consumer.link.socket else { return Heard::All };
            let mut received = match socket::receive(socket.as_fd(), &mut packet, false) {
                Ok(received) => received,
                Err(Errno::AGAIN) => return Heard::All,
                Err(Errno::INTR) => continue,
                Err(_) => return Heard::Gone,
            };
            if received.len == 0 {
                return Heard::Gone;
            }
            let packet = packet.get(..received.len).unwrap_or_default();
            let descriptor = received.descriptors.pop();
            let request = match received.fault {
                _ if consumer.link.deaf => continue,
                _ if !received.descriptors.is_empty() => return Heard::Nonsense,
                None => Request::decode(packet),
                // Of this process, which has no room for one: the consumer did nothing wrong.
                Some(Fault::DescriptorsLost) => match Request::decode(packet) {
                    Ok(Request::Release { slot, sequence, fence: true, .. }) => {
                        if !self.take_back_unfinished(id, slot as usize, sequence) {
                            return Heard::Nonsense;
                        }
                        continue;
                    }
                    _ => return Heard::Nonsense,
                },
                Some(_) => return Heard::Nonsense,
            };
            if !request.is_ok_and(|request| self.obey(id, request, descriptor)) {
                return Heard::Nonsense;
            }
        }
        Heard::All
    }

    /// Does what a consumer says. Says whether that makes sense.
    fn obey(&mut self, id: u64, request: Request, descriptor: Option<OwnedFd>) -> bool {
        match (request, descriptor) {
            (Request::Release { slot, sequence, fence: true, .. }, Some(fence)) => {
                self.fence(id, slot as usize, sequence, fence)
            }
            (Request::Release { slot, sequence, unknown, fence: false }, None) => {
                // What waits for a fence was given back already.
                if self.waits_for_fence(id, sequence) {
                    return false;
                }
                let known = if unknown { Known::Nothing } else { Known::Memory };
                let (slot, now) = (slot as usize, clock::now());
                let settled = self.accounts.release(id, slot, sequence, known, now);
                settled.map(|settled| self.put_away(slot, settled)).is_ok()
            }
            (Request::Enough, None) => {
                let consumer = self.accounts.consumer_mut(id);
                consumer.is_some_and(|consumer| !mem::replace(&mut consumer.enough, true))
            }
            _ => false,
        }
    }
}
