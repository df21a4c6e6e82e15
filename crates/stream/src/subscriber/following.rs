//! From one life of a producer to the next.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use super::connection::{Connection, Welcome};
use super::known::KnownSlots;
use super::watch::Watch;
use super::{LOOK_AGAIN, Subscriber};
use crate::patience::Patience;
use crate::{Error, Result};

/// How long a door may be blocked by others before it is tried again.
const MOMENT: Duration = Duration::from_millis(1);

impl Subscriber {
    /// Subscribes again after the stream ended, waiting at most so long for a producer. Frames
    /// that are held stay valid, and the descriptor stays the same. In a process that was forked
    /// off it makes a subscriber of this process's own of what was inherited.
    ///
    /// # Errors
    /// As [`Subscriber::open`].
    pub fn reopen(&mut self, timeout: Duration) -> Result<()> {
        if !self.connection.process().is_current() {
            // What is inherited is shared with the process that goes on with it.
            self.watch = Watch::default();
            (self.stalled, self.joining) = (None, None);
        }
        let mut patience = Patience::new(timeout);
        loop {
            match self.options.connect(&self.place) {
                Ok((connection, welcome)) => {
                    self.enter(connection, welcome);
                    return Ok(());
                }
                Err(error) if error.is_over() && patience.left() != Some(Duration::ZERO) => {
                    std::thread::sleep(LOOK_AGAIN);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// The same for subscribers that follow: no producer within the time, or none that answers, is
    /// no error. What was begun goes on the next time.
    pub(super) fn rejoin(&mut self, patience: &mut Patience) -> Result<()> {
        loop {
            match self.try_join(patience) {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(Error::NoAnswer { .. }) => {}
                Err(error) if error.is_over() => {}
                Err(error) => return Err(error),
            }
            match patience.left() {
                Some(Duration::ZERO) => return Ok(()),
                left => std::thread::sleep(left.map_or(LOOK_AGAIN, |left| left.min(LOOK_AGAIN))),
            }
        }
    }

    /// Says whether a producer has answered.
    fn try_join(&mut self, patience: &mut Patience) -> Result<bool> {
        let connection = match self.joining.take() {
            Some(connection) => connection,
            None => self.options.ask(&self.place, MOMENT)?,
        };
        match self.options.await_welcome(&self.place, &connection, patience)? {
            Some(welcome) => self.enter(connection, welcome),
            None => self.joining = Some(connection),
        }
        Ok(self.joining.is_none())
    }

    fn enter(&mut self, connection: Connection, welcome: Welcome) {
        let connection = Arc::new(connection);
        let before = std::mem::replace(&mut self.connection, connection);
        if self.stalled.is_none() {
            self.watch.turn(before.as_fd(), self.connection.as_fd());
        }
        self.welcome = welcome;
        self.known = KnownSlots::new(self.options.budget(), &self.place.name);
        self.dropped = 0;
        self.joining = None;
        self.over = None;
    }
}
