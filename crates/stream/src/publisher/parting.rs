//! How things come back: slots that nobody has any more, and consumers that go or are put out.

use std::io::IoSlice;
use std::mem;

use rustix::event::epoll;

use super::core::Core;
use super::homes::Home;
use super::service::about;
use crate::accounts::Settled;
use crate::socket;
use crate::wire::Answer;

impl Core {
    /// Memory that nobody needs any more goes where it came from.
    pub(super) fn put_away(&mut self, slot: usize, settled: Settled) {
        if settled != Settled::Vacant {
            return;
        }
        match self.homes.get_mut(slot) {
            // The slot stays theirs, so that consumers know the memory when it comes back.
            Some(Home::Borrowed(_, kept)) => {
                if let Some(borrowed) = kept.take() {
                    self.give_back(borrowed);
                }
            }
            Some(home) => {
                self.trash.push(mem::replace(home, Home::Vacant));
                self.tell_to_forget(slot);
            }
            None => {}
        }
    }

    /// Lets consumers know that they need not keep a slot's memory. One that does not hear it
    /// keeps it until the slot has another.
    pub(super) fn tell_to_forget(&mut self, slot: usize) {
        let generation = self.accounts.slot(slot).map_or(0, |slot| slot.generation);
        let packet = Answer::Forget { slot: slot as u32, generation }.encode();
        for consumer in self.accounts.consumers_mut() {
            if consumer.knows(slot, generation) && generation > 0 {
                let _ = consumer.link.send(&[IoSlice::new(&packet)], &[]);
                consumer.forget(slot);
            }
        }
    }

    /// A consumer is gone: all that it held comes back.
    pub(super) fn leave(&mut self, id: u64) {
        if self.is_fenced(id) {
            return self.leave_fenced(id);
        }
        let Some((consumer, settled)) = self.accounts.leave(id) else { return };
        self.tally.give_back(consumer.link.count);
        self.closed.extend(consumer.link.socket);
        for (slot, settled) in settled {
            self.put_away(slot, settled);
        }
        self.shrink();
    }

    /// Memory that is more than the consumers left need.
    pub(super) fn shrink(&mut self) {
        while let Some(slot) = self.accounts.shrink() {
            self.put_away(slot, Settled::Vacant);
        }
    }

    /// Memory that nobody reads at the moment.
    pub(super) fn vacate(&mut self) {
        while let Some(slot) = self.accounts.vacate() {
            self.put_away(slot, Settled::Vacant);
        }
    }

    /// Puts a consumer out. What it can still read is not written again.
    pub(super) fn evict(&mut self, id: u64) {
        for (slot, settled) in self.accounts.evict(id) {
            self.put_away(slot, settled);
        }
        let Some(consumer) = self.accounts.consumer_mut(id) else { return };
        consumer.link.evicted = true;
        let farewell = Answer::Evicted.encode();
        let _ = consumer.link.send(&[IoSlice::new(&farewell)], &[]);
        if consumer.held() == 0 {
            self.leave(id);
        }
    }

    /// Puts a consumer out that said something impossible. If it holds memory of the user's it stays
    /// until it hangs up, and that is all that is listened for.
    pub(super) fn put_out_liar(&mut self, id: u64) {
        if let Some(consumer) = self.accounts.consumer_mut(id) {
            consumer.link.deaf = true;
            if let Some(socket) = &consumer.link.socket {
                let data = epoll::EventData::new_u64(id << 2 | about::CONSUMER);
                // That it hangs up is always said.
                let _ = epoll::modify(&*self.epoll, socket, data, epoll::EventFlags::empty());
            }
        }
        self.evict(id);
    }

    pub(super) fn evict_stuck(&mut self, now: u64) {
        if let Some(patience) = self.patience {
            for id in self.accounts.stuck(now, patience) {
                self.hear_one(id);
            }
            for id in self.accounts.stuck(now, patience) {
                self.evict(id);
            }
        }
    }

    /// Closes the connections of a process that was forked off: nobody is told anything.
    pub(super) fn let_go(&mut self) {
        for consumer in self.accounts.consumers_mut() {
            if let Some(socket) = consumer.link.socket.take() {
                socket::close_inherited(socket, consumer.link.inode);
            }
        }
    }

    /// Tells everybody that the stream is over.
    pub(super) fn farewell(&mut self) {
        let packet = Answer::Ended.encode();
        for consumer in self.accounts.consumers() {
            let _ = consumer.link.send(&[IoSlice::new(&packet)], &[]);
        }
    }
}
