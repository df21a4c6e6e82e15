//! From packets to frames.

use std::os::fd::AsFd;

use super::connection::Held;
use super::known::Refused;
use super::{Over, Subscriber};
use crate::frame::{Came, Frame};
use crate::patience::Patience;
use crate::socket::{Descriptors, Received};
use crate::wire::{Answer, Fault, FrameHead};
use crate::{Error, Result};

impl Subscriber {
    /// Waits for the frame's fence, unless the user does that. `again` if it has been waited for
    /// before.
    pub(super) fn complete(
        &mut self,
        mut frame: Frame,
        again: bool,
        patience: &mut Patience,
    ) -> Result<Option<Frame>> {
        if self.options.explicit_fences {
            return Ok(Some(frame));
        }
        let Some(fence) = frame.take_fence() else { return Ok(Some(frame)) };
        let answer = fence.wait(patience.left());
        match (&answer, again) {
            (Ok(false), false) => self.watch.turn(self.connection.as_fd(), fence.fd()),
            (Ok(true) | Err(_), true) => self.watch.turn(fence.fd(), self.connection.as_fd()),
            _ => {}
        }
        if answer? {
            return Ok(Some(frame));
        }
        frame.put_fence(fence);
        self.stalled = Some(frame);
        Ok(None)
    }

    /// The next frame off the socket.
    pub(super) fn receive(&mut self, patience: &mut Patience) -> Result<Option<Frame>> {
        loop {
            self.check_over()?;
            let Some(received) = self.connection.receive(&mut self.packet, patience)? else {
                return Ok(None);
            };
            let len = received.len;
            if len == 0 {
                self.over = Some(Over::Ended { dead: true });
                continue;
            }
            // The buffer is given back whatever comes of it.
            let packet = std::mem::take(&mut self.packet);
            let answer = self.understand(packet.get(..len).unwrap_or_default(), received);
            self.packet = packet;
            if let Some(frame) = answer? {
                return Ok(Some(frame));
            }
        }
    }

    /// An error if nothing more will come.
    fn check_over(&self) -> Result<()> {
        let name = || self.place.name.clone();
        match self.over {
            Some(Over::Ended { dead }) => {
                Err(Error::from(crate::detail::Ended { name: name(), dead }))
            }
            Some(Over::Evicted) => Err(Error::from(crate::detail::Evicted {
                name: name(),
                credits: self.welcome.credits,
            })),
            None => Ok(()),
        }
    }

    /// The frame in a packet; `None` if it was something else.
    fn understand(&mut self, packet: &[u8], received: Received) -> Result<Option<Frame>> {
        let Received { descriptors, fault, .. } = received;
        let lost = fault == Some(Fault::DescriptorsLost);
        let head = match fault {
            None | Some(Fault::DescriptorsLost) => FrameHead::decode(packet),
            Some(fault) => Err(fault),
        };
        match head {
            Ok((head, description, blob)) => {
                let (found, credits) = (self.connection.outstanding() + 1, self.welcome.credits);
                if found > credits {
                    return self.refuse(Fault::NoCredit { found, credits }, true);
                }
                // From here on it is given back, whatever comes of it.
                let mut held = Held::new(&self.connection, &head);
                if lost {
                    held.set_unknown();
                    return self.refuse(Fault::DescriptorsLost, false);
                }
                self.take(head, description, blob, descriptors, held)
            }
            Err(fault) => match Answer::decode(packet) {
                Ok((Answer::Ended, _)) => {
                    self.over = Some(Over::Ended { dead: false });
                    Ok(None)
                }
                Ok((Answer::Evicted, _)) => {
                    self.over = Some(Over::Evicted);
                    Ok(None)
                }
                Ok((Answer::Forget { slot, generation }, _)) => {
                    match self.known.forget(slot, generation) {
                        Ok(()) => Ok(None),
                        Err(fault) => self.refuse(fault, true),
                    }
                }
                _ => self.refuse(fault, true),
            },
        }
    }

    fn take(
        &mut self,
        head: FrameHead,
        description: &[u8],
        blob: &[u8],
        descriptors: Descriptors,
        mut held: Held,
    ) -> Result<Option<Frame>> {
        let mut taken = match self.known.tensor(&head, description, descriptors) {
            Ok(taken) => taken,
            // Memory that the producer should not have used: other frames are in other memory.
            Err(Refused::Fault(fault @ (Fault::Memory { .. } | Fault::Unsealed { .. }))) => {
                held.set_unknown();
                return self.refuse(fault, false);
            }
            Err(Refused::Fault(fault)) => return self.refuse(fault, true),
            Err(Refused::Description(error)) => {
                self.hang_up();
                return Err(error);
            }
            Err(Refused::Memory(error)) => {
                held.set_unknown();
                return Err(error);
            }
        };
        taken.kept.begin(held, blob);
        let missed = head.dropped.saturating_sub(self.dropped);
        self.dropped = head.dropped;
        Ok(Some(Frame::new(Came {
            head,
            incarnation: self.welcome.incarnation,
            missed,
            guarded: taken.guarded,
            fence: taken.fence,
            kept: taken.kept,
        })))
    }

    /// A packet that is not taken. A producer that sends one without sense will send others: nothing
    /// more is heard then.
    fn refuse(&mut self, fault: Fault, hopeless: bool) -> Result<Option<Frame>> {
        if hopeless {
            self.hang_up();
        }
        Err(Error::from(crate::detail::Packet { name: self.place.name.clone(), fault }))
    }

    /// Hears nothing more, also of what was sent already.
    fn hang_up(&mut self) {
        self.connection.hang_up();
        self.over = Some(Over::Ended { dead: true });
    }
}
