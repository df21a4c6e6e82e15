//! Slots that a consumer gave back before its device was done with them.
//!
//! If it says so, they count as held, by the consumer's credits, until the fence is done; so a
//! fence that never is costs the consumer and not the producer. A DMA-BUF also has fences of its
//! own, which whoever has it can add to and which say nothing of whose they are: memory that has
//! such a fence when nobody holds it any more rests until it is done, at nobody's cost.

use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

use rustix::event::epoll;
use rustix::fs::{FileType, Stat, fstat};
use tenure_memory::Fence;

use super::core::Core;
use super::homes::{Borrowed, Home, Owned};
use super::service::about;
use crate::accounts::Known;
use crate::clock;

/// One such slot.
pub(super) struct Fenced {
    consumer: u64,
    slot: usize,
    sequence: u64,
    fence: Fence,
    /// Made by the kernel, which sees to it that it is done some day.
    lasting: bool,
}

/// Memory that nobody holds and a device still uses.
pub(super) enum Resting {
    /// The stream's own; its slot has other memory by now.
    Own(Arc<Owned>),
    /// Lent by the user, who gets it back when the fence is done.
    Lent(Borrowed, Fence),
}

impl Core {
    /// A consumer gives a frame back that is free when `fence` is done. Says whether that makes
    /// sense.
    pub(super) fn fence(
        &mut self,
        consumer: u64,
        slot: usize,
        sequence: u64,
        fence: OwnedFd,
    ) -> bool {
        let holds = self.accounts.consumer(consumer).is_some_and(|it| it.holds(slot, sequence));
        if !holds || self.waits_for_fence(consumer, sequence) {
            return false;
        }
        let Some(kind) = Kind::of(&fence) else { return false };
        let lasting = kind == Kind::SyncFile;
        // Without room for it the consumer did nothing wrong.
        let Some(fence) = Fence::from_fd(fence).ok().filter(|fence| self.wake_when_done(fence))
        else {
            return self.take_back_unfinished(consumer, slot, sequence);
        };
        self.fences.push(Fenced { consumer, slot, sequence, fence, lasting });
        true
    }

    /// Whether a consumer has given this frame back, to be free when its fence is done.
    pub(super) fn waits_for_fence(&self, consumer: u64, sequence: u64) -> bool {
        let same = |fenced: &Fenced| (fenced.consumer, fenced.sequence) == (consumer, sequence);
        self.fences.iter().any(same)
    }

    /// A consumer gives a frame back with a fence that this process had no descriptor for. Says
    /// whether that makes sense.
    pub(super) fn take_back_unfinished(&mut self, id: u64, slot: usize, sequence: u64) -> bool {
        if self.waits_for_fence(id, sequence) {
            return false;
        }
        let settled = self.accounts.release_unfinished(id, slot, sequence, clock::now());
        settled.map(|settled| self.put_away(slot, settled)).is_ok()
    }

    /// Whether a slot that devices still use may get other memory: so often that devices which
    /// never end cost no more than the stream itself.
    pub(super) fn may_replace(&mut self) -> bool {
        self.settle_resting();
        self.resting_slots() < self.accounts.wanted()
    }

    /// Memories of slots that devices still use, besides those that the slots have.
    pub(super) fn resting_slots(&self) -> usize {
        self.resting.iter().filter(|resting| matches!(resting, Resting::Own(_))).count()
    }

    /// A slot gets other memory: devices that still use what it has may go on.
    pub(super) fn rest(&mut self, slot: usize) {
        if let Home::Owned(owned) = self.home(slot)
            && !owned.ready()
        {
            let owned = Arc::clone(owned);
            self.resting.push(Resting::Own(owned));
        }
    }

    /// Gives memory back that the user lent, as soon as devices are done with it.
    pub(super) fn give_back(&mut self, borrowed: Borrowed) {
        match borrowed.used_until() {
            Some(fence) => {
                // Without being woken it is seen at the next frame.
                self.wake_when_done(&fence);
                self.resting.push(Resting::Lent(borrowed, fence));
            }
            None => self.unlent.push(borrowed),
        }
    }

    /// Whether memory that the user lent is not back yet.
    pub(super) fn lends(&self) -> bool {
        let lent = |resting: &Resting| matches!(resting, Resting::Lent(..));
        self.accounts.lends() || self.resting.iter().any(lent)
    }

