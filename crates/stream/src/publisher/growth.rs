//! New consumers: what they are granted, and memory for it.

use std::io::IoSlice;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use tenure_memory::share::Peer;

use super::Shared;
use super::core::{Core, Link};
use super::homes::Owned;
use crate::accounts::Refused;
use crate::wire::{Answer, NO_COUNT};
use crate::{clock, socket};

/// Says no, and why. Whether it is heard is the other side's business.
pub(super) fn refuse(socket: &OwnedFd, reason: String) {
    let packet = Answer::Refused { reason }.encode();
    let _ = socket::send(socket.as_fd(), &[IoSlice::new(&packet)], &[]);
}

impl Shared {
    /// Lets a consumer in that wants so many credits: makes slots for all of them, or grants
    /// fewer, or refuses with the reason.
    pub(super) fn admit(&self, socket: OwnedFd, peer: Peer, asked: usize) {
        let granted = self.with(|core| {
            // Of those that have gone nobody may have taken notice yet.
            core.hear_all();
            let same_process = |link: &Link| link.peer.pid == peer.pid && link.peer.uid == peer.uid;
            let same_user = |link: &Link| link.peer.uid == peer.uid;
            let foreign = peer.uid != rustix::process::geteuid().as_raw();
            let standing = core.accounts.standing(same_process, foreign.then_some(same_user));
            core.accounts.grant(asked, standing).map_err(|refused| words(core, refused))
        });
        let credits = match granted {
            Ok(credits) => credits,
            Err(reason) => return refuse(&socket, reason),
        };
        let id = self.with(|core| {
            let count = core.tally.take();
            let (inode, socket) = (socket::inode(&socket), Some(socket));
            let link = Link { socket, inode, peer, evicted: false, deaf: false, count };
            core.accounts.join(credits, link, clock::now())
        });
        if let Err(reason) = self.grow() {
            let kept = self.with(|core| {
                let missing = core.accounts.wanted().saturating_sub(core.accounts.owned());
                core.accounts.lower_credits(id, credits.saturating_sub(missing));
                credits.saturating_sub(missing)
            });
            if kept == 0 {
                let text = format!("there is no memory for one more consumer: {reason}");
                return self.with(|core| {
                    let link = core.accounts.consumer(id).map(|consumer| &consumer.link);
                    if let Some(socket) = link.and_then(|link| link.socket.as_ref()) {
                        refuse(socket, text);
                    }
                    core.leave(id);
                });
            }
        }
        self.with(|core| self.welcome(core, id));
    }

    fn welcome(&self, core: &mut Core, id: u64) {
        let Core { accounts, tally, .. } = core;
        let Some(consumer) = accounts.consumer_mut(id) else { return };
        let incarnation = self.incarnation;
        let credits = consumer.credits as u32;
        let file = consumer.link.count.and_then(|count| Some((count, tally.descriptor()?)));
        let count = file.map_or(NO_COUNT, |(count, _)| count as u32);
        let file = file.map(|(_, file)| file);
        let packet = Answer::Welcome { incarnation, consumer: id, credits, count }.encode();
        let watch = |socket: &OwnedFd| self.door.watch_consumer(socket.as_fd(), id);
        let heard = consumer.link.socket.as_ref().is_some_and(|socket| watch(socket).is_ok())
            && consumer.link.send(&[IoSlice::new(&packet)], file.as_slice()).is_ok();
        consumer.welcome = heard;
        if !heard {
            core.leave(id);
        }
    }

    /// Makes memory for slots that are missing, if it is known how large they are.
    fn grow(&self) -> crate::Result<()> {
        let Some(spec) = self.with(|core| core.spec.clone()) else { return Ok(()) };
        while let Some(slot) = self.with(|core| core.accounts.grow()) {
            // Without the lock: it takes time.
            let made = Owned::make(self.memory, &spec, &self.place.name);
            self.with(|core| {
                let there = made.is_ok();
                let made = made.map(|made| core.install(slot, &Arc::new(made)));
                core.accounts.unclaim(slot, there);
                made
            })?;
        }
        Ok(())
    }
}

fn words(core: &Core, refused: Refused) -> String {
    match refused {
        Refused::Credits { granted } => format!(
            "all of its {granted} credits are granted to {} consumers: one of them must end, or the \
             publisher be built with more credits",
            core.accounts.consumers().len()
        ),
        Refused::Share => format!(
            "this process, or its user, has as many of its {} credits and {} consumers as it may: \
             the rest is kept for others",
            core.accounts.limits().credits,
            core.accounts.limits().consumers
        ),
        Refused::Consumers { there } => format!("it has {there} consumers, which is the most"),
    }
}
