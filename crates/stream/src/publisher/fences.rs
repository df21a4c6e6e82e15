//! Slots that a consumer gave back before its device was done with them.
//!
//! They count as held, by the consumer's credits, until the fence is done; so a fence that never
//! is costs the consumer and not the producer.

use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::event::epoll;
use tenure_memory::Fence;

use super::core::Core;
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
        let same = |fenced: &Fenced| (fenced.consumer, fenced.sequence) == (consumer, sequence);
        let holds = self.accounts.consumer(consumer).is_some_and(|it| it.holds(slot, sequence));
        if !holds || self.fences.iter().any(same) {
            return false;
        }
        let lasting = is_sync_file(&fence);
        let Ok(fence) = Fence::from_fd(fence) else { return false };
        // Whoever serves looks at the fences when one is done.
        let data = epoll::EventData::new_u64(about::WAKE);
        if epoll::add(&*self.epoll, fence.fd(), data, epoll::EventFlags::IN).is_err() {
            return false;
        }
        self.fences.push(Fenced { consumer, slot, sequence, fence, lasting });
        true
    }

    /// Takes back the slots whose fences are done.
    pub(super) fn settle_fences(&mut self) {
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
            let kept = |fenced: &Fenced| (fenced.consumer, fenced.sequence) == (consumer, sequence);
            if self.fences.iter().any(kept) {
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

/// Whether a descriptor is a fence of the kernel's. Anything else can be made to wait for ever.
fn is_sync_file(fd: &OwnedFd) -> bool {
    let link = fs::read_link(format!("/proc/self/fd/{}", fd.as_raw_fd()));
    link.is_ok_and(|target| target.to_string_lossy().contains("sync_file"))
}