    /// Lets go of memory that devices are done with.
    fn settle_resting(&mut self) {
        for resting in std::mem::take(&mut self.resting) {
            match resting {
                Resting::Own(owned) if owned.ready() => self.trash.push(Home::Owned(owned)),
                Resting::Lent(borrowed, fence) if fence.is_done().unwrap_or(true) => {
                    let _ = epoll::delete(&*self.epoll, fence.fd());
                    // There may be more of them, and other planes.
                    self.give_back(borrowed);
                }
                still => self.resting.push(still),
            }
        }
    }

    /// Whoever serves looks at the fences when this one is done. Says whether the kernel has room
    /// for that.
    fn wake_when_done(&self, fence: &Fence) -> bool {
        let data = epoll::EventData::new_u64(about::WAKE);
        epoll::add(&*self.epoll, fence.fd(), data, epoll::EventFlags::IN).is_ok()
    }

    /// Takes back the slots whose fences are done.
    pub(super) fn settle_fences(&mut self) {
        if !self.resting.is_empty() {
            self.settle_resting();
        }
        if self.fences.is_empty() {
            return;
        }
        let mut waiting = std::mem::take(&mut self.fences);
        let now = clock::now();
        waiting.retain(|fenced| {
            let gone = self.accounts.consumer(fenced.consumer).is_none_or(|it| it.link.gone());
            let done = match fenced.fence.is_done() {
                Ok(done) => done || (gone && !fenced.lasting),
                // The other end of a pipe closed: whoever used the slot is gone.
                Err(_) => true,
            };
            if done {
                // Others have the same fence, so that closing it would not end this.
                let _ = epoll::delete(&*self.epoll, fenced.fence.fd());
                let Fenced { consumer, slot, sequence, .. } = *fenced;
                // It may have been put out and have lost the slot meanwhile.
                let released = self.accounts.release(consumer, slot, sequence, Known::Memory, now);
                if let Ok(settled) = released {
                    self.put_away(slot, settled);
                }
            }
            !done
        });
        self.fences = waiting;
        self.forget_gone();
    }

    /// Whether a consumer has given back slots that are not free yet.
    pub(super) fn is_fenced(&self, consumer: u64) -> bool {
        self.fences.iter().any(|fenced| fenced.consumer == consumer)
    }

    /// A consumer is gone, its device may not be done: what no fence keeps comes back, the
    /// stream's own slots are retired, and those that the user lent wait for their fences.
    pub(super) fn leave_fenced(&mut self, consumer: u64) {
        let Some(found) = self.accounts.consumer_mut(consumer) else { return };
        self.closed.extend(found.link.socket.take());
        let frames: Vec<(usize, u64)> = found.frames().collect();
        for (slot, sequence) in frames {
            if self.waits_for_fence(consumer, sequence) {
                continue;
            }
            let now = clock::now();
            if let Ok(settled) = self.accounts.release(consumer, slot, sequence, Known::Memory, now)
            {
                self.put_away(slot, settled);
            }
        }
        for (slot, settled) in self.accounts.evict(consumer) {
            self.put_away(slot, settled);
        }
        self.settle_fences();
        self.forget_gone();
    }

    /// Strikes off consumers that are gone and have nothing left.
    fn forget_gone(&mut self) {
        let over =
            |it: &&crate::accounts::Consumer<super::core::Link>| it.link.gone() && it.held() == 0;
        while let Some(id) = self.accounts.consumers().iter().find(over).map(|it| it.id) {
            let epoll = &self.epoll;
            self.fences.retain(|fenced| {
                let other = fenced.consumer != id;
                if !other {
                    let _ = epoll::delete(&**epoll, fenced.fence.fd());
                }
                other
            });
            self.leave(id);
        }
    }
}

/// What can be a fence. Other things that can be waited for may change their mind, or lead to the
/// producer itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A fence of the kernel's, which is done some day. Anything else can be made to wait for ever.
    SyncFile,
    /// A pipe, or an event counter.
    Other,
}

impl Kind {
    fn of(fd: &OwnedFd) -> Option<Kind> {
        let pipe = |it: Stat| FileType::from_raw_mode(it.st_mode) == FileType::Fifo;
        if fstat(fd).is_ok_and(pipe) {
            return Some(Kind::Other);
        }
        // What has a path begins with a slash.
        match fs::read_link(format!("/proc/self/fd/{}", fd.as_raw_fd())) {
            Ok(target) => match target.to_str()? {
                "anon_inode:sync_file" => Some(Kind::SyncFile),
                "anon_inode:[eventfd]" => Some(Kind::Other),
                _ => None,
            },
            // Without /proc it cannot be told.
            Err(_) => Some(Kind::Other),
        }
    }
}
