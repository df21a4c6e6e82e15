//! What a stream tells about itself.

use std::io::IoSlice;
use std::os::fd::{AsFd, OwnedFd};

use tenure_tensor::wire::Description;

use super::Shared;
use super::core::Core;
use super::homes::Home;
use crate::accounts::State;
use crate::report::{ConsumerReport, FrameReport, SlotReport, SlotState, StreamReport};
use crate::wire::{Answer, LONGEST_REPORT};
use crate::{clock, socket};

impl Shared {
    pub(super) fn report(&self) -> StreamReport {
        let report = self.with_own(|core| {
            // So that what was given back is not shown as held.
            core.hear_all();
            self.look(core)
        });
        report.unwrap_or_else(|| self.empty())
    }

    /// What a process that was forked off knows of the stream.
    fn empty(&self) -> StreamReport {
        StreamReport {
            name: self.place.name.clone(),
            pid: std::process::id(),
            incarnation: self.incarnation,
            seconds: clock::now().saturating_sub(self.incarnation) as f64 / 1e9,
            published: 0,
            dropped: 0,
            rate: 0.0,
            memory: String::from(self.memory),
            claims: 0,
            credits: 0,
            granted: 0,
            slots: vec![],
            consumers: vec![],
            frame: None,
            origin: None,
        }
    }

    fn look(&self, core: &Core) -> StreamReport {
        let now = clock::now();
        let accounts = &core.accounts;
        let slots = accounts.slots().iter().enumerate().map(|(index, slot)| SlotReport {
            index,
            generation: slot.generation,
            bytes: core.home(index).bytes(),
            borrowed: slot.borrowed,
            state: match slot.state {
                State::Vacant => SlotState::Vacant,
                State::Free | State::Making => SlotState::Free,
                State::Claimed => SlotState::Claimed,
                State::Published(frames) => SlotState::Published { frames },
            },
        });
        let consumers = accounts.consumers().iter().map(|consumer| ConsumerReport {
            id: consumer.id,
            pid: consumer.link.peer.pid,
            uid: consumer.link.peer.uid,
            credits: consumer.credits,
            held: consumer.held(),
            sent: consumer.sent,
            dropped: consumer.dropped,
            idle_seconds: now.saturating_sub(consumer.last_progress) as f64 / 1e9,
            evicted: consumer.link.evicted,
        });
        let memory = core.homes().iter().find_map(Home::memory);
        StreamReport {
            name: self.place.name.clone(),
            pid: std::process::id(),
            incarnation: self.incarnation,
            seconds: now.saturating_sub(self.incarnation) as f64 / 1e9,
            published: core.sequence,
            dropped: core.dropped,
            rate: core.rate.per_second(now),
            memory: String::from(memory.unwrap_or(self.memory)),
            claims: accounts.limits().claims,
            credits: accounts.limits().credits,
            granted: accounts.granted(),
            slots: slots.collect(),
            consumers: consumers.collect(),
            frame: core.last_description.as_deref().and_then(describe),
            origin: core.origin.clone(),
        }
    }

    /// Sends the report to somebody who asked for it.
    pub(super) fn answer_report(&self, socket: &OwnedFd) {
        let head = Answer::Report.encode();
        let Ok(text) = serde_json::to_vec(&self.report()) else { return };
        if text.len() + head.len() <= LONGEST_REPORT {
            let parts = [IoSlice::new(&head), IoSlice::new(&text)];
            let _ = socket::send(socket.as_fd(), &parts, &[]);
        } else {
            super::growth::refuse(socket, format!("its report has {} bytes", text.len()));
        }
    }
}

fn describe(description: &[u8]) -> Option<FrameReport> {
    let description = Description::decode(description).ok()?;
    Some(FrameReport {
        dtype: description.dtype.to_string(),
        format: description.image.as_ref().map(|image| image.format.to_string()),
        width: description.image.as_ref().map(|image| image.width),
        height: description.image.as_ref().map(|image| image.height),
        shape: description.shape,
    })
}
